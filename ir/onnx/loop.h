/* What Loop and Scan share (convert_loop.c): both become `loop` (ir/op_list.h). */
#ifndef RLX_IR_ONNX_LOOP_H
#define RLX_IR_ONNX_LOOP_H

#include "ir/onnx/body.h"

/* The body's input for the iteration or the condition; of rank 1 where the node's graph says so (`port` may be NULL). */
rlx_value_t *rlx_onnx_loop_scalar(rlx_onnx_body_t *body, const char *name, rlx_dtype_t dtype, const rlx_onnx_port_t *port);
/* Marks extents of carried values that change; true when there was no new one. Types and ranks that change fail the call. */
bool rlx_onnx_loop_settle(rlx_onnx_call_t *call, const rlx_onnx_body_t *body, int n_carried, bool (*varies)[RLX_RANK_MAX]);
/* Appends the op. `trips` and `condition` may be NULL. */
void rlx_onnx_loop_make(rlx_onnx_call_t *call, const rlx_onnx_body_t *body, rlx_value_t *trips, rlx_value_t *condition, int n_carried,
                        rlx_value_t *const *carried, int n_out, rlx_value_t **out);

#endif
