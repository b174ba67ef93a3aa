/* Convolutions and pools. Windows are read once (window.h); auto_pad becomes expressions in op->pads. */
#include "ir/onnx/window.h"

#include <string.h>

#include "ir/onnx/convert.h"

rlx_op_t *rlx_call_conv_begin(rlx_onnx_call_t *call, rlx_op_kind_t kind, rlx_value_t *const *in, int n_in)
{
    rlx_onnx_window_t window;
    rlx_op_t *op;

    if (!rlx_window_read(call, in[0], in[1], &window))
        return NULL;
    op = rlx_call_begin(call, kind, n_in, in, 1);
    rlx_call_set_ints(call, op, "strides", window.strides, window.n);
    rlx_call_set_ints(call, op, "dilations", window.dilations, window.n);
    rlx_call_set_int(call, op, "group", rlx_call_int(call, "group", 1));
    rlx_window_pads(call, in[0], &window, op);
    return op;
}

rlx_value_t *rlx_call_conv(rlx_onnx_call_t *call, rlx_value_t *const *in, int n_in)
{
    return rlx_call_end(call, rlx_call_conv_begin(call, RLX_OP_conv, in, n_in));
}

void rlx_convert_conv(rlx_onnx_call_t *call)
{
    rlx_call_out(call, 0, rlx_call_conv(call, call->in, call->n_in));
}

void rlx_convert_deform_conv(rlx_onnx_call_t *call)
{
    rlx_onnx_window_t window;
    rlx_op_t *op;

    if (!rlx_window_read(call, call->in[0], call->in[1], &window))
        return;
    op = rlx_call_begin(call, RLX_OP_deform_conv, call->n_in, call->in, 1);
    rlx_call_set_ints(call, op, "strides", window.strides, window.n);
    rlx_call_set_ints(call, op, "dilations", window.dilations, window.n);
    rlx_call_set_int(call, op, "group", rlx_call_int(call, "group", 1));
    rlx_call_set_int(call, op, "offset_group", rlx_call_int(call, "offset_group", 1));
    rlx_window_pads(call, call->in[0], &window, op);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* One axis of a transposed convolution: pads such that the result has the wanted extent. A result larger than the natural one is met by
 * more output padding where that is a number, else by a negative pad at the end. */
static void transpose_axis_pads(rlx_onnx_call_t *call, const rlx_onnx_window_t *window, int axis, rlx_expr_t extent, rlx_expr_t wanted,
                                int64_t *output_padding, rlx_expr_t *begin, rlx_expr_t *end)
{
    rlx_exprs_t *exprs = call->graph->exprs;
    rlx_expr_t total, one = rlx_call_expr(call, 1);
    bool upper = window->auto_pad == RLX_PAD_SAME_UPPER;
    int64_t known;

    total = rlx_expr_mul(exprs, rlx_call_expr(call, window->strides[axis]), rlx_expr_sub(exprs, extent, one));
    total = rlx_expr_add(exprs, total, rlx_call_expr(call, output_padding[axis]));
    total = rlx_expr_sub(exprs, rlx_expr_add(exprs, total, rlx_window_reach(call, window, axis)), wanted);
    if (rlx_expr_is_const(exprs, total, &known) && known < 0) {
        output_padding[axis] -= known;
        total = rlx_call_expr(call, 0);
    }
    rlx_window_halve(call, total, !upper, begin, end);
}

static bool output_shape_read(rlx_onnx_call_t *call, int n, const int64_t **out_shape)
{
    int n_shape;

    *out_shape = rlx_call_ints(call, "output_shape", &n_shape);
    if (*out_shape == NULL)
        return rlx_call_ok(call);
    if (n_shape == n + 2) /* old exporters wrote batch and channel too */
        *out_shape += 2;
    else if (n_shape != n)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "output_shape has %d entries; %d are needed", n_shape, n);
    return rlx_call_ok(call);
}

static void transpose_pads(rlx_onnx_call_t *call, const rlx_onnx_window_t *window, const int64_t *shape, int64_t *output_padding,
                           rlx_op_t *op)
{
    rlx_exprs_t *exprs = call->graph->exprs;
    bool same = window->auto_pad == RLX_PAD_SAME_UPPER || window->auto_pad == RLX_PAD_SAME_LOWER;

    rlx_window_pads(call, call->in[0], window, op);
    for (int i = 0; i < window->n && op != NULL && (shape != NULL || same); i++) {
        rlx_expr_t extent = call->in[0]->dims[i + 2];
        rlx_expr_t wanted =
            shape != NULL ? rlx_call_expr(call, shape[i]) : rlx_expr_mul(exprs, extent, rlx_call_expr(call, window->strides[i]));

        transpose_axis_pads(call, window, i, extent, wanted, output_padding, &op->pads[i], &op->pads[i + window->n]);
    }
}

void rlx_convert_conv_transpose(rlx_onnx_call_t *call)
{
    rlx_onnx_window_t window;
    int64_t output_padding[RLX_SPATIAL_MAX] = {0};
    const int64_t *shape, *given;
    rlx_op_t *op;
    int n;

    if (!rlx_window_read(call, call->in[0], call->in[1], &window) || !output_shape_read(call, window.n, &shape))
        return;
    given = rlx_call_ints(call, "output_padding", &n);
    if (given != NULL && n != window.n)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "output_padding has %d entries; %d are needed", n, window.n);
    for (int i = 0; given != NULL && rlx_call_ok(call) && i < n; i++)
        output_padding[i] = given[i];
    op = rlx_call_begin(call, RLX_OP_conv_transpose, call->n_in, call->in, 1);
    transpose_pads(call, &window, shape, output_padding, op);
    rlx_call_set_ints(call, op, "strides", window.strides, window.n);
    rlx_call_set_ints(call, op, "dilations", window.dilations, window.n);
    rlx_call_set_ints(call, op, "output_padding", output_padding, window.n);
    rlx_call_set_int(call, op, "group", rlx_call_int(call, "group", 1));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

static void pool_attrs(rlx_onnx_call_t *call, rlx_op_t *op, bool auto_pad)
{
    int64_t ceil_mode = rlx_call_int(call, "ceil_mode", 0);

    rlx_call_set_int(call, op, "ceil_mode", auto_pad ? 0 : ceil_mode);
    if (call->row->op == RLX_OP_max_pool)
        rlx_call_set_int(call, op, "storage_order", rlx_call_int(call, "storage_order", 0));
    if (call->row->op == RLX_OP_avg_pool)
        rlx_call_set_int(call, op, "count_include_pad", rlx_call_int(call, "count_include_pad", 0));
    if (call->row->op == RLX_OP_lp_pool)
        rlx_call_set_int(call, op, "p", rlx_call_int(call, "p", 2));
}

/* AveragePool, LpPool, MaxPool. */
void rlx_convert_pool(rlx_onnx_call_t *call)
{
    rlx_onnx_window_t window;
    int64_t kernel[RLX_SPATIAL_MAX];
    rlx_op_t *op;

    if (!rlx_window_read(call, call->in[0], NULL, &window) || !rlx_window_kernel(call, &window, kernel))
        return;
    op = rlx_call_begin_results(call, call->row->op, 1, call->in, call->row->op == RLX_OP_max_pool ? 2 : 1);
    rlx_call_set_ints(call, op, "kernel", kernel, window.n);
    rlx_call_set_ints(call, op, "strides", window.strides, window.n);
    rlx_call_set_ints(call, op, "dilations", window.dilations, window.n);
    pool_attrs(call, op, window.auto_pad != RLX_PAD_NOTSET);
    rlx_window_pads(call, call->in[0], &window, op);
    rlx_call_end_results(call, op);
}

void rlx_convert_max_unpool(rlx_onnx_call_t *call)
{
    rlx_onnx_window_t window;
    int64_t kernel[RLX_SPATIAL_MAX];
    rlx_op_t *op;

    if (!rlx_window_read(call, call->in[0], NULL, &window) || !rlx_window_kernel(call, &window, kernel))
        return;
    op = rlx_call_begin(call, RLX_OP_max_unpool, call->n_in, call->in, 1);
    rlx_call_set_ints(call, op, "kernel", kernel, window.n);
    rlx_call_set_ints(call, op, "strides", window.strides, window.n);
    rlx_window_pads(call, call->in[0], &window, op);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* The spatial rank is the length of image_shape. */
void rlx_convert_col2im(rlx_onnx_call_t *call)
{
    rlx_onnx_window_t window = {0};
    int n, n_given;
    rlx_op_t *op;

    if (rlx_call_elements(call, 1, "image_shape", &n) == NULL)
        return;
    if (n < 1 || n > RLX_SPATIAL_MAX) {
        rlx_call_fail(call, RLX_E_ONNX_NODE, "image_shape has %d elements; 1 to %d are possible", n, RLX_SPATIAL_MAX);
        return;
    }
    window.n = n;
    for (int k = 0; k < 3; k++) {
        static const char *const names[] = {"strides", "dilations", "pads"};
        int64_t *const lists[] = {window.strides, window.dilations, window.pads};
        const int64_t *given = rlx_call_ints(call, names[k], &n_given);

        for (int i = 0; i < (k == 2 ? 2 * n : n); i++)
            lists[k][i] = given != NULL && i < n_given ? given[i] : k != 2;
        if (given != NULL && n_given != (k == 2 ? 2 * n : n))
            rlx_call_fail(call, RLX_E_ONNX_NODE, "attribute '%s' has %d entries for %d spatial axes", names[k], n_given, n);
    }
    op = rlx_call_begin(call, RLX_OP_col2im, 3, call->in, 1);
    rlx_call_set_ints(call, op, "strides", window.strides, n);
    rlx_call_set_ints(call, op, "dilations", window.dilations, n);
    rlx_window_pads(call, call->in[0], &window, op);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

static int spatial_axes(rlx_onnx_call_t *call, int64_t *out_axes)
{
    int rank = call->in[0]->rank;

    if (rank < 2)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "'%s' has rank %d; at least 2 is needed", call->in[0]->name, rank);
    for (int i = 2; i < rank; i++)
        out_axes[i - 2] = i;
    return rank > 2 ? rank - 2 : 0;
}

/* GlobalAveragePool, GlobalMaxPool: a reduction over the spatial axes; without any, the operand itself. */
void rlx_convert_global_pool(rlx_onnx_call_t *call)
{
    int64_t axes[RLX_RANK_MAX];
    int n = spatial_axes(call, axes);

    rlx_call_out(call, 0, n == 0 ? call->in[0] : rlx_call_reduce(call, call->row->op, call->in[0], axes, n, true));
}

void rlx_convert_global_lp_pool(rlx_onnx_call_t *call)
{
    int64_t axes[RLX_RANK_MAX], p = rlx_call_int(call, "p", 2);
    rlx_value_t *x = call->in[0], *sum;
    int n = spatial_axes(call, axes);

    if (p < 1)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "p is %lld; it is at least 1", (long long)p);
    if (!rlx_call_ok(call))
        return;
    if (p <= 2) {
        rlx_call_out(call, 0, rlx_call_reduce(call, p == 1 ? RLX_OP_reduce_l1 : RLX_OP_reduce_l2, x, axes, n, true));
        return;
    }
    sum = rlx_call_op2(call, RLX_OP_pow, rlx_call_op1(call, RLX_OP_abs, x), rlx_call_scalar(call, x->dtype, (double)p));
    sum = rlx_call_reduce(call, RLX_OP_reduce_sum, sum, axes, n, true);
    rlx_call_out(call, 0, rlx_call_op2(call, RLX_OP_pow, sum, rlx_call_scalar(call, x->dtype, 1.0 / (double)p)));
}
