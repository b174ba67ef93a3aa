/* Loop. The body is converted with the extents of the initial values; extents that come out otherwise than they go in are open in the next
 * attempt, until none changes. Each attempt opens one extent at least, so there are few. */
#include "ir/onnx/loop.h"

#include <string.h>

#include "ir/onnx/convert.h"

rlx_value_t *rlx_onnx_loop_scalar(rlx_onnx_body_t *body, const char *name, rlx_dtype_t dtype, const rlx_onnx_port_t *port)
{
    int rank = port != NULL && port->has_shape && port->rank == 1 ? 1 : 0;
    rlx_expr_t one = rlx_expr_const(body->graph->exprs, 1);

    return rlx_graph_input(body->graph, name, dtype, rank, &one);
}

bool rlx_onnx_loop_settle(rlx_onnx_call_t *call, const rlx_onnx_body_t *body, int n_carried, bool (*varies)[RLX_RANK_MAX])
{
    bool settled = true;

    for (int i = 0; i < n_carried && rlx_call_ok(call); i++) {
        const rlx_value_t *in = body->graph->inputs[2 + i], *out = body->graph->outputs[1 + i];

        if (in->dtype != out->dtype || in->rank != out->rank)
            rlx_call_fail(call, RLX_E_ONNX_OPERATOR,
                          "carried value %d goes in as %s of rank %d and comes out as %s of rank %d; both must stay the same", i,
                          rlx_dtype_name(in->dtype), in->rank, rlx_dtype_name(out->dtype), out->rank);
        for (int k = 0; rlx_call_ok(call) && k < in->rank; k++) {
            if (out->dims[k] == in->dims[k] || varies[i][k])
                continue;
            varies[i][k] = true;
            settled = false;
        }
    }
    return settled;
}

/* What the body makes of the node's graph. */
static void body_fill(rlx_onnx_call_t *call, rlx_onnx_body_t *body, const rlx_onnx_model_t *graph, int n_carried, bool (*varies)[RLX_RANK_MAX])
{
    rlx_value_t *input = rlx_onnx_loop_scalar(body, graph->inputs[0].name, RLX_I64, &graph->inputs[0]);

    rlx_onnx_scope_add(&body->scope, graph->inputs[0].name, input);
    input = rlx_onnx_loop_scalar(body, graph->inputs[1].name, RLX_BOOL, &graph->inputs[1]);
    rlx_onnx_scope_add(&body->scope, graph->inputs[1].name, input);
    for (int i = 0; i < n_carried && rlx_call_ok(call); i++) {
        const char *name = graph->inputs[2 + i].name;

        input = rlx_onnx_body_input(body, name, call->in[2 + i], true, varies[i]);
        if (!rlx_onnx_scope_add(&body->scope, name, input))
            rlx_call_fail(call, RLX_E_ONNX_GRAPH, "the body's input '%s' has a name that is taken", name);
    }
    rlx_onnx_body_convert(call, body, graph);
    rlx_onnx_body_outputs(call, body, graph, 0);
}

void rlx_onnx_loop_make(rlx_onnx_call_t *call, const rlx_onnx_body_t *body, rlx_value_t *trips, rlx_value_t *condition, int n_carried,
                        rlx_value_t *const *carried, int n_out, rlx_value_t **out)
{
    int n_in = 2 + n_carried + body->n_captured;
    rlx_value_t **in = rlx_graph_alloc(call->graph, (size_t)n_in * sizeof *in);
    rlx_op_t *op;

    in[0] = trips;
    in[1] = condition;
    for (int i = 0; i < n_carried; i++)
        in[2 + i] = carried[i];
    for (int i = 0; i < body->n_captured; i++)
        in[2 + n_carried + i] = body->captured[i];
    op = rlx_call_begin(call, RLX_OP_loop, n_in, in, n_out);
    if (op == NULL)
        return;
    op->n_bodies = 1;
    op->bodies = rlx_graph_alloc(call->graph, sizeof *op->bodies);
    op->bodies[0] = body->graph;
    rlx_op_set_int(call->graph, op, "carried", n_carried);
    rlx_call_end(call, op);
    for (int i = 0; i < n_out; i++)
        out[i] = op->out[i];
}

static bool counts_check(rlx_onnx_call_t *call, const rlx_onnx_model_t *graph, int n_carried)
{
    if (graph->n_inputs != 2 + n_carried || graph->n_outputs != 1 + call->n_out || call->n_out < n_carried)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "the body has %d inputs and %d outputs, but the node %d carried values and %d results",
                      graph->n_inputs, graph->n_outputs, n_carried, call->n_out);
    for (int i = 0; i < n_carried; i++)
        if (rlx_call_in(call, 2 + i) == NULL)
            rlx_call_fail(call, RLX_E_ONNX_NODE, "carried value %d is missing", i);
    return rlx_call_ok(call);
}

void rlx_convert_loop(rlx_onnx_call_t *call)
{
    int n_carried = call->n_in > 2 ? call->n_in - 2 : 0;
    bool(*varies)[RLX_RANK_MAX] = rlx_graph_alloc(call->graph, (size_t)(n_carried + 1) * sizeof *varies), settled = false;
    rlx_value_t **out = rlx_graph_alloc(call->graph, (size_t)(call->n_out + 1) * sizeof *out);
    rlx_onnx_model_t graph;
    rlx_onnx_body_t body;

    if (!rlx_onnx_body_parse(call, "body", &graph) || !counts_check(call, &graph, n_carried))
        return;
    while (!settled && rlx_call_ok(call)) {
        rlx_onnx_body_begin(call, &body, "body");
        if (rlx_call_ok(call))
            body_fill(call, &body, &graph, n_carried, varies);
        rlx_onnx_body_end(call, &body);
        settled = rlx_call_ok(call) && rlx_onnx_loop_settle(call, &body, n_carried, varies);
    }
    if (rlx_call_ok(call) && body.graph->outputs[0]->dtype != RLX_BOOL)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "the body's condition is %s, not bool", rlx_dtype_name(body.graph->outputs[0]->dtype));
    if (!rlx_call_ok(call))
        return;
    rlx_onnx_loop_make(call, &body, rlx_call_const_resolve(call, rlx_call_in(call, 0)), rlx_call_const_resolve(call, rlx_call_in(call, 1)),
                       n_carried, call->in + 2, call->n_out, out);
    for (int i = 0; i < call->n_out; i++)
        rlx_call_out(call, i, out[i]);
}
