/* A matrix product as strides: what matmul and einsum have in common. Internal to ir/.
 *
 * C[batch][m][n] = chain over k of A[batch][m][k] * B[batch][k][n]: every axis of the operands has an extent and an element stride, so
 * permuted, transposed and broadcast operands are all the same thing. Shape rules and lowerings read an op through rlx_product_read. */
#ifndef RLX_IR_PRODUCT_H
#define RLX_IR_PRODUCT_H

#include "ir/lower/lower.h"

typedef struct rlx_product {
    const rlx_value_t *a, *b, *bias, *c;
    rlx_expr_t m, n, k;
    rlx_expr_t batch[RLX_MATMUL_BATCH], a_batch[RLX_MATMUL_BATCH], b_batch[RLX_MATMUL_BATCH], c_batch[RLX_MATMUL_BATCH];
    rlx_expr_t a_row, a_col, b_row, b_col, c_row, c_col;
    const rlx_op_t *op; /* whose epilogue applies; may have none */
} rlx_product_t;

/* All batch axes 1, all strides 0. */
void rlx_product_init(rlx_graph_t *graph, rlx_product_t *product, const rlx_op_t *op);
/* Picks the kernel and adds the steps; packs a constant B. Applies the op's epilogue. */
rlx_status_t rlx_product_lower(rlx_builder_t *builder, rlx_product_t *product, rlx_diag_t *diag);

/* A tensor seen through a permutation: logical extents and strides. */
typedef struct rlx_view {
    int rank;
    rlx_expr_t dims[RLX_RANK_MAX], strides[RLX_RANK_MAX];
} rlx_view_t;

/* Row-major `dims`, axis i of the view being axis perm[i] of the tensor. */
rlx_view_t rlx_view_make(const rlx_graph_t *graph, int rank, const rlx_expr_t *dims, const int64_t *perm);
/* Attribute `name` of `op` as a permutation of `rank` axes; the identity when it is not set. */
rlx_status_t rlx_view_perm(const rlx_op_t *op, const char *name, int rank, int64_t *out_perm, rlx_diag_t *diag);

#endif
