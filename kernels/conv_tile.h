/* The register tile of the direct convolutions: n pixels x nb blocks of 16 output channels, all in registers while the reduction runs.
 *
 * Invariant: every output takes one fma per (input block, kernel cell, channel of the block), in that order, whatever the tile. A call is
 * one segment (kernels/segment.h) of the input blocks; totals rest in y between calls. Pixels lie 16 floats apart, so one
 * pointer serves all. 512-bit targets: up to 14 pixels x 32 channels or 28 x 16; others: up to 6 x 16. Body: conv_tile.c. */
#ifndef RLX_KERNELS_CONV_TILE_H
#define RLX_KERNELS_CONV_TILE_H

#include "kernels/conv_finish.h"

#ifdef __AVX512F__
#define CONV_TILE_BLOCKS 2
#define CONV_TILE_PIXELS 14  /* with CONV_TILE_BLOCKS */
#define CONV_TILE_PIXELS_1 28 /* with one block */
#else
#define CONV_TILE_BLOCKS 1
#define CONV_TILE_PIXELS 6
#define CONV_TILE_PIXELS_1 6
#endif

typedef struct conv_tile {
    const float *x;       /* first pixel, first input block */
    const int64_t *tap;   /* offset of each kernel cell, in floats */
    int64_t taps;
    int64_t blocks;       /* full input blocks */
    int64_t block_step;   /* floats between them */
    int64_t tail;         /* channels of one further block, 0 to 15 */
    const float *w;       /* [block][tap][channel][16] */
    int64_t w_step;       /* floats between output blocks */
    const float *start;   /* 16 floats per output block that every pixel starts from, or NULL: start from +0, add the sums to y */
    float *y;
    int64_t y_pixel, y_block;
    const float *prefetch; /* walks by prefetch_step floats every fourth channel; w_step apart like w: the next segment's weights */
    int64_t prefetch_step;
    const float *residual; /* laid out like y, added at the end; or NULL */
    int clamp;             /* then the result is kept in [lo, hi] */
    float lo, hi;
} conv_tile_t;

/* Runs `n` pixels x `nb` blocks: 1 <= nb <= CONV_TILE_BLOCKS, n up to CONV_TILE_PIXELS, or CONV_TILE_PIXELS_1 for one block. */
void rlx_conv_tile_run(int64_t n, int64_t nb, const conv_tile_t *tile);

/* A run of `pixels` is cut into this many tiles, as even as possible: no tile is left with a few pixels. */
static inline int64_t conv_tile_count(int64_t pixels, int64_t nb)
{
    int64_t most = nb == 1 ? CONV_TILE_PIXELS_1 : CONV_TILE_PIXELS;

    return (pixels + most - 1) / most;
}

#endif
