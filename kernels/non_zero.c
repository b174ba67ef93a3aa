/* Which elements are not zero: their number, then their coordinates. -0 is zero, NaN is not. One tile each: a prefix decides every place. */
#include "kernels/index.h"
#include "kernels/number.h"
#include "kernels/params.h"

/* Bits that are zero in a zero of this type: all but the sign of a float. */
static uint64_t value_mask(int64_t dtype)
{
    int64_t bits = 8 * rlx_number_bytes(dtype);
    uint64_t all = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;

    return dtype <= RLX_KD_BF16 ? all >> 1 : all;
}

static int is_set(const void *base, int64_t at, int64_t bytes, uint64_t mask)
{
    switch (bytes) {
    case 1: return (((const uint8_t *)base)[at] & mask) != 0;
    case 2: return (((const uint16_t *)base)[at] & mask) != 0;
    case 4: return (((const uint32_t *)base)[at] & mask) != 0;
    default: return (((const uint64_t *)base)[at] & mask) != 0;
    }
}

RLX_KERNEL_ENTRY(count_non_zero)
{
    const rlx_count_non_zero_params_t *p = (const rlx_count_non_zero_params_t *)args->param;
    int64_t bytes = rlx_number_bytes(p->dtype), found = 0;
    uint64_t mask = value_mask(p->dtype);

    if (tile_begin >= tile_end)
        return;
    for (int64_t i = 0; i < p->count; ++i)
        found += is_set(args->in[0].base, i, bytes, mask);
    *(int64_t *)args->out[0].base = found;
}

RLX_KERNEL_ENTRY(non_zero)
{
    const rlx_non_zero_params_t *p = (const rlx_non_zero_params_t *)args->param;
    int64_t *out = args->out[0].base;
    int64_t bytes = rlx_number_bytes(p->dtype), column = 0, at[8] = {0};
    uint64_t mask = value_mask(p->dtype);

    if (tile_begin >= tile_end)
        return;
    for (int64_t i = 0; i < p->count && column < p->found; ++i) {
        if (is_set(args->in[0].base, i, bytes, mask)) {
            for (int64_t d = 0; d < p->rank; ++d)
                out[d * p->found + column] = at[d];
            ++column;
        }
        rlx_index_next(at, p->dims, (int)p->rank);
    }
    for (; column < p->found; ++column)
        for (int64_t d = 0; d < p->rank; ++d)
            out[d * p->found + column] = 0;
}
