/* Fast f32 reductions: the bits of kernels/reduce.c, with the loops turned so that they vectorise. Rows: the set is contiguous and fills
 * 16 lanes side by side. Columns: up to 64 neighbouring outputs at once, each with its own 16 chains, kept as 16 rows of 64. C16: the 16
 * channels of a block are such columns. */
#include "kernels/abi.h"
#include "kernels/lanes.h"
#include "kernels/params.h"
#include "kernels/vec16.h"

#define COLUMNS_MAX 64

static int reduce_f32_kind(int64_t op)
{
    if (op == RLX_REDUCE_MAX || op == RLX_REDUCE_MIN)
        return op == RLX_REDUCE_MAX ? LANES_MAX : LANES_MIN;
    if (op == RLX_REDUCE_PROD || op == RLX_REDUCE_L1)
        return op == RLX_REDUCE_PROD ? LANES_PROD : LANES_ABS;
    if (op == RLX_REDUCE_LOG_SUM_EXP)
        return LANES_EXP;
    return op == RLX_REDUCE_L2 || op == RLX_REDUCE_SUM_SQUARE ? LANES_SQUARE : LANES_ADD;
}

static float reduce_f32_finish(int64_t op, float sum, float shift, int64_t count)
{
    if (op == RLX_REDUCE_MEAN)
        return sum / (float)count;
    if (op == RLX_REDUCE_L2)
        return __builtin_sqrtf(sum);
    if (op == RLX_REDUCE_LOG_SUM || op == RLX_REDUCE_LOG_SUM_EXP)
        return rlx_math_logf(sum) + shift;
    return sum;
}

/* log_sum_exp: an infinite maximum counts as 0. */
static float reduce_f32_shift(float max) { return max - max == 0 || max != max ? max : 0; }

static float reduce_f32_row(int64_t op, const float *x, int64_t count)
{
    float lane[16], shift = 0;
    int kind = reduce_f32_kind(op);

    if (kind == LANES_EXP) {
        lanes_start_f32(LANES_MAX, lane);
        lanes_run_f32(LANES_MAX, lane, x, count, 0);
        shift = reduce_f32_shift(lanes_end_f32(LANES_MAX, lane));
    }
    lanes_start_f32(kind, lane);
    lanes_run_f32(kind, lane, x, count, shift);
    return reduce_f32_finish(op, lanes_end_f32(kind, lane), shift, count);
}

/* `width` neighbouring sets, elements `stride` apart. */
LANES_INLINE void columns_of(int kind, const float *x, int64_t count, int64_t stride, int width, const float *shift, float *out)
{
    float lane[16][COLUMNS_MAX];

    for (int j = 0; j < 16; j++)
        for (int c = 0; c < width; c++)
            lane[j][c] = lanes_identity_f32(kind);
    for (int64_t i = 0; i < count; i++) {
        float *restrict l = lane[i & 15];
        for (int c = 0; c < width; c++)
            l[c] = lanes_step_f32(kind, l[c], x[i * stride + c], shift[c]);
    }
    for (int half = 8; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            for (int c = 0; c < width; c++)
                lane[j][c] = lanes_join_f32(kind, lane[j][c], lane[j + half][c]);
    for (int c = 0; c < width; c++)
        out[c] = lane[0][c];
}

/* Full blocks and C16 blocks have constant widths. */
#define COLUMNS_KIND(kind)                                                          \
    do {                                                                            \
        if (width == 16)                                                            \
            columns_of(kind, x, count, stride, 16, shift, out);                     \
        else if (width == COLUMNS_MAX)                                              \
            columns_of(kind, x, count, stride, COLUMNS_MAX, shift, out);            \
        else                                                                        \
            columns_of(kind, x, count, stride, width, shift, out);                  \
    } while (0)

static void columns(int kind, const float *x, int64_t count, int64_t stride, int width, const float *shift, float *out)
{
    if (kind == LANES_ADD)
        COLUMNS_KIND(LANES_ADD);
    else if (kind == LANES_ABS)
        COLUMNS_KIND(LANES_ABS);
    else if (kind == LANES_SQUARE)
        COLUMNS_KIND(LANES_SQUARE);
    else if (kind == LANES_PROD)
        COLUMNS_KIND(LANES_PROD);
    else if (kind == LANES_MAX)
        COLUMNS_KIND(LANES_MAX);
    else if (kind == LANES_MIN)
        COLUMNS_KIND(LANES_MIN);
    else
        COLUMNS_KIND(LANES_EXP);
}

static void reduce_f32_columns(int64_t op, const float *x, int64_t count, int64_t stride, int width, float *out)
{
    float shift[COLUMNS_MAX] = {0}, sum[COLUMNS_MAX];
    int kind = reduce_f32_kind(op);

    if (kind == LANES_EXP) {
        columns(LANES_MAX, x, count, stride, width, shift, sum);
        for (int c = 0; c < width; c++)
            shift[c] = reduce_f32_shift(sum[c]);
    }
    columns(kind, x, count, stride, width, shift, sum);
    for (int c = 0; c < width; c++)
        out[c] = reduce_f32_finish(op, sum[c], shift[c], count);
}

RLX_KERNEL_ENTRY(reduce_f32)
{
    const rlx_reduce_f32_params_t *p = (const rlx_reduce_f32_params_t *)args->param;
    const float *x = args->in[0].base;
    float *y = args->out[0].base;
    int64_t blocks = (p->inner + COLUMNS_MAX - 1) / COLUMNS_MAX, units = p->outer * blocks;
    int64_t end = tile_end * p->per_tile < units ? tile_end * p->per_tile : units;

    for (int64_t u = tile_begin * p->per_tile; u < end; u++) {
        if (p->inner == 1) {
            y[u] = reduce_f32_row(p->op, x + u * p->count, p->count);
            continue;
        }
        int64_t outer = u / blocks, column = u % blocks * COLUMNS_MAX, left = p->inner - column;
        reduce_f32_columns(p->op, x + outer * p->count * p->inner + column, p->count, p->inner,
                           (int)(left < COLUMNS_MAX ? left : COLUMNS_MAX), y + outer * p->inner + column);
    }
}

/* The sums of sixteen channels that lie together, cells `stride` floats apart: chain j of the lanes16 order is a vector. */
static void channels_add(const float *x, int64_t count, int64_t stride, float *out)
{
    vec16_t chain[16] = {{0}};
    int64_t i = 0;

    for (; i + 16 <= count; i += 16)
        VEC16_UNROLL for (int j = 0; j < 16; j++)
            chain[j] += vec16_load(x + (i + j) * stride);
    for (int64_t j = 0; i + j < count; j++)
        chain[j] += vec16_load(x + (i + j) * stride);
    for (int half = 8; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            chain[j] += chain[j + half];
    vec16_store(out, chain[0]);
}

static void channels_reduce(int64_t op, const float *x, int64_t count, int64_t stride, float *out)
{
    if (reduce_f32_kind(op) != LANES_ADD) {
        reduce_f32_columns(op, x, count, stride, 16, out);
        return;
    }
    channels_add(x, count, stride, out);
    for (int c = 0; c < 16; c++)
        out[c] = reduce_f32_finish(op, out[c], 0, count);
}

/* The first `channels` of a block's sums at cell `cell` of `cells`. */
static void channels_store(const rlx_reduce_c16_params_t *p, float *y, int64_t channels, int64_t cell, int64_t cells, const float *sum)
{
    if (p->out_c16)
        for (int c = 0; c < 16; c++)
            y[cell * 16 + c] = sum[c];
    else
        for (int c = 0; c < 16 && c < channels; c++)
            y[c * cells + cell] = sum[c];
}

RLX_KERNEL_ENTRY(reduce_c16)
{
    const rlx_reduce_c16_params_t *p = (const rlx_reduce_c16_params_t *)args->param;
    int64_t cells = p->outer * p->inner;

    for (int64_t t = tile_begin; t < tile_end; t++) {
        int64_t first = t % p->blocks * 16, plane = p->out_c16 ? t * 16 : t / p->blocks * p->channels + first;
        const float *x = (const float *)args->in[0].base + t * p->outer * p->count * p->inner * 16;
        float *y = (float *)args->out[0].base + plane * cells, sum[16];

        for (int64_t cell = 0; cell < cells; cell++) {
            int64_t start = cell / p->inner * p->count * p->inner + cell % p->inner;

            channels_reduce(p->op, x + start * 16, p->count, p->inner * 16, sum);
            channels_store(p, y, p->channels - first, cell, cells, sum);
        }
    }
}
