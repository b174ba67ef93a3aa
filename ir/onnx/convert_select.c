/* Operators whose extents depend on data: NonZero, Compress, Unique, NonMaxSuppression. Each counts what it finds first; the count, an
 * ordinary integer value, is the extent of what follows, which belongs to the next region (ir/pass/regions.h). */
#include "ir/onnx/convert.h"

#define AXIS_ABSENT INT32_MAX

/* All elements are known numbers, few enough to follow. */
static bool is_known(rlx_onnx_call_t *call, const rlx_value_t *x)
{
    int64_t ignored[RLX_ELEMENTS_MAX], count;
    int n;

    if (rlx_value_ints(call->graph, x, ignored, RLX_ELEMENTS_MAX, &n))
        return n * (x->rank > 0 ? x->rank : 1) <= RLX_ELEMENTS_MAX;
    return x->data != NULL && rlx_expr_is_const(call->graph->exprs, rlx_value_count(call->graph, x), &count) &&
           count * (x->rank > 0 ? x->rank : 1) <= RLX_ELEMENTS_MAX;
}

static rlx_value_t *non_zero(rlx_onnx_call_t *call, rlx_value_t *x)
{
    rlx_value_t *count;

    x = rlx_call_const_resolve(call, x);
    if (x == NULL || is_known(call, x))
        return rlx_call_op1(call, RLX_OP_non_zero, x);
    count = rlx_call_op1(call, RLX_OP_count_non_zero, x);
    return rlx_call_op2(call, RLX_OP_non_zero, x, count);
}

void rlx_convert_non_zero(rlx_onnx_call_t *call)
{
    rlx_call_out(call, 0, non_zero(call, call->in[0]));
}

static rlx_value_t *flattened(rlx_onnx_call_t *call, rlx_value_t *x)
{
    rlx_expr_t count = rlx_call_product(call, x, 0, x->rank);

    return rlx_call_reshape(call, x, &count, 1);
}

static rlx_value_t *gather(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t *indices, int axis)
{
    rlx_value_t *in[2] = {x, indices};
    rlx_op_t *op;

    if (x == NULL || indices == NULL)
        return NULL;
    op = rlx_call_begin(call, RLX_OP_gather, 2, in, 1);
    rlx_call_set_int(call, op, "axis", axis);
    return rlx_call_end(call, op);
}

/* The slices whose condition holds. A condition longer than the axis may only be false behind its end. */
void rlx_convert_compress(rlx_onnx_call_t *call)
{
    int64_t given = rlx_call_int(call, "axis", AXIS_ABSENT);
    rlx_value_t *x = call->in[0], *found;
    int axis = 0;

    if (call->in[1]->rank != 1) {
        rlx_call_fail(call, RLX_E_ONNX_NODE, "the condition has rank %d, not 1", call->in[1]->rank);
        return;
    }
    if (given == AXIS_ABSENT)
        x = flattened(call, x);
    else if (!rlx_call_axis(call, given, x->rank, &axis))
        return;
    found = non_zero(call, call->in[1]);
    if (found != NULL)
        found = rlx_call_reshape(call, found, &found->dims[1], 1);
    rlx_call_out(call, 0, gather(call, x, found, axis));
}

/* The first `found` elements of a vector. */
static rlx_value_t *head(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t *found)
{
    const int64_t zero = 0;
    rlx_value_t *in[4] = {x, rlx_call_ints_value(call, &zero, 1), found, rlx_call_ints_value(call, &zero, 1)};

    return rlx_call_end(call, rlx_call_begin(call, RLX_OP_slice, 4, in, 1));
}

void rlx_convert_unique(rlx_onnx_call_t *call)
{
    int64_t given = rlx_call_int(call, "axis", AXIS_ABSENT);
    rlx_value_t *x = call->in[0], *first;
    int axis = 0;
    rlx_op_t *op;

    if (given == AXIS_ABSENT)
        x = flattened(call, x);
    else if (!rlx_call_axis(call, given, x->rank, &axis))
        return;
    if (x == NULL)
        return;
    op = rlx_call_begin(call, RLX_OP_unique, 1, &x, 4);
    rlx_call_set_int(call, op, "axis", axis);
    rlx_call_set_int(call, op, "sorted", rlx_call_int(call, "sorted", 1));
    if (rlx_call_end(call, op) == NULL)
        return;
    first = head(call, op->out[0], op->out[3]);
    rlx_call_out(call, 0, gather(call, x, first, axis));
    rlx_call_out(call, 1, first);
    rlx_call_out(call, 2, op->out[1]);
    if (rlx_call_wants(call, 3))
        rlx_call_out(call, 3, head(call, op->out[2], op->out[3]));
}

void rlx_convert_nms(rlx_onnx_call_t *call)
{
    const int64_t axis = 0;
    rlx_value_t *in[4];
    rlx_op_t *op;

    for (int i = 2; i < call->n_in; i++)
        call->in[i] = rlx_call_const_resolve(call, call->in[i]);
    op = rlx_call_begin(call, RLX_OP_non_max_suppression, call->n_in, call->in, 2);
    rlx_call_set_int(call, op, "center_point_box", rlx_call_int(call, "center_point_box", 0));
    if (rlx_call_end(call, op) == NULL)
        return;
    in[0] = op->out[0];
    in[1] = op->out[1];
    in[2] = rlx_call_reduce(call, RLX_OP_reduce_sum, op->out[1], &axis, 1, true);
    in[3] = call->in[1];
    rlx_call_out(call, 0, rlx_call_end(call, rlx_call_begin(call, RLX_OP_nms_rows, 4, in, 1)));
}
