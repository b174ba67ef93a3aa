/* einsum: the generic loop nest, any dtype. One output at a time: its offset in every operand comes from its index, then an odometer walks
 * the summed labels, the last fastest. Equations that are matrix products never get here (ir/pass/einsum_lower.c). */
#include "kernels/number.h"
#include "kernels/params_matmul.h"
#include "kernels/segment.h"

typedef struct einsum_at {
    int64_t offset[RLX_EINSUM_OPERANDS];
} einsum_at_t;

static void place(const rlx_einsum_params_t *p, int64_t index, einsum_at_t *at)
{
    for (int o = 0; o < p->operands; o++)
        at->offset[o] = 0;
    for (int i = RLX_EINSUM_RANK - 1; i >= 0; i--) {
        int64_t x = index % p->out[i];
        index /= p->out[i];
        for (int o = 0; o < p->operands; o++)
            at->offset[o] += x * p->strides[o][i];
    }
}

/* The next index of the summed labels; 0 after the last. */
static int advance(const rlx_einsum_params_t *p, int64_t *index, einsum_at_t *at)
{
    for (int i = RLX_EINSUM_RANK - 1; i >= 0; i--) {
        int step = ++index[i] < p->sum[i];
        for (int o = 0; o < p->operands; o++)
            at->offset[o] += step ? p->strides[o][RLX_EINSUM_RANK + i] : -(p->sum[i] - 1) * p->strides[o][RLX_EINSUM_RANK + i];
        if (step)
            return 1;
        index[i] = 0;
    }
    return 0;
}

static int sum_is_empty(const rlx_einsum_params_t *p)
{
    int empty = 0;

    for (int i = 0; i < RLX_EINSUM_RANK; i++)
        empty |= p->sum[i] == 0;
    return empty;
}

#define FMA_F32(a, b, c) __builtin_fmaf(a, b, c)
#define FMA_F64(a, b, c) __builtin_fma(a, b, c)
#define FMA_INT(a, b, c) ((a) * (b) + (c))

#define EINSUM_ELEMENT(type, suffix, fma)                                                                                 \
    /* One segment of the chain goes on from *acc; 0 when it was the last. */                                             \
    static int segment_##suffix(const rlx_kernel_args_t *args, int64_t dtype, int64_t *sum, einsum_at_t *at, type *acc)   \
    {                                                                                                                     \
        const rlx_einsum_params_t *p = (const rlx_einsum_params_t *)args->param;                                          \
        type product, x = 0;                                                                                              \
        int more = 1;                                                                                                     \
        for (int64_t k = 0; k < RLX_SEGMENT_K && more; k++) {                                                             \
            rlx_number_load_##suffix(dtype, args->in[0].base, at->offset[0], 1, 1, &product);                             \
            for (int o = 1; o < p->operands; o++) {                                                                       \
                rlx_number_load_##suffix(dtype, args->in[o].base, at->offset[o], 1, 1, &x);                               \
                if (o + 1 < p->operands)                                                                                  \
                    product *= x;                                                                                         \
            }                                                                                                             \
            *acc = p->operands > 1 ? fma(product, x, *acc) : *acc + product;                                              \
            more = advance(p, sum, at);                                                                                   \
        }                                                                                                                 \
        return more;                                                                                                      \
    }                                                                                                                     \
    static type element_##suffix(const rlx_kernel_args_t *args, int64_t dtype, int64_t index)                             \
    {                                                                                                                     \
        const rlx_einsum_params_t *p = (const rlx_einsum_params_t *)args->param;                                          \
        int64_t sum[RLX_EINSUM_RANK] = {0};                                                                               \
        type total = 0;                                                                                                   \
        einsum_at_t at;                                                                                                   \
        place(p, index, &at);                                                                                             \
        if (sum_is_empty(p))                                                                                              \
            return 0;                                                                                                     \
        for (int more = segment_##suffix(args, dtype, sum, &at, &total); more;) {                                         \
            type acc = 0;                                                                                                 \
            more = segment_##suffix(args, dtype, sum, &at, &acc);                                                         \
            total += acc;                                                                                                 \
        }                                                                                                                 \
        return total;                                                                                                     \
    }                                                                                                                     \
    static void run_##suffix(const rlx_kernel_args_t *args, int64_t dtype, int64_t begin, int64_t end)                    \
    {                                                                                                                     \
        for (int64_t i = begin; i < end; i++) {                                                                           \
            type y = element_##suffix(args, dtype, i);                                                                    \
            rlx_number_store_##suffix(dtype, args->out[0].base, i, 1, 1, &y);                                             \
        }                                                                                                                 \
    }
EINSUM_ELEMENT(float, f32, FMA_F32)
EINSUM_ELEMENT(double, f64, FMA_F64)
EINSUM_ELEMENT(uint64_t, u64, FMA_INT)

RLX_KERNEL_ENTRY(einsum)
{
    const rlx_einsum_params_t *p = (const rlx_einsum_params_t *)args->param;
    int64_t dtype = rlx_number_is_signed(p->dtype) ? p->dtype + (RLX_KD_U8 - RLX_KD_I8) : p->dtype;
    int64_t begin = tile_begin * RLX_EINSUM_TILE, end = tile_end * RLX_EINSUM_TILE;

    if (end > p->count)
        end = p->count;
    if (dtype == RLX_KD_F64)
        run_f64(args, dtype, begin, end);
    else if (dtype == RLX_KD_F32 || dtype == RLX_KD_F16 || dtype == RLX_KD_BF16)
        run_f32(args, dtype, begin, end);
    else
        run_u64(args, dtype, begin, end);
}
