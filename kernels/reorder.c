/* Row-major f32 to blocks of 16 channels, and back. Both accept row pointers: the outermost dimension is the batch. */
#include "kernels/abi.h"
#include "kernels/params.h"
#include "kernels/transpose_tile.h"

#define LANES 16
#define ROW (LANES * 4) /* bytes of one position of a block */

/* Sixteen channels, each a run of `spatial`, to one block, 8 x 8 at a time. */
static void block_to_c16(float *to, const float *from, int64_t spatial)
{
    int64_t s = 0;

    for (; s + 8 <= spatial; s += 8)
        for (int c = 0; c < LANES; c += 8)
            rlx_transpose_8x8((char *)(to + s * LANES + c), ROW, (const char *)(from + c * spatial + s), spatial * 4);
    for (; s < spatial; ++s)
        for (int c = 0; c < LANES; ++c)
            to[s * LANES + c] = from[c * spatial + s];
}

static void block_from_c16(float *to, const float *from, int64_t spatial)
{
    int64_t s = 0;

    for (; s + 8 <= spatial; s += 8)
        for (int c = 0; c < LANES; c += 8)
            rlx_transpose_8x8((char *)(to + c * spatial + s), spatial * 4, (const char *)(from + s * LANES + c), ROW);
    for (; s < spatial; ++s)
        for (int c = 0; c < LANES; ++c)
            to[c * spatial + s] = from[s * LANES + c];
}

/* The last block: fewer channels; the others are zero. */
static void part_to_c16(float *to, const float *from, int64_t spatial, int64_t lanes)
{
    __builtin_memset(to, 0, (size_t)(spatial * ROW));
    for (int64_t s = 0; s < spatial; ++s)
        for (int64_t c = 0; c < lanes; ++c)
            to[s * LANES + c] = from[c * spatial + s];
}

static void part_from_c16(float *to, const float *from, int64_t spatial, int64_t lanes)
{
    for (int64_t s = 0; s < spatial; ++s)
        for (int64_t c = 0; c < lanes; ++c)
            to[c * spatial + s] = from[s * LANES + c];
}

/* What a tile moves: 16 channels of one image, fewer in the last block. Both layouts have them at the same offset. */
typedef struct block {
    const float *from;
    float *to;
    int64_t lanes;
} block_t;

/* Image n of an operand whose images take `bytes`. Not operand->row_bytes: the storage may be that of a view with another outermost axis. */
static float *image_of(const rlx_operand_t *operand, int64_t n, int64_t bytes)
{
    return operand->rows != NULL ? operand->rows[n] : (void *)((char *)operand->base + n * bytes);
}

static block_t block_of(const rlx_kernel_args_t *args, const rlx_to_c16_params_t *p, int64_t from_bytes, int64_t to_bytes, int64_t tile)
{
    int64_t blocks = (p->channels + LANES - 1) / LANES;
    int64_t n = tile / blocks, first = tile % blocks * LANES;

    return (block_t){.from = image_of(&args->in[0], n, from_bytes) + first * p->spatial,
                     .to = image_of(&args->out[0], n, to_bytes) + first * p->spatial,
                     .lanes = p->channels - first < LANES ? p->channels - first : LANES};
}

static int64_t plain_bytes(const rlx_to_c16_params_t *p) { return p->channels * p->spatial * 4; }
static int64_t c16_bytes(const rlx_to_c16_params_t *p) { return (p->channels + LANES - 1) / LANES * p->spatial * ROW; }

RLX_KERNEL_ENTRY(to_c16)
{
    const rlx_to_c16_params_t *p = (const rlx_to_c16_params_t *)args->param;

    for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        block_t block = block_of(args, p, plain_bytes(p), c16_bytes(p), tile);

        if (block.lanes == LANES)
            block_to_c16(block.to, block.from, p->spatial);
        else
            part_to_c16(block.to, block.from, p->spatial, block.lanes);
    }
}

RLX_KERNEL_ENTRY(from_c16)
{
    const rlx_from_c16_params_t *p = (const rlx_from_c16_params_t *)args->param;

    for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        block_t block = block_of(args, p, c16_bytes(p), plain_bytes(p), tile);

        if (block.lanes == LANES)
            block_from_c16(block.to, block.from, p->spatial);
        else
            part_from_c16(block.to, block.from, p->spatial, block.lanes);
    }
}
