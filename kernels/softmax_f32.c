/* Fast f32 softmax and log-softmax: the bits of kernels/softmax.c. Rows when the axis is innermost, else blocks of up to 64 neighbouring
 * columns that share their loops. The exponentials stand in the output between the passes. */
#include "kernels/abi.h"
#include "kernels/lanes.h"
#include "kernels/params.h"
#include "kernels/softmax_row.h"

#define COLUMNS_MAX 64

static void log_softmax_row(const float *restrict x, float *restrict y, int64_t n)
{
    float lane[16], max, log_sum;

    lanes_start_f32(LANES_MAX, lane);
    lanes_run_f32(LANES_MAX, lane, x, n, 0);
    max = lanes_end_f32(LANES_MAX, lane);
    lanes_start_f32(LANES_ADD, lane);
    lanes_run_f32(LANES_FALL, lane, x, n, max);
    log_sum = rlx_math_logf(lanes_end_f32(LANES_ADD, lane));
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] - max) - log_sum;
}

/* Sum over the lanes of each column; `lane` is [16][COLUMNS_MAX]. */
static void columns_end(float (*lane)[COLUMNS_MAX], int width, float *sum)
{
    for (int half = 8; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            for (int c = 0; c < width; c++)
                lane[j][c] = lane[j][c] + lane[j + half][c];
    for (int c = 0; c < width; c++)
        sum[c] = lane[0][c];
}

static void softmax_columns(int64_t kind, const float *restrict x, float *restrict y, int64_t n, int64_t stride, int width)
{
    float lane[16][COLUMNS_MAX], max[COLUMNS_MAX], sum[COLUMNS_MAX];

    for (int c = 0; c < width; c++)
        max[c] = -__builtin_inff();
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < width; c++)
            max[c] = lanes_join_f32(LANES_MAX, max[c], x[i * stride + c]);
    for (int j = 0; j < 16; j++)
        for (int c = 0; c < width; c++)
            lane[j][c] = 0;
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < width; c++) {
            float e = rlx_math_exp_fallf(x[i * stride + c] - max[c]);
            y[i * stride + c] = e;
            lane[i & 15][c] = lane[i & 15][c] + e;
        }
    columns_end(lane, width, sum);
    for (int c = 0; c < width; c++)
        sum[c] = kind == RLX_SOFTMAX_LOG ? rlx_math_logf(sum[c]) : 1 / sum[c];
    for (int64_t i = 0; i < n; i++) {
        const float *from = x + i * stride;
        float *to = y + i * stride;
        if (kind == RLX_SOFTMAX)
            for (int c = 0; c < width; c++)
                to[c] = to[c] * sum[c];
        else
            for (int c = 0; c < width; c++)
                to[c] = (from[c] - max[c]) - sum[c];
    }
}

RLX_KERNEL_ENTRY(softmax_f32)
{
    const rlx_softmax_f32_params_t *p = (const rlx_softmax_f32_params_t *)args->param;
    const float *x = args->in[0].base;
    float *y = args->out[0].base;
    int64_t blocks = (p->inner + COLUMNS_MAX - 1) / COLUMNS_MAX;

    for (int64_t t = tile_begin; t < tile_end; t++) {
        if (p->inner == 1) {
            if (p->kind == RLX_SOFTMAX)
                softmax_row_run(0, x + t * p->count, y + t * p->count, p->count);
            else
                log_softmax_row(x + t * p->count, y + t * p->count, p->count);
            continue;
        }
        int64_t column = t % blocks * COLUMNS_MAX, left = p->inner - column, at = t / blocks * p->count * p->inner + column;
        softmax_columns(p->kind, x + at, y + at, p->count, p->inner, (int)(left < COLUMNS_MAX ? left : COLUMNS_MAX));
    }
}
