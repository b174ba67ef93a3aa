/* An einsum equation, parsed. Internal to ir/.
 *
 * A label is a small number: one per letter in order of appearance, and one per axis that an ellipsis stands for. `extent` is the common
 * extent; an operand's axis of extent 1 is repeated. Summed labels are those absent from the output, in order of appearance: that order is
 * the order of the chain, the last label running fastest. */
#ifndef RLX_IR_EINSUM_H
#define RLX_IR_EINSUM_H

#include "ir/lower/lower.h"

#define RLX_EINSUM_LABELS_MAX 64
#define RLX_EINSUM_OPERANDS_MAX RLX_EINSUM_OPERANDS

typedef struct rlx_einsum {
    int n_labels;
    char letter[RLX_EINSUM_LABELS_MAX]; /* 0: an axis of the ellipsis */
    int count[RLX_EINSUM_LABELS_MAX];   /* times it appears in operands */
    rlx_expr_t extent[RLX_EINSUM_LABELS_MAX];
    int n_operands;
    int label[RLX_EINSUM_OPERANDS_MAX][RLX_RANK_MAX]; /* of every axis */
    int out_rank;
    int out[RLX_RANK_MAX];
    int n_sum;
    int sum[RLX_EINSUM_LABELS_MAX];
} rlx_einsum_t;

rlx_status_t rlx_einsum_read(rlx_graph_t *graph, const rlx_op_t *op, rlx_einsum_t *out_einsum, rlx_diag_t *diag);
rlx_status_t rlx_einsum_lower(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);

#endif
