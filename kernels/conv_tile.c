/* The micro-kernels of the direct convolutions, one per number of pixels and blocks. See kernels/conv_tile.h. */
#include "kernels/conv_tile.h"
#include "kernels/vec16_tile.h"

/* One channel: q is the pixel run at that channel. */
VEC16_INLINE void conv_tile_channel(int n, int nb, tile16_t acc[][2], const float *q, const float *w, int64_t w_step)
{
    tile16_t weight[2];

    VEC16_FENCE(); /* else the next channels' weights are loaded early and accumulators spill */
    VEC16_UNROLL for (int j = 0; j < nb; j++)
        weight[j] = tile16_load(w + j * w_step);
    VEC16_UNROLL for (int p = 0; p < n; p++) {
        tile16_t x = tile16_splat(q[p * 16]);

        VEC16_UNROLL for (int j = 0; j < nb; j++)
            acc[p][j] = tile16_fma(x, weight[j], acc[p][j]);
    }
    VEC16_SETTLE(acc[n - 1][nb - 1]);
}

VEC16_INLINE void tile_finish(int n, int nb, const conv_tile_t *t, tile16_t acc[][2])
{
    const float *residual = t->residual, *total = t->y;
    float *y = t->y;

    if (t->start == NULL)
        VEC16_UNROLL for (int p = 0; p < n; p++, total += t->y_pixel)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = tile16_add(tile16_load(total + j * t->y_block), acc[p][j]);
    if (residual != NULL)
        VEC16_UNROLL for (int p = 0; p < n; p++, residual += t->y_pixel)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = tile16_add(acc[p][j], tile16_load(residual + j * t->y_block));
    if (t->end == CONV_FINISH_CLAMP)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = tile16_min(tile16_splat(t->hi), tile16_max(tile16_splat(t->lo), acc[p][j]));
    else if (t->end == CONV_FINISH_HARD_SWISH)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = conv_finish_tile_hard_swish(acc[p][j], t->affine);
    VEC16_UNROLL for (int p = 0; p < n; p++, y += t->y_pixel)
        VEC16_UNROLL for (int j = 0; j < nb; j++)
            tile16_store(y + j * t->y_block, acc[p][j]);
}

VEC16_INLINE void conv_tile_run(int n, int nb, const conv_tile_t *t)
{
    tile16_t acc[CONV_TILE_PIXELS_1][2];
    const float *w = t->w, *x = t->x, *prefetch = t->prefetch;
    int64_t w_step = t->w_step;

    if (t->start != NULL) {
        VEC16_UNROLL for (int j = 0; j < nb; j++)
            VEC16_UNROLL for (int p = 0; p < n; p++)
                acc[p][j] = tile16_load(t->start + j * 16);
    } else {
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = tile16_splat(0);
    }
    if (t->residual != NULL) /* comes from the second level or farther, and is needed when the chains end */
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                __builtin_prefetch(t->residual + p * t->y_pixel + j * t->y_block, 0, 2);
    for (int64_t b = 0; b < t->blocks; b++, x += t->block_step)
        VEC16_NO_UNROLL for (int64_t k = 0; k < t->taps; k++) {
            const float *q = x + t->tap[k];

            VEC16_NO_UNROLL for (int i = 0; i < 16; i += 4, q += 4, w += 64) {
                VEC16_NO_UNROLL for (int64_t l = 0; l < t->prefetch_lines; l++, prefetch += 16)
                    VEC16_UNROLL for (int j = 0; j < nb; j++)
                        __builtin_prefetch(prefetch + j * w_step, 0, 2);
                VEC16_UNROLL for (int c = 0; c < 4; c++)
                    conv_tile_channel(n, nb, acc, q + c, w + c * 16, w_step);
            }
        }
    if (t->tail > 0)
        for (int64_t k = 0; k < t->taps; k++)
            VEC16_NO_UNROLL for (int64_t i = 0; i < t->tail; i++, w += 16)
                conv_tile_channel(n, nb, acc, x + t->tap[k] + i, w, w_step);
    tile_finish(n, nb, t, acc);
}

VEC16_INLINE void half_channel(int n, tile8_t *acc, const float *q, const float *w)
{
    tile8_t weight;

    VEC16_FENCE();
    weight = tile8_load(w);
    VEC16_UNROLL for (int p = 0; p < n; p++)
        acc[p] = tile8_fma(tile8_splat(q[p * 16]), weight, acc[p]);
    VEC16_SETTLE(acc[n - 1]);
}

/* Half a block: the loops of conv_tile_run on eight lanes. */
VEC16_INLINE void conv_tile_half_run(int n, const conv_tile_t *t)
{
    tile8_t acc[28];
    tile16_t result[28][2];
    const float *w = t->w, *x = t->x, *prefetch = t->prefetch;

    VEC16_UNROLL for (int p = 0; p < n; p++)
        acc[p] = t->start != NULL ? tile8_load(t->start) : (tile8_t){0};
    for (int64_t b = 0; b < t->blocks; b++, x += t->block_step)
        VEC16_NO_UNROLL for (int64_t k = 0; k < t->taps; k++) {
            const float *q = x + t->tap[k];

            VEC16_NO_UNROLL for (int i = 0; i < 16; i += 4, q += 4, w += 64) {
                VEC16_NO_UNROLL for (int64_t l = 0; l < t->prefetch_lines; l++, prefetch += 16)
                    __builtin_prefetch(prefetch, 0, 2);
                VEC16_UNROLL for (int c = 0; c < 4; c++)
                    half_channel(n, acc, q + c, w + c * 16);
            }
        }
    if (t->tail > 0)
        for (int64_t k = 0; k < t->taps; k++)
            VEC16_NO_UNROLL for (int64_t i = 0; i < t->tail; i++, w += 16)
                half_channel(n, acc, x + t->tap[k] + i, w);
    VEC16_UNROLL for (int p = 0; p < n; p++)
        result[p][0] = tile16_widen(acc[p]);
    tile_finish(n, 1, t, result);
}

#define CONV_TILE_HALF_DEFINE(n, nb) \
    static __attribute__((noinline)) void conv_tile_half_##n(const conv_tile_t *t) { conv_tile_half_run(n, t); }
#define CONV_TILE_HALF_CASE(n, nb) \
    case n:                        \
        conv_tile_half_##n(t);     \
        break;
#define CONV_TILE_DEFINE(n, nb) \
    static __attribute__((noinline)) void conv_tile_##n##x##nb(const conv_tile_t *t) { conv_tile_run(n, nb, t); }
#define CONV_TILE_CASE(n, nb)    \
    case n:                      \
        conv_tile_##n##x##nb(t); \
        break;

CONV_TILE_SMALL(CONV_TILE_DEFINE, 1)
#ifdef __AVX512F__
CONV_TILE_MIDDLE(CONV_TILE_DEFINE, 1)
CONV_TILE_LARGE(CONV_TILE_DEFINE, 1)
CONV_TILE_SMALL(CONV_TILE_DEFINE, 2)
CONV_TILE_MIDDLE(CONV_TILE_DEFINE, 2)
#endif

CONV_TILE_SMALL(CONV_TILE_HALF_DEFINE, 0)
CONV_TILE_MIDDLE(CONV_TILE_HALF_DEFINE, 0)
#ifdef __AVX512F__
CONV_TILE_LARGE(CONV_TILE_HALF_DEFINE, 0)
#endif

static void tile_half(int64_t n, const conv_tile_t *t)
{
    switch (n) {
        CONV_TILE_SMALL(CONV_TILE_HALF_CASE, 0)
        CONV_TILE_MIDDLE(CONV_TILE_HALF_CASE, 0)
#ifdef __AVX512F__
        CONV_TILE_LARGE(CONV_TILE_HALF_CASE, 0)
#endif
    }
}

void rlx_conv_tile_run(int64_t n, int64_t nb, const conv_tile_t *t)
{
    if (nb == CONV_TILE_HALF) {
        tile_half(n, t);
        return;
    }
#ifdef __AVX512F__
    if (nb == 2)
        switch (n) {
            CONV_TILE_SMALL(CONV_TILE_CASE, 2)
            CONV_TILE_MIDDLE(CONV_TILE_CASE, 2)
        }
    else
        switch (n) {
            CONV_TILE_SMALL(CONV_TILE_CASE, 1)
            CONV_TILE_MIDDLE(CONV_TILE_CASE, 1)
            CONV_TILE_LARGE(CONV_TILE_CASE, 1)
        }
#else
    switch (n) {
        CONV_TILE_SMALL(CONV_TILE_CASE, 1)
    }
#endif
}
