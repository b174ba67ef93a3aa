/* The plain resize. Nearest moves elements of any dtype. Linear and cubic take weighted sums dimension by dimension, the last dimension
 * first: w0 * v0, then fma(w, v, sum) with ascending place. f16 and bf16 compute in f32; integers in f64, rounded to nearest even and
 * clamped. */
#include "kernels/abi.h"
#include "kernels/number.h"
#include "kernels/params.h"

static void store_extrapolation(int64_t dtype, void *y, int64_t at, float value)
{
    double wide = (double)value;
    int64_t whole = rlx_number_trunc(__builtin_rint(wide));

    if (dtype == RLX_KD_F64)
        rlx_number_store_f64(dtype, y, at, 1, 1, &wide);
    else if (dtype <= RLX_KD_BF16)
        rlx_number_store_f32(dtype, y, at, 1, 1, &value);
    else
        rlx_number_store_i64(dtype, y, at, 1, 1, &whole);
}

/* Offset in x of row `row` of y; -1 when it lies outside. */
static int64_t nearest_row(const rlx_resize_nearest_params_t *p, const int32_t *index, int64_t row)
{
    int64_t offset = 0, stride = p->in[7];

    for (int d = 6; d >= 0; d--) {
        int64_t o = row % p->out[d], i = p->first[d] >= 0 ? index[p->first[d] + o] : o;
        if (i < 0)
            return -1;
        offset += i * stride;
        stride *= p->in[d];
        row /= p->out[d];
    }
    return offset;
}

#define NEAREST_ROW(type)                                                                                                      \
    static void nearest_copy_##type(const type *restrict x, type *restrict y, const int32_t *index, int64_t n)                 \
    {                                                                                                                          \
        for (int64_t i = 0; i < n; i++)                                                                                        \
            y[i] = x[index[i]];                                                                                                \
    }
NEAREST_ROW(uint8_t)
NEAREST_ROW(uint16_t)
NEAREST_ROW(uint32_t)
NEAREST_ROW(uint64_t)

static void nearest_copy(int64_t bytes, const void *x, int64_t from, void *y, int64_t to, const int32_t *index, int64_t n)
{
    if (index == 0)
        __builtin_memcpy((char *)y + to * bytes, (const char *)x + from * bytes, (size_t)(n * bytes));
    else if (bytes == 1)
        nearest_copy_uint8_t((const uint8_t *)x + from, (uint8_t *)y + to, index, n);
    else if (bytes == 2)
        nearest_copy_uint16_t((const uint16_t *)x + from, (uint16_t *)y + to, index, n);
    else if (bytes == 4)
        nearest_copy_uint32_t((const uint32_t *)x + from, (uint32_t *)y + to, index, n);
    else
        nearest_copy_uint64_t((const uint64_t *)x + from, (uint64_t *)y + to, index, n);
}

/* A row of a crop: places outside get the extrapolation value. */
static void cropped_row(const rlx_resize_nearest_params_t *p, const void *x, int64_t from, void *y, int64_t to, const int32_t *index)
{
    for (int64_t i = 0; i < p->out[7]; i++) {
        int64_t at = index ? index[i] : i;
        if (from < 0 || at < 0)
            store_extrapolation(p->dtype, y, to + i, rlx_param_f32(p->extrapolation));
        else
            __builtin_memcpy((char *)y + (to + i) * p->bytes, (const char *)x + (from + at) * p->bytes, (size_t)p->bytes);
    }
}

RLX_KERNEL_ENTRY(resize_nearest)
{
    const rlx_resize_nearest_params_t *p = (const rlx_resize_nearest_params_t *)args->param;
    const int32_t *index = args->in[1].base, *last = p->first[7] >= 0 ? index + p->first[7] : 0;
    int64_t end = tile_end * p->rows_per_tile < p->rows ? tile_end * p->rows_per_tile : p->rows;

    for (int64_t row = tile_begin * p->rows_per_tile; row < end; row++) {
        int64_t from = nearest_row(p, index, row);
        if (p->cropped)
            cropped_row(p, args->in[0].base, from, args->out[0].base, row * p->out[7], last);
        else
            nearest_copy(p->bytes, args->in[0].base, from, args->out[0].base, row * p->out[7], last, p->out[7]);
    }
}

/* One output element: dimensions with taps, outermost first. */
typedef struct sum {
    const rlx_resize_params_t *p;
    const void *x, *weight;
    int64_t entry[8]; /* first table entry of this element's place */
    int64_t stride[8];
    int n, dims[8];
} sum_t;

/* Weighted sum of dimensions [k, n) at offset `base`. At most 8 deep. */
#define RESIZE_SUM(T, suffix, load, fma_)                                                       \
    static T sum_##suffix(const sum_t *s, const int32_t *index, int k, int64_t base)            \
    {                                                                                           \
        T total = 0;                                                                            \
                                                                                                \
        if (k == s->n) {                                                                        \
            load(s->p->dtype, s->x, base, 1, 1, &total);                                        \
            return total;                                                                       \
        }                                                                                       \
        int d = s->dims[k];                                                                     \
        for (int64_t t = 0; t < s->p->taps[d]; t++) {                                           \
            int64_t e = s->entry[d] + t;                                                        \
            T w = ((const T *)s->weight)[e], v = sum_##suffix(s, index, k + 1, base + index[e] * s->stride[d]); \
            total = t == 0 ? w * v : fma_(w, v, total);                                         \
        }                                                                                       \
        return total;                                                                           \
    }

static void load_wide(int64_t dtype, const void *x, int64_t first, int64_t stride, int64_t n, double *to)
{
    int64_t i;
    uint64_t u;

    if (dtype == RLX_KD_F64) {
        rlx_number_load_f64(dtype, x, first, stride, n, to);
    } else if (rlx_number_is_signed(dtype)) {
        rlx_number_load_i64(dtype, x, first, stride, 1, &i);
        *to = (double)i;
    } else {
        rlx_number_load_u64(dtype, x, first, stride, 1, &u);
        *to = (double)u;
    }
}

RESIZE_SUM(float, f32, rlx_number_load_f32, __builtin_fmaf)
RESIZE_SUM(double, f64, load_wide, __builtin_fma)

/* To nearest even, then into the type's range. */
static void store_whole(int64_t dtype, void *y, int64_t at, double value)
{
    int bits = (int)rlx_number_bytes(dtype) * 8;
    double high = (double)((uint64_t)1 << (bits - 1)) * (rlx_number_is_signed(dtype) ? 1 : 2);
    double low = rlx_number_is_signed(dtype) ? -high : 0;
    uint64_t whole;

    value = __builtin_rint(value);
    if (!(value > low))
        whole = rlx_number_is_signed(dtype) ? (uint64_t)1 << (bits - 1) : 0;
    else if (value >= high)
        whole = rlx_number_is_signed(dtype) ? ((uint64_t)1 << (bits - 1)) - 1 : UINT64_MAX;
    else
        whole = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
    rlx_number_store_u64(dtype, y, at, 1, 1, &whole);
}

/* Sets the table entries of output element (row, column); false when it lies outside. `base`: offset through dimensions without taps. */
static int sum_place(sum_t *s, const int32_t *index, int64_t row, int64_t column, int64_t *base)
{
    const rlx_resize_params_t *p = s->p;

    *base = 0;
    for (int d = 7; d >= 0; d--) {
        int64_t o = d == 7 ? column : row % p->out[d];
        row = d == 7 ? row : row / p->out[d];
        if (p->taps[d] == 0) {
            *base += o * s->stride[d];
            continue;
        }
        s->entry[d] = p->first[d] + o * p->taps[d];
        if (index[s->entry[d]] < 0)
            return 0;
    }
    return 1;
}

RLX_KERNEL_ENTRY(resize)
{
    const rlx_resize_params_t *p = (const rlx_resize_params_t *)args->param;
    const int32_t *index = args->in[1].base;
    int64_t end = tile_end * p->rows_per_tile < p->rows ? tile_end * p->rows_per_tile : p->rows, base;
    sum_t s = {.p = p, .x = args->in[0].base, .weight = args->in[2].base, .stride[7] = 1};
    void *y = args->out[0].base;

    for (int d = 6; d >= 0; d--)
        s.stride[d] = s.stride[d + 1] * p->in[d + 1];
    for (int d = 0; d < 8; d++)
        if (p->taps[d] > 0)
            s.dims[s.n++] = d;
    for (int64_t row = tile_begin * p->rows_per_tile; row < end; row++)
        for (int64_t column = 0; column < p->out[7]; column++) {
            int64_t at = row * p->out[7] + column;
            if (!sum_place(&s, index, row, column, &base)) {
                store_extrapolation(p->dtype, y, at, rlx_param_f32(p->extrapolation));
            } else if (p->dtype == RLX_KD_F64 || p->dtype >= RLX_KD_I8) {
                double value = sum_f64(&s, index, 0, base);
                if (p->dtype == RLX_KD_F64)
                    rlx_number_store_f64(p->dtype, y, at, 1, 1, &value);
                else
                    store_whole(p->dtype, y, at, value);
            } else {
                float value = sum_f32(&s, index, 0, base);
                rlx_number_store_f32(p->dtype, y, at, 1, 1, &value);
            }
        }
}
