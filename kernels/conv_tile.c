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

/* acc[p][j] += what lies at `from`, laid out like y. */
VEC16_INLINE void tile_add(int n, int nb, int64_t pixel, const conv_tile_t *t, const float *from, tile16_t acc[][2])
{
    VEC16_UNROLL for (int p = 0; p < n; p++, from += pixel)
        VEC16_UNROLL for (int j = 0; j < nb; j++)
            acc[p][j] = tile16_add(tile16_load(from + j * t->y_block), acc[p][j]);
}

/* Ends that take two operations a vector, or many: see vec16_tile.h. */
VEC16_INLINE void tile_store_clamped(int n, int nb, int64_t pixel, const conv_tile_t *t, float *y, tile16_t acc[][2])
{
    tile16_t lo = tile16_splat(t->lo), hi = tile16_splat(t->hi);

    VEC16_UNROLL for (int p = 0; p < n; p++, y += pixel)
        VEC16_UNROLL for (int j = 0; j < nb; j++) {
            tile16_store(y + j * t->y_block, tile16_min(hi, tile16_max(lo, acc[p][j])));
            VEC16_FENCE();
        }
}

VEC16_INLINE void tile_store_added_relu(int n, int nb, int64_t pixel, const conv_tile_t *t, const float *from, float *y, tile16_t acc[][2])
{
    tile16_t lo = tile16_splat(t->lo);

    VEC16_UNROLL for (int p = 0; p < n; p++, from += pixel, y += pixel)
        VEC16_UNROLL for (int j = 0; j < nb; j++) {
            tile16_store(y + j * t->y_block, tile16_max(lo, tile16_add(tile16_load(from + j * t->y_block), acc[p][j])));
            VEC16_FENCE();
        }
}

VEC16_INLINE void tile_store_hard_swish(int n, int nb, int64_t pixel, const conv_tile_t *t, float *y, tile16_t acc[][2])
{
    VEC16_UNROLL for (int p = 0; p < n; p++, y += pixel)
        VEC16_UNROLL for (int j = 0; j < nb; j++) {
            tile16_store(y + j * t->y_block, conv_finish_tile_hard_swish(acc[p][j], t->affine));
            VEC16_FENCE();
        }
}

/* And those that take one or none. */
VEC16_INLINE void tile_store_added(int n, int nb, int64_t pixel, const conv_tile_t *t, const float *from, float *y, tile16_t acc[][2])
{
    VEC16_UNROLL for (int p = 0; p < n; p++, from += pixel, y += pixel)
        VEC16_UNROLL for (int j = 0; j < nb; j++) {
            tile16_store(y + j * t->y_block, tile16_add(tile16_load(from + j * t->y_block), acc[p][j]));
            VEC16_FENCE();
        }
}

VEC16_INLINE void tile_store(int n, int nb, int64_t pixel, const conv_tile_t *t, float *y, tile16_t acc[][2])
{
    VEC16_UNROLL for (int p = 0; p < n; p++, y += pixel)
        VEC16_UNROLL for (int j = 0; j < nb; j++) {
            tile16_store(y + j * t->y_block, acc[p][j]);
            VEC16_FENCE();
        }
}

#define INFINITE_BITS 0x7f800000u

/* The total so far, the residual, then the end. Whatever is added last goes together with the store where that leaves it two operations. */
VEC16_INLINE void tile_end(int n, int nb, int64_t pixel, const conv_tile_t *t, float *y, tile16_t acc[][2])
{
    const float *last = t->start == NULL ? y : NULL;
    uint32_t hi;

    __builtin_memcpy(&hi, &t->hi, sizeof hi); /* as an integer: comparing floats would wait for its turn behind the sums */
    if (t->residual != NULL) {
        if (last != NULL)
            tile_add(n, nb, pixel, t, last, acc);
        last = t->residual + (y - t->out);
    }
    if (last != NULL && t->end == CONV_FINISH_CLAMP && hi == INFINITE_BITS) {
        tile_store_added_relu(n, nb, pixel, t, last, y, acc);
    } else if (last != NULL && t->end == CONV_FINISH_NONE) {
        tile_store_added(n, nb, pixel, t, last, y, acc);
    } else {
        if (last != NULL)
            tile_add(n, nb, pixel, t, last, acc);
        if (t->end == CONV_FINISH_CLAMP)
            tile_store_clamped(n, nb, pixel, t, y, acc);
        else if (t->end == CONV_FINISH_HARD_SWISH)
            tile_store_hard_swish(n, nb, pixel, t, y, acc);
        else
            tile_store(n, nb, pixel, t, y, acc);
    }
}

/* Pixels mostly lie side by side: then their addresses are constants, and no register is put away for them. */
VEC16_INLINE void tile_finish(int n, int nb, const conv_tile_t *t, float *y, tile16_t acc[][2])
{
    if (t->y_pixel == 16)
        tile_end(n, nb, 16, t, y, acc);
    else
        tile_end(n, nb, t->y_pixel, t, y, acc);
}

VEC16_INLINE void conv_tile_run(int n, int nb, const conv_tile_t *t, const float *x, float *y, const float *prefetch)
{
    tile16_t acc[CONV_TILE_PIXELS_1][2];
    const float *w = t->w;
    int64_t w_step = t->w_step, lines = prefetch != NULL ? t->prefetch_lines : 0;

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
                __builtin_prefetch(t->residual + (y - t->out) + p * t->y_pixel + j * t->y_block, 0, 2);
    for (int64_t b = 0; b < t->blocks; b++, x += t->block_step)
        VEC16_NO_UNROLL for (int64_t k = 0; k < t->taps; k++) {
            const float *q = x + t->tap[k];

            VEC16_NO_UNROLL for (int i = 0; i < 16; i += 4, q += 4, w += 64) {
                VEC16_NO_UNROLL for (int64_t l = 0; l < lines; l++, prefetch += 16)
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
    tile_finish(n, nb, t, y, acc);
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
VEC16_INLINE void conv_tile_half_run(int n, const conv_tile_t *t, const float *x, float *y, const float *prefetch)
{
    tile8_t acc[28];
    tile16_t result[28][2];
    const float *w = t->w;
    int64_t lines = prefetch != NULL ? t->prefetch_lines : 0;

    VEC16_UNROLL for (int p = 0; p < n; p++)
        acc[p] = t->start != NULL ? tile8_load(t->start) : (tile8_t){0};
    for (int64_t b = 0; b < t->blocks; b++, x += t->block_step)
        VEC16_NO_UNROLL for (int64_t k = 0; k < t->taps; k++) {
            const float *q = x + t->tap[k];

            VEC16_NO_UNROLL for (int i = 0; i < 16; i += 4, q += 4, w += 64) {
                VEC16_NO_UNROLL for (int64_t l = 0; l < lines; l++, prefetch += 16)
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
    tile_finish(n, 1, t, y, result);
}

#define CONV_TILE_ARGUMENTS const conv_tile_t *t, const float *x, float *y, const float *prefetch
#define CONV_TILE_HALF_DEFINE(n, nb) \
    static __attribute__((noinline)) void conv_tile_half_##n(CONV_TILE_ARGUMENTS) { conv_tile_half_run(n, t, x, y, prefetch); }
#define CONV_TILE_HALF_CASE(n, nb) \
    case n:                        \
        conv_tile_half_##n(t, x, y, prefetch); \
        break;
#define CONV_TILE_DEFINE(n, nb) \
    static __attribute__((noinline)) void conv_tile_##n##x##nb(CONV_TILE_ARGUMENTS) { conv_tile_run(n, nb, t, x, y, prefetch); }
#define CONV_TILE_CASE(n, nb)    \
    case n:                      \
        conv_tile_##n##x##nb(t, x, y, prefetch); \
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

static void tile_half(int64_t n, CONV_TILE_ARGUMENTS)
{
    switch (n) {
        CONV_TILE_SMALL(CONV_TILE_HALF_CASE, 0)
        CONV_TILE_MIDDLE(CONV_TILE_HALF_CASE, 0)
#ifdef __AVX512F__
        CONV_TILE_LARGE(CONV_TILE_HALF_CASE, 0)
#endif
    }
}

void rlx_conv_tile_run(int64_t n, int64_t nb, CONV_TILE_ARGUMENTS)
{
    if (nb == CONV_TILE_HALF) {
        tile_half(n, t, x, y, prefetch);
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
