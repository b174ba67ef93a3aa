/* max_pool_c16 and avg_pool_c16: pooling on blocked activations, f32, two spatial axes. Same bits as max_pool (pool_max.c) and avg_pool
 * (pool_avg.c), sixteen channels at a time. One tile is one output row of one channel block. */
#include "kernels/vec16.h"
#include "kernels/window.h"
#include "kernels/params_conv.h"

typedef struct pool_row {
    const rlx_conv_window_t *w;
    const float *x; /* the plane */
    float *y;       /* the output row */
    int64_t oh, lo_h, hi_h;
} pool_row_t;

static pool_row_t row_at(const rlx_pool_c16_params_t *p, const rlx_kernel_args_t *args, int64_t tile)
{
    const rlx_conv_window_t *w = &p->window;
    pool_row_t r = {.w = w, .oh = tile % w->out[1], .y = (float *)args->out[0].base + tile * w->out[2] * 16};

    r.x = (const float *)args->in[0].base + tile / w->out[1] * (w->in[1] * w->in[2] * 16);
    rlx_window_kernel_range(w, 1, r.oh, &r.lo_h, &r.hi_h);
    return r;
}

/* Cell (kh, kw) of the window at output column ow. */
VEC16_INLINE vec16_t cell(const pool_row_t *r, int64_t ow, int64_t kh, int64_t kw)
{
    return vec16_load(r->x + (rlx_window_cell(r->w, 1, r->oh, kh) * r->w->in[2] + rlx_window_cell(r->w, 2, ow, kw)) * 16);
}

static void max_row(const pool_row_t *r)
{
    for (int64_t ow = 0; ow < r->w->out[2]; ow++) {
        int64_t lo, hi;
        vec16_t best = vec16_splat(-__builtin_inff());

        rlx_window_kernel_range(r->w, 2, ow, &lo, &hi);
        if (lo < hi && r->lo_h < r->hi_h)
            best = cell(r, ow, r->lo_h, lo);
        for (int64_t kh = r->lo_h; kh < r->hi_h; kh++)
            for (int64_t kw = lo; kw < hi; kw++) {
                vec16_t v = cell(r, ow, kh, kw);

                best = vec16_select((v > best) | ((v != v) & (best == best)), v, best);
            }
        vec16_store(r->y + ow * 16, best);
    }
}

static void average_row(const pool_row_t *r, int padded)
{
    int64_t count_h = rlx_window_counted(r->w, 1, r->oh, padded);

    for (int64_t ow = 0; ow < r->w->out[2]; ow++) {
        int64_t lo, hi;
        vec16_t sum = {0};

        rlx_window_kernel_range(r->w, 2, ow, &lo, &hi);
        for (int64_t kh = r->lo_h; kh < r->hi_h; kh++)
            for (int64_t kw = lo; kw < hi; kw++)
                sum += cell(r, ow, kh, kw);
        vec16_store(r->y + ow * 16, sum / vec16_splat((float)(count_h * rlx_window_counted(r->w, 2, ow, padded))));
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
    const rlx_pool_c16_params_t *p = (const rlx_pool_c16_params_t *)args->param;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        pool_row_t r = row_at(p, args, tile);

        average_row(&r, p->count_include_pad != 0);
    }
}
