/* The window of a convolution or pool (window.h). */
#include "ir/onnx/window.h"

#include <string.h>

#define WINDOW_MAX INT64_C(0x7fffffff)

static bool ints_read(rlx_onnx_call_t *call, const char *name, int expected, int64_t fallback, int64_t min, int64_t *out)
{
    int n;
    const int64_t *values = rlx_call_ints(call, name, &n);

    for (int i = 0; i < expected; i++)
        out[i] = fallback;
    if (values == NULL)
        return rlx_call_ok(call);
    if (n != expected) {
        rlx_call_fail(call, RLX_E_ONNX_NODE, "attribute '%s' has %d entries; %d are needed", name, n, expected);
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (values[i] < min || values[i] > WINDOW_MAX)
            rlx_call_fail(call, RLX_E_ONNX_NODE, "attribute '%s' holds %lld; it is at least %lld and below 2^31", name,
                          (long long)values[i], (long long)min);
        out[i] = values[i];
    }
    return rlx_call_ok(call);
}

static rlx_auto_pad_t auto_pad_read(rlx_onnx_call_t *call)
{
    static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    const char *text = rlx_call_string(call, "auto_pad", "NOTSET");

    for (int i = 0; i < 4; i++)
        if (strcmp(names[i], text) == 0)
            return (rlx_auto_pad_t)i;
    if (text[0] != '\0')
        rlx_call_fail(call, RLX_E_ONNX_NODE, "auto_pad is '%s'; it is NOTSET, VALID, SAME_UPPER or SAME_LOWER", text);
    return RLX_PAD_NOTSET;
}

static void kernel_read(rlx_onnx_call_t *call, const rlx_value_t *weights, rlx_onnx_window_t *window)
{
    int64_t kernel[RLX_SPATIAL_MAX], known;
    bool given = rlx_call_has(call, "kernel_shape");

    if (!given && weights == NULL) {
        rlx_call_fail(call, RLX_E_ONNX_NODE, "attribute 'kernel_shape' is missing");
        return;
    }
    if (!ints_read(call, "kernel_shape", window->n, 1, 1, kernel))
        return;
    for (int i = 0; i < window->n; i++) {
        rlx_expr_t extent = weights != NULL ? rlx_call_dim(call, weights, i + 2) : RLX_EXPR_NONE;

        window->kernel[i] = given || weights == NULL ? rlx_call_expr(call, kernel[i]) : extent;
        if (given && rlx_call_ok(call) && extent != RLX_EXPR_NONE && rlx_expr_is_const(call->graph->exprs, extent, &known) &&
            known != kernel[i])
            rlx_call_fail(call, RLX_E_ONNX_NODE, "kernel_shape says %lld on spatial axis %d; the weights have %lld", (long long)kernel[i],
                          i, (long long)known);
    }
}

bool rlx_window_read(rlx_onnx_call_t *call, const rlx_value_t *x, const rlx_value_t *weights, rlx_onnx_window_t *out_window)
{
    memset(out_window, 0, sizeof *out_window);
    out_window->n = x->rank - 2;
    if (out_window->n < 1) {
        rlx_call_fail(call, RLX_E_ONNX_NODE, "'%s' has rank %d; batch, channel and at least one spatial axis are needed", x->name,
                      x->rank);
        return false;
    }
    out_window->auto_pad = auto_pad_read(call);
    if (!ints_read(call, "strides", out_window->n, 1, 1, out_window->strides) ||
        !ints_read(call, "dilations", out_window->n, 1, 1, out_window->dilations) ||
        !ints_read(call, "pads", 2 * out_window->n, 0, 0, out_window->pads))
        return false;
    if (out_window->auto_pad != RLX_PAD_NOTSET)
        memset(out_window->pads, 0, sizeof out_window->pads);
    kernel_read(call, weights, out_window);
    return rlx_call_ok(call);
}

rlx_expr_t rlx_window_reach(rlx_onnx_call_t *call, const rlx_onnx_window_t *window, int axis)
{
    rlx_exprs_t *exprs = call->graph->exprs;
    rlx_expr_t one = rlx_call_expr(call, 1);

    return rlx_expr_add(
        exprs, rlx_expr_mul(exprs, rlx_expr_sub(exprs, window->kernel[axis], one), rlx_call_expr(call, window->dilations[axis])), one);
}

void rlx_window_halve(rlx_onnx_call_t *call, rlx_expr_t total, bool begin_larger, rlx_expr_t *out_begin, rlx_expr_t *out_end)
{
    rlx_exprs_t *exprs = call->graph->exprs;
    rlx_expr_t smaller = rlx_expr_floordiv(exprs, total, rlx_call_expr(call, 2)), larger = rlx_expr_sub(exprs, total, smaller);

    *out_begin = begin_larger ? larger : smaller;
    *out_end = begin_larger ? smaller : larger;
}

/* SAME: as many outputs as ceil(extent / stride). */
static rlx_expr_t same_total(rlx_onnx_call_t *call, const rlx_onnx_window_t *window, int axis, rlx_expr_t extent)
{
    rlx_exprs_t *exprs = call->graph->exprs;
    rlx_expr_t stride = rlx_call_expr(call, window->strides[axis]), last;

    last = rlx_expr_mul(exprs, rlx_expr_sub(exprs, rlx_expr_ceildiv(exprs, extent, stride), rlx_call_expr(call, 1)), stride);
    return rlx_expr_max(exprs, rlx_expr_sub(exprs, rlx_expr_add(exprs, last, rlx_window_reach(call, window, axis)), extent),
                        rlx_call_expr(call, 0));
}

void rlx_window_pads(rlx_onnx_call_t *call, const rlx_value_t *x, const rlx_onnx_window_t *window, rlx_op_t *op)
{
    if (op == NULL)
        return;
    op->pads = rlx_graph_alloc(call->graph, (size_t)window->n * 2 * sizeof *op->pads);
    for (int i = 0; i < window->n; i++) {
        rlx_expr_t *begin = &op->pads[i], *end = &op->pads[i + window->n];

        if (window->auto_pad == RLX_PAD_SAME_UPPER || window->auto_pad == RLX_PAD_SAME_LOWER) {
            rlx_window_halve(call, same_total(call, window, i, x->dims[i + 2]), window->auto_pad == RLX_PAD_SAME_LOWER, begin, end);
            continue;
        }
        *begin = rlx_call_expr(call, window->pads[i]);
        *end = rlx_call_expr(call, window->pads[i + window->n]);
    }
}

bool rlx_window_kernel(rlx_onnx_call_t *call, const rlx_onnx_window_t *window, int64_t *out_kernel)
{
    for (int i = 0; i < window->n; i++)
        if (!rlx_expr_is_const(call->graph->exprs, window->kernel[i], &out_kernel[i])) {
            rlx_call_fail(call, RLX_E_ONNX_NODE, "the kernel's extents must be constant");
            return false;
        }
    return true;
}
