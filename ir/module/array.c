/* Elements are widened to double or int64_t and rounded back. For + - * / and sqrt that gives the bits of arithmetic in f32 and f16 itself, since
 * a double has more than twice their digits. */
#include "ir/module/array.h"

#include <math.h>
#include <string.h>

bool rlx_array_make(rlx_syntax_t *syntax, rlx_dtype_t dtype, int rank, const int64_t *dims, rlx_tensor_t *out)
{
    int64_t count, bytes;

    if (rank > RLX_RANK_MAX || !rlx_dims_count(dims, rank, &count) || !rlx_size_mul(count, (int64_t)rlx_dtype_size(dtype), &bytes) ||
        bytes > RLX_ARRAY_BYTES_MAX || rlx_syntax_is_full(syntax))
        return false;
    *out = (rlx_tensor_t){.dtype = dtype, .rank = rank};
    for (int i = 0; i < rank; i++)
        out->dims[i] = dims[i];
    out->data = rlx_syntax_alloc(syntax, bytes > 0 ? (size_t)bytes : 1);
    return true;
}

int64_t rlx_array_count(const rlx_tensor_t *array)
{
    int64_t count = 0;

    rlx_dims_count(array->dims, array->rank, &count);
    return count;
}

bool rlx_array_is_float(rlx_dtype_t dtype) { return dtype == RLX_F64 || dtype == RLX_F32 || dtype == RLX_F16 || dtype == RLX_BF16; }

int64_t rlx_array_int(const rlx_tensor_t *array, int64_t i)
{
    switch (array->dtype) {
    case RLX_I8: return ((const int8_t *)array->data)[i];
    case RLX_I16: return ((const int16_t *)array->data)[i];
    case RLX_I32: return ((const int32_t *)array->data)[i];
    case RLX_U8:
    case RLX_BOOL: return ((const uint8_t *)array->data)[i];
    case RLX_U16: return ((const uint16_t *)array->data)[i];
    case RLX_U32: return ((const uint32_t *)array->data)[i];
    default: return ((const int64_t *)array->data)[i];
    }
}

static float bf16_read(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &word, sizeof value);
    return value;
}

static uint16_t bf16_round(double value)
{
    float narrow = (float)value; /* twice rounded: bf16 has no numpy to agree with */
    uint32_t word;

    memcpy(&word, &narrow, sizeof word);
    if (isnan(narrow))
        return (uint16_t)(word >> 16 | 0x40);
    return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

double rlx_array_real(const rlx_tensor_t *array, int64_t i)
{
    switch (array->dtype) {
    case RLX_F64: return ((const double *)array->data)[i];
    case RLX_F32: return (double)((const float *)array->data)[i];
    case RLX_F16: return (double)((const _Float16 *)array->data)[i];
    case RLX_BF16: return (double)bf16_read(((const uint16_t *)array->data)[i]);
    case RLX_U64: return (double)((const uint64_t *)array->data)[i];
    default: return (double)rlx_array_int(array, i);
    }
}

bool rlx_array_put_int(rlx_tensor_t *array, int64_t i, int64_t value)
{
    static const int bits[RLX_DTYPE_COUNT] = {[RLX_I8] = 8, [RLX_I16] = 16, [RLX_I32] = 32, [RLX_U8] = 8, [RLX_U16] = 16, [RLX_U32] = 32};
    bool is_signed = array->dtype == RLX_I8 || array->dtype == RLX_I16 || array->dtype == RLX_I32;
    int n = bits[array->dtype];

    if (rlx_array_is_float(array->dtype))
        return rlx_array_put_real(array, i, (double)value);
    if (array->dtype == RLX_BOOL)
        value = value != 0;
    if (n > 0 && (is_signed ? value < -(INT64_C(1) << (n - 1)) || value >= INT64_C(1) << (n - 1) : value < 0 || value >= INT64_C(1) << n))
        return false;
    if (array->dtype == RLX_U64 && value < 0)
        return false;
    memcpy((char *)array->data + (size_t)i * rlx_dtype_size(array->dtype), &value, rlx_dtype_size(array->dtype)); /* little-endian */
    return true;
}

bool rlx_array_put_real(rlx_tensor_t *array, int64_t i, double value)
{
    switch (array->dtype) {
    case RLX_F64: ((double *)array->data)[i] = value; return true;
    case RLX_F32: ((float *)array->data)[i] = (float)value; return true;
    case RLX_F16: ((_Float16 *)array->data)[i] = (_Float16)value; return true;
    case RLX_BF16: ((uint16_t *)array->data)[i] = bf16_round(value); return true;
    case RLX_BOOL: ((uint8_t *)array->data)[i] = value != 0; return true;
    default: break;
    }
    if (!(value > -0x1p63 - 1 && value < 0x1p63)) /* NaN fails, too */
        return false;
    return rlx_array_put_int(array, i, (int64_t)value);
}

rlx_array_error_t rlx_array_cast(rlx_syntax_t *syntax, const rlx_tensor_t *a, rlx_dtype_t dtype, rlx_tensor_t *out)
{
    int64_t count = rlx_array_count(a);
    bool ints = !rlx_array_is_float(a->dtype) && !rlx_array_is_float(dtype);

    if (!rlx_array_make(syntax, dtype, a->rank, a->dims, out))
        return RLX_ARRAY_TOO_LARGE;
    for (int64_t i = 0; i < count; i++)
        if (ints ? !rlx_array_put_int(out, i, rlx_array_int(a, i)) : !rlx_array_put_real(out, i, rlx_array_real(a, i)))
            return RLX_ARRAY_RANGE;
    return RLX_ARRAY_OK;
}

/* Walks `out` in order; `strides` are those of the operand in elements per axis of `out`. */
static void copy_strided(const rlx_tensor_t *from, int64_t base, const int64_t *strides, rlx_tensor_t *out, int64_t out_base)
{
    size_t size = rlx_dtype_size(out->dtype);
    int64_t index[RLX_RANK_MAX] = {0}, at = base, count = 1;

    for (int i = 0; i < out->rank; i++)
        count *= out->dims[i];
    for (int64_t i = 0; i < count; i++) {
        memcpy((char *)out->data + (size_t)(out_base + i) * size, (const char *)from->data + (size_t)at * size, size);
        for (int axis = out->rank - 1; axis >= 0; axis--) {
            at += strides[axis];
            if (++index[axis] < out->dims[axis])
                break;
            at -= strides[axis] * out->dims[axis];
            index[axis] = 0;
        }
    }
}

static void strides_of(const rlx_tensor_t *a, int64_t *strides)
{
    int64_t stride = 1;

    for (int i = a->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= a->dims[i];
    }
}

rlx_array_error_t rlx_array_transpose(rlx_syntax_t *syntax, const rlx_tensor_t *a, const int *perm, rlx_tensor_t *out)
{
    int64_t strides[RLX_RANK_MAX], permuted[RLX_RANK_MAX], dims[RLX_RANK_MAX];

    strides_of(a, strides);
    for (int i = 0; i < a->rank; i++) {
        int axis = perm != NULL ? perm[i] : a->rank - 1 - i;

        dims[i] = a->dims[axis];
        permuted[i] = strides[axis];
    }
    if (!rlx_array_make(syntax, a->dtype, a->rank, dims, out))
        return RLX_ARRAY_TOO_LARGE;
    copy_strided(a, 0, permuted, out, 0);
    return RLX_ARRAY_OK;
}

rlx_array_error_t rlx_array_pick(rlx_syntax_t *syntax, const rlx_tensor_t *a, int axis, int64_t first, int64_t stride, int64_t count, bool drop,
                                 rlx_tensor_t *out)
{
    int64_t strides[RLX_RANK_MAX], kept[RLX_RANK_MAX], dims[RLX_RANK_MAX], base;
    int n = 0;

    strides_of(a, strides);
    base = first * strides[axis];
    strides[axis] *= stride;
    for (int i = 0; i < a->rank; i++)
        if (i != axis || !drop) {
            dims[n] = i == axis ? count : a->dims[i];
            kept[n++] = strides[i];
        }
    if (!rlx_array_make(syntax, a->dtype, n, dims, out))
        return RLX_ARRAY_TOO_LARGE;
    copy_strided(a, base, kept, out, 0);
    return RLX_ARRAY_OK;
}

rlx_array_error_t rlx_array_concat(rlx_syntax_t *syntax, const rlx_tensor_t *arrays, int n, int axis, rlx_tensor_t *out)
{
    int64_t dims[RLX_RANK_MAX], outer = 1, inner = (int64_t)rlx_dtype_size(arrays[0].dtype), at = 0, row;

    memcpy(dims, arrays[0].dims, sizeof dims);
    for (int i = 1; i < n; i++) {
        if (arrays[i].rank != arrays[0].rank)
            return RLX_ARRAY_SHAPES;
        if (arrays[i].dtype != arrays[0].dtype)
            return RLX_ARRAY_TYPES;
        for (int k = 0; k < arrays[0].rank; k++)
            if (k != axis && arrays[i].dims[k] != dims[k])
                return RLX_ARRAY_SHAPES;
        if (!rlx_size_add(dims[axis], arrays[i].dims[axis], &dims[axis]))
            return RLX_ARRAY_TOO_LARGE;
    }
    if (!rlx_array_make(syntax, arrays[0].dtype, arrays[0].rank, dims, out))
        return RLX_ARRAY_TOO_LARGE;
    for (int k = 0; k < arrays[0].rank; k++) {
        outer *= k < axis ? dims[k] : 1;
        inner *= k > axis ? dims[k] : 1;
    }
    row = dims[axis] * inner;
    for (int i = 0; i < n; i++) {
        int64_t bytes = arrays[i].dims[axis] * inner;

        for (int64_t o = 0; o < outer && bytes > 0; o++)
            memcpy((char *)out->data + o * row + at, (const char *)arrays[i].data + o * bytes, (size_t)bytes);
        at += bytes;
    }
    return RLX_ARRAY_OK;
}
