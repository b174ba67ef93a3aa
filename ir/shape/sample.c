/* Shape rules of the sample family. */
#include <string.h>

#include "ir/lower/dispatch.h"
#include "ir/operator/resize.h"
#include "ir/operator/sample.h"

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

static rlx_status_t need_float(const rlx_op_t *op, int index, rlx_diag_t *diag)
{
    if (rlx_dtype_is_float(op->in[index]->dtype))
        return RLX_OK;
    return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "element type %s of operand %d is not supported, only f32, f64, f16 and bf16",
                          rlx_dtype_name(op->in[index]->dtype), index);
}

static rlx_status_t shape_resize(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_resize_geometry_t g;

    RLX_TRY(rlx_shape_need_rank(op, 0, 1, -1, diag));
    RLX_TRY(rlx_resize_geometry_get(graph, op, true, &g, diag));
    if (op->in[0]->dtype == RLX_BOOL && g.mode != RLX_RESIZE_NEAREST)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "a bool input needs mode nearest");
    return rlx_shape_set(graph, op, 0, op->in[0]->dtype, g.rank, g.out, diag);
}

static rlx_status_t need_word(const rlx_op_t *op, const char *attr, const char *const *words, int n, rlx_diag_t *diag)
{
    const char *value = rlx_op_string(op, attr);

    for (int i = 0; i < n; i++)
        if (strcmp(value, words[i]) == 0)
            return RLX_OK;
    return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "%s '%s' is not supported", attr, value);
}

static rlx_status_t shape_grid_sample(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    static const char *const modes[] = {"linear", "bilinear", "nearest", "cubic", "bicubic"}, *const paddings[] = {"zeros", "border",
                                                                                                                   "reflection"};
    const rlx_value_t *x = op->in[0], *grid = op->in[1];
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t dims[RLX_RANK_MAX];

    RLX_TRY(need_float(op, 0, diag));
    RLX_TRY(need_float(op, 1, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 3, 5, diag));
    RLX_TRY(rlx_shape_need_rank(op, 1, x->rank, x->rank, diag));
    RLX_TRY(need_word(op, "mode", modes, 5, diag));
    RLX_TRY(need_word(op, "padding_mode", paddings, 3, diag));
    RLX_TRY(rlx_shape_require_equal(graph, op, x->dims[0], grid->dims[0], "batch of input and grid", diag));
    RLX_TRY(rlx_shape_require_equal(graph, op, grid->dims[x->rank - 1], num(graph, x->rank - 2),
                                    "last extent of the grid and spatial rank", diag));
    for (int d = 2; d < x->rank; d++)
        RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, num(graph, 0), x->dims[d]), "the sampled input must not be empty", diag));
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    for (int d = 2; d < x->rank; d++)
        dims[d] = grid->dims[d - 1];
    return rlx_shape_set(graph, op, 0, x->dtype, x->rank, dims, diag);
}

static rlx_status_t shape_affine_grid(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *theta = op->in[0];
    rlx_expr_t size[RLX_RANK_MAX], dims[RLX_RANK_MAX];
    int count;

    RLX_TRY(need_float(op, 0, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 3, 3, diag));
    RLX_TRY(rlx_shape_ints(graph, op, 1, size, RLX_RANK_MAX, &count, diag));
    if (count != 4 && count != 5)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "size has %d elements, 4 or 5 expected", count);
    RLX_TRY(rlx_shape_require_equal(graph, op, theta->dims[0], size[0], "batch of theta and size", diag));
    RLX_TRY(rlx_shape_require_equal(graph, op, theta->dims[1], num(graph, count - 2), "rows of theta and spatial rank", diag));
    RLX_TRY(rlx_shape_require_equal(graph, op, theta->dims[2], num(graph, count - 1), "columns of theta and spatial rank + 1", diag));
    dims[0] = size[0];
    for (int d = 2; d < count; d++)
        dims[d - 1] = size[d];
    dims[count - 1] = num(graph, count - 2);
    return rlx_shape_set(graph, op, 0, theta->dtype, count, dims, diag);
}

/* rois [n, columns] and the output [n, channels, height, width]. */
static rlx_status_t shape_rois(rlx_graph_t *graph, rlx_op_t *op, int columns, int64_t height, int64_t width, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0], *rois = op->in[1];

    RLX_TRY(need_float(op, 0, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 4, 4, diag));
    RLX_TRY(rlx_shape_need_rank(op, 1, 2, 2, diag));
    RLX_TRY(rlx_shape_need_same_dtype(op, 0, 1, diag));
    RLX_TRY(rlx_shape_require_equal(graph, op, rois->dims[1], num(graph, columns), "columns of rois and their count", diag));
    if (height < 1 || width < 1 || height > 65536 || width > 65536)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "output size %lld x %lld is out of range", (long long)height, (long long)width);
    rlx_expr_t dims[4] = {rois->dims[0], x->dims[1], num(graph, height), num(graph, width)};
    return rlx_shape_set(graph, op, 0, x->dtype, 4, dims, diag);
}

static rlx_status_t shape_roi_align(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    static const char *const modes[] = {"avg", "max"}, *const coords[] = {"half_pixel", "output_half_pixel"};
    int64_t ratio = rlx_op_int(op, "sampling_ratio");

    RLX_TRY(need_word(op, "mode", modes, 2, diag));
    RLX_TRY(need_word(op, "coord", coords, 2, diag));
    RLX_TRY(rlx_shape_need_rank(op, 2, 1, 1, diag));
    if (op->in[2]->dtype != RLX_I64)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "batch indices must be i64");
    if (ratio < 0 || ratio > 16384)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "sampling_ratio %lld is out of range", (long long)ratio);
    RLX_TRY(rlx_shape_require_equal(graph, op, op->in[1]->dims[0], op->in[2]->dims[0], "rois and batch indices", diag));
    return shape_rois(graph, op, 4, rlx_op_int(op, "output_height"), rlx_op_int(op, "output_width"), diag);
}

static rlx_status_t shape_max_roi_pool(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    return shape_rois(graph, op, 5, rlx_op_ints_at(op, "pooled_shape", 0, 0), rlx_op_ints_at(op, "pooled_shape", 1, 0), diag);
}

static rlx_expr_t half_count(rlx_graph_t *graph, rlx_expr_t length)
{
    return rlx_expr_add(graph->exprs, rlx_expr_floordiv(graph->exprs, length, num(graph, 2)), num(graph, 1));
}

/* The last extent holds real numbers (1) or real and imaginary parts (2). */
static rlx_status_t need_parts(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t parts, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t fits = rlx_expr_max(e, rlx_expr_eq(e, parts, num(graph, 1)), rlx_expr_eq(e, parts, num(graph, 2)));

    return rlx_shape_require(graph, op, fits, "the last extent must be 1 (real) or 2 (complex)", diag);
}

/* x as [outer, in_count, inner, parts] around the axis. */
static void dft_extents(rlx_graph_t *graph, const rlx_value_t *x, rlx_dft_geometry_t *g)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t one = num(graph, 1);

    g->outer = g->in_count = g->inner = one;
    for (int d = 0; d < x->rank - 1; d++) {
        g->outer = rlx_expr_mul(e, g->outer, rlx_expr_select(e, rlx_expr_lt(e, num(graph, d), g->axis), x->dims[d], one));
        g->in_count = rlx_expr_mul(e, g->in_count, rlx_expr_select(e, rlx_expr_eq(e, num(graph, d), g->axis), x->dims[d], one));
        g->inner = rlx_expr_mul(e, g->inner, rlx_expr_select(e, rlx_expr_lt(e, g->axis, num(graph, d)), x->dims[d], one));
    }
}

rlx_status_t rlx_dft_geometry_get(rlx_graph_t *graph, const rlx_op_t *op, rlx_dft_geometry_t *out, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];

    out->axis = num(graph, -2);
    if (rlx_op_in(op, 2) != NULL)
        RLX_TRY(rlx_shape_int(graph, op, 2, &out->axis, diag));
    out->axis = rlx_expr_select(e, rlx_expr_lt(e, out->axis, num(graph, 0)), rlx_expr_add(e, out->axis, num(graph, x->rank)), out->axis);
    dft_extents(graph, x, out);
    out->inverse = rlx_op_int(op, "inverse") != 0;
    out->half = out->inverse && rlx_op_int(op, "onesided") != 0;
    out->length = out->in_count;
    if (out->half)
        out->length = rlx_expr_mul(e, num(graph, 2), rlx_expr_sub(e, out->in_count, num(graph, 1)));
    if (rlx_op_in(op, 1) != NULL)
        RLX_TRY(rlx_shape_int(graph, op, 1, &out->length, diag));
    out->out_count = !out->inverse && rlx_op_int(op, "onesided") != 0 ? half_count(graph, out->length) : out->length;
    out->out_parts = out->half ? 1 : 2;
    return RLX_OK;
}

static rlx_status_t shape_dft(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    rlx_expr_t dims[RLX_RANK_MAX];
    rlx_dft_geometry_t g;

    RLX_TRY(need_float(op, 0, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 2, -1, diag));
    RLX_TRY(need_parts(graph, op, x->dims[x->rank - 1], diag));
    RLX_TRY(rlx_dft_geometry_get(graph, op, &g, diag));
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(graph->exprs, num(graph, -1), g.axis), "axis lies below the input's rank", diag));
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(graph->exprs, g.axis, num(graph, x->rank - 1)),
                              "axis must come before the last one, which holds real and imaginary parts", diag));
    RLX_TRY(
        rlx_shape_require(graph, op, rlx_expr_lt(graph->exprs, num(graph, 0), g.length), "the transform length must be positive", diag));
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(graph->exprs, g.length, num(graph, 1 << 24)), "the transform length is out of range",
                              diag));
    for (int d = 0; d < x->rank - 1; d++)
        dims[d] = rlx_expr_select(graph->exprs, rlx_expr_eq(graph->exprs, num(graph, d), g.axis), g.out_count, x->dims[d]);
    dims[x->rank - 1] = num(graph, g.out_parts);
    return rlx_shape_set(graph, op, 0, x->dtype, x->rank, dims, diag);
}

rlx_status_t rlx_stft_geometry_get(rlx_graph_t *graph, const rlx_op_t *op, rlx_stft_geometry_t *out, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0], *window = rlx_op_in(op, 2);

    RLX_TRY(rlx_shape_int(graph, op, 1, &out->step, diag));
    if (rlx_op_in(op, 3) != NULL)
        RLX_TRY(rlx_shape_int(graph, op, 3, &out->length, diag));
    else if (window != NULL && window->rank == 1)
        out->length = window->dims[0];
    else
        out->length = x->dims[1];
    rlx_expr_t travel = rlx_expr_sub(e, x->dims[1], out->length), step = rlx_expr_max(e, out->step, num(graph, 1));
    out->frames = rlx_expr_add(e, rlx_expr_floordiv(e, travel, step), num(graph, 1));
    out->out_count = rlx_op_int(op, "onesided") != 0 ? half_count(graph, out->length) : out->length;
    return RLX_OK;
}

static rlx_status_t shape_stft(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0], *window = rlx_op_in(op, 2);
    rlx_stft_geometry_t g;

    RLX_TRY(need_float(op, 0, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 2, 3, diag));
    if (x->rank == 3)
        RLX_TRY(need_parts(graph, op, x->dims[2], diag));
    RLX_TRY(rlx_stft_geometry_get(graph, op, &g, diag));
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, num(graph, 0), g.step), "the frame step must be positive", diag));
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, num(graph, 0), g.length), "the frame length must be positive", diag));
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, g.length, num(graph, 1 << 24)), "the frame length is out of range", diag));
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, g.length, rlx_expr_add(e, x->dims[1], num(graph, 1))),
                              "a frame is longer than the signal", diag));
    if (window != NULL) {
        RLX_TRY(need_float(op, 2, diag));
        RLX_TRY(rlx_shape_need_rank(op, 2, 1, 1, diag));
        RLX_TRY(rlx_shape_require_equal(graph, op, window->dims[0], g.length, "window and frame length", diag));
    }
    rlx_expr_t dims[4] = {x->dims[0], g.frames, g.out_count, num(graph, 2)};
    return rlx_shape_set(graph, op, 0, x->dtype, 4, dims, diag);
}

rlx_status_t rlx_shape_sample(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_resize: return shape_resize(graph, op, diag);
    case RLX_OP_grid_sample: return shape_grid_sample(graph, op, diag);
    case RLX_OP_affine_grid: return shape_affine_grid(graph, op, diag);
    case RLX_OP_roi_align: return shape_roi_align(graph, op, diag);
    case RLX_OP_max_roi_pool: return shape_max_roi_pool(graph, op, diag);
    case RLX_OP_dft: return shape_dft(graph, op, diag);
    default: return shape_stft(graph, op, diag);
    }
}
