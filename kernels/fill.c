/* Constant tensors: one value everywhere, or elements that the executor computed from shapes. */
#include "kernels/params.h"

#include "kernels/abi.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

RLX_KERNEL_ENTRY(fill)
{
    const rlx_fill_params_t *p = (const rlx_fill_params_t *)args->param;
    int64_t begin = tile_begin * p->grain, end = least(tile_end * p->grain, p->count);
    void *out = args->out[0].base;

    for (int64_t i = begin; i < end && p->bytes == 8; ++i)
        ((int64_t *)out)[i] = p->value;
    for (int64_t i = begin; i < end && p->bytes == 4; ++i)
        ((int32_t *)out)[i] = (int32_t)p->value;
    for (int64_t i = begin; i < end && p->bytes == 2; ++i)
        ((int16_t *)out)[i] = (int16_t)p->value;
    for (int64_t i = begin; i < end && p->bytes == 1; ++i)
        ((int8_t *)out)[i] = (int8_t)p->value;
}

RLX_KERNEL_ENTRY(store_elements)
{
    const rlx_store_elements_params_t *p = (const rlx_store_elements_params_t *)args->param;

    if (tile_begin >= tile_end)
        return;
    for (int64_t i = 0; i < p->count; ++i) {
        if (p->bytes == 8)
            ((int64_t *)args->out[0].base)[i] = p->words[i];
        else if (p->bytes == 4)
            ((int32_t *)args->out[0].base)[i] = (int32_t)p->words[i];
        else
            ((int8_t *)args->out[0].base)[i] = (int8_t)p->words[i];
    }
}
