/* The call: failing, operands, and the making of ops (import.h). */
#include "ir/onnx/import.h"

#include <stdarg.h>
#include <string.h>

void *rlx_call_fail(rlx_onnx_call_t *call, rlx_error_code_t code, const char *format, ...)
{
    char text[sizeof call->diag->message];
    va_list args;

    if (call->status != RLX_OK)
        return NULL;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    call->status = rlx_fail(call->diag, code, "%s", text);
    return NULL;
}

rlx_value_t *rlx_call_in(const rlx_onnx_call_t *call, int index)
{
    return index < call->n_in ? call->in[index] : NULL;
}

void rlx_call_out(rlx_onnx_call_t *call, int index, rlx_value_t *value)
{
    if (rlx_call_wants(call, index))
        call->out[index] = value;
}

bool rlx_call_wants(const rlx_onnx_call_t *call, int index)
{
    return index < call->n_out && call->node->out[index][0] != '\0';
}

/* Named after the node, not numbered over the model: a node more or less leaves the names of others alone. */
const char *rlx_call_made_name(const rlx_onnx_call_t *call)
{
    for (int i = 0; i < call->node->n_out; i++)
        if (call->node->out[i][0] != '\0')
            return rlx_graph_printf(call->graph, "~%s", call->node->out[i]);
    return "~";
}

static rlx_op_t *op_begin(rlx_onnx_call_t *call, rlx_op_kind_t kind, int n_in, rlx_value_t *const *in, int n_out, bool wanted_only)
{
    const rlx_op_info_t *info = rlx_op_info(kind);
    rlx_value_t **out;
    rlx_op_t *op;

    if (!rlx_call_ok(call))
        return NULL;
    if (call->graph->n_ops >= RLX_GRAPH_OPS_MAX)
        return rlx_call_fail(call, RLX_E_IR_LIMIT, "the graph has more than %d operations", RLX_GRAPH_OPS_MAX);
    while (n_in > info->min_in && in[n_in - 1] == NULL)
        n_in--;
    out = rlx_graph_alloc(call->graph, (size_t)(n_out + 1) * sizeof *out);
    for (int i = 0; i < n_out; i++)
        if (!wanted_only || i == 0 || rlx_call_wants(call, i))
            out[i] = rlx_graph_value(call->graph, rlx_call_made_name(call), RLX_DTYPE_NONE);
    op = rlx_graph_op(call->graph, NULL, kind, call->node->name[0] != '\0' ? call->node->name : call->node->op_type, n_in, in, n_out, out);
    op->source = call->source;
    return op;
}

rlx_op_t *rlx_call_begin(rlx_onnx_call_t *call, rlx_op_kind_t kind, int n_in, rlx_value_t *const *in, int n_out)
{
    return op_begin(call, kind, n_in, in, n_out, false);
}

rlx_op_t *rlx_call_begin_results(rlx_onnx_call_t *call, rlx_op_kind_t kind, int n_in, rlx_value_t *const *in, int n_out)
{
    return op_begin(call, kind, n_in, in, n_out, true);
}

void rlx_call_end_results(rlx_onnx_call_t *call, rlx_op_t *op)
{
    if (rlx_call_end(call, op) == NULL)
        return;
    for (int i = 0; i < op->n_out; i++)
        rlx_call_out(call, i, op->out[i]);
}

rlx_value_t *rlx_call_end(rlx_onnx_call_t *call, rlx_op_t *op)
{
    if (op == NULL || !rlx_call_ok(call))
        return NULL;
    call->status = rlx_op_infer(call->graph, op, call->diag);
    return rlx_call_ok(call) ? op->out[0] : NULL;
}

rlx_value_t *rlx_call_op1(rlx_onnx_call_t *call, rlx_op_kind_t kind, rlx_value_t *a)
{
    return a == NULL ? NULL : rlx_call_end(call, rlx_call_begin(call, kind, 1, &a, 1));
}

rlx_value_t *rlx_call_op2(rlx_onnx_call_t *call, rlx_op_kind_t kind, rlx_value_t *a, rlx_value_t *b)
{
    rlx_value_t *in[2] = {a, b};

    return a == NULL || b == NULL ? NULL : rlx_call_end(call, rlx_call_begin(call, kind, 2, in, 1));
}

rlx_value_t *rlx_call_op3(rlx_onnx_call_t *call, rlx_op_kind_t kind, rlx_value_t *a, rlx_value_t *b, rlx_value_t *c)
{
    rlx_value_t *in[3] = {a, b, c};

    return a == NULL ? NULL : rlx_call_end(call, rlx_call_begin(call, kind, 3, in, 1));
}

void rlx_call_set_int(rlx_onnx_call_t *call, rlx_op_t *op, const char *name, int64_t value)
{
    if (op != NULL)
        rlx_op_set_int(call->graph, op, name, value);
}

void rlx_call_set_float(rlx_onnx_call_t *call, rlx_op_t *op, const char *name, float value)
{
    if (op != NULL)
        rlx_op_set_float(call->graph, op, name, value);
}

void rlx_call_set_string(rlx_onnx_call_t *call, rlx_op_t *op, const char *name, const char *value)
{
    if (op != NULL && value != NULL)
        rlx_op_set_string(call->graph, op, name, value);
}

void rlx_call_set_ints(rlx_onnx_call_t *call, rlx_op_t *op, const char *name, const int64_t *values, int n)
{
    if (op != NULL && values != NULL)
        rlx_op_set_ints(call->graph, op, name, values, n);
}

void rlx_call_set_floats(rlx_onnx_call_t *call, rlx_op_t *op, const char *name, const float *values, int n)
{
    if (op != NULL && values != NULL)
        rlx_op_set_floats(call->graph, op, name, values, n);
}
