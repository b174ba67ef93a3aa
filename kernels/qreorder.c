/* qto_c16, qfrom_c16, qchannels_c16: bytes, row-major to blocks of 16 channels and back, and channels of one blocked tensor to another. */
#include "kernels/params_quant.h"
#include "kernels/quant_lanes.h"

typedef struct reorder_block {
    int64_t lanes, flat; /* channels of the block; bytes before it in the row-major tensor */
} reorder_block_t;

static reorder_block_t block_of(const rlx_to_c16_params_t *p, int64_t tile)
{
    int64_t blocks = (p->channels + 15) / 16, n = tile / blocks, first = tile % blocks * 16;

    return (reorder_block_t){.lanes = p->channels - first < 16 ? p->channels - first : 16, .flat = (n * p->channels + first) * p->spatial};
}

RLX_KERNEL_ENTRY(qto_c16)
{
    const rlx_to_c16_params_t *p = (const rlx_to_c16_params_t *)args->param;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        reorder_block_t block = block_of(p, tile);
        const uint8_t *x = (const uint8_t *)args->in[0].base + block.flat;
        uint8_t *y = (uint8_t *)args->out[0].base + tile * p->spatial * 16;

        if (block.lanes < 16)
            __builtin_memset(y, 0, (size_t)(p->spatial * 16));
        for (int64_t s = 0; s < p->spatial; s++)
            for (int64_t c = 0; c < block.lanes; c++)
                y[s * 16 + c] = x[c * p->spatial + s];
    }
}

RLX_KERNEL_ENTRY(qfrom_c16)
{
    const rlx_to_c16_params_t *p = (const rlx_to_c16_params_t *)args->param;

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        reorder_block_t block = block_of(p, tile);
        const uint8_t *x = (const uint8_t *)args->in[0].base + tile * p->spatial * 16;
        uint8_t *y = (uint8_t *)args->out[0].base + block.flat;

        for (int64_t c = 0; c < block.lanes; c++)
            for (int64_t s = 0; s < p->spatial; s++)
                y[c * p->spatial + s] = x[s * 16 + c];
    }
}

/* Channels from `at` on that lie in one block on both sides. */
static void lanes_copy(uint8_t *to, const uint8_t *from, int64_t lanes, int64_t spatial)
{
    if (lanes == 16) {
        __builtin_memcpy(to, from, (size_t)(spatial * 16));
        return;
    }
    for (int64_t s = 0; s < spatial; s++)
        for (int64_t lane = 0; lane < lanes; lane++)
            to[s * 16 + lane] = from[s * 16 + lane];
}

RLX_KERNEL_ENTRY(qchannels_c16)
{
    const rlx_channels_c16_params_t *p = (const rlx_channels_c16_params_t *)args->param;
    int64_t in_blocks = (p->in_channels + 15) / 16, out_blocks = (p->out_channels + 15) / 16;
    int64_t first_block = p->to / 16, blocks = (p->to + p->count + 15) / 16 - first_block;

    for (int64_t tile = tile_begin; tile < tile_end && p->count > 0; tile++) {
        int64_t n = tile / blocks, block = first_block + tile % blocks;
        int64_t at = block * 16 < p->to ? p->to : block * 16, end = (block + 1) * 16 < p->to + p->count ? (block + 1) * 16 : p->to + p->count;

        while (at < end) {
            int64_t source = at - p->to + p->from, room = 16 - source % 16, lanes = room < end - at ? room : end - at;

            lanes_copy((uint8_t *)args->out[0].base + (n * out_blocks + block) * p->spatial * 16 + at % 16,
                       (const uint8_t *)args->in[0].base + (n * in_blocks + source / 16) * p->spatial * 16 + source % 16, lanes, p->spatial);
            at += lanes;
        }
    }
}
