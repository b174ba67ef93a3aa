/* Operators that change the shape only: each becomes a reshape whose extents are worked out here. */
#include "ir/onnx/convert.h"

#include <string.h>

void rlx_convert_reshape(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_reshape, 2, call->in, 1);

    rlx_call_set_int(call, op, "allowzero", rlx_call_int(call, "allowzero", 0));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_flatten(rlx_onnx_call_t *call)
{
    rlx_value_t *x = call->in[0];
    int64_t axis = rlx_call_int(call, "axis", 1);
    rlx_expr_t dims[2];

    if (axis < -(int64_t)x->rank || axis > x->rank) {
        rlx_call_fail(call, RLX_E_ONNX_NODE, "axis %lld is outside [%d, %d]", (long long)axis, -x->rank, x->rank);
        return;
    }
    axis += axis < 0 ? x->rank : 0;
    dims[0] = rlx_call_product(call, x, 0, (int)axis);
    dims[1] = rlx_call_product(call, x, (int)axis, x->rank);
    rlx_call_out(call, 0, rlx_call_reshape(call, x, dims, 2));
}

/* Axes by attribute (before opset 13) or operand, as a bit set over `rank`. False when none are given or the call failed. */
static bool axes_take(rlx_onnx_call_t *call, int rank, unsigned *out_set)
{
    int64_t known[RLX_RANK_MAX];
    const int64_t *axes = known;
    int n = 0, axis;

    *out_set = 0;
    if (call->opset < 13) {
        axes = rlx_call_ints(call, "axes", &n);
    } else if (rlx_call_in(call, 1) == NULL) {
        axes = NULL;
    } else {
        n = rlx_call_known(call, 1, "axes", known, RLX_RANK_MAX);
    }
    if (axes == NULL)
        return false;
    for (int i = 0; i < n; i++) {
        if (!rlx_call_axis(call, axes[i], rank, &axis))
            return false;
        if (*out_set >> axis & 1)
            rlx_call_fail(call, RLX_E_ONNX_NODE, "axis %d stands twice in axes", axis);
        *out_set |= 1u << axis;
    }
    return rlx_call_ok(call);
}

/* Without axes: every extent that is 1. An open extent could be 1 in one request and not in the next. */
static void ones_find(rlx_onnx_call_t *call, const rlx_value_t *x, unsigned *out_set)
{
    int64_t extent;

    for (int i = 0; i < x->rank; i++) {
        if (!rlx_expr_is_const(call->graph->exprs, x->dims[i], &extent))
            rlx_call_fail(call, RLX_E_SHAPE_UNKNOWN, "Squeeze without axes on '%s', whose axis %d is open: the rank would depend on the request", x->name, i);
        else if (extent == 1)
            *out_set |= 1u << i;
    }
}

void rlx_convert_squeeze(rlx_onnx_call_t *call)
{
    rlx_value_t *x = call->in[0];
    rlx_expr_t dims[RLX_RANK_MAX];
    unsigned set;
    int n = 0;

    if (!axes_take(call, x->rank, &set) && rlx_call_ok(call))
        ones_find(call, x, &set);
    for (int i = 0; i < x->rank; i++) {
        if (!(set >> i & 1))
            dims[n++] = x->dims[i];
        else if (x->dims[i] != RLX_EXPR_NONE)
            rlx_call_check(call, rlx_expr_eq(call->graph->exprs, x->dims[i], rlx_call_expr(call, 1)), "Squeeze: an extent to be removed is not 1");
    }
    rlx_call_out(call, 0, rlx_call_reshape(call, x, dims, n));
}

void rlx_convert_unsqueeze(rlx_onnx_call_t *call)
{
    rlx_value_t *x = call->in[0];
    rlx_expr_t dims[RLX_RANK_MAX];
    int64_t known[RLX_RANK_MAX];
    unsigned set;
    int n = 0, rank, from = 0;

    if (call->opset < 13)
        rlx_call_ints(call, "axes", &n);
    else
        n = rlx_call_known(call, 1, "axes", known, RLX_RANK_MAX);
    if (!rlx_call_ok(call))
        return;
    rank = x->rank + n;
    if (rank > RLX_RANK_MAX) {
        rlx_call_fail(call, RLX_E_IR_LIMIT, "the result has rank %d; the limit is %d", rank, RLX_RANK_MAX);
        return;
    }
    if (!axes_take(call, rank, &set)) {
        rlx_call_fail(call, RLX_E_ONNX_NODE, "axes is missing");
        return;
    }
    for (int i = 0; i < rank; i++)
        dims[i] = set >> i & 1 ? rlx_call_expr(call, 1) : x->dims[from++];
    rlx_call_out(call, 0, rlx_call_reshape(call, x, dims, rank));
}

/* Identity in inference; the mask is all true. */
void rlx_convert_dropout(rlx_onnx_call_t *call)
{
    rlx_value_t *training = rlx_call_in(call, 2), *mask = NULL;
    int64_t known[1] = {0};
    uint8_t yes = 1;

    rlx_call_ignore(call, "ratio");
    rlx_call_ignore(call, "seed");
    if (rlx_call_int(call, "is_test", 1) == 0 && call->opset < 7)
        rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "Dropout in training mode is not supported");
    if (training != NULL && rlx_call_known(call, 2, "training_mode", known, 1) == 1 && known[0] != 0)
        rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "Dropout in training mode is not supported");
    rlx_call_out(call, 0, call->in[0]);
    if (!rlx_call_wants(call, 1) || !rlx_call_ok(call))
        return;
    /* Before opset 10 the mask has the type of the data. */
    mask = rlx_graph_const(call->graph, "~mask", RLX_BOOL, 0, NULL, &yes, false);
    if (call->opset < 10)
        mask = rlx_call_cast(call, mask, call->in[0]->dtype);
    rlx_call_out(call, 1, rlx_call_expand(call, mask, call->in[0]->dims, call->in[0]->rank));
}
