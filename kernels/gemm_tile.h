/* The register tile of all f32 products: R rows x NB blocks of 16 columns, over k ascending.
 *
 * Invariant: c[r][j] takes part in exactly one fma per k, in ascending order, and segments end at the same k (kernels/segment.h), whatever
 * the tile: so bits depend neither on the tile nor on how k is cut into chunks, as long as chunks are whole segments. Totals rest in C
 * while a segment runs. A is row-major with stride `lda` and column stride 1; B is packed [16-column block][k][16], blocks `ldb` floats
 * apart. 512-bit targets use 10 x 32 (20 accumulators: with more, the end of a segment no longer hides behind the start of the next, which
 * costs 1 %), others 6 x 16 (12). Body: gemm_tile.c. */
#ifndef RLX_KERNELS_GEMM_TILE_H
#define RLX_KERNELS_GEMM_TILE_H

#include <stddef.h>
#include <stdint.h>

#define GEMM_INLINE static inline __attribute__((always_inline))

typedef float gemm_v16 __attribute__((vector_size(64), aligned(4), may_alias));

#ifdef __AVX512F__
#define GEMM_ROWS 10
#define GEMM_BLOCKS 2
#else
#define GEMM_ROWS 6
#define GEMM_BLOCKS 1
#endif

/* Column blocks side by side for a block of `rows` rows: enough independent chains to hide the latency of fma. */
static inline int64_t gemm_tile_blocks(int64_t rows)
{
#ifdef __AVX512F__
    return rows <= 3 ? 4 : GEMM_BLOCKS;
#else
    return rows == 1 ? 4 : rows <= 3 ? 2 : GEMM_BLOCKS;
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

/* Runs `rows` x `blocks`: up to GEMM_ROWS rows of 1 or gemm_tile_blocks(rows) blocks. */
void rlx_gemm_tile_run(int64_t rows, int64_t blocks, const gemm_tile_t *tile);

#endif
