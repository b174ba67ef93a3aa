/* Row-major f32 to blocks of 16 channels, and back. Both accept row pointers: the outermost dimension is the batch. */
#include "kernels/abi.h"
#include "kernels/params.h"

#define LANES 16

RLX_KERNEL_ENTRY(to_c16)
{
    const rlx_to_c16_params_t *p = (const rlx_to_c16_params_t *)args->param;
    int64_t blocks = (p->channels + LANES - 1) / LANES;

    for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        int64_t n = tile / blocks, first = tile % blocks * LANES;
        int64_t lanes = p->channels - first < LANES ? p->channels - first : LANES;
        const float *from = (const float *)rlx_operand_row(&args->in[0], n) + first * p->spatial;
        float *to = (float *)rlx_operand_row(&args->out[0], n) + first * p->spatial;

        for (int64_t s = 0; s < p->spatial; ++s) {
            for (int64_t c = 0; c < lanes; ++c)
                to[s * LANES + c] = from[c * p->spatial + s];
            for (int64_t c = lanes; c < LANES; ++c)
                to[s * LANES + c] = 0;
        }
    }
}

#define SPATIAL_BLOCK 64

RLX_KERNEL_ENTRY(from_c16)
{
    const rlx_from_c16_params_t *p = (const rlx_from_c16_params_t *)args->param;
    int64_t blocks = (p->channels + LANES - 1) / LANES;

    for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        int64_t n = tile / blocks, first = tile % blocks * LANES;
        int64_t lanes = p->channels - first < LANES ? p->channels - first : LANES;
        const float *from = (const float *)rlx_operand_row(&args->in[0], n) + first * p->spatial;
        float *to = (float *)rlx_operand_row(&args->out[0], n) + first * p->spatial;

        for (int64_t s0 = 0; s0 < p->spatial; s0 += SPATIAL_BLOCK)
            for (int64_t c = 0; c < lanes; ++c)
                for (int64_t s = s0; s < s0 + SPATIAL_BLOCK && s < p->spatial; ++s)
                    to[c * p->spatial + s] = from[s * LANES + c];
    }
}
