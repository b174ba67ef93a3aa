/* The register tile of all f32 products: R rows x NB blocks of 16 columns, over k ascending.
 *
 * Invariant: c[r][j] takes part in exactly one fma per k, in ascending order, and segments end at the same k (kernels/segment.h), whatever
 * the tile: so bits depend neither on the tile nor on how k is cut into chunks, as long as chunks are whole segments. Totals rest in C
 * while a segment runs. A is row-major with stride `lda` and column stride 1; B is
 * packed [16-column block][k][16], blocks `ldb` floats apart. 512-bit targets use 10 x 32 (20 accumulators: with more, the end of a
 * segment no longer hides behind the start of the next, which costs 1 %), others 6 x 16 (12).
 * Included by gemm*.c and the recurrent kernels. */
#ifndef RLX_KERNELS_GEMM_TILE_H
#define RLX_KERNELS_GEMM_TILE_H

#include "kernels/segment.h"

#define GEMM_INLINE static inline __attribute__((always_inline))

typedef float gemm_v16 __attribute__((vector_size(64), aligned(4), may_alias));

#ifdef __AVX512F__
#define GEMM_ROWS 10
#define GEMM_BLOCKS 2
#else
#define GEMM_ROWS 6
#define GEMM_BLOCKS 1
#endif

#pragma GCC diagnostic ignored "-Wpsabi" /* every vector argument is inlined away */

GEMM_INLINE gemm_v16 gemm_splat(float x) { return (gemm_v16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }

GEMM_INLINE gemm_v16 gemm_fma(gemm_v16 a, gemm_v16 b, gemm_v16 c)
{
#ifdef __clang__
    return __builtin_elementwise_fma(a, b, c);
#else
    gemm_v16 d;
    for (int i = 0; i < 16; i++)
        d[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return d;
#endif
}

/* What a tile call reads and writes. `init`: 16*NB floats per row, `init_step` apart, that the first segment starts from; NULL: k goes on
 * with a later segment, which starts from +0 and is added to C.
 * `prefetch` walks by `prefetch_step` bytes (at most 64) every fourth k, and `ldb` floats behind it for each further block: the next
 * panel of B, spread over the row tiles. Nothing to prefetch: `b` and step 0. */
typedef struct gemm_tile {
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float *c;
    int64_t ldc;
    const float *init;
    int64_t init_step;
    int64_t k;
    const char *prefetch;
    int64_t prefetch_step;
} gemm_tile_t;

#ifdef __clang__
#define GEMM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GEMM_UNROLL
#endif

/* One k. Row r is read through row pointer r / 3: three rows per base register keep the addressing in one instruction. */
GEMM_INLINE void gemm_tile_step(
    int rows, int blocks, gemm_v16 acc[GEMM_ROWS][4], const float *const *a, int64_t lda, const float *b, int64_t ldb, int at)
{
    gemm_v16 x[4];

    GEMM_UNROLL for (int j = 0; j < blocks; j++)
        x[j] = *(const gemm_v16 *)(b + j * ldb + at * 16);
    GEMM_UNROLL for (int r = 0; r < rows; r++) {
        gemm_v16 s = gemm_splat(a[r / 3][(r % 3) * lda + at]);
        GEMM_UNROLL for (int j = 0; j < blocks; j++)
            acc[r][j] = gemm_fma(s, x[j], acc[r][j]);
    }
}

/* A segment starts. */
GEMM_INLINE void gemm_tile_start(int rows, int blocks, gemm_v16 acc[GEMM_ROWS][4], const float *from, int64_t step)
{
    GEMM_UNROLL for (int r = 0; r < rows; r++)
        GEMM_UNROLL for (int j = 0; j < blocks; j++)
            acc[r][j] = from ? *(const gemm_v16 *)(from + r * step + 16 * j) : gemm_splat(0);
}

/* A segment ends: `adds` for every one but the first. */
GEMM_INLINE void gemm_tile_end(int rows, int blocks, gemm_v16 acc[GEMM_ROWS][4], float *c, int64_t ldc, int adds)
{
    const float *total = c;

    if (adds)
        GEMM_UNROLL for (int r = 0; r < rows; r++, total += ldc)
            GEMM_UNROLL for (int j = 0; j < blocks; j++)
                acc[r][j] = *(const gemm_v16 *)(total + 16 * j) + acc[r][j];
    GEMM_UNROLL for (int r = 0; r < rows; r++, c += ldc)
        GEMM_UNROLL for (int j = 0; j < blocks; j++)
            *(gemm_v16 *)(c + 16 * j) = acc[r][j];
}

GEMM_INLINE void gemm_tile_run(int rows, int blocks, const gemm_tile_t *t)
{
    gemm_v16 acc[GEMM_ROWS][4];
    const float *a[(GEMM_ROWS + 2) / 3];
    const float *b = t->b, *from = t->init;
    const char *prefetch = t->prefetch;
    int64_t lda = t->lda, ldb = t->ldb, ldc = t->ldc, left = t->k, step = t->prefetch_step;
    int groups = (rows + 2) / 3;

    GEMM_UNROLL for (int g = 0; g < groups; g++)
        a[g] = t->a + 3 * g * lda;
    do {
        int64_t k = left < RLX_SEGMENT_K ? left : RLX_SEGMENT_K;

        left -= k;
        gemm_tile_start(rows, blocks, acc, from, t->init_step);
        for (; k >= 4; k -= 4) {
            GEMM_UNROLL for (int i = 0; i < 4; i++)
                gemm_tile_step(rows, blocks, acc, a, lda, b, ldb, i);
            GEMM_UNROLL for (int j = 0; j < blocks; j++)
                __builtin_prefetch(prefetch + j * ldb * 4, 0, 2);
            prefetch += step;
            b += 64;
            GEMM_UNROLL for (int g = 0; g < groups; g++)
                a[g] += 4;
        }
        for (; k > 0; k--) {
            gemm_tile_step(rows, blocks, acc, a, lda, b, ldb, 0);
            b += 16;
            GEMM_UNROLL for (int g = 0; g < groups; g++)
                a[g] += 1;
        }
        gemm_tile_end(rows, blocks, acc, t->c, ldc, from == NULL);
        from = NULL;
    } while (left > 0);
}

#endif
