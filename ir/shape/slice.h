/* Rules of the move family that cut and join: slice, split, concat, pad. Called by rlx_shape_move only. */
#ifndef RLX_IR_SHAPE_SLICE_H
#define RLX_IR_SHAPE_SLICE_H

#include "ir/shape/common.h"

rlx_status_t rlx_shape_op_slice(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
rlx_status_t rlx_shape_op_split(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
rlx_status_t rlx_shape_op_concat(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
rlx_status_t rlx_shape_op_pad(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);

#endif
