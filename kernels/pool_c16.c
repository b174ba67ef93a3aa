/* max_pool_c16 and avg_pool_c16: pooling on blocked activations, f32, two spatial axes. Same bits as max_pool (pool_max.c) and avg_pool
 * (pool_avg.c), sixteen channels at a time. One tile is one output row of one channel block. */
#include "kernels/vec16.h"
#include "kernels/window.h"
#include "kernels/params_conv.h"

typedef struct pool_row {
    const rlx_conv_window_t *w;
    const float *x;        /* the plane */
    float *y;              /* the output row */
    int64_t ih;            /* input row of kernel row 0 */
    int64_t lo_h, hi_h;    /* kernel rows inside the input */
    int64_t whole, beyond; /* output columns [whole, beyond) have all kernel columns inside */
    int64_t count_h;       /* avg: kernel rows that count */
    int padded;
} pool_row_t;

static pool_row_t row_at(const rlx_pool_c16_params_t *p, const rlx_kernel_args_t *args, int64_t tile)
{
    const rlx_conv_window_t *w = &p->window;
    int64_t oh = tile % w->out[1], reach = (w->kernel[2] - 1) * w->dilation[2];
    pool_row_t r = {.w = w, .ih = rlx_window_cell(w, 1, oh, 0), .y = (float *)args->out[0].base + tile * w->out[2] * 16};

    r.x = (const float *)args->in[0].base + tile / w->out[1] * (w->in[1] * w->in[2] * 16);
    rlx_window_kernel_range(w, 1, oh, &r.lo_h, &r.hi_h);
    rlx_window_range(-w->pad[2], w->stride[2], w->in[2] > reach ? w->in[2] - reach : 0, w->out[2], &r.whole, &r.beyond);
    r.padded = p->count_include_pad != 0;
    r.count_h = rlx_window_counted(w, 1, oh, r.padded);
    return r;
}

/* Cell (kh, kw) of the window at output column ow. */
VEC16_INLINE const float *cell(const pool_row_t *r, int64_t ow, int64_t kh, int64_t kw)
{
    return r->x + ((r->ih + kh * r->w->dilation[1]) * r->w->in[2] + rlx_window_cell(r->w, 2, ow, kw)) * 16;
}

VEC16_INLINE vec16_t greater(vec16_t v, vec16_t best) { return vec16_select((v > best) | ((v != v) & (best == best)), v, best); }

/* Kernel columns [lo, hi) are inside. Without `nan`, cells must not be NaN; *unordered gets the lanes in which one is. */
VEC16_INLINE vec16_t window_max(const pool_row_t *r, int64_t ow, int64_t lo, int64_t hi, int nan, vec16_mask_t *unordered)
{
    int64_t step = r->w->dilation[2] * 16;
    vec16_t best;

    if (lo >= hi || r->lo_h >= r->hi_h)
        return vec16_splat(-__builtin_inff());
    best = vec16_load(cell(r, ow, r->lo_h, lo));
    for (int64_t kh = r->lo_h; kh < r->hi_h; kh++) {
        const float *x = cell(r, ow, kh, lo);

        VEC16_NO_UNROLL for (int64_t kw = lo; kw < hi; kw++, x += step) {
            vec16_t v = vec16_load(x);

            best = nan ? greater(v, best) : vec16_max(v, best);
            *unordered |= vec16_unordered(v);
        }
    }
    return best;
}

VEC16_INLINE vec16_t window_average(const pool_row_t *r, int64_t ow, int64_t lo, int64_t hi, int64_t count_w)
{
    int64_t step = r->w->dilation[2] * 16;
    vec16_t sum = {0};

    for (int64_t kh = r->lo_h; kh < r->hi_h; kh++) {
        const float *x = cell(r, ow, kh, lo);

        VEC16_NO_UNROLL for (int64_t kw = lo; kw < hi; kw++, x += step)
            sum += vec16_load(x);
    }
    return sum / vec16_splat((float)(r->count_h * count_w));
}

VEC16_INLINE int max_row_as(const pool_row_t *r, int nan)
{
    vec16_mask_t unordered = {0};
    int any = 0;

    for (int64_t ow = 0; ow < r->w->out[2]; ow++) {
        int64_t lo = 0, hi = r->w->kernel[2];

        if (ow < r->whole || ow >= r->beyond)
            rlx_window_kernel_range(r->w, 2, ow, &lo, &hi);
        vec16_store(r->y + ow * 16, window_max(r, ow, lo, hi, nan, &unordered));
    }
    for (int i = 0; i < 16; i++)
        any |= unordered[i];
    return any;
}

/* Cells are seldom NaN: the row is computed as if none were, and again when one was (or an unused lane was). */
static void max_row(const pool_row_t *r)
{
    if (max_row_as(r, 0))
        max_row_as(r, 1);
}

static void average_row(const pool_row_t *r)
{
    for (int64_t ow = 0; ow < r->w->out[2]; ow++) {
        int64_t lo = 0, hi = r->w->kernel[2], count_w = hi;

        if (ow < r->whole || ow >= r->beyond) {
            rlx_window_kernel_range(r->w, 2, ow, &lo, &hi);
            count_w = rlx_window_counted(r->w, 2, ow, r->padded);
        }
        vec16_store(r->y + ow * 16, window_average(r, ow, lo, hi, count_w));
    }
}

RLX_KERNEL_ENTRY(max_pool_c16)
{
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        pool_row_t r = row_at((const rlx_pool_c16_params_t *)args->param, args, tile);

        max_row(&r);
    }
}

RLX_KERNEL_ENTRY(avg_pool_c16)
{
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        pool_row_t r = row_at((const rlx_pool_c16_params_t *)args->param, args, tile);

        average_row(&r);
    }
}
