/* Reads a resize op: axes, scales or sizes, policy. Extents may be symbolic. A given f32 scale counts as the simplest fraction that
 * rounds to it, so that 0.7 times 10 is 7 whether the extent is known now or later. */
#include "ir/operator/resize.h"

#include <math.h>
#include <string.h>

#define SCALE_MAX 65536.0f
#define FRACTION_MAX 4096

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

static int find(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static rlx_status_t read_modes(const rlx_op_t *op, rlx_resize_geometry_t *g, rlx_diag_t *diag)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const coords[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
                                         "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
    static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

    g->mode = find(modes, 3, rlx_op_string(op, "mode"));
    g->coord = find(coords, 7, rlx_op_string(op, "coord"));
    g->nearest = find(nearest, 4, rlx_op_string(op, "nearest_mode"));
    g->antialias = rlx_op_int(op, "antialias") != 0;
    g->exclude_outside = rlx_op_int(op, "exclude_outside") != 0;
    if (g->mode < 0)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "mode '%s' is not known", rlx_op_string(op, "mode"));
    if (g->coord < 0)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "coordinate transformation '%s' is not known", rlx_op_string(op, "coord"));
    if (g->nearest < 0)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "nearest mode '%s' is not known", rlx_op_string(op, "nearest_mode"));
    if (g->antialias && g->mode == RLX_RESIZE_NEAREST)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "antialias needs mode linear or cubic");
    return RLX_OK;
}

static rlx_status_t read_axes(const rlx_op_t *op, int rank, int axes[RLX_RANK_MAX], int *out_count, rlx_diag_t *diag)
{
    const rlx_attr_t *attr = rlx_op_attr(op, "axes");
    unsigned seen = 0;

    *out_count = attr != NULL ? attr->n : rank;
    if (*out_count > rank)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "%d axes for an input of rank %d", *out_count, rank);
    for (int i = 0; i < *out_count; i++) {
        RLX_TRY(rlx_shape_axis(op, attr != NULL ? attr->is[i] : i, rank, &axes[i], diag));
        if (seen >> axes[i] & 1)
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "axis %d is given twice", axes[i]);
        seen |= 1u << axes[i];
    }
    return RLX_OK;
}

/* The fraction of least denominator that rounds to `scale`; the exact one when there is none below FRACTION_MAX. */
static void simplest_fraction(float scale, int64_t *out_num, int64_t *out_den)
{
    int exponent;

    for (int64_t den = 1; den <= FRACTION_MAX; den++) {
        double top = floor((double)scale * (double)den + 0.5);
        if (top > 0 && (float)(top / (double)den) == scale) {
            *out_num = (int64_t)top;
            *out_den = den;
            return;
        }
    }
    double part = frexp((double)scale, &exponent); /* scale = part * 2^exponent, part has 24 bits */
    *out_num = (int64_t)ldexp(part, 24);
    *out_den = 1;
    if (exponent < 24)
        *out_den = (int64_t)1 << (24 - exponent);
    else
        *out_num <<= exponent - 24;
}

static rlx_expr_t scaled_extent(rlx_graph_t *graph, rlx_expr_t in, float scale)
{
    int64_t extent, top, bottom;

    if (rlx_expr_is_const(graph->exprs, in, &extent) && extent < 1 << 24)
        return num(graph, (int64_t)floorf((float)extent * scale));
    simplest_fraction(scale, &top, &bottom);
    return rlx_expr_floordiv(graph->exprs, rlx_expr_mul(graph->exprs, in, num(graph, top)), num(graph, bottom));
}

static int64_t taps_of(const rlx_resize_geometry_t *g, double scale)
{
    int reach = g->mode == RLX_RESIZE_CUBIC ? 2 : 1;

    if (g->mode == RLX_RESIZE_NEAREST)
        return 1;
    return g->antialias && scale < 1 ? 2 * (int64_t)ceil(reach / scale) : 2 * reach;
}

/* Only a crop changes an axis whose scale is 1; tf_half_pixel_for_nn, whose formula would shift it, leaves it alone too. */
static bool moves_at_scale_one(const rlx_resize_geometry_t *g) { return g->coord == RLX_COORD_TF_CROP_AND_RESIZE; }

/* The f64 bits of a positive normal f32 are linear in its bits: 29 more places of mantissa, an exponent that is 1023 - 127 higher. */
static rlx_expr_t widen_bits(rlx_graph_t *graph, rlx_expr_t bits)
{
    rlx_exprs_t *e = graph->exprs;

    return rlx_expr_add(e, rlx_expr_mul(e, bits, num(graph, (int64_t)1 << 29)), num(graph, (int64_t)896 << 52));
}

static rlx_expr_t scaled_taps(rlx_graph_t *graph, const rlx_resize_geometry_t *g, rlx_expr_t bits)
{
    rlx_exprs_t *e = graph->exprs;
    int reach = g->mode == RLX_RESIZE_CUBIC ? 2 : 1;
    union { float f; int32_t i; } reach_bits = {.f = (float)reach};

    if (g->mode == RLX_RESIZE_NEAREST || !g->antialias)
        return num(graph, taps_of(g, 1));
    rlx_expr_t half = rlx_expr_binary(e, RLX_EXPR_FCEILDIV, num(graph, reach_bits.i), bits);
    return rlx_expr_mul(e, num(graph, 2), rlx_expr_max(e, num(graph, reach), half));
}

/* Scales that a graph input gives: bits of positive floats order as integers, so a range check is one on bits. */
static rlx_status_t read_symbolic_scales(rlx_graph_t *graph, const rlx_op_t *op, const int *axes, bool check, rlx_resize_geometry_t *g,
                                         rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    union { float f; int32_t i; } low = {.f = 1 / SCALE_MAX}, high = {.f = SCALE_MAX};

    for (int i = 0; i < g->n_axes; i++) {
        rlx_expr_t given = rlx_shape_float_bits(graph, op->in[2], i), bits;
        int d = axes[i];

        if (given == RLX_EXPR_NONE)
            return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN,
                                  "scales ('%s') must be constant or an input of the model; give sizes instead", op->in[2]->name);
        if (check) {
            RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, num(graph, low.i), given), "a scale is not positive or too small", diag));
            RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, given, num(graph, high.i)), "a scale is negative, too large or no number",
                                      diag));
        }
        bits = rlx_expr_max(e, num(graph, low.i), rlx_expr_min(e, given, num(graph, high.i)));
        g->resized[d] = true;
        g->out[d] = rlx_expr_binary(e, RLX_EXPR_FSCALE, op->in[0]->dims[d], bits);
        g->scale_bits[d] = widen_bits(graph, bits);
        g->taps[d] = scaled_taps(graph, g, bits);
    }
    return RLX_OK;
}

static rlx_status_t read_scales(rlx_graph_t *graph, const rlx_op_t *op, const rlx_value_t *scales, const int *axes, bool check,
                                rlx_resize_geometry_t *g, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    const float *data = scales->data;
    int64_t count;

    if (scales->dtype != RLX_F32 || scales->rank != 1)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "scales must be an f32 vector");
    if (!rlx_expr_is_const(graph->exprs, scales->dims[0], &count))
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "the number of scales ('%s') must be constant", scales->name);
    if (count != g->n_axes)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "%lld scales for %d axes", (long long)count, g->n_axes);
    if (data == NULL)
        return read_symbolic_scales(graph, op, axes, check, g, diag);
    for (int i = 0; i < g->n_axes; i++) {
        int d = axes[i];
        union { double f; int64_t i; } bits = {.f = (double)data[i]};
        if (!(data[i] > 1 / SCALE_MAX && data[i] < SCALE_MAX))
            return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "scale %g of axis %d is out of range", (double)data[i], d);
        g->resized[d] = data[i] != 1 || moves_at_scale_one(g);
        g->out[d] = scaled_extent(graph, x->dims[d], data[i]);
        g->scale_bits[d] = num(graph, bits.i);
        g->taps[d] = num(graph, taps_of(g, (double)data[i]));
    }
    return RLX_OK;
}

/* Of all size / extent the smallest (or largest) becomes the scale of every axis. */
static void keep_aspect(rlx_graph_t *graph, const rlx_value_t *x, const int *axes, bool smallest, rlx_resize_geometry_t *g)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t top = g->out[axes[0]], bottom = x->dims[axes[0]];

    for (int i = 1; i < g->n_axes; i++) {
        rlx_expr_t a = rlx_expr_mul(e, g->out[axes[i]], bottom), b = rlx_expr_mul(e, top, x->dims[axes[i]]);
        rlx_expr_t better = smallest ? rlx_expr_lt(e, a, b) : rlx_expr_lt(e, b, a);
        top = rlx_expr_select(e, better, g->out[axes[i]], top);
        bottom = rlx_expr_select(e, better, x->dims[axes[i]], bottom);
    }
    bottom = rlx_expr_max(e, bottom, num(graph, 1));
    for (int i = 0; i < g->n_axes; i++) {
        rlx_expr_t doubled = rlx_expr_mul(e, rlx_expr_mul(e, num(graph, 2), top), x->dims[axes[i]]);
        doubled = rlx_expr_add(e, doubled, bottom);
        g->out[axes[i]] = rlx_expr_floordiv(e, doubled, rlx_expr_mul(e, num(graph, 2), bottom));
        g->num[axes[i]] = top;
        g->den[axes[i]] = bottom;
    }
}

static rlx_expr_t symbolic_taps(rlx_graph_t *graph, const rlx_resize_geometry_t *g, int d)
{
    rlx_exprs_t *e = graph->exprs;
    int reach = g->mode == RLX_RESIZE_CUBIC ? 2 : 1;

    if (g->mode == RLX_RESIZE_NEAREST || !g->antialias)
        return num(graph, taps_of(g, 1));
    rlx_expr_t half = rlx_expr_mul(e, num(graph, reach), g->den[d]);
    half = rlx_expr_ceildiv(e, half, rlx_expr_max(e, num(graph, 1), g->num[d]));
    return rlx_expr_mul(e, num(graph, 2), rlx_expr_max(e, num(graph, reach), half));
}

static rlx_status_t read_sizes(rlx_graph_t *graph, const rlx_op_t *op, const int *axes, rlx_resize_geometry_t *g, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    const char *policy = rlx_op_string(op, "policy");
    rlx_expr_t sizes[RLX_RANK_MAX];
    int count;

    RLX_TRY(rlx_shape_ints(graph, op, 3, sizes, RLX_RANK_MAX, &count, diag));
    if (count != g->n_axes)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "%d sizes for %d axes", count, g->n_axes);
    for (int i = 0; i < count; i++) {
        int d = axes[i];
        g->out[d] = g->num[d] = sizes[i];
        g->den[d] = x->dims[d];
    }
    if (strcmp(policy, "not_larger") == 0 || strcmp(policy, "not_smaller") == 0)
        keep_aspect(graph, x, axes, strcmp(policy, "not_larger") == 0, g);
    else if (strcmp(policy, "stretch") != 0)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "aspect ratio policy '%s' is not known", policy);
    for (int i = 0; i < count; i++) {
        int d = axes[i];
        g->resized[d] = g->num[d] != g->den[d] || moves_at_scale_one(g);
        g->taps[d] = symbolic_taps(graph, g, d);
    }
    return RLX_OK;
}

/* tf_crop_and_resize: begins, then ends, in the order of axes. */
static rlx_status_t read_roi(rlx_graph_t *graph, const rlx_op_t *op, const int *axes, rlx_resize_geometry_t *g, rlx_diag_t *diag)
{
    const rlx_value_t *roi = rlx_op_in(op, 1);

    if (g->coord != RLX_COORD_TF_CROP_AND_RESIZE)
        return RLX_OK;
    if (roi == NULL || !rlx_dtype_is_float(roi->dtype) || roi->rank != 1)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "tf_crop_and_resize needs roi, a vector of floats");
    for (int i = 0; i < g->n_axes; i++)
        g->roi_place[axes[i]] = i;
    return rlx_shape_require_equal(graph, op, roi->dims[0], num(graph, 2 * g->n_axes), "roi and twice the number of axes", diag);
}

static rlx_status_t check_extents(rlx_graph_t *graph, const rlx_op_t *op, const rlx_resize_geometry_t *g, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;

    for (int d = 0; d < g->rank; d++) {
        rlx_expr_t in = op->in[0]->dims[d];
        if (!g->resized[d])
            continue;
        rlx_expr_t fits = rlx_expr_max(e, rlx_expr_lt(e, num(graph, 0), in), rlx_expr_eq(e, g->out[d], num(graph, 0)));
        RLX_TRY(rlx_shape_require(graph, op, fits, "an empty axis cannot grow", diag));
        RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, in, num(graph, INT32_MAX)), "an axis is too long to resize", diag));
    }
    return RLX_OK;
}

static bool given(rlx_graph_t *graph, const rlx_value_t *value)
{
    return value != NULL && !(value->rank == 1 && rlx_expr_is(graph->exprs, value->dims[0], 0));
}

rlx_status_t rlx_resize_geometry_get(rlx_graph_t *graph, const rlx_op_t *op, bool check, rlx_resize_geometry_t *out, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0], *scales = rlx_op_in(op, 2);
    int axes[RLX_RANK_MAX];

    *out = (rlx_resize_geometry_t){.rank = x->rank};
    for (int d = 0; d < x->rank; d++) {
        out->out[d] = x->dims[d];
        out->taps[d] = out->num[d] = out->den[d] = num(graph, 1);
        out->scale_bits[d] = num(graph, 0);
        out->roi_place[d] = -1;
    }
    RLX_TRY(read_modes(op, out, diag));
    RLX_TRY(read_axes(op, x->rank, axes, &out->n_axes, diag));
    if (out->n_axes == 0)
        return RLX_OK;
    if (given(graph, scales))
        RLX_TRY(read_scales(graph, op, scales, axes, check, out, diag));
    else if (rlx_op_in(op, 3) != NULL)
        RLX_TRY(read_sizes(graph, op, axes, out, diag));
    else
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "neither scales nor sizes are given");
    RLX_TRY(read_roi(graph, op, axes, out, diag));
    return check ? check_extents(graph, op, out, diag) : RLX_OK;
}
