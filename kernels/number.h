/* Moves runs of elements between memory and one of four computation types: float (f32, f16, bf16), double (f64), int64_t (signed) and
 * uint64_t (unsigned, bool). A run has `n` elements, `stride` elements apart. Loads are exact; stores round once (floats, to nearest even)
 * or keep the low bits (integers). Pure functions for kernels that serve every dtype through a small buffer on the stack. */
#ifndef RLX_KERNELS_NUMBER_H
#define RLX_KERNELS_NUMBER_H

#include "kernels/abi.h"
#include "kernels/half.h"

/* The numbers of rlx_dtype_t: kernels see them as parameters. */
enum {
    RLX_KD_F32 = 1, RLX_KD_F64 = 2, RLX_KD_F16 = 3, RLX_KD_BF16 = 4, RLX_KD_I8 = 5, RLX_KD_I16 = 6, RLX_KD_I32 = 7,
    RLX_KD_I64 = 8, RLX_KD_U8 = 9, RLX_KD_U16 = 10, RLX_KD_U32 = 11, RLX_KD_U64 = 12, RLX_KD_BOOL = 13,
};

#define RLX_NUMBER_RUN 256 /* elements of a stack buffer: a multiple of 16 */

static inline int64_t rlx_number_bytes(int64_t dtype)
{
    if (dtype == RLX_KD_F64 || dtype == RLX_KD_I64 || dtype == RLX_KD_U64)
        return 8;
    if (dtype == RLX_KD_F32 || dtype == RLX_KD_I32 || dtype == RLX_KD_U32)
        return 4;
    return dtype == RLX_KD_I8 || dtype == RLX_KD_U8 || dtype == RLX_KD_BOOL ? 1 : 2;
}

static inline int rlx_number_is_signed(int64_t dtype) { return dtype >= RLX_KD_I8 && dtype <= RLX_KD_I64; }

static inline float rlx_number_from_bf16(uint16_t bits)
{
    union { uint32_t u; float f; } v = {.u = (uint32_t)bits << 16};
    return v.f;
}

static inline uint16_t rlx_number_to_bf16(float value)
{
    union { float f; uint32_t u; } v = {.f = value};
    if (value != value)
        return (uint16_t)((v.u >> 16) | 0x40);
    return (uint16_t)((v.u + 0x7fff + ((v.u >> 16) & 1)) >> 16);
}

#define RLX_NUMBER_COPY(type, to, from)                                                    \
    do {                                                                                   \
        const type *p_ = (const type *)base + first;                                       \
        if (stride == 1)                                                                   \
            for (int64_t i = 0; i < n; i++) { type x_ = p_[i]; to[i] = (from); }           \
        else                                                                               \
            for (int64_t i = 0; i < n; i++) { type x_ = p_[i * stride]; to[i] = (from); }  \
    } while (0)

static inline void rlx_number_load_f32(int64_t dtype, const void *base, int64_t first, int64_t stride, int64_t n, float *restrict to)
{
    if (dtype == RLX_KD_F32)
        RLX_NUMBER_COPY(float, to, x_);
    else if (dtype == RLX_KD_F16)
        RLX_NUMBER_COPY(rlx_half_t, to, rlx_half_widen(x_));
    else
        RLX_NUMBER_COPY(uint16_t, to, rlx_number_from_bf16(x_));
}

static inline void rlx_number_load_f64(int64_t dtype, const void *base, int64_t first, int64_t stride, int64_t n, double *restrict to)
{
    (void)dtype;
    RLX_NUMBER_COPY(double, to, x_);
}

static inline void rlx_number_load_i64(int64_t dtype, const void *base, int64_t first, int64_t stride, int64_t n, int64_t *restrict to)
{
    if (dtype == RLX_KD_I64)
        RLX_NUMBER_COPY(int64_t, to, x_);
    else if (dtype == RLX_KD_I32)
        RLX_NUMBER_COPY(int32_t, to, x_);
    else if (dtype == RLX_KD_I16)
        RLX_NUMBER_COPY(int16_t, to, x_);
    else
        RLX_NUMBER_COPY(int8_t, to, x_);
}

static inline void rlx_number_load_u64(int64_t dtype, const void *base, int64_t first, int64_t stride, int64_t n, uint64_t *restrict to)
{
    if (dtype == RLX_KD_U64)
        RLX_NUMBER_COPY(uint64_t, to, x_);
    else if (dtype == RLX_KD_U32)
        RLX_NUMBER_COPY(uint32_t, to, x_);
    else if (dtype == RLX_KD_U16)
        RLX_NUMBER_COPY(uint16_t, to, x_);
    else
        RLX_NUMBER_COPY(uint8_t, to, x_);
}

#undef RLX_NUMBER_COPY
#define RLX_NUMBER_PUT(type, value)                                                        \
    do {                                                                                   \
        type *p_ = (type *)base + first;                                                   \
        for (int64_t i = 0; i < n; i++)                                                    \
            p_[i * stride] = (value);                                                      \
    } while (0)

static inline void rlx_number_store_f32(int64_t dtype, void *base, int64_t first, int64_t stride, int64_t n, const float *restrict from)
{
    if (dtype == RLX_KD_F32)
        RLX_NUMBER_PUT(float, from[i]);
    else if (dtype == RLX_KD_F16)
        RLX_NUMBER_PUT(rlx_half_t, rlx_half_round(from[i]));
    else
        RLX_NUMBER_PUT(uint16_t, rlx_number_to_bf16(from[i]));
}

static inline void rlx_number_store_f64(int64_t dtype, void *base, int64_t first, int64_t stride, int64_t n, const double *restrict from)
{
    if (dtype == RLX_KD_F32)
        RLX_NUMBER_PUT(float, (float)from[i]);
    else
        RLX_NUMBER_PUT(double, from[i]);
}

static inline void rlx_number_store_u64(int64_t dtype, void *base, int64_t first, int64_t stride, int64_t n, const uint64_t *restrict from)
{
    int64_t bytes = rlx_number_bytes(dtype);

    if (bytes == 8)
        RLX_NUMBER_PUT(uint64_t, from[i]);
    else if (bytes == 4)
        RLX_NUMBER_PUT(uint32_t, (uint32_t)from[i]);
    else if (bytes == 2)
        RLX_NUMBER_PUT(uint16_t, (uint16_t)from[i]);
    else
        RLX_NUMBER_PUT(uint8_t, (uint8_t)from[i]);
}

static inline void rlx_number_store_i64(int64_t dtype, void *base, int64_t first, int64_t stride, int64_t n, const int64_t *restrict from)
{
    rlx_number_store_u64(dtype, base, first, stride, n, (const uint64_t *)from);
}

#undef RLX_NUMBER_PUT

/* Rounds to f32. Not inlined: gcc 12 drops the rounding of (double)(float)x where it vectorises two of them. */
static __attribute__((noinline, unused)) double rlx_number_round_f32(double value)
{
    float narrow = (float)value;
    return (double)narrow;
}

/* Toward zero; NaN gives 0, values past the range its end. */
static inline int64_t rlx_number_trunc(double value)
{
    if (value != value)
        return 0;
    if (value >= 9223372036854775808.0)
        return INT64_MAX;
    return value <= -9223372036854775808.0 ? INT64_MIN : (int64_t)value;
}

#endif
