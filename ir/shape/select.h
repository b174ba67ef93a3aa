/* Numbers and truth values of constants, and the rules of operators that select by data. Internal to ir/shape_*.c. */
#ifndef RLX_IR_SHAPE_SELECT_H
#define RLX_IR_SHAPE_SELECT_H

#include "ir/shape/common.h"

/* The one number of operand `index` as an integer expression. Float operands serve when they are an integral constant, or cast from an
 * integer whose element is known; else RLX_E_SHAPE_UNKNOWN. */
rlx_status_t rlx_shape_number(rlx_graph_t *graph, const rlx_op_t *op, int index, rlx_expr_t *out, rlx_diag_t *diag);
/* Element `i` of a constant as a double; false when the value is no constant. Integers beyond 2^53 are rounded. */
bool rlx_value_number(const rlx_graph_t *graph, const rlx_value_t *value, int64_t i, double *out);

rlx_status_t rlx_shape_op_count_non_zero(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
rlx_status_t rlx_shape_op_unique(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
rlx_status_t rlx_shape_op_non_max_suppression(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
rlx_status_t rlx_shape_op_nms_rows(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
rlx_status_t rlx_shape_op_non_zero(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);

#endif
