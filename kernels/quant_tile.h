/* The register tile of the quantised products: n pixels x nb blocks of 16 outputs, over all quads (four input channels) of the reduction.
 * Integers: any order gives the same sums. Included by qconv.c and qconv_vnni.c, which differ in their target only.
 *
 * Pixels lie `pixel` bytes apart (16 or 4, a constant of each instance). Weights: chunks of 64 bytes, 16 outputs x 4 channels, in the order
 * block, kernel cell, quad; behind them further halves of chunks (8 outputs), each for the quad that its entry names. */
#ifndef RLX_KERNELS_QUANT_TILE_H
#define RLX_KERNELS_QUANT_TILE_H

#include "kernels/params_quant.h"
#include "kernels/quant_round.h"

#if defined(__AVX512VNNI__)
#define QUANT_TILE_BLOCKS 2
#define QUANT_TILE_PIXELS 14
#elif defined(__AVX512BW__)
#define QUANT_TILE_BLOCKS 1
#define QUANT_TILE_PIXELS 14
#else
#define QUANT_TILE_BLOCKS 1
#define QUANT_TILE_PIXELS 4
#endif

typedef struct quant_tile {
    const uint8_t *x;       /* first pixel, first input block */
    const int64_t *tap;     /* offset of each kernel cell, bytes */
    int64_t taps;
    int64_t blocks;         /* input blocks */
    int64_t block_step;     /* bytes between them */
    int64_t quads, quads_last; /* of a block, of the last block; even where pairs are taken */
    const int8_t *w;
    int64_t w_step;         /* bytes between output blocks */
    struct {
        const int8_t *w;
        const int64_t *offset; /* of each one's quad from x, bytes */
        int64_t count;
    } more[QUANT_TILE_BLOCKS][2]; /* further half chunks of outputs 0 to 7, 8 to 15 */
    int32_t start[QUANT_TILE_BLOCKS][16];
    float scale[QUANT_TILE_BLOCKS][16], bias[QUANT_TILE_BLOCKS][16];
    int64_t lanes[QUANT_TILE_BLOCKS]; /* channels that exist */
    const rlx_quant_place_t *place;
    const rlx_quant_finish_t *finish;
    int has_bias;
    void *y;                /* of the first pixel, first block */
} quant_tile_t;

/* Results of one pixel and block that cannot be stored as a whole from registers. */
static __attribute__((noinline)) void quant_tile_store(const quant_tile_t *t, const int32_t *sums, int64_t p, int64_t j)
{
    int64_t at = p * t->place->pixel + j * t->place->block, lanes = t->place->whole ? 16 : t->lanes[j];
    const rlx_quant_finish_t *f = t->finish;
    quant_i32_t sum = *(const quant_i32_t *)sums;
    vec16_t v = quant_floats(sum) * vec16_load(t->scale[j]);
    float floats[16];

    if (f->result == RLX_QUANT_SUMS) {
        if (lanes == 16)
            *(quant_i32_t *)((int32_t *)t->y + at) = sum;
        else
            for (int64_t i = 0; i < lanes; i++)
                ((int32_t *)t->y)[at + i] = sums[i];
        return;
    }
    if (f->result == RLX_QUANT_BYTES) {
        quant_u8_t bytes = quant_narrow(quant_bytes_lanes(v, rlx_param_f32(f->lo), rlx_param_f32(f->hi), (int32_t)f->point));

        if (lanes == 16)
            *(quant_u8_t *)((uint8_t *)t->y + at) = bytes;
        else
            for (int64_t i = 0; i < lanes; i++)
                ((uint8_t *)t->y)[at + i] = bytes[i];
        return;
    }
    if (t->has_bias)
        v += vec16_load(t->bias[j]);
    if (lanes == 16) {
        vec16_store((float *)t->y + at, v);
        return;
    }
    vec16_store(floats, v);
    for (int64_t i = 0; i < lanes; i++)
        ((float *)t->y)[at + i] = floats[i];
}

VEC16_INLINE void quant_tile_finish(int n, int nb, const quant_tile_t *t, quant_acc_t acc[][QUANT_TILE_BLOCKS])
{
    const rlx_quant_finish_t *f = t->finish;
    float lo = rlx_param_f32(f->lo), hi = rlx_param_f32(f->hi);
    int32_t point = (int32_t)f->point, sums[QUANT_TILE_PIXELS][QUANT_TILE_BLOCKS][16];
    uint8_t *y = t->y;

    if (f->result == RLX_QUANT_BYTES && t->place->whole) {
        VEC16_UNROLL for (int p = 0; p < n; p++, y += 16)
            VEC16_UNROLL for (int j = 0; j < nb; j++) {
                vec16_t v = quant_floats(quant_acc_lanes(acc[p][j])) * vec16_load(t->scale[j]);

                *(quant_u8_t *)(y + j * t->place->block) = quant_narrow(quant_bytes_lanes(v, lo, hi, point));
            }
        return;
    }
    VEC16_UNROLL for (int p = 0; p < n; p++)
        VEC16_UNROLL for (int j = 0; j < nb; j++)
            __builtin_memcpy(sums[p][j], &acc[p][j], sizeof sums[p][j]);
    for (int p = 0; p < n; p++)
        for (int j = 0; j < nb; j++)
            quant_tile_store(t, sums[p][j], p, j);
}

/* One quad of nb blocks, or two that follow each other. */
VEC16_INLINE void quant_tile_quad(int n, int nb, int pixel, quant_acc_t acc[][QUANT_TILE_BLOCKS], const uint8_t *q, const int8_t *w,
                                  int64_t w_step)
{
    quant_acc_t weight[QUANT_TILE_BLOCKS];

    VEC16_FENCE();
    VEC16_UNROLL for (int j = 0; j < nb; j++)
        VEC16_UNROLL for (int h = 0; h < QUANT_PARTS; h++)
            weight[j].part[h] = quant_part_load(w + j * w_step + h * (64 / QUANT_PARTS));
    VEC16_UNROLL for (int p = 0; p < n; p++) {
        quant_part_t x = quant_part_splat(q + p * pixel);

        VEC16_UNROLL for (int j = 0; j < nb; j++)
            VEC16_UNROLL for (int h = 0; h < QUANT_PARTS; h++)
                acc[p][j].part[h] = quant_part_dot(acc[p][j].part[h], x, weight[j].part[h]);
    }
}

VEC16_INLINE void quant_tile_pair(int n, int nb, int pixel, quant_acc_t acc[][QUANT_TILE_BLOCKS], const uint8_t *q, const int8_t *w,
                                  int64_t w_step)
{
    quant_acc_t weight[2][QUANT_TILE_BLOCKS];

    VEC16_FENCE();
    VEC16_UNROLL for (int i = 0; i < 2; i++)
        VEC16_UNROLL for (int j = 0; j < nb; j++)
            VEC16_UNROLL for (int h = 0; h < 1; h++)
                weight[i][j].part[h] = quant_part_load(w + j * w_step + i * 64 + h * (64 / QUANT_PARTS));
    VEC16_UNROLL for (int p = 0; p < n; p++) {
        quant_part_t x0 = quant_part_splat(q + p * pixel), x1 = quant_part_splat(q + p * pixel + 4);

        VEC16_UNROLL for (int j = 0; j < nb; j++)
            VEC16_UNROLL for (int h = 0; h < QUANT_PARTS; h++) {
                if (h == 1) { /* registers are few: these weights come from memory each time */
                    const int8_t *again = w + j * w_step + 64 / QUANT_PARTS;

                    VEC16_HIDE(again);
                    weight[0][j].part[h] = quant_part_load(again);
                    weight[1][j].part[h] = quant_part_load(again + 64);
                }
                acc[p][j].part[h] = quant_part_dot2(acc[p][j].part[h], x0, weight[0][j].part[h], x1, weight[1][j].part[h]);
            }
    }
}

VEC16_INLINE void quant_tile_more(int n, int nb, int pixel, const quant_tile_t *t, quant_acc_t acc[][QUANT_TILE_BLOCKS])
{
    VEC16_UNROLL for (int j = 0; j < nb; j++)
        VEC16_UNROLL for (int half = 0; half < 2; half++) {
            const int64_t *offset = t->more[j][half].offset;
            const int8_t *w = t->more[j][half].w;
            int h = half * (QUANT_PARTS - 1);

            VEC16_NO_UNROLL for (int64_t i = 0; i < t->more[j][half].count; i++, w += 32) {
                const uint8_t *q = t->x + offset[i];
                quant_part_t weight = quant_part_half(w, half);

                VEC16_UNROLL for (int p = 0; p < n; p++)
                    acc[p][j].part[h] = quant_part_dot(acc[p][j].part[h], quant_part_splat(q + p * pixel), weight);
            }
        }
}

VEC16_INLINE void quant_tile_run(int n, int nb, int pixel, int pairs, const quant_tile_t *t)
{
    quant_acc_t acc[QUANT_TILE_PIXELS][QUANT_TILE_BLOCKS];
    const int8_t *w = t->w;
    const uint8_t *x = t->x;
    int64_t w_step = t->w_step;

    VEC16_UNROLL for (int p = 0; p < n; p++)
        VEC16_UNROLL for (int j = 0; j < nb; j++)
            acc[p][j] = quant_acc_load(t->start[j]);
    for (int64_t b = 0; b < t->blocks; b++, x += t->block_step) {
        int64_t quads = b + 1 < t->blocks ? t->quads : t->quads_last;

        VEC16_NO_UNROLL for (int64_t k = 0; k < t->taps; k++) {
            const uint8_t *q = x + t->tap[k];

            if (pairs)
                VEC16_NO_UNROLL for (int64_t i = 0; i < quads; i += 2, q += 8, w += 128)
                    quant_tile_pair(n, nb, pixel, acc, q, w, w_step);
            else
                VEC16_NO_UNROLL for (int64_t i = 0; i < quads; i++, q += 4, w += 64)
                    quant_tile_quad(n, nb, pixel, acc, q, w, w_step);
        }
    }
    quant_tile_more(n, nb, pixel, t, acc);
    quant_tile_finish(n, nb, t, acc);
}

#define QUANT_TILE_DEFINE(n, nb, pixel, pairs) \
    static __attribute__((noinline)) void quant_tile_##n##_##nb##_##pixel##_##pairs(const quant_tile_t *t) { quant_tile_run(n, nb, pixel, pairs, t); }
#define QUANT_TILE_CASE(n, nb, pixel, pairs)            \
    case n:                                             \
        quant_tile_##n##_##nb##_##pixel##_##pairs(t);   \
        break;
#define QUANT_TILE_SMALL(X, nb, pixel, pairs) X(1, nb, pixel, pairs) X(2, nb, pixel, pairs) X(3, nb, pixel, pairs) X(4, nb, pixel, pairs)
#define QUANT_TILE_LARGE(X, nb, pixel, pairs)                                                                       \
    X(5, nb, pixel, pairs) X(6, nb, pixel, pairs) X(7, nb, pixel, pairs) X(8, nb, pixel, pairs) X(9, nb, pixel, pairs) \
    X(10, nb, pixel, pairs) X(11, nb, pixel, pairs) X(12, nb, pixel, pairs) X(13, nb, pixel, pairs) X(14, nb, pixel, pairs)

#if defined(__AVX512BW__)
#define QUANT_TILE_EACH(X, nb, pixel, pairs) QUANT_TILE_SMALL(X, nb, pixel, pairs) QUANT_TILE_LARGE(X, nb, pixel, pairs)
#else
#define QUANT_TILE_EACH(X, nb, pixel, pairs) QUANT_TILE_SMALL(X, nb, pixel, pairs)
#endif

QUANT_TILE_EACH(QUANT_TILE_DEFINE, 1, 16, 0)
QUANT_TILE_EACH(QUANT_TILE_DEFINE, 1, 4, 0)
#if defined(__AVX512VNNI__)
QUANT_TILE_EACH(QUANT_TILE_DEFINE, 2, 16, 0)
QUANT_TILE_EACH(QUANT_TILE_DEFINE, 2, 4, 0)
#else
QUANT_TILE_EACH(QUANT_TILE_DEFINE, 1, 16, 1)
#endif

/* `n` pixels x `nb` blocks: 1 <= n <= QUANT_TILE_PIXELS, 1 <= nb <= QUANT_TILE_BLOCKS. pairs: of pixel 16 only, not with VNNI. */
static inline void quant_tile_call(int64_t n, int64_t nb, int64_t pixel, int64_t pairs, const quant_tile_t *t)
{
#if defined(__AVX512VNNI__)
    (void)pairs;
    if (nb == 2 && pixel == 16)
        switch (n) { QUANT_TILE_EACH(QUANT_TILE_CASE, 2, 16, 0) }
    else if (nb == 2)
        switch (n) { QUANT_TILE_EACH(QUANT_TILE_CASE, 2, 4, 0) }
    else if (pixel == 16)
        switch (n) { QUANT_TILE_EACH(QUANT_TILE_CASE, 1, 16, 0) }
    else
        switch (n) { QUANT_TILE_EACH(QUANT_TILE_CASE, 1, 4, 0) }
#else
    (void)nb;
    if (pixel == 16 && pairs)
        switch (n) { QUANT_TILE_EACH(QUANT_TILE_CASE, 1, 16, 1) }
    else if (pixel == 16)
        switch (n) { QUANT_TILE_EACH(QUANT_TILE_CASE, 1, 16, 0) }
    else
        switch (n) { QUANT_TILE_EACH(QUANT_TILE_CASE, 1, 4, 0) }
#endif
}

#endif
