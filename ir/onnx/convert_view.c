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

/* The axes of Squeeze or Unsqueeze by attribute (before opset 13) or operand: of `rank` places, on[i] is 1 where an axis stands, else 0.
 * Axes that arrive with the request give expressions. False when none are given or the call failed. */
static bool axes_take(rlx_onnx_call_t *call, int rank, int *out_n, rlx_expr_t *on)
{
    rlx_exprs_t *exprs = call->graph->exprs;
    rlx_expr_t zero = rlx_call_expr(call, 0), extent = rlx_call_expr(call, rank), count = zero;
    const rlx_expr_t *axes = NULL;
    rlx_expr_t listed[RLX_RANK_MAX];
    int n = 0;

    if (call->opset < 13) {
        const int64_t *list = rlx_call_ints(call, "axes", &n);

        for (int i = 0; list != NULL && i < n && i < RLX_RANK_MAX; i++)
            listed[i] = rlx_call_expr(call, list[i]);
        axes = list != NULL ? listed : NULL;
    } else if (rlx_call_in(call, 1) != NULL) {
        axes = rlx_call_elements(call, 1, "axes", &n);
    }
    *out_n = n;
    if (axes == NULL || n > RLX_RANK_MAX) {
        if (n > RLX_RANK_MAX)
            rlx_call_fail(call, RLX_E_ONNX_NODE, "axes has %d entries; at most %d are possible", n, RLX_RANK_MAX);
        return false;
    }
    for (int i = 0; i < rank; i++) {
        on[i] = zero;
        for (int k = 0; k < n; k++) {
            rlx_expr_t axis = rlx_expr_select(exprs, rlx_expr_lt(exprs, axes[k], zero), rlx_expr_add(exprs, axes[k], extent), axes[k]);

            on[i] = rlx_expr_max(exprs, on[i], rlx_expr_eq(exprs, axis, rlx_call_expr(call, i)));
        }
        count = rlx_expr_add(exprs, count, on[i]);
    }
    rlx_call_check(call, rlx_expr_eq(exprs, count, rlx_call_expr(call, n)), "an axis in axes is out of range or stands twice");
    return rlx_call_ok(call);
}

/* Without axes: every extent that is 1. An open extent could be 1 in one request and not in the next, and then the rank would be another: it
 * is kept, and a request where it is 1 is refused. */
static void ones_find(rlx_onnx_call_t *call, const rlx_value_t *x, int *out_n, rlx_expr_t *on)
{
    int64_t extent;

    *out_n = 0;
    for (int i = 0; i < x->rank; i++) {
        if (!rlx_expr_is_const(call->graph->exprs, x->dims[i], &extent)) {
            rlx_expr_t one = rlx_expr_eq(call->graph->exprs, x->dims[i], rlx_call_expr(call, 1));

            rlx_call_check(call, rlx_expr_eq(call->graph->exprs, one, rlx_call_expr(call, 0)),
                           rlx_graph_printf(call->graph, "%s: Squeeze without axes meets an open extent that is 1 (axis %d): the rank would depend "
                                                         "on the request", call->source, i));
            on[i] = rlx_call_expr(call, 0);
            continue;
        }
        on[i] = rlx_call_expr(call, extent == 1);
        *out_n += extent == 1;
    }
}

void rlx_convert_squeeze(rlx_onnx_call_t *call)
{
    rlx_exprs_t *exprs = call->graph->exprs;
    rlx_value_t *x = call->in[0];
    rlx_expr_t dims[RLX_RANK_MAX], on[RLX_RANK_MAX], one = rlx_call_expr(call, 1), place = rlx_call_expr(call, 0);
    int n;

    if (!axes_take(call, x->rank, &n, on) && rlx_call_ok(call))
        ones_find(call, x, &n, on);
    if (!rlx_call_ok(call))
        return;
    for (int k = 0; k < x->rank - n; k++)
        dims[k] = one;
    /* Axis i goes to place `place` = number of kept axes before it. */
    for (int i = 0; i < x->rank; i++) {
        rlx_expr_t kept = rlx_expr_sub(exprs, one, on[i]);

        if (x->dims[i] != RLX_EXPR_NONE)
            rlx_call_check(call, rlx_expr_select(exprs, on[i], rlx_expr_eq(exprs, x->dims[i], one), one),
                           "Squeeze: an extent to be removed is not 1");
        for (int k = 0; k < x->rank - n; k++)
            dims[k] =
                rlx_expr_select(exprs, rlx_expr_min(exprs, kept, rlx_expr_eq(exprs, place, rlx_call_expr(call, k))), x->dims[i], dims[k]);
        place = rlx_expr_add(exprs, place, kept);
    }
    rlx_call_out(call, 0, rlx_call_reshape(call, x, dims, x->rank - n));
}

void rlx_convert_unsqueeze(rlx_onnx_call_t *call)
{
    rlx_exprs_t *exprs = call->graph->exprs;
    rlx_value_t *x = call->in[0];
    rlx_expr_t dims[RLX_RANK_MAX], on[RLX_RANK_MAX], one = rlx_call_expr(call, 1), from = rlx_call_expr(call, 0);
    int n = 0, rank;

    if (call->opset < 13)
        rlx_call_ints(call, "axes", &n);
    else
        rlx_call_elements(call, 1, "axes", &n);
    if (!rlx_call_ok(call))
        return;
    rank = x->rank + n;
    if (rank > RLX_RANK_MAX) {
        rlx_call_fail(call, RLX_E_IR_LIMIT, "the result has rank %d; the limit is %d", rank, RLX_RANK_MAX);
        return;
    }
    if (!axes_take(call, rank, &n, on)) {
        rlx_call_fail(call, RLX_E_ONNX_NODE, "axes is missing");
        return;
    }
    for (int i = 0; i < rank; i++) {
        dims[i] = one;
        for (int k = 0; k < x->rank; k++)
            dims[i] = rlx_expr_select(exprs, rlx_expr_eq(exprs, from, rlx_call_expr(call, k)), x->dims[k], dims[i]);
        dims[i] = rlx_expr_select(exprs, on[i], one, dims[i]);
        from = rlx_expr_add(exprs, from, rlx_expr_sub(exprs, one, on[i]));
    }
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
