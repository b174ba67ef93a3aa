/* The register tile of the direct convolutions: n pixels x nb blocks of 16 output channels, all in registers while the reduction runs.
 *
 * Invariant: every output takes one fma per (input block, kernel cell, channel of the block), in that order, whatever the tile. A call is
 * one segment (kernels/segment.h) of the input blocks; totals rest in y between calls. Pixels lie 16 floats apart, so one
 * pointer serves all. 512-bit targets: up to 14 pixels x 32 channels, 28 x 16 or 28 x 8; others: up to 6 x 16 or 12 x 8. Body: conv_tile.c. */
#ifndef RLX_KERNELS_CONV_TILE_H
#define RLX_KERNELS_CONV_TILE_H

#include "kernels/conv_finish.h"

#ifdef __AVX512F__
#define CONV_TILE_BLOCKS 2
#define CONV_TILE_PIXELS 14  /* with CONV_TILE_BLOCKS */
#define CONV_TILE_PIXELS_1 28 /* with one block */
#define CONV_TILE_PIXELS_HALF 28 /* with half a block */
#else
#define CONV_TILE_BLOCKS 1
#define CONV_TILE_PIXELS 6
#define CONV_TILE_PIXELS_1 6
#define CONV_TILE_PIXELS_HALF 12
#endif
#define CONV_TILE_HALF 0 /* as a number of blocks: lanes 0 to 7 of one; the others become 0 */

/* What the tiles of a segment share. */
typedef struct conv_tile {
    const int64_t *tap;   /* offset of each kernel cell, in floats */
    int64_t taps;
    int64_t blocks;       /* full input blocks */
    int64_t block_step;   /* floats between them */
    int64_t tail;         /* channels of one further block, 0 to 15 */
    const float *w;       /* [block][tap][channel][16] */
    int64_t w_step;       /* floats between output blocks */
    const float *start;   /* 16 floats per output block that every pixel starts from, or NULL: start from +0, add the sums to y */
    int64_t y_pixel, y_block;
    int64_t prefetch_lines; /* of 64 bytes, every fourth channel, where a tile is told to fetch */
    const float *residual; /* laid out like `out`, added at the end; or NULL */
    const float *out;      /* what y points into */
    int end;               /* then this (kernels/conv_finish.h), with lo and hi */
    float lo, hi;
    const float *affine;   /* of the conv_finish_t */
} conv_tile_t;

/* X(pixels, nb) for every size of a tile: small on every target; with one block, also large on 512-bit ones, where middle goes with both. */
#define CONV_TILE_SMALL(X, nb) X(1, nb) X(2, nb) X(3, nb) X(4, nb) X(5, nb) X(6, nb)
#define CONV_TILE_MIDDLE(X, nb) X(7, nb) X(8, nb) X(9, nb) X(10, nb) X(11, nb) X(12, nb) X(13, nb) X(14, nb)
#define CONV_TILE_LARGE(X, nb)                                                   \
    X(15, nb) X(16, nb) X(17, nb) X(18, nb) X(19, nb) X(20, nb) X(21, nb)        \
    X(22, nb) X(23, nb) X(24, nb) X(25, nb) X(26, nb) X(27, nb) X(28, nb)

/* Runs `n` pixels x `nb` blocks: 1 <= nb <= CONV_TILE_BLOCKS or CONV_TILE_HALF, n up to CONV_TILE_PIXELS, CONV_TILE_PIXELS_1 for one
 * block, CONV_TILE_PIXELS_HALF for half a one. x: first pixel, first input block. prefetch: what is fetched meanwhile, w_step apart like w, or
 * NULL. What changes from tile to tile comes in registers: loads of what was just written to memory wait behind the stores of the tile
 * before, about 40 cycles in which nothing is multiplied. */
void rlx_conv_tile_run(int64_t n, int64_t nb, const conv_tile_t *tile, const float *x, float *y, const float *prefetch);

/* Output blocks that a tile of `nb` touches. */
static inline int64_t conv_tile_lines(int64_t nb) { return nb == CONV_TILE_HALF ? 1 : nb; }

/* How many of the `blocks` output blocks that are left go together; `outputs` are left, counted up to 16 or more. Outputs that fill at most
 * half a block are computed so. */
static inline int64_t conv_tile_blocks(int64_t outputs, int64_t blocks)
{
    if (outputs <= 8)
        return CONV_TILE_HALF;
    return blocks < CONV_TILE_BLOCKS || (outputs > 16 && outputs <= 16 * (CONV_TILE_BLOCKS - 1) + 8) ? 1 : CONV_TILE_BLOCKS;
}

/* A run of `pixels` is cut into this many tiles, as even as possible: no tile is left with a few pixels. */
static inline int64_t conv_tile_count(int64_t pixels, int64_t nb)
{
    int64_t most = nb == CONV_TILE_HALF ? CONV_TILE_PIXELS_HALF : nb == 1 ? CONV_TILE_PIXELS_1 : CONV_TILE_PIXELS;

    return (pixels + most - 1) / most;
}

#endif
