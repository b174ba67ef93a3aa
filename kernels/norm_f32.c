/* Fast f32 normalisation of rows: the bits of kernels/norm.c. The scale is a vector along the row (layer norm) or one number for runs of
 * `inner` elements (instance and group norm). Layer norms of whole vectors do some rows side by side: a row's sums are one chain a lane, whose
 * additions would wait for each other. */
#include <stdbool.h>

#include "kernels/abi.h"
#include "kernels/lanes.h"
#include "kernels/params.h"
#include "kernels/vec16_tile.h"

#define NORM_ROWS 4            /* side by side */
#define NORM_NEAR (1ll << 20) /* bytes of x and y that the second level holds; from farther away, one row after another is what the machine
                               * foresees best */

static float norm_sum(int kind, const float *x, int64_t n, float shift)
{
    float lane[16];

    lanes_start_f32(kind, lane);
    lanes_run_f32(kind, lane, x, n, shift);
    return lanes_end_f32(kind, lane);
}

/* x - 0 is x for every x but the sign of zero, which the product with a finite scale would keep: so rms norm has its own loops. */
static void norm_vector(const float *restrict x, const float *restrict scale, const float *restrict bias, float *restrict y, int64_t n,
                        float mean, float inv)
{
    if (bias)
        for (int64_t i = 0; i < n; i++)
            y[i] = __builtin_fmaf((x[i] - mean) * inv, scale[i], bias[i]);
    else
        for (int64_t i = 0; i < n; i++)
            y[i] = ((x[i] - mean) * inv) * scale[i];
}

static void norm_vector_rms(const float *restrict x, const float *restrict scale, float *restrict y, int64_t n, float inv)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] * inv) * scale[i];
}

static void norm_run(const float *restrict x, float *restrict y, int64_t n, float mean, float inv, float scale, const float *bias)
{
    if (bias) {
        float b = *bias;
        for (int64_t i = 0; i < n; i++)
            y[i] = __builtin_fmaf((x[i] - mean) * inv, scale, b);
    } else {
        for (int64_t i = 0; i < n; i++)
            y[i] = ((x[i] - mean) * inv) * scale;
    }
}

static void norm_row(const rlx_norm_f32_params_t *p, const rlx_kernel_args_t *args, int64_t row)
{
    int64_t n = p->count, first = row * n;
    const float *x = (const float *)args->in[0].base + first, *scale = args->in[1].base, *bias = args->in[2].base;
    float *y = args->out[0].base, mean = p->center ? norm_sum(LANES_ADD, x, n, 0) / (float)n : 0;
    float spread = norm_sum(p->center ? LANES_SPREAD : LANES_SQUARE, x, n, mean) / (float)n;
    float inv = 1 / __builtin_sqrtf(spread + rlx_param_f32(p->epsilon));

    if (args->out[1].base)
        ((float *)args->out[1].base)[row] = mean;
    if (args->out[2].base)
        ((float *)args->out[2].base)[row] = inv;
    if (!y)
        return;
    y += first;
    if (!p->center) {
        norm_vector_rms(x, scale, y, n, inv);
    } else if (p->inner == 1 && p->period == n) {
        norm_vector(x, scale, bias, y, n, mean, inv);
    } else {
        for (int64_t i = 0, run; i < n; i += run) {
            int64_t whole = first + i, channel = whole / p->inner % p->period;
            run = p->inner - whole % p->inner < n - i ? p->inner - whole % p->inner : n - i;
            norm_run(x + i, y + i, run, mean, inv, scale[channel], bias ? bias + channel : 0);
        }
    }
}

/* Sums of NORM_ROWS rows of whole vectors: of x, or of (x - mean)^2. */
static void rows_sum(int spread, const float *x, int64_t n, const float *mean, float *sum)
{
    tile16_t acc[NORM_ROWS], shift[NORM_ROWS];
    float lane[16];

    VEC16_UNROLL for (int r = 0; r < NORM_ROWS; r++) {
        acc[r] = tile16_splat(0);
        shift[r] = tile16_splat(spread ? mean[r] : 0);
    }
    for (int64_t i = 0; i < n; i += 16)
        VEC16_UNROLL for (int r = 0; r < NORM_ROWS; r++) {
            tile16_t v = tile16_load(x + r * n + i);

            if (spread) {
                v = tile16_sub(v, shift[r]);
                acc[r] = tile16_fma(v, v, acc[r]);
            } else {
                acc[r] = tile16_add(acc[r], v);
            }
        }
    VEC16_UNROLL for (int r = 0; r < NORM_ROWS; r++) {
        tile16_store(lane, acc[r]);
        sum[r] = lanes_end_f32(LANES_ADD, lane);
    }
}

static void rows_scale(const float *x, const float *scale, const float *bias, float *y, int64_t n, const float *mean, const float *inv)
{
    tile16_t shift[NORM_ROWS], factor[NORM_ROWS];

    VEC16_UNROLL for (int r = 0; r < NORM_ROWS; r++) {
        shift[r] = tile16_splat(mean[r]);
        factor[r] = tile16_splat(inv[r]);
    }
    for (int64_t i = 0; i < n; i += 16) {
        tile16_t s = tile16_load(scale + i), b = tile16_load(bias + i);

        VEC16_UNROLL for (int r = 0; r < NORM_ROWS; r++)
            tile16_store(y + r * n + i, tile16_fma(tile16_mul(tile16_sub(tile16_load(x + r * n + i), shift[r]), factor[r]), s, b));
    }
}

/* Rows [row, row + NORM_ROWS) of a layer norm of whole vectors. */
static void norm_rows(const rlx_norm_f32_params_t *p, const rlx_kernel_args_t *args, int64_t row)
{
    int64_t n = p->count, first = row * n;
    const float *x = (const float *)args->in[0].base + first;
    float mean[NORM_ROWS], inv[NORM_ROWS];

    rows_sum(0, x, n, NULL, mean);
    for (int r = 0; r < NORM_ROWS; r++)
        mean[r] = mean[r] / (float)n;
    rows_sum(1, x, n, mean, inv);
    for (int r = 0; r < NORM_ROWS; r++)
        inv[r] = 1 / __builtin_sqrtf(inv[r] / (float)n + rlx_param_f32(p->epsilon));
    for (int r = 0; r < NORM_ROWS && args->out[1].base; r++)
        ((float *)args->out[1].base)[row + r] = mean[r];
    for (int r = 0; r < NORM_ROWS && args->out[2].base; r++)
        ((float *)args->out[2].base)[row + r] = inv[r];
    rows_scale(x, args->in[1].base, args->in[2].base, (float *)args->out[0].base + first, n, mean, inv);
}

RLX_KERNEL_ENTRY(norm_f32)
{
    const rlx_norm_f32_params_t *p = (const rlx_norm_f32_params_t *)args->param;
    bool is_layer = p->center && p->inner == 1 && p->period == p->count && args->in[2].base;
    bool is_near = (tile_end - tile_begin) * p->count * 8 <= NORM_NEAR;
    bool is_whole = is_layer && is_near && p->count % 16 == 0 && args->out[0].base;
    int64_t row = tile_begin;

    for (; is_whole && row + NORM_ROWS <= tile_end; row += NORM_ROWS)
        norm_rows(p, args, row);
    for (; row < tile_end; row++)
        norm_row(p, args, row);
}
