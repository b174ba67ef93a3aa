/* The register tiles of all f32 products, one per number of rows and column blocks. See kernels/gemm_tile.h. */
#include "kernels/gemm_tile.h"

#include "kernels/segment.h"
#include "kernels/vec16_tile.h"

/* One k. Row r is read through row pointer r / 3: three rows per base register keep the addressing in one instruction. */
GEMM_INLINE void gemm_tile_step(
    int rows, int blocks, tile16_t acc[GEMM_ROWS][4], const float *const *a, int64_t lda, const float *b, int64_t ldb, int at)
{
    tile16_t x[4];

    VEC16_UNROLL for (int j = 0; j < blocks; j++)
        x[j] = tile16_load(b + j * ldb + at * 16);
    VEC16_UNROLL for (int r = 0; r < rows; r++) {
        tile16_t s = tile16_splat(a[r / 3][(r % 3) * lda + at]);
        VEC16_UNROLL for (int j = 0; j < blocks; j++)
            acc[r][j] = tile16_fma(s, x[j], acc[r][j]);
    }
}

/* A segment starts. */
GEMM_INLINE void gemm_tile_start(int rows, int blocks, tile16_t acc[GEMM_ROWS][4], const float *from, int64_t step)
{
    VEC16_UNROLL for (int r = 0; r < rows; r++)
        VEC16_UNROLL for (int j = 0; j < blocks; j++)
            acc[r][j] = from ? tile16_load(from + r * step + 16 * j) : tile16_splat(0);
}

/* A segment ends: `adds` for every one but the first. */
GEMM_INLINE void gemm_tile_end(int rows, int blocks, tile16_t acc[GEMM_ROWS][4], float *c, int64_t ldc, int adds)
{
    const float *total = c;

    if (adds)
        VEC16_UNROLL for (int r = 0; r < rows; r++, total += ldc)
            VEC16_UNROLL for (int j = 0; j < blocks; j++)
                acc[r][j] = tile16_add(tile16_load(total + 16 * j), acc[r][j]);
    VEC16_UNROLL for (int r = 0; r < rows; r++, c += ldc)
        VEC16_UNROLL for (int j = 0; j < blocks; j++)
            tile16_store(c + 16 * j, acc[r][j]);
}

GEMM_INLINE void gemm_tile_body(int rows, int blocks, const gemm_tile_t *t)
{
    tile16_t acc[GEMM_ROWS][4];
    const float *a[(GEMM_ROWS + 2) / 3];
    const float *b = t->b, *from = t->init;
    const char *prefetch = t->prefetch;
    int64_t lda = t->lda, ldb = t->ldb, ldc = t->ldc, left = t->k, step = t->prefetch_step;
    int groups = (rows + 2) / 3;

    VEC16_UNROLL for (int g = 0; g < groups; g++)
        a[g] = t->a + 3 * g * lda;
    do {
        int64_t k = left < RLX_SEGMENT_K ? left : RLX_SEGMENT_K;

        left -= k;
        gemm_tile_start(rows, blocks, acc, from, t->init_step);
        for (; k >= 4; k -= 4) {
            VEC16_UNROLL for (int i = 0; i < 4; i++)
                gemm_tile_step(rows, blocks, acc, a, lda, b, ldb, i);
            VEC16_UNROLL for (int j = 0; j < blocks; j++)
                __builtin_prefetch(prefetch + j * ldb * 4, 0, 2);
            prefetch += step;
            b += 64;
            VEC16_UNROLL for (int g = 0; g < groups; g++)
                a[g] += 4;
        }
        for (; k > 0; k--) {
            gemm_tile_step(rows, blocks, acc, a, lda, b, ldb, 0);
            b += 16;
            VEC16_UNROLL for (int g = 0; g < groups; g++)
                a[g] += 1;
        }
        gemm_tile_end(rows, blocks, acc, t->c, ldc, from == NULL);
        from = NULL;
    } while (left > 0);
}

#define GEMM_TILE(rows, blocks) \
    static __attribute__((noinline)) void tile_##rows##x##blocks(const gemm_tile_t *tile) { gemm_tile_body(rows, blocks, tile); }
#define GEMM_CASE(rows, blocks)       \
    case rows:                        \
        tile_##rows##x##blocks(tile); \
        return;

#ifdef __AVX512F__
#define GEMM_WIDE(X) X(1, 4) X(2, 4) X(3, 4)
#define GEMM_DOUBLE(X) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) X(7, 2) X(8, 2) X(9, 2) X(10, 2)
#define GEMM_SINGLE(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1) X(9, 1) X(10, 1)
#else
#define GEMM_WIDE(X) X(1, 4)
#define GEMM_DOUBLE(X) X(1, 2) X(2, 2) X(3, 2)
#define GEMM_SINGLE(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1)
#endif
GEMM_WIDE(GEMM_TILE)
GEMM_DOUBLE(GEMM_TILE)
GEMM_SINGLE(GEMM_TILE)

void rlx_gemm_tile_run(int64_t rows, int64_t blocks, const gemm_tile_t *tile)
{
    if (blocks == 4)
        switch (rows) { GEMM_WIDE(GEMM_CASE) }
    else if (blocks == 2)
        switch (rows) { GEMM_DOUBLE(GEMM_CASE) }
    else
        switch (rows) { GEMM_SINGLE(GEMM_CASE) }
}
