/* Movement without arithmetic: transposes, slices, concatenation, splitting, padding. Attributes of old opsets become operands. */
#include "ir/onnx/convert.h"

#include <string.h>

void rlx_convert_transpose(rlx_onnx_call_t *call)
{
    int64_t reversed[RLX_RANK_MAX];
    int n, rank = call->in[0]->rank;
    const int64_t *perm = rlx_call_ints(call, "perm", &n);

    for (int i = 0; i < rank; i++)
        reversed[i] = rank - 1 - i;
    if (perm != NULL && n != rank)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "perm has %d entries; the operand has rank %d", n, rank);
    rlx_call_out(call, 0, rlx_call_transpose(call, call->in[0], perm != NULL ? perm : reversed, rank));
}

void rlx_convert_concat(rlx_onnx_call_t *call)
{
    rlx_op_t *op;

    for (int i = 0; i < call->n_in; i++)
        if (call->in[i] == NULL)
            rlx_call_fail(call, RLX_E_ONNX_NODE, "operand %d of Concat is missing", i);
    if (!rlx_call_has(call, "axis"))
        rlx_call_fail(call, RLX_E_ONNX_NODE, "attribute 'axis' is missing");
    op = rlx_call_begin(call, RLX_OP_concat, call->n_in, call->in, 1);
    rlx_call_set_int(call, op, "axis", rlx_call_int(call, "axis", 0));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* starts, ends and axes are attributes before opset 10. */
void rlx_convert_slice(rlx_onnx_call_t *call)
{
    rlx_value_t *in[5];
    int n, n_starts;
    const int64_t *starts, *ends, *axes;

    for (int i = 0; i < 5; i++)
        in[i] = rlx_call_in(call, i);
    if (call->opset < 10) {
        starts = rlx_call_ints(call, "starts", &n_starts);
        ends = rlx_call_ints(call, "ends", &n);
        if (starts == NULL || ends == NULL || n != n_starts)
            rlx_call_fail(call, RLX_E_ONNX_NODE, "starts and ends must be given and have the same length");
        in[1] = rlx_call_ints_value(call, starts, n);
        in[2] = rlx_call_ints_value(call, ends, n);
        axes = rlx_call_ints(call, "axes", &n);
        in[3] = axes != NULL ? rlx_call_ints_value(call, axes, n) : NULL;
    }
    if (rlx_call_ok(call) && (in[1] == NULL || in[2] == NULL))
        rlx_call_fail(call, RLX_E_ONNX_NODE, "starts or ends is missing");
    rlx_call_out(call, 0, rlx_call_end(call, rlx_call_begin(call, RLX_OP_slice, 5, in, 1)));
}

/* Without sizes: n equal parts (before opset 18 they must divide the extent; from 18 on the last may be smaller). */
static void split_sizes_check(rlx_onnx_call_t *call, int64_t axis)
{
    rlx_exprs_t *exprs = call->graph->exprs;
    rlx_expr_t extent, n = rlx_call_expr(call, call->n_out);
    int at;

    if (call->opset >= 18 || !rlx_call_axis(call, axis, call->in[0]->rank, &at))
        return;
    extent = rlx_call_dim(call, call->in[0], at);
    if (extent != RLX_EXPR_NONE)
        rlx_call_check(call, rlx_expr_eq(exprs, rlx_expr_mul(exprs, rlx_expr_floordiv(exprs, extent, n), n), extent),
                       "Split: the extent is no multiple of the number of parts");
}

void rlx_convert_split(rlx_onnx_call_t *call)
{
    int64_t axis = rlx_call_int(call, "axis", 0), parts = rlx_call_int(call, "num_outputs", call->n_out);
    rlx_value_t *in[2] = {call->in[0], rlx_call_in(call, 1)};
    rlx_op_t *op;
    int n;
    const int64_t *sizes = rlx_call_ints(call, "split", &n);

    if (sizes != NULL && call->opset < 13)
        in[1] = rlx_call_ints_value(call, sizes, n);
    if (parts != call->n_out)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "num_outputs is %lld, but the node has %d results", (long long)parts, call->n_out);
    if (in[1] == NULL)
        split_sizes_check(call, axis);
    op = rlx_call_begin(call, RLX_OP_split, 2, in, call->n_out); /* every part exists, named or not */
    rlx_call_set_int(call, op, "axis", axis);
    if (in[1] == NULL)
        rlx_call_set_int(call, op, "num_outputs", call->n_out);
    rlx_call_end_results(call, op);
}

/* pads and value are attributes before opset 11. */
void rlx_convert_pad(rlx_onnx_call_t *call)
{
    const char *mode = rlx_call_string(call, "mode", "constant");
    rlx_value_t *in[4];
    rlx_op_t *op;
    int n;

    for (int i = 0; i < 4; i++)
        in[i] = rlx_call_in(call, i);
    if (call->opset < 11) {
        const int64_t *pads = rlx_call_ints(call, "pads", &n);
        in[1] = pads != NULL ? rlx_call_ints_value(call, pads, n) : NULL;
        in[2] = rlx_call_scalar(call, call->in[0]->dtype, rlx_call_float(call, "value", 0));
    }
    if (in[1] == NULL)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "pads is missing");
    if (strcmp(mode, "constant") != 0 && strcmp(mode, "reflect") != 0 && strcmp(mode, "edge") != 0 && strcmp(mode, "wrap") != 0)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "mode is '%s'; it is constant, reflect, edge or wrap", mode);
    op = rlx_call_begin(call, RLX_OP_pad, 4, in, 1);
    rlx_call_set_string(call, op, "mode", mode);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_depth_to_space(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_depth_to_space, 1, call->in, 1);
    const char *mode = rlx_call_string(call, "mode", "DCR");

    if (strcmp(mode, "DCR") != 0 && strcmp(mode, "CRD") != 0)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "mode is '%s'; it is DCR or CRD", mode);
    rlx_call_set_int(call, op, "blocksize", rlx_call_int(call, "blocksize", 0));
    rlx_call_set_string(call, op, "mode", mode);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_space_to_depth(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_space_to_depth, 1, call->in, 1);

    rlx_call_set_int(call, op, "blocksize", rlx_call_int(call, "blocksize", 0));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_reverse_sequence(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_reverse_sequence, 2, call->in, 1);

    rlx_call_set_int(call, op, "batch_axis", rlx_call_int(call, "batch_axis", 1));
    rlx_call_set_int(call, op, "time_axis", rlx_call_int(call, "time_axis", 0));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_trilu(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_trilu, call->n_in, call->in, 1);

    rlx_call_set_int(call, op, "upper", rlx_call_int(call, "upper", 1));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* One axis of CenterCropPad: the middle `target` of the extent, or zeros around it; an odd remainder goes to the end. */
static rlx_value_t *axis_crop_pad(rlx_onnx_call_t *call, rlx_value_t *x, int axis, rlx_expr_t target)
{
    rlx_exprs_t *exprs = call->graph->exprs;
    rlx_expr_t zero = rlx_call_expr(call, 0), two = rlx_call_expr(call, 2), pads[2], start, missing;
    rlx_value_t *in[4];
    int64_t axis64 = axis;

    if (x == NULL || x->dims[axis] == target)
        return x;
    start = rlx_expr_floordiv(exprs, rlx_expr_max(exprs, rlx_expr_sub(exprs, x->dims[axis], target), zero), two);
    missing = rlx_expr_max(exprs, rlx_expr_sub(exprs, target, x->dims[axis]), zero);
    x = rlx_call_slice(call, x, axis, start, rlx_expr_add(exprs, start, target), 1);
    if (rlx_expr_is(exprs, missing, 0))
        return x;
    pads[0] = rlx_expr_floordiv(exprs, missing, two);
    pads[1] = rlx_expr_sub(exprs, missing, pads[0]);
    in[0] = x;
    in[1] = rlx_call_exprs_value(call, pads, 2);
    in[2] = NULL;
    in[3] = rlx_call_ints_value(call, &axis64, 1);
    return x != NULL ? rlx_call_end(call, rlx_call_begin(call, RLX_OP_pad, 4, in, 1)) : NULL;
}

void rlx_convert_center_crop_pad(rlx_onnx_call_t *call)
{
    rlx_value_t *x = call->in[0];
    int n, n_axes, axis;
    const rlx_expr_t *target = rlx_call_elements(call, 1, "shape", &n);
    const int64_t *axes = rlx_call_ints(call, "axes", &n_axes);

    if (target != NULL && (axes != NULL ? n_axes : x->rank) != n)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "shape has %d elements for %d axes", n, axes != NULL ? n_axes : x->rank);
    for (int i = 0; rlx_call_ok(call) && i < n; i++)
        if (rlx_call_axis(call, axes != NULL ? axes[i] : i, x->rank, &axis))
            x = axis_crop_pad(call, x, axis, target[i]);
    rlx_call_out(call, 0, x);
}
