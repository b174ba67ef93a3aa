/* Parts of the verifier. Internal to ir/verify*.c and ir/shape/shape.c. */
#ifndef RLX_IR_VERIFY_H
#define RLX_IR_VERIFY_H

#include "ir/graph.h"

/* RLX_E_IR_INVALID at `op` (may be NULL). */
rlx_status_t rlx_verify_fail(const rlx_op_t *op, rlx_diag_t *diag, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Runs the op's shape rule again and compares: the outputs' types and ranks must be the same, no extent provably different. The graph is
 * as before afterwards. */
rlx_status_t rlx_verify_op_shape(const rlx_graph_t *graph, const rlx_op_t *op, rlx_diag_t *diag);
/* Residual operands of an epilogue: they stand after the operands of the op proper. */
int rlx_op_residuals(const rlx_op_t *op);

#endif
