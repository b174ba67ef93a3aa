/* Scatters: the output is the data operand with updates applied in ascending order, so duplicates have one defined result. */
#include "kernels/index.h"
#include "kernels/number.h"
#include "kernels/params.h"

/* NaN wins over any number in max and min. */
#define COMBINE_FLOAT(name, type)                                                            \
    static type name(int64_t reduction, type a, type b)                                      \
    {                                                                                        \
        if (reduction == RLX_SCATTER_ADD)                                                    \
            return a + b;                                                                    \
        if (reduction == RLX_SCATTER_MUL)                                                    \
            return a * b;                                                                    \
        if (a != a || b != b)                                                                \
            return a != a ? a : b;                                                           \
        return reduction == RLX_SCATTER_MAX ? (a > b ? a : b) : (a < b ? a : b);             \
    }

COMBINE_FLOAT(combine_f32, float)
COMBINE_FLOAT(combine_f64, double)

static uint64_t combine_int(int64_t reduction, int is_signed, uint64_t a, uint64_t b)
{
    int less = is_signed ? (int64_t)a < (int64_t)b : a < b;

    if (reduction == RLX_SCATTER_ADD)
        return a + b;
    if (reduction == RLX_SCATTER_MUL)
        return a * b;
    return less == (reduction == RLX_SCATTER_MAX) ? b : a;
}

/* to[at] = to[at] op from[source], one element. */
static void combine(int64_t dtype, int64_t reduction, void *to, int64_t at, const void *from, int64_t source)
{
    if (dtype == RLX_KD_F64) {
        double a, b;

        rlx_number_load_f64(dtype, to, at, 1, 1, &a);
        rlx_number_load_f64(dtype, from, source, 1, 1, &b);
        a = combine_f64(reduction, a, b);
        rlx_number_store_f64(dtype, to, at, 1, 1, &a);
    } else if (dtype == RLX_KD_F32 || dtype == RLX_KD_F16 || dtype == RLX_KD_BF16) {
        float a, b;

        rlx_number_load_f32(dtype, to, at, 1, 1, &a);
        rlx_number_load_f32(dtype, from, source, 1, 1, &b);
        a = combine_f32(reduction, a, b);
        rlx_number_store_f32(dtype, to, at, 1, 1, &a);
    } else if (rlx_number_is_signed(dtype)) {
        int64_t a, b;

        rlx_number_load_i64(dtype, to, at, 1, 1, &a);
        rlx_number_load_i64(dtype, from, source, 1, 1, &b);
        a = (int64_t)combine_int(reduction, 1, (uint64_t)a, (uint64_t)b);
        rlx_number_store_i64(dtype, to, at, 1, 1, &a);
    } else {
        uint64_t a, b;

        rlx_number_load_u64(dtype, to, at, 1, 1, &a);
        rlx_number_load_u64(dtype, from, source, 1, 1, &b);
        a = combine_int(reduction, 0, a, b);
        if (dtype == RLX_KD_BOOL)
            a = a != 0;
        rlx_number_store_u64(dtype, to, at, 1, 1, &a);
    }
}

static void put(int64_t dtype, int64_t reduction, void *to, int64_t at, const void *from, int64_t source, int64_t count)
{
    int64_t bytes = rlx_number_bytes(dtype);

    if (reduction == RLX_SCATTER_NONE) {
        rlx_copy_bytes((char *)to + at * bytes, (const char *)from + source * bytes, count * bytes);
        return;
    }
    for (int64_t i = 0; i < count; ++i)
        combine(dtype, reduction, to, at + i, from, source + i);
}

RLX_KERNEL_ENTRY(scatter_elements)
{
    const rlx_scatter_elements_params_t *p = (const rlx_scatter_elements_params_t *)args->param;
    int64_t at[8] = {0};

    if (tile_begin >= tile_end)
        return;
    __builtin_memcpy(args->out[0].base, args->in[0].base, (size_t)(p->out_count * rlx_number_bytes(p->dtype)));
    for (int64_t i = 0; i < p->count; ++i) {
        int64_t index = rlx_index_wrap(args, rlx_index_load(args->in[1].base, i, p->index_bytes), p->extent);

        if (index >= 0)
            put(p->dtype, p->reduction, args->out[0].base, rlx_index_dot(at, p->out_stride, 8) + index * p->axis_stride, args->in[2].base, i, 1);
        rlx_index_next(at, p->dims, 8);
    }
}

RLX_KERNEL_ENTRY(scatter_nd)
{
    const rlx_scatter_nd_params_t *p = (const rlx_scatter_nd_params_t *)args->param;

    if (tile_begin >= tile_end)
        return;
    __builtin_memcpy(args->out[0].base, args->in[0].base, (size_t)(p->out_count * rlx_number_bytes(p->dtype)));
    for (int64_t row = 0; row < p->rows; ++row) {
        int64_t at = 0;
        int good = 1;

        for (int64_t d = 0; d < p->depth; ++d) {
            int64_t index = rlx_index_wrap(args, rlx_index_load(args->in[1].base, row * p->depth + d, p->index_bytes), p->dims[d]);

            good &= index >= 0;
            at += index >= 0 ? index * p->stride[d] : 0;
        }
        if (good)
            put(p->dtype, p->reduction, args->out[0].base, at, args->in[2].base, row * p->inner, p->inner);
    }
}

RLX_KERNEL_ENTRY(tensor_scatter)
{
    const rlx_tensor_scatter_params_t *p = (const rlx_tensor_scatter_params_t *)args->param;
    const int64_t *write = args->in[2].base;
    int64_t batch_bytes = p->mid * p->seq * p->inner_bytes;

    for (int64_t b = tile_begin; b < tile_end; ++b) {
        char *out = (char *)args->out[0].base + b * batch_bytes;
        const char *update = (const char *)args->in[1].base + b * p->mid * p->update_seq * p->inner_bytes;

        __builtin_memcpy(out, (const char *)args->in[0].base + b * batch_bytes, (size_t)batch_bytes);
        for (int64_t m = 0; m < p->mid; ++m) {
            for (int64_t u = 0; u < p->update_seq; ++u) {
                int64_t start = write != NULL ? write[b] : 0;
                int64_t at = p->circular && p->seq > 0 ? (int64_t)(((uint64_t)start + (uint64_t)u) % (uint64_t)p->seq) : start + u;

                if (start < 0 || at < 0 || at >= p->seq)
                    rlx_kernel_error(args, RLX_KERR_INDEX);
                else
                    rlx_copy_bytes(out + (m * p->seq + at) * p->inner_bytes, update + (m * p->update_seq + u) * p->inner_bytes, p->inner_bytes);
            }
        }
    }
}
