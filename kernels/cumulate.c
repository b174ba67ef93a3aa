/* Running sum or product along the middle axis of [outer, count, inner], serial in the direction of travel. Exclusive: an output does not
 * include its own element. f16 and bf16 carry f32 and round each output; integers wrap. Columns share the loop, so that inner > 1
 * vectorises. */
#include "kernels/abi.h"
#include "kernels/number.h"
#include "kernels/params.h"

#define COLUMNS_MAX 64

#define CUMULATE_BLOCK(T, suffix)                                                                                             \
    static void cumulate_block_##suffix(const rlx_cumulate_params_t *p, const void *x, void *y, int64_t first, int64_t width) \
    {                                                                                                                         \
        T carry[COLUMNS_MAX], element[COLUMNS_MAX];                                                                           \
                                                                                                                              \
        for (int64_t c = 0; c < width; c++)                                                                                   \
            carry[c] = p->is_product ? 1 : 0;                                                                                 \
        for (int64_t i = 0; i < p->count; i++) {                                                                              \
            int64_t at = first + (p->reverse ? p->count - 1 - i : i) * p->inner;                                              \
            if (p->exclusive)                                                                                                 \
                rlx_number_store_##suffix(p->dtype, y, at, 1, width, carry);                                                  \
            rlx_number_load_##suffix(p->dtype, x, at, 1, width, element);                                                     \
            if (p->is_product)                                                                                                \
                for (int64_t c = 0; c < width; c++)                                                                           \
                    carry[c] = carry[c] * element[c];                                                                         \
            else                                                                                                              \
                for (int64_t c = 0; c < width; c++)                                                                           \
                    carry[c] = carry[c] + element[c];                                                                         \
            if (!p->exclusive)                                                                                                \
                rlx_number_store_##suffix(p->dtype, y, at, 1, width, carry);                                                  \
        }                                                                                                                     \
    }

/* Integers of any size and sign: the low bits do not depend on the sign. */
static void load_bits(int64_t dtype, const void *base, int64_t first, int64_t stride, int64_t n, uint64_t *to)
{
    if (rlx_number_is_signed(dtype))
        rlx_number_load_i64(dtype, base, first, stride, n, (int64_t *)to);
    else
        rlx_number_load_u64(dtype, base, first, stride, n, to);
}
#define rlx_number_load_bits load_bits
#define rlx_number_store_bits rlx_number_store_u64

CUMULATE_BLOCK(float, f32)
CUMULATE_BLOCK(double, f64)
CUMULATE_BLOCK(uint64_t, bits)

RLX_KERNEL_ENTRY(cumulate)
{
    const rlx_cumulate_params_t *p = (const rlx_cumulate_params_t *)args->param;
    const void *x = args->in[0].base;
    void *y = args->out[0].base;
    int64_t blocks = (p->inner + COLUMNS_MAX - 1) / COLUMNS_MAX;

    for (int64_t t = tile_begin; t < tile_end; t++) {
        int64_t column = t % blocks * COLUMNS_MAX, left = p->inner - column, width = left < COLUMNS_MAX ? left : COLUMNS_MAX;
        int64_t first = t / blocks * p->count * p->inner + column;
        if (p->dtype == RLX_KD_F64)
            cumulate_block_f64(p, x, y, first, width);
        else if (p->dtype <= RLX_KD_BF16)
            cumulate_block_f32(p, x, y, first, width);
        else
            cumulate_block_bits(p, x, y, first, width);
    }
}
