/* Copies a range of channels between C16 tensors: the pieces of a concat or split along channels, whatever their counts. A destination
 * block takes its lanes from at most two source blocks. */
#include "kernels/abi.h"
#include "kernels/params.h"

#define LANES 16

static void copy_lanes(float *restrict to, const float *restrict from, int64_t lanes, int64_t spatial)
{
    if (lanes == LANES) {
        __builtin_memcpy(to, from, (size_t)(spatial * LANES) * sizeof *to);
        return;
    }
    if (lanes == LANES / 2) {
        for (int64_t s = 0; s < spatial; ++s)
            __builtin_memcpy(to + s * LANES, from + s * LANES, LANES / 2 * sizeof *to);
        return;
    }
    for (int64_t s = 0; s < spatial; ++s)
        for (int64_t lane = 0; lane < lanes; ++lane)
            to[s * LANES + lane] = from[s * LANES + lane];
}

RLX_KERNEL_ENTRY(channels_c16)
{
    const rlx_channels_c16_params_t *p = (const rlx_channels_c16_params_t *)args->param;
    int64_t in_blocks = (p->in_channels + LANES - 1) / LANES, out_blocks = (p->out_channels + LANES - 1) / LANES;
    int64_t first_block = p->to / LANES, blocks = (p->to + p->count + LANES - 1) / LANES - first_block;

    for (int64_t tile = tile_begin; tile < tile_end && p->count > 0; ++tile) {
        int64_t n = tile / blocks, block = first_block + tile % blocks;
        int64_t at = block * LANES < p->to ? p->to : block * LANES;
        int64_t end = (block + 1) * LANES < p->to + p->count ? (block + 1) * LANES : p->to + p->count;

        while (at < end) {
            int64_t source = at - p->to + p->from;
            int64_t room = LANES - source % LANES, lanes = room < end - at ? room : end - at;

            copy_lanes((float *)args->out[0].base + ((n * out_blocks + block) * p->spatial * LANES) + at % LANES,
                       (const float *)args->in[0].base + ((n * in_blocks + source / LANES) * p->spatial * LANES) + source % LANES, lanes, p->spatial);
            at += lanes;
        }
    }
}
