/* Reductions, arg, top-k, running sums and the softmax family. */
#include "ir/onnx/convert.h"

/* Axes are an attribute before opset 18 (ReduceSum: before 13), an operand from then on. */
void rlx_convert_reduce(rlx_onnx_call_t *call)
{
    int64_t keepdims = rlx_call_int(call, "keepdims", 1), noop = rlx_call_int(call, "noop_with_empty_axes", 0);
    rlx_value_t *in[2] = {call->in[0], rlx_call_in(call, 1)};
    rlx_op_t *op;
    int n;

    if (call->opset < (call->row->op == RLX_OP_reduce_sum ? 13 : 18)) {
        const int64_t *axes = rlx_call_ints(call, "axes", &n);
        in[1] = axes != NULL && n > 0 ? rlx_call_ints_value(call, axes, n) : NULL;
    }
    op = rlx_call_begin(call, call->row->op, 2, in, 1);
    rlx_call_set_int(call, op, "keepdims", keepdims);
    rlx_call_set_int(call, op, "noop_with_empty_axes", noop);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_arg(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, call->row->op, 1, call->in, 1);

    rlx_call_set_int(call, op, "axis", rlx_call_int(call, "axis", 0));
    rlx_call_set_int(call, op, "keepdims", rlx_call_int(call, "keepdims", 1));
    rlx_call_set_int(call, op, "select_last_index", rlx_call_int(call, "select_last_index", 0));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* k is an attribute before opset 10. */
void rlx_convert_top_k(rlx_onnx_call_t *call)
{
    rlx_value_t *in[2] = {call->in[0], rlx_call_in(call, 1)};
    int64_t k = call->opset < 10 ? rlx_call_int(call, "k", 0) : 0;
    rlx_op_t *op;

    if (call->opset < 10)
        in[1] = rlx_call_ints_value(call, &k, 1);
    if (in[1] == NULL)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "operand 1 (k) of TopK is missing");
    op = rlx_call_begin(call, RLX_OP_top_k, 2, in, 2);
    rlx_call_set_int(call, op, "axis", rlx_call_int(call, "axis", -1));
    rlx_call_set_int(call, op, "largest", rlx_call_int(call, "largest", 1));
    rlx_call_set_int(call, op, "sorted", rlx_call_int(call, "sorted", 1));
    rlx_call_end_results(call, op);
}

void rlx_convert_cumulative(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, call->row->op, 2, call->in, 1);

    rlx_call_set_int(call, op, "exclusive", rlx_call_int(call, "exclusive", 0));
    rlx_call_set_int(call, op, "reverse", rlx_call_int(call, "reverse", 0));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* Before opset 13 the axes from `axis` on are one row together. */
static rlx_value_t *flattened_softmax(rlx_onnx_call_t *call, rlx_value_t *x, int axis)
{
    rlx_expr_t dims[2], original[RLX_RANK_MAX];
    rlx_value_t *flat;

    for (int i = 0; i < x->rank; i++)
        original[i] = x->dims[i];
    dims[0] = rlx_call_product(call, x, 0, axis);
    dims[1] = rlx_call_product(call, x, axis, x->rank);
    flat = rlx_call_softmax(call, call->row->op, rlx_call_reshape(call, x, dims, 2), 1);
    return flat != NULL ? rlx_call_reshape(call, flat, original, x->rank) : NULL;
}

void rlx_convert_softmax(rlx_onnx_call_t *call)
{
    rlx_value_t *x = call->in[0];
    int64_t axis64 = rlx_call_int(call, "axis", call->opset < 13 ? 1 : -1);
    int axis;

    if (!rlx_call_axis(call, axis64, x->rank, &axis))
        return;
    if (call->opset >= 13 || axis == x->rank - 1)
        rlx_call_out(call, 0, rlx_call_softmax(call, call->row->op, x, axis));
    else
        rlx_call_out(call, 0, flattened_softmax(call, x, axis));
}
