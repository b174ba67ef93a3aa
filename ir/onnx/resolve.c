/* Constants behind arithmetic: an operand that must be known at import may be written as a chain of nodes over constants (old exporters
 * work out the scales of Resize so). The chain is evaluated by the reference kernels, as folding would do later. */
#include "ir/builder.h"
#include "ir/onnx/import.h"

#define RESOLVE_DEPTH_MAX 64
#define RESOLVE_BYTES_MAX 65536

static rlx_value_t *resolve(rlx_onnx_call_t *call, rlx_value_t *value, int depth);

static rlx_value_t *elements_const(rlx_onnx_call_t *call, const rlx_value_t *value)
{
    int64_t ints[RLX_ELEMENTS_MAX], dims[RLX_RANK_MAX];
    int32_t narrow[RLX_ELEMENTS_MAX];
    int n;

    if ((value->dtype != RLX_I64 && value->dtype != RLX_I32) || !rlx_value_dims_const(call->graph, value, dims) ||
        !rlx_value_ints(call->graph, value, ints, RLX_ELEMENTS_MAX, &n))
        return NULL;
    for (int i = 0; i < n; i++)
        narrow[i] = (int32_t)ints[i];
    return rlx_graph_const(call->graph, "~known", value->dtype, value->rank, dims, value->dtype == RLX_I64 ? (void *)ints : (void *)narrow,
                           false);
}

static bool operands_resolve(rlx_onnx_call_t *call, rlx_op_t *op, int depth)
{
    for (int i = 0; i < op->n_in; i++) {
        rlx_value_t *operand = op->in[i] != NULL ? resolve(call, op->in[i], depth + 1) : NULL;

        if (op->in[i] == NULL)
            continue;
        if (operand == NULL || !rlx_value_is_const(operand))
            return false;
        rlx_op_set_input(op, i, operand);
    }
    return op->n_in > 0;
}

static rlx_value_t *evaluated(rlx_onnx_call_t *call, rlx_value_t *value)
{
    int64_t dims[RLX_RANK_MAX], bytes;
    rlx_op_t *op = value->producer;
    void **data;

    if (!rlx_expr_is_const(call->graph->exprs, rlx_value_bytes(call->graph, value), &bytes) || bytes > RESOLVE_BYTES_MAX)
        return value;
    data = rlx_graph_alloc(call->graph, (size_t)(op->n_out + 1) * sizeof *data);
    call->status = rlx_evaluate_op(call->graph, op, data, call->diag);
    for (int i = 0; rlx_call_ok(call) && i < op->n_out; i++)
        if (op->out[i] == value && rlx_value_dims_const(call->graph, value, dims))
            return rlx_graph_const(call->graph, "~known", value->dtype, value->rank, dims, data[i], true);
    return rlx_call_ok(call) ? value : NULL;
}

static rlx_value_t *resolve(rlx_onnx_call_t *call, rlx_value_t *value, int depth)
{
    rlx_value_t *known;

    if (rlx_value_is_const(value) || !rlx_call_ok(call))
        return value;
    known = elements_const(call, value);
    if (known != NULL)
        return known;
    if (value->producer == NULL || depth > RESOLVE_DEPTH_MAX || !operands_resolve(call, value->producer, depth))
        return value;
    return evaluated(call, value);
}

rlx_value_t *rlx_call_const_resolve(rlx_onnx_call_t *call, rlx_value_t *value)
{
    return value != NULL ? resolve(call, value, 0) : NULL;
}
