/* Fast f32 normalisation of rows: the bits of kernels/norm.c. The scale is a vector along the row (layer norm) or one number for runs of
 * `inner` elements (instance and group norm). */
#include "kernels/abi.h"
#include "kernels/lanes.h"
#include "kernels/params.h"

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

RLX_KERNEL_ENTRY(norm_f32)
{
    for (int64_t row = tile_begin; row < tile_end; row++)
        norm_row((const rlx_norm_f32_params_t *)args->param, args, row);
}
