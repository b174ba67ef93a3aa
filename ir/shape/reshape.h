/* Rules of the move family that give a new shape from an operand: reshape, expand, tile. Called by rlx_shape_move only. */
#ifndef RLX_IR_SHAPE_RESHAPE_H
#define RLX_IR_SHAPE_RESHAPE_H

#include "ir/shape/common.h"

rlx_status_t rlx_shape_op_reshape(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
rlx_status_t rlx_shape_op_expand(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
rlx_status_t rlx_shape_op_tile(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);

#endif
