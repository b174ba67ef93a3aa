/* Pooling of regions of interest: roi_align (samples by bilinear interpolation, averaged or the greatest weighted corner) and
 * max_roi_pool (the greatest element of each bin). f32 computation, f64 for f64 data. A batch index outside the batch, or a region that
 * is no number or needs more than SAMPLES_MAX samples per bin side, sets the error word and gives zeros. */
#include "kernels/abi.h"
#include "kernels/number.h"
#include "kernels/params.h"

#define SAMPLES_MAX 16384.0

static double real_at(int64_t dtype, const void *base, int64_t i)
{
    float value;

    if (dtype == RLX_KD_F64)
        return ((const double *)base)[i];
    rlx_number_load_f32(dtype, base, i, 1, 1, &value);
    return (double)value;
}

static void real_put(int64_t dtype, void *base, int64_t i, double value)
{
    float narrow = (float)value;

    if (dtype == RLX_KD_F64)
        ((double *)base)[i] = value;
    else
        rlx_number_store_f32(dtype, base, i, 1, 1, &narrow);
}

/* A region in input coordinates: start, size of a bin, samples per bin side. */
typedef struct region {
    double start_h, start_w, bin_h, bin_w, samples_h, samples_w;
} region_t;

/* Rounds to the computation's type. */
static double as(int64_t dtype, double value) { return dtype == RLX_KD_F64 ? value : rlx_number_round_f32(value); }

static region_t region_of(const rlx_roi_align_params_t *p, const void *rois, int64_t roi)
{
    double scale = (double)rlx_param_f32(p->spatial_scale), offset = p->half_pixel ? 0.5 : 0, edge[4];
    region_t r;

    for (int i = 0; i < 4; i++)
        edge[i] = as(p->dtype, as(p->dtype, real_at(p->dtype, rois, roi * 4 + i) * scale) - offset);
    double width = as(p->dtype, edge[2] - edge[0]), height = as(p->dtype, edge[3] - edge[1]);
    if (!p->half_pixel) {
        width = width > 1 ? width : 1;
        height = height > 1 ? height : 1;
    }
    r.start_w = edge[0];
    r.start_h = edge[1];
    r.bin_h = as(p->dtype, height / (double)p->out_h);
    r.bin_w = as(p->dtype, width / (double)p->out_w);
    r.samples_h = p->sampling_ratio > 0 ? (double)p->sampling_ratio : __builtin_ceil(r.bin_h);
    r.samples_w = p->sampling_ratio > 0 ? (double)p->sampling_ratio : __builtin_ceil(r.bin_w);
    return r;
}

static int region_is_bounded(const region_t *r)
{
    return r->samples_h <= SAMPLES_MAX && r->samples_w <= SAMPLES_MAX && r->start_h - r->start_h == 0 && r->start_w - r->start_w == 0;
}

/* Two neighbours along one dimension with their weights; false when the place is outside. */
typedef struct pair {
    int64_t low, high;
    double low_weight, high_weight;
} pair_t;

static int pair_at(int64_t dtype, double x, int64_t extent, pair_t *pair)
{
    if (!(x >= -1.0 && x <= (double)extent) || extent == 0)
        return 0;
    x = x > 0 ? x : 0;
    pair->low = (int64_t)x;
    pair->high = pair->low + 1;
    if (pair->low >= extent - 1) {
        pair->low = pair->high = extent - 1;
        x = (double)pair->low;
    }
    pair->high_weight = as(dtype, x - (double)pair->low);
    pair->low_weight = as(dtype, 1 - pair->high_weight);
    return 1;
}

/* One sample: four weighted corners, summed or the greatest. */
#define ROI_SAMPLE(T, suffix, fma_)                                                                                            \
    static T sample_##suffix(const rlx_roi_align_params_t *p, const T *v, const pair_t *h, const pair_t *w)                    \
    {                                                                                                                          \
        T w1 = (T)h->low_weight * (T)w->low_weight, w2 = (T)h->low_weight * (T)w->high_weight;                                 \
        T w3 = (T)h->high_weight * (T)w->low_weight, w4 = (T)h->high_weight * (T)w->high_weight, m;                            \
                                                                                                                               \
        if (!p->is_max)                                                                                                        \
            return fma_(w4, v[3], fma_(w3, v[2], fma_(w2, v[1], w1 * v[0])));                                                  \
        m = w1 * v[0];                                                                                                         \
        m = w2 * v[1] > m ? w2 * v[1] : m;                                                                                     \
        m = w3 * v[2] > m ? w3 * v[2] : m;                                                                                     \
        return w4 * v[3] > m ? w4 * v[3] : m;                                                                                  \
    }                                                                                                                          \
                                                                                                                               \
    static T bin_##suffix(const rlx_roi_align_params_t *p, const region_t *r, const void *x, int64_t plane, int64_t oh, int64_t ow) \
    {                                                                                                                          \
        T total = 0, v[4], value;                                                                                              \
        pair_t h, w;                                                                                                           \
        int first = 1;                                                                                                         \
                                                                                                                               \
        for (double i = 0; i < r->samples_h; i++) {                                                                            \
            T y = (T)r->start_h + (T)oh * (T)r->bin_h + ((T)i + (T)0.5) * (T)r->bin_h / (T)r->samples_h;                       \
            int inside = pair_at(p->dtype, (double)y, p->in_h, &h);                                                            \
            for (double j = 0; j < r->samples_w; j++) {                                                                        \
                T at = (T)r->start_w + (T)ow * (T)r->bin_w + ((T)j + (T)0.5) * (T)r->bin_w / (T)r->samples_w;                  \
                value = 0;                                                                                                     \
                if (inside && pair_at(p->dtype, (double)at, p->in_w, &w)) {                                                    \
                    rlx_number_load_##suffix(p->dtype, x, plane + h.low * p->in_w + w.low, w.high - w.low, 2, v);              \
                    rlx_number_load_##suffix(p->dtype, x, plane + h.high * p->in_w + w.low, w.high - w.low, 2, v + 2);         \
                    value = sample_##suffix(p, v, &h, &w);                                                                     \
                }                                                                                                              \
                total = !p->is_max ? total + value : first || value > total ? value : total;                                   \
                first = 0;                                                                                                     \
            }                                                                                                                  \
        }                                                                                                                      \
        return p->is_max || first ? total : total / (T)(r->samples_h * r->samples_w);                                          \
    }

ROI_SAMPLE(float, f32, __builtin_fmaf)
ROI_SAMPLE(double, f64, __builtin_fma)

RLX_KERNEL_ENTRY(roi_align)
{
    const rlx_roi_align_params_t *p = (const rlx_roi_align_params_t *)args->param;
    const int64_t *batch_of = args->in[2].base;

    for (int64_t t = tile_begin; t < tile_end; t++) {
        int64_t roi = t / p->channels, batch = batch_of[roi], plane = (batch * p->channels + t % p->channels) * p->in_h * p->in_w;
        region_t r = region_of(p, args->in[1].base, roi);
        int fine = batch >= 0 && batch < p->batch, bounded = region_is_bounded(&r);
        if (!fine || !bounded)
            rlx_kernel_error(args, fine ? RLX_KERR_VALUE : RLX_KERR_INDEX);
        for (int64_t o = 0; o < p->out_h * p->out_w; o++) {
            double value = 0;
            if (fine && bounded && p->dtype == RLX_KD_F64)
                value = bin_f64(p, &r, args->in[0].base, plane, o / p->out_w, o % p->out_w);
            else if (fine && bounded)
                value = (double)bin_f32(p, &r, args->in[0].base, plane, o / p->out_w, o % p->out_w);
            real_put(p->dtype, args->out[0].base, t * p->out_h * p->out_w + o, value);
        }
    }
}

/* Away from zero at ties, as C's round; kept inside +-1e9, -1e9 for NaN. */
static int64_t round_place(double x)
{
    x = x >= 0 ? __builtin_floor(x + 0.5) : __builtin_ceil(x - 0.5);
    return x > -1e9 ? x < 1e9 ? (int64_t)x : 1000000000 : -1000000000;
}

/* Input places of bin `o` of `bins`, cut to the extent. */
static void bin_range(int64_t start, int64_t end, int64_t o, int64_t bins, int64_t extent, int64_t *out_first, int64_t *out_last)
{
    int64_t size = end - start + 1 > 1 ? end - start + 1 : 1;
    int64_t first = start + o * size / bins, last = start + ((o + 1) * size + bins - 1) / bins;

    *out_first = first < 0 ? 0 : first;
    *out_last = last < extent ? last : extent;
}

RLX_KERNEL_ENTRY(max_roi_pool)
{
    const rlx_max_roi_pool_params_t *p = (const rlx_max_roi_pool_params_t *)args->param;
    double scale = (double)rlx_param_f32(p->spatial_scale), edge[5];

    for (int64_t t = tile_begin; t < tile_end; t++) {
        for (int i = 0; i < 5; i++)
            edge[i] = real_at(p->dtype, args->in[1].base, t / p->channels * 5 + i);
        int fine = edge[0] >= 0 && edge[0] < (double)p->batch;
        int64_t plane = fine ? ((int64_t)edge[0] * p->channels + t % p->channels) * p->in_h * p->in_w : 0;
        if (!fine)
            rlx_kernel_error(args, RLX_KERR_INDEX);
        for (int64_t o = 0; o < p->out_h * p->out_w; o++) {
            int64_t h0, h1, w0, w1;
            double best = 0;
            bin_range(round_place(edge[2] * scale), round_place(edge[4] * scale), o / p->out_w, p->out_h, p->in_h, &h0, &h1);
            bin_range(round_place(edge[1] * scale), round_place(edge[3] * scale), o % p->out_w, p->out_w, p->in_w, &w0, &w1);
            for (int64_t h = h0; fine && h < h1; h++)
                for (int64_t w = w0; w < w1; w++) {
                    double value = real_at(p->dtype, args->in[0].base, plane + h * p->in_w + w);
                    best = (h == h0 && w == w0) || value > best ? value : best;
                }
            real_put(p->dtype, args->out[0].base, t * p->out_h * p->out_w + o, best);
        }
    }
}
