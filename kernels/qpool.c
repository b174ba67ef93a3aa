/* qmax_pool, qavg_pool: windows over bytes. Blocked ones take sixteen channels at a time, row-major ones (averages only) one; all are exact. */
#include "kernels/params_quant.h"
#include "kernels/quant_round.h"
#include "kernels/window.h"

typedef struct pool_at {
    const uint8_t *x; /* the plane */
    int64_t ih, lo_h, hi_h;
} pool_at_t;

static pool_at_t pool_row(const rlx_qpool_params_t *p, const rlx_kernel_args_t *args, int64_t tile)
{
    const rlx_conv_window_t *w = &p->window;
    int64_t oh = tile % w->out[1];
    pool_at_t at = {.ih = rlx_window_cell(w, 1, oh, 0),
                    .x = (const uint8_t *)args->in[0].base + tile / w->out[1] * (w->in[1] * w->in[2] * p->lanes)};

    rlx_window_kernel_range(w, 1, oh, &at.lo_h, &at.hi_h);
    return at;
}

VEC16_INLINE const uint8_t *pool_cell(const rlx_qpool_params_t *p, const pool_at_t *at, int64_t ow, int64_t kh, int64_t kw)
{
    const rlx_conv_window_t *w = &p->window;

    return at->x + ((at->ih + kh * w->dilation[1]) * w->in[2] + rlx_window_cell(w, 2, ow, kw)) * p->lanes;
}

static void max_16(const rlx_qpool_params_t *p, const pool_at_t *at, uint8_t *y)
{
    const rlx_conv_window_t *w = &p->window;
    int64_t lo, hi, step = w->dilation[2] * 16;

    for (int64_t ow = 0; ow < w->out[2]; ow++) {
        quant_u8_t best = {0};

        rlx_window_kernel_range(w, 2, ow, &lo, &hi);
        for (int64_t kh = at->lo_h; kh < at->hi_h; kh++) {
            const uint8_t *x = pool_cell(p, at, ow, kh, lo);

            for (int64_t kw = lo; kw < hi; kw++, x += step) {
                quant_u8_t v = *(const quant_u8_t *)x;

                best = (quant_u8_t)((best & (quant_u8_t)(best > v)) | (v & ~(quant_u8_t)(best > v)));
            }
        }
        *(quant_u8_t *)(y + ow * 16) = best;
    }
}

RLX_KERNEL_ENTRY(qmax_pool)
{
    const rlx_qmax_pool_params_t *p = (const rlx_qmax_pool_params_t *)args->param;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        pool_at_t at = pool_row(p, args, tile);
        uint8_t *y = (uint8_t *)args->out[0].base + tile * p->window.out[2] * p->lanes;

        max_16(p, &at, y);
    }
}

/* Sums of the window at column `ow`, and how many cells they hold. */
static quant_i32_t sums_16(const rlx_qpool_params_t *p, const pool_at_t *at, int64_t ow, int64_t *out_cells)
{
    const rlx_conv_window_t *w = &p->window;
    int64_t lo, hi, step = w->dilation[2] * 16;
    quant_i32_t sum = {0};

    rlx_window_kernel_range(w, 2, ow, &lo, &hi);
    for (int64_t kh = at->lo_h; kh < at->hi_h; kh++) {
        const uint8_t *x = pool_cell(p, at, ow, kh, lo);

        for (int64_t kw = lo; kw < hi; kw++, x += step)
            sum += quant_widen(*(const quant_u8_t *)x);
    }
    *out_cells = (at->hi_h - at->lo_h) * (hi - lo);
    return sum;
}

static int32_t sum_1(const rlx_qpool_params_t *p, const pool_at_t *at, int64_t ow, int64_t *out_cells)
{
    const rlx_conv_window_t *w = &p->window;
    int64_t lo, hi;
    int32_t sum = 0;

    rlx_window_kernel_range(w, 2, ow, &lo, &hi);
    for (int64_t kh = at->lo_h; kh < at->hi_h; kh++)
        for (int64_t kw = lo; kw < hi; kw++)
            sum += *pool_cell(p, at, ow, kh, kw);
    *out_cells = (at->hi_h - at->lo_h) * (hi - lo);
    return sum;
}

RLX_KERNEL_ENTRY(qavg_pool)
{
    const rlx_qavg_pool_params_t *p = (const rlx_qavg_pool_params_t *)args->param;
    const rlx_conv_window_t *w = &p->window;
    float lo = rlx_param_f32(p->finish.lo), hi = rlx_param_f32(p->finish.hi);
    int padded = p->count_include_pad != 0;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        pool_at_t at = pool_row(p, args, tile);
        uint8_t *y = (uint8_t *)args->out[0].base + tile * w->out[2] * p->lanes;
        int64_t count_h = rlx_window_counted(w, 1, tile % w->out[1], padded), cells;

        for (int64_t ow = 0; ow < w->out[2]; ow++, y += p->lanes) {
            float scale = rlx_param_f32(p->scale) / (float)(count_h * rlx_window_counted(w, 2, ow, padded));

            if (p->lanes == 16) {
                quant_i32_t sum = sums_16(p, &at, ow, &cells) - (int32_t)(cells * p->x_point);

                *(quant_u8_t *)y = quant_narrow(quant_bytes_lanes(quant_floats(sum) * vec16_splat(scale), lo, hi, (int32_t)p->finish.point));
            } else {
                int32_t sum = sum_1(p, &at, ow, &cells) - (int32_t)(cells * p->x_point);

                *y = quant_byte((float)sum * scale, lo, hi, (int32_t)p->finish.point);
            }
        }
    }
}
