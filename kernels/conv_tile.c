/* The micro-kernels of the direct convolutions, one per number of pixels and blocks. See kernels/conv_tile.h. */
#include "kernels/conv_tile.h"

/* One channel: q is the pixel run at that channel. */
VEC16_INLINE void conv_tile_channel(int n, int nb, vec16_t acc[][2], const float *q, const float *w, int64_t w_step)
{
    vec16_t weight[2];

    VEC16_FENCE(); /* else the next channels' weights are loaded early and accumulators spill */
    VEC16_UNROLL for (int j = 0; j < nb; j++)
        weight[j] = vec16_load(w + j * w_step);
    VEC16_UNROLL for (int p = 0; p < n; p++) {
        vec16_t x = vec16_splat(q[p * 16]);

        VEC16_UNROLL for (int j = 0; j < nb; j++)
            acc[p][j] = vec16_fma(x, weight[j], acc[p][j]);
    }
    VEC16_SETTLE(acc[n - 1][nb - 1]);
}

VEC16_INLINE void tile_finish(int n, int nb, const conv_tile_t *t, vec16_t acc[][2])
{
    const float *residual = t->residual, *total = t->y;
    float *y = t->y;

    if (t->start == NULL)
        VEC16_UNROLL for (int p = 0; p < n; p++, total += t->y_pixel)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = vec16_load(total + j * t->y_block) + acc[p][j];
    if (residual != NULL)
        VEC16_UNROLL for (int p = 0; p < n; p++, residual += t->y_pixel)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] += vec16_load(residual + j * t->y_block);
    if (t->clamp)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = conv_finish_clamp(acc[p][j], t->lo, t->hi);
    VEC16_UNROLL for (int p = 0; p < n; p++, y += t->y_pixel)
        VEC16_UNROLL for (int j = 0; j < nb; j++)
            vec16_store(y + j * t->y_block, acc[p][j]);
}

VEC16_INLINE void conv_tile_run(int n, int nb, const conv_tile_t *t)
{
    vec16_t acc[CONV_TILE_PIXELS_1][2];
    const float *w = t->w, *x = t->x, *prefetch = t->prefetch;
    int64_t w_step = t->w_step;

    if (t->start != NULL) {
        VEC16_UNROLL for (int j = 0; j < nb; j++)
            VEC16_UNROLL for (int p = 0; p < n; p++)
                acc[p][j] = vec16_load(t->start + j * 16);
    } else {
        VEC16_UNROLL for (int p = 0; p < n; p++)
            VEC16_UNROLL for (int j = 0; j < nb; j++)
                acc[p][j] = (vec16_t){0};
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

typedef float vec8_t __attribute__((vector_size(32), aligned(4), may_alias));

VEC16_INLINE vec8_t half_load(const float *x) { return *(const vec8_t *)x; }
VEC16_INLINE vec8_t half_splat(float x) { return (vec8_t){x, x, x, x, x, x, x, x}; }

VEC16_INLINE vec8_t half_fma(vec8_t a, vec8_t b, vec8_t c)
{
#ifdef __clang__
    return __builtin_elementwise_fma(a, b, c);
#else
    vec8_t d;
    for (int i = 0; i < 8; i++)
        d[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return d;
#endif
}

VEC16_INLINE void half_channel(int n, vec8_t *acc, const float *q, const float *w)
{
    vec8_t weight;

    VEC16_FENCE();
    weight = half_load(w);
    VEC16_UNROLL for (int p = 0; p < n; p++)
        acc[p] = half_fma(half_splat(q[p * 16]), weight, acc[p]);
    VEC16_SETTLE(acc[n - 1]);
}

/* Half a block: the loops of conv_tile_run on eight lanes. */
VEC16_INLINE void conv_tile_half_run(int n, const conv_tile_t *t)
{
    vec8_t acc[28];
    vec16_t result[28][2];
    const float *w = t->w, *x = t->x, *prefetch = t->prefetch;

    VEC16_UNROLL for (int p = 0; p < n; p++)
        acc[p] = t->start != NULL ? half_load(t->start) : (vec8_t){0};
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
        result[p][0] = __builtin_shufflevector(acc[p], (vec8_t){0}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
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
