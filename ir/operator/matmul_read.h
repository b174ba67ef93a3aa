/* How matmul reads its operands. Internal to ir/. */
#ifndef RLX_IR_MATMUL_READ_H
#define RLX_IR_MATMUL_READ_H

#include "ir/lower/product.h"

typedef struct rlx_matmul_views {
    rlx_view_t a, b; /* rank >= 2: batch axes, row, column */
    rlx_expr_t m, n, k;
    int n_batch;
    int rank;                       /* of the result */
    rlx_expr_t dims[RLX_RANK_MAX];  /* of the result, before perm_out; the first n_batch are the batch axes */
    int64_t perm_out[RLX_RANK_MAX]; /* axis i of what is stored is axis perm_out[i] of the result */
} rlx_matmul_views_t;

/* Checks ranks, permutations and batch extents; the two k extents are the caller's to compare. */
rlx_status_t rlx_matmul_views(rlx_graph_t *graph, const rlx_op_t *op, rlx_matmul_views_t *out_views, rlx_diag_t *diag);

/* Stride of `view` along axis `axis` of the result (n_batch batch axes, row, column; right-aligned), whose extent is `extent`: 0 where the
 * operand repeats. */
rlx_expr_t rlx_matmul_batch_stride(const rlx_graph_t *graph, const rlx_view_t *view, int n_batch, int axis, rlx_expr_t extent);
/* Stride in `out`, what is stored, of axis `axis` of the result. */
rlx_expr_t rlx_matmul_out_stride(const rlx_graph_t *graph, const rlx_matmul_views_t *views, const rlx_value_t *out, int axis);

#endif
