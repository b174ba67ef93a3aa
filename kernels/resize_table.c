/* Where each output place of a resize reads, and with which weights: one table per resized dimension, made once per run and shared by all
 * rows. Coordinates are f64. When the scale is the ratio of two extents they come from one exact division, so that places which fall on
 * an input element do so exactly; with a given scale they follow ONNX's formulas. Weights of a place start at input place ceil(x) - taps
 * / 2; places past the ends read the end element. */
#include "kernels/abi.h"
#include "kernels/number.h"
#include "kernels/params.h"

typedef struct resize_dim {
    const rlx_resize_table_params_t *p;
    double scale, in, out, width; /* width: in * scale, the exact output extent before rounding down */
    double roi_span, roi_offset; /* computed in the type of roi */
    int exact;
} resize_dim_t;

static double roi_at(int64_t dtype, const void *roi, int64_t i)
{
    float value;

    if (dtype == RLX_KD_F64)
        return ((const double *)roi)[i];
    rlx_number_load_f32(dtype, roi, i, 1, 1, &value);
    return (double)value;
}

static double roi_round(int64_t dtype, double value) { return dtype == RLX_KD_F64 ? value : rlx_number_round_f32(value); }

static resize_dim_t dim_begin(const rlx_resize_table_params_t *p, int d, const void *roi)
{
    resize_dim_t dim = {.p = p, .in = (double)p->in[d], .out = (double)p->out[d]};

    dim.exact = p->scale[d] == 0 && p->scale_num[d] == p->out[d] && p->scale_den[d] == p->in[d];
    dim.scale = p->scale[d] != 0 ? rlx_param_f64(p->scale[d]) : (double)p->scale_num[d] / (double)p->scale_den[d];
    dim.width = dim.exact ? dim.out : dim.scale * dim.in;
    dim.roi_span = 1;
    if (roi && p->roi_begin[d] >= 0) {
        double begin = roi_at(p->roi_dtype, roi, p->roi_begin[d]);
        dim.roi_span = roi_round(p->roi_dtype, roi_at(p->roi_dtype, roi, p->roi_end[d]) - begin);
        dim.roi_offset = roi_round(p->roi_dtype, begin * (dim.in - 1));
    }
    return dim;
}

static double half_pixel(const resize_dim_t *dim, double o)
{
    if (dim->exact)
        return ((2 * o + 1) * dim->in - dim->out) / (2 * dim->out);
    return (o + 0.5) / dim->scale - 0.5;
}

/* The input coordinate of output place `o`. Scale 1 keeps every place, as when lowering sees it and makes no table. */
static double coordinate(const resize_dim_t *dim, double o)
{
    int64_t coord = dim->p->coord;

    if (dim->scale == 1 && coord != RLX_COORD_TF_CROP_AND_RESIZE)
        return o;
    if (coord == RLX_COORD_ALIGN_CORNERS)
        return dim->width == 1 ? 0 : o * (dim->in - 1) / (dim->width - 1);
    if (coord == RLX_COORD_ASYMMETRIC)
        return dim->exact ? o * dim->in / dim->out : o / dim->scale;
    if (coord == RLX_COORD_TF_CROP_AND_RESIZE) {
        double at = dim->width == 1 ? dim->roi_span * (dim->in - 1) / 2 : o * dim->roi_span * (dim->in - 1) / (dim->width - 1);
        return at + dim->roi_offset;
    }
    if (coord == RLX_COORD_TF_HALF_PIXEL_FOR_NN)
        return dim->exact ? (2 * o + 1) * dim->in / (2 * dim->out) : (o + 0.5) / dim->scale;
    if (coord == RLX_COORD_PYTORCH_HALF_PIXEL && dim->width == 1)
        return -0.5;
    if (coord == RLX_COORD_HALF_PIXEL_SYMMETRIC && !dim->exact)
        return dim->in / 2 * (1 - dim->out / dim->width) + (o + 0.5) / dim->scale - 0.5;
    return half_pixel(dim, o);
}

static double cubic_at(double x, double a)
{
    x = x < 0 ? -x : x;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Weight, before normalising, of the input place `distance` away. */
static double weight_at(const resize_dim_t *dim, double distance)
{
    double shrink = dim->p->antialias && dim->scale < 1 ? dim->scale : 1;

    distance = (distance < 0 ? -distance : distance) * shrink;
    if (dim->p->mode == RLX_RESIZE_CUBIC)
        return cubic_at(distance, (double)rlx_param_f32(dim->p->cubic_a));
    return distance < 1 ? 1 - distance : 0;
}

/* A coordinate that is no usable number reads place 0. */
static int64_t place(double x)
{
    if (x != x || x > 4e9 || x < -4e9)
        return 0;
    return (int64_t)x;
}

static int64_t nearest_place(const resize_dim_t *dim, double x)
{
    double low = __builtin_floor(x), part = x - low;
    int64_t mode = dim->p->nearest;

    if (part == 0 || mode == RLX_NEAREST_FLOOR)
        return place(low);
    if (mode == RLX_NEAREST_CEIL)
        return place(low + 1);
    return place(mode == RLX_NEAREST_ROUND_PREFER_FLOOR ? (part <= 0.5 ? low : low + 1) : (part < 0.5 ? low : low + 1));
}

static int32_t clamp(int64_t i, int64_t extent) { return (int32_t)(i < 0 ? 0 : i < extent ? i : extent - 1); }

static void put_weight(const rlx_resize_table_params_t *p, void *weight, int64_t at, double value)
{
    if (p->wide)
        ((double *)weight)[at] = value;
    else
        ((float *)weight)[at] = (float)value;
}

/* Weights of one output place; outside places count 0 when excluded. */
static void interpolation(const resize_dim_t *dim, double x, int64_t extent, int64_t taps, int32_t *index, void *weight, int64_t at)
{
    const rlx_resize_table_params_t *p = dim->p;
    double high = __builtin_ceil(x), sum = 0;
    int64_t start = place(high) - taps / 2;

    for (int64_t t = 0; t < taps; t++)
        if (!p->exclude_outside || (start + t >= 0 && start + t < extent))
            sum += weight_at(dim, (double)(start + t) - x);
    if (!p->exclude_outside && !p->antialias)
        sum = 1;
    for (int64_t t = 0; t < taps; t++) {
        int used = !p->exclude_outside || (start + t >= 0 && start + t < extent);
        index[at + t] = clamp(start + t, extent);
        put_weight(p, weight, at + t, used ? weight_at(dim, (double)(start + t) - x) / sum : 0);
    }
}

RLX_KERNEL_ENTRY(resize_table)
{
    const rlx_resize_table_params_t *p = (const rlx_resize_table_params_t *)args->param;
    int32_t *index = args->out[0].base;

    for (int64_t d = tile_begin; d < tile_end; d++) {
        resize_dim_t dim = dim_begin(p, (int)d, args->in[0].base);
        for (int64_t o = 0; o < p->out[d]; o++) {
            double x = coordinate(&dim, (double)o);
            int64_t at = p->first[d] + o * p->taps[d];
            int outside = p->coord == RLX_COORD_TF_CROP_AND_RESIZE && !(x >= 0 && x <= dim.in - 1);
            if (p->mode == RLX_RESIZE_NEAREST)
                index[at] = clamp(nearest_place(&dim, x), p->in[d]);
            else
                interpolation(&dim, x, p->in[d], p->taps[d], index, args->out[1].base, at);
            for (int64_t t = 0; outside && t < p->taps[d]; t++)
                index[at + t] = -1;
        }
    }
}
