/* One-hot rows. Indices may be of any number type; fractions are cut off. */
#include "kernels/index.h"
#include "kernels/number.h"
#include "kernels/params.h"

static int64_t index_at(int64_t dtype, const void *base, int64_t at)
{
    if (dtype == RLX_KD_F32 || dtype == RLX_KD_F16 || dtype == RLX_KD_BF16) {
        float value;

        rlx_number_load_f32(dtype, base, at, 1, 1, &value);
        return value > -1e18f && value < 1e18f ? (int64_t)value : INT64_MIN;
    }
    if (dtype == RLX_KD_F64) {
        double value = ((const double *)base)[at];

        return value > -1e18 && value < 1e18 ? (int64_t)value : INT64_MIN;
    }
    if (rlx_number_is_signed(dtype)) {
        int64_t value;

        rlx_number_load_i64(dtype, base, at, 1, 1, &value);
        return value;
    } else {
        uint64_t value;

        rlx_number_load_u64(dtype, base, at, 1, 1, &value);
        return value > INT64_MAX ? INT64_MIN : (int64_t)value;
    }
}

RLX_KERNEL_ENTRY(one_hot)
{
    const rlx_one_hot_params_t *p = (const rlx_one_hot_params_t *)args->param;
    const char *values = args->in[1].base;
    int64_t end = tile_end * p->grain < p->outer ? tile_end * p->grain : p->outer;

    for (int64_t o = tile_begin * p->grain; o < end; ++o) {
        char *row = (char *)args->out[0].base + o * p->depth * p->inner * p->bytes;

        for (int64_t i = 0; i < p->depth * p->inner; ++i)
            rlx_copy_bytes(row + i * p->bytes, values, p->bytes);
        for (int64_t i = 0; i < p->inner; ++i) {
            int64_t index = index_at(p->index_dtype, args->in[0].base, o * p->inner + i);

            if (index < 0 && index >= -p->depth)
                index += p->depth;
            if (index >= 0 && index < p->depth)
                rlx_copy_bytes(row + (index * p->inner + i) * p->bytes, values + p->bytes, p->bytes);
        }
    }
}
