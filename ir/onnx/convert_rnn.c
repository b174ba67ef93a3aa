/* LSTM, GRU, RNN: one op each; the list of activations travels as comma-separated text, its parameters as given. */
#include "ir/onnx/convert.h"

#include <string.h>

static const char *activations_join(rlx_onnx_call_t *call)
{
    const rlx_onnx_attr_t *given = rlx_call_attr(call, "activations");
    const char *text = NULL;

    if (given == NULL)
        return NULL;
    if (given->type != RLX_ONNX_ATTR_STRINGS || given->n > 6)
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "activations must be a list of at most 6 names");
    for (int i = 0; i < given->n; i++) {
        const char *name = given->strings[i];

        if (name == NULL || name[0] == '\0' || strpbrk(name, ", ") != NULL)
            return rlx_call_fail(call, RLX_E_ONNX_NODE, "activation %d has no valid name", i);
        text = text != NULL ? rlx_graph_printf(call->graph, "%s,%s", text, name) : name;
    }
    return text;
}

static int64_t hidden_read(rlx_onnx_call_t *call, const rlx_value_t *r)
{
    int64_t hidden = 0;

    if (rlx_call_has(call, "hidden_size"))
        return rlx_call_int(call, "hidden_size", 0);
    if (r->rank != 3 || !rlx_expr_is_const(call->graph->exprs, r->dims[2], &hidden))
        rlx_call_fail(call, RLX_E_ONNX_NODE, "hidden_size is missing, and the weights do not tell it");
    return hidden;
}

static void parameters_set(rlx_onnx_call_t *call, rlx_op_t *op)
{
    int n;
    const float *list = rlx_call_floats(call, "activation_alpha", &n);

    rlx_call_set_floats(call, op, "alpha", list, n);
    list = rlx_call_floats(call, "activation_beta", &n);
    rlx_call_set_floats(call, op, "beta", list, n);
}

void rlx_convert_rnn_as(rlx_onnx_call_t *call, rlx_op_kind_t kind, int n_in, rlx_value_t **in)
{
    const char *direction = rlx_call_string(call, "direction", "forward");
    bool lstm = kind == RLX_OP_lstm || kind == RLX_OP_qlstm;
    int64_t hidden = hidden_read(call, in[2]);
    rlx_op_t *op;

    if (strcmp(direction, "forward") != 0 && strcmp(direction, "reverse") != 0 && strcmp(direction, "bidirectional") != 0)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "direction is '%s'; it is forward, reverse or bidirectional", direction);
    op = rlx_call_begin_results(call, kind, n_in, in, lstm ? 3 : 2);
    rlx_call_set_string(call, op, "direction", direction);
    rlx_call_set_int(call, op, "hidden_size", hidden);
    rlx_call_set_string(call, op, "activations", activations_join(call));
    parameters_set(call, op);
    rlx_call_set_float(call, op, "clip", rlx_call_float(call, "clip", 0.0f));
    rlx_call_set_int(call, op, "layout", rlx_call_int(call, "layout", 0));
    if (lstm)
        rlx_call_set_int(call, op, "input_forget", rlx_call_int(call, "input_forget", 0));
    if (kind == RLX_OP_gru)
        rlx_call_set_int(call, op, "linear_before_reset", rlx_call_int(call, "linear_before_reset", 0));
    rlx_call_end_results(call, op);
}

void rlx_convert_rnn(rlx_onnx_call_t *call) { rlx_convert_rnn_as(call, call->row->op, call->n_in, call->in); }
