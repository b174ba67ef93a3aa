/* The register tile of qlstm: the sums of products of `n` batch items' h with the four gates of sixteen hidden units, or of twice sixteen.
 * Integers: any order gives the same sums. Included once per target, like kernels/quant_tile.h.
 *
 * Weights: per quad of h one chunk of 64 bytes for each gate. Further half chunks as in kernels/quant_tile.h. */
#ifndef RLX_KERNELS_QLSTM_TILE_H
#define RLX_KERNELS_QLSTM_TILE_H

#include "kernels/params_rnn.h"
#include "kernels/quant_lanes.h"

#if defined(__AVX512BW__)
#define QLSTM_ROWS RLX_QLSTM_ROWS
#define QLSTM_UNITS 2 /* for a single row: as many sums as hide the latency of a product */
#else
#define QLSTM_ROWS 1
#define QLSTM_UNITS 1
#endif

typedef struct qlstm_tile {
    const uint8_t *x;      /* rows of bytes, x_step apart */
    int64_t x_step;
    const int8_t *w;
    int64_t w_step;        /* bytes between units of sixteen */
    int64_t quads;         /* even where pairs are taken */
    const int32_t *more;   /* prefix counts of the first gate's half 0, or NULL */
    const int64_t *offset; /* of each further half's quad, from the direction's first */
    const int8_t *more_w;  /* likewise */
    int32_t *sums;         /* [rows][units][4][16] */
} qlstm_tile_t;

VEC16_INLINE void qlstm_tile_quad(int n, int units, const qlstm_tile_t *t, const uint8_t *x, const int8_t *w, quant_acc_t acc[][QLSTM_UNITS * 4])
{
    VEC16_UNROLL for (int p = 0; p < n; p++) {
        quant_part_t q = quant_part_splat(x + p * t->x_step);

        VEC16_UNROLL for (int j = 0; j < units * 4; j++)
            VEC16_UNROLL for (int h = 0; h < QUANT_PARTS; h++) {
                quant_part_t weight = quant_part_load(w + j / 4 * t->w_step + j % 4 * 64 + h * (64 / QUANT_PARTS));

                acc[p][j].part[h] = quant_part_dot(acc[p][j].part[h], q, weight);
            }
    }
}

VEC16_INLINE void qlstm_tile_pair(int n, int units, const qlstm_tile_t *t, const uint8_t *x, const int8_t *w, quant_acc_t acc[][QLSTM_UNITS * 4])
{
    VEC16_UNROLL for (int p = 0; p < n; p++) {
        quant_part_t q0 = quant_part_splat(x + p * t->x_step), q1 = quant_part_splat(x + p * t->x_step + 4);

        VEC16_UNROLL for (int j = 0; j < units * 4; j++)
            VEC16_UNROLL for (int h = 0; h < QUANT_PARTS; h++) {
                const int8_t *at = w + j / 4 * t->w_step + j % 4 * 64 + h * (64 / QUANT_PARTS);

                acc[p][j].part[h] = quant_part_dot2(acc[p][j].part[h], q0, quant_part_load(at), q1, quant_part_load(at + 256));
            }
    }
}

VEC16_INLINE void qlstm_tile_more(int n, int units, const qlstm_tile_t *t, quant_acc_t acc[][QLSTM_UNITS * 4])
{
    VEC16_UNROLL for (int j = 0; j < units * 4; j++)
        VEC16_UNROLL for (int half = 0; half < 2; half++) {
            int h = half * (QUANT_PARTS - 1);

            VEC16_NO_UNROLL for (int64_t i = t->more[2 * j + half]; i < t->more[2 * j + half + 1]; i++) {
                quant_part_t weight = quant_part_half(t->more_w + i * 32, half);

                VEC16_UNROLL for (int p = 0; p < n; p++)
                    acc[p][j].part[h] = quant_part_dot(acc[p][j].part[h], quant_part_splat(t->x + p * t->x_step + t->offset[i]), weight);
            }
        }
}

VEC16_INLINE void qlstm_tile_run(int n, int units, int pairs, const qlstm_tile_t *t)
{
    quant_acc_t acc[QLSTM_ROWS][QLSTM_UNITS * 4];
    const uint8_t *x = t->x;
    const int8_t *w = t->w;

    __builtin_memset(acc, 0, sizeof acc);
    if (pairs)
        VEC16_NO_UNROLL for (int64_t i = 0; i < t->quads; i += 2, x += 8, w += 512)
            qlstm_tile_pair(n, units, t, x, w, acc);
    else
        VEC16_NO_UNROLL for (int64_t i = 0; i < t->quads; i++, x += 4, w += 256)
            qlstm_tile_quad(n, units, t, x, w, acc);
    if (t->more != NULL)
        qlstm_tile_more(n, units, t, acc);
    VEC16_UNROLL for (int p = 0; p < n; p++)
        VEC16_UNROLL for (int j = 0; j < units * 4; j++)
            __builtin_memcpy(t->sums + (p * units * 4 + j) * 16, &acc[p][j], 64);
}

#define QLSTM_TILE_DEFINE(n, units, pairs) \
    static __attribute__((noinline)) void qlstm_tile_##n##_##units##_##pairs(const qlstm_tile_t *t) { qlstm_tile_run(n, units, pairs, t); }

#if defined(__AVX512VNNI__)
#define QLSTM_TILE_EACH(X) X(1, 1, 0) X(1, 2, 0) X(2, 1, 0) X(3, 1, 0) X(4, 1, 0)
#elif defined(__AVX512BW__)
#define QLSTM_TILE_EACH(X) X(1, 1, 0) X(1, 2, 0) X(2, 1, 0) X(3, 1, 0) X(4, 1, 0) X(1, 1, 1) X(1, 2, 1) X(2, 1, 1) X(3, 1, 1) X(4, 1, 1)
#else
#define QLSTM_TILE_EACH(X) X(1, 1, 0) X(1, 1, 1)
#endif
QLSTM_TILE_EACH(QLSTM_TILE_DEFINE)

/* `n` rows x `units`: n <= QLSTM_ROWS, units <= QLSTM_UNITS and 1 unless n is. pairs: not with VNNI. */
static inline void qlstm_tile_call(int64_t n, int64_t units, int64_t pairs, const qlstm_tile_t *t)
{
#define QLSTM_TILE_TRY(rows, wide, two)                                \
    if (n == (rows) && units == (wide) && (pairs != 0) == (two)) {     \
        qlstm_tile_##rows##_##wide##_##two(t);                         \
        return;                                                        \
    }
    QLSTM_TILE_EACH(QLSTM_TILE_TRY)
#undef QLSTM_TILE_TRY
}

#endif
