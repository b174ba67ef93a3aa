/* Which axes a reduction removes: one flag per axis, an expression that is 0 or 1. Constant when the axes are; else decided per request.
 */
#ifndef RLX_IR_REDUCE_AXES_H
#define RLX_IR_REDUCE_AXES_H

#include "ir/shape/common.h"

typedef struct rlx_reduce_axes {
    rlx_expr_t flag[RLX_RANK_MAX];
    bool is_const;               /* every flag is a constant */
    bool reduced[RLX_RANK_MAX];  /* the flags, when is_const */
    int n_reduced;               /* how many axes are reduced: known even when which is not */
} rlx_reduce_axes_t;

/* Reads operand 1 of a reduce op. With `check` the conditions on run-time axes (range, no repeats) are declared. */
rlx_status_t rlx_reduce_axes_get(rlx_graph_t *graph, const rlx_op_t *op, bool check, rlx_reduce_axes_t *out_axes, rlx_diag_t *diag);

#endif
