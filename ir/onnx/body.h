/* Bodies: a branch or a loop's body becomes a graph of its own. What it uses from around it, it captures: constants are copied (their bytes
 * are shared), other values become inputs, and operands of the op that runs the body. Extents that are equal outside are one symbol inside. */
#ifndef RLX_IR_ONNX_BODY_H
#define RLX_IR_ONNX_BODY_H

#include "ir/onnx/import.h"

#define RLX_ONNX_BODY_DEPTH_MAX 12 /* bodies in bodies: below RLX_PROGRAM_DEPTH_MAX */

/* An expression of the graph around, and what stands for it inside. */
typedef struct rlx_onnx_known {
    rlx_expr_t outer, inner;
} rlx_onnx_known_t;

typedef struct rlx_onnx_body {
    rlx_onnx_import_t *import;
    rlx_graph_t *graph, *outer;
    rlx_onnx_scope_t scope;
    int depth;
    int n_captured, cap_captured;
    rlx_value_t **captured; /* values of `outer`, in the order of the body's last n_captured inputs */
    rlx_onnx_known_t *known;
    int n_known, cap_known;
} rlx_onnx_body_t;

/* Starts a body of the call's node; `place` names it in messages. From here on import->graph is the body's. Fails the call on too deep a
 * nest. End it in any case. */
void rlx_onnx_body_begin(rlx_onnx_call_t *call, rlx_onnx_body_t *body, const char *place);
void rlx_onnx_body_end(rlx_onnx_call_t *call, rlx_onnx_body_t *body);
/* An input that stands for `outer`, a value of the graph around. Where `varies[axis]` is set its extent is a symbol of its own, and nothing
 * is known of its data where `carried`. */
rlx_value_t *rlx_onnx_body_input(rlx_onnx_body_t *body, const char *name, const rlx_value_t *outer, bool carried, const bool *varies);
/* `outer` inside the body: captured now. */
rlx_value_t *rlx_onnx_body_take(rlx_onnx_body_t *body, const char *name, rlx_value_t *outer);
/* The name as it is known at `scope`, around the body, captured under this name; NULL when it is not defined. */
rlx_value_t *rlx_onnx_body_capture(rlx_onnx_body_t *body, const rlx_onnx_scope_t *scope, const char *name);
/* Converts the nodes of `graph` in the body, which has its inputs, and makes its outputs: [first, graph->n_outputs). */
void rlx_onnx_body_convert(rlx_onnx_call_t *call, rlx_onnx_body_t *body, const rlx_onnx_model_t *graph);
void rlx_onnx_body_outputs(rlx_onnx_call_t *call, rlx_onnx_body_t *body, const rlx_onnx_model_t *graph, int first);
/* Makes `value`, of the body, its next output. */
void rlx_onnx_body_output(rlx_onnx_call_t *call, rlx_onnx_body_t *body, rlx_value_t *value);
/* The subgraph in attribute `name`; false after failing the call. */
bool rlx_onnx_body_parse(rlx_onnx_call_t *call, const char *name, rlx_onnx_model_t *out_graph);

#endif
