/* Blocks between memory and registers, and between register classes.
 *
 * Float to integer truncates toward zero and saturates at the range of the target, NaN gives 0; integer to integer keeps the low bits; to
 * bool tests for zero; to f16 and bf16 rounds once (from integers: through f32). */
#include "kernels/map.h"
#include "kernels/math.h"

#define LOAD(T, R, expr) { const T *p = x; R *r = y; RLX_MAP_LOOP(n) { T v = p[i]; r[i] = (expr); } }

void rlx_map_load(int64_t dtype, void *y, const void *x, int64_t n)
{
    switch (dtype) {
    case RLX_KD_F16: LOAD(uint16_t, float, rlx_math_f32_from_f16(v)) break;
    case RLX_KD_BF16: LOAD(uint16_t, float, rlx_math_f32_from_bf16(v)) break;
    case RLX_KD_I8: LOAD(int8_t, int32_t, v) break;
    case RLX_KD_I16: LOAD(int16_t, int32_t, v) break;
    case RLX_KD_U8: LOAD(uint8_t, int32_t, v) break;
    case RLX_KD_U16: LOAD(uint16_t, int32_t, v) break;
    case RLX_KD_BOOL: LOAD(uint8_t, int32_t, v != 0) break;
    case RLX_KD_U32: LOAD(uint32_t, int64_t, v) break;
    case RLX_KD_F32:
    case RLX_KD_I32: LOAD(uint32_t, uint32_t, v) break;
    default: LOAD(uint64_t, uint64_t, v) break;
    }
}

void rlx_map_store(int64_t dtype, void *y, const void *x, int64_t n)
{
    switch (dtype) {
    case RLX_KD_F16: LOAD(float, uint16_t, rlx_math_f16_from_f32(v)) break;
    case RLX_KD_BF16: LOAD(float, uint16_t, rlx_math_bf16_from_f32(v)) break;
    case RLX_KD_I8:
    case RLX_KD_U8:
    case RLX_KD_BOOL: LOAD(int32_t, uint8_t, (uint8_t)v) break;
    case RLX_KD_I16:
    case RLX_KD_U16: LOAD(int32_t, uint16_t, (uint16_t)v) break;
    case RLX_KD_U32: LOAD(int64_t, uint32_t, (uint32_t)v) break;
    case RLX_KD_F32:
    case RLX_KD_I32: LOAD(uint32_t, uint32_t, v) break;
    default: LOAD(uint64_t, uint64_t, v) break;
    }
}

void rlx_map_wrap(int64_t dtype, void *y, const void *x, int64_t n)
{
    switch (dtype) {
    case RLX_KD_F16: LOAD(float, float, rlx_math_f32_from_f16(rlx_math_f16_from_f32(v))) break;
    case RLX_KD_BF16: LOAD(float, float, rlx_math_f32_from_bf16(rlx_math_bf16_from_f32(v))) break;
    case RLX_KD_I8: LOAD(int32_t, int32_t, (int8_t)v) break;
    case RLX_KD_I16: LOAD(int32_t, int32_t, (int16_t)v) break;
    case RLX_KD_U8: LOAD(int32_t, int32_t, (uint8_t)v) break;
    case RLX_KD_U16: LOAD(int32_t, int32_t, (uint16_t)v) break;
    case RLX_KD_BOOL: LOAD(int32_t, int32_t, v != 0) break;
    case RLX_KD_U32: LOAD(int64_t, int64_t, (uint32_t)v) break;
    case RLX_KD_F32:
    case RLX_KD_I32: LOAD(uint32_t, uint32_t, v) break;
    default: LOAD(uint64_t, uint64_t, v) break;
    }
}

/* The class's number as another type, wrapped. */
#define FROM_INTEGER(R, cast)                                             \
    {                                                                     \
        if (from == RLX_MAP_I32)                                          \
            LOAD(int32_t, R, cast v)                                      \
        else if (from == RLX_MAP_I64)                                     \
            LOAD(int64_t, R, cast v)                                      \
        else                                                              \
            LOAD(uint64_t, R, cast v)                                     \
    }

static void to_f32(int64_t from, int64_t dtype, float *y, const void *x, int64_t n)
{
    if (from == RLX_MAP_F64 && dtype == RLX_KD_F32)
        LOAD(double, float, (float)v)
    else if (from == RLX_MAP_F64)
        LOAD(double, float, rlx_math_f32_odd_from_f64(v))
    else if (from == RLX_MAP_F32)
        LOAD(float, float, v)
    else
        FROM_INTEGER(float, (float))
    if (dtype != RLX_KD_F32)
        rlx_map_wrap(dtype, y, y, n);
}

static void to_f64(int64_t from, double *y, const void *x, int64_t n)
{
    if (from == RLX_MAP_F64)
        LOAD(double, double, v)
    else if (from == RLX_MAP_F32)
        LOAD(float, double, (double)v)
    else
        FROM_INTEGER(double, (double))
}

static void to_bool(int64_t from, int32_t *y, const void *x, int64_t n)
{
    if (from == RLX_MAP_F32)
        LOAD(float, int32_t, v != 0)
    else if (from == RLX_MAP_F64)
        LOAD(double, int32_t, v != 0)
    else
        FROM_INTEGER(int32_t, 0 !=)
}

/* Least value of an integer dtype, and the greatest plus one. */
static double range_low(int64_t dtype)
{
    return dtype == RLX_KD_I8 ? -0x1p7 : dtype == RLX_KD_I16 ? -0x1p15 : dtype == RLX_KD_I32 ? -0x1p31 : dtype == RLX_KD_I64 ? -0x1p63 : 0;
}

static double range_end(int64_t dtype)
{
    switch (dtype) {
    case RLX_KD_I8: return 0x1p7;
    case RLX_KD_I16: return 0x1p15;
    case RLX_KD_I32: return 0x1p31;
    case RLX_KD_I64: return 0x1p63;
    case RLX_KD_U8: return 0x1p8;
    case RLX_KD_U16: return 0x1p16;
    case RLX_KD_U32: return 0x1p32;
    default: return 0x1p64;
    }
}

/* Saturating: lo and end are exact in both float types. */
#define FROM_FLOAT(T, R)                                                                       \
    {                                                                                          \
        T lo = (T)range_low(dtype), end = (T)range_end(dtype);                                 \
        R least = dtype == RLX_KD_I64 ? (R)((uint64_t)1 << 63) : (R)lo;                        \
        R most = dtype == RLX_KD_I64 ? (R)INT64_MAX : dtype == RLX_KD_U64 ? (R)UINT64_MAX : (R)(range_end(dtype) - 1); \
        LOAD(T, R, v >= end ? most : v <= lo ? least : (R)(((v > lo) & (v < end)) ? v : 0))    \
    }

#define TO_INTEGER(R)                     \
    {                                     \
        if (from == RLX_MAP_F32)          \
            FROM_FLOAT(float, R)          \
        else if (from == RLX_MAP_F64)     \
            FROM_FLOAT(double, R)         \
        else {                            \
            FROM_INTEGER(R, (R))          \
            rlx_map_wrap(dtype, y, y, n); \
        }                                 \
    }

void rlx_map_convert(int64_t from, int64_t dtype, void *y, const void *x, int64_t n)
{
    int64_t to = rlx_map_class_of(dtype);

    if (dtype == RLX_KD_BOOL)
        to_bool(from, y, x, n);
    else if (to == RLX_MAP_F32)
        to_f32(from, dtype, y, x, n);
    else if (to == RLX_MAP_F64)
        to_f64(from, y, x, n);
    else if (to == RLX_MAP_I32)
        TO_INTEGER(int32_t)
    else if (to == RLX_MAP_I64)
        TO_INTEGER(int64_t)
    else
        TO_INTEGER(uint64_t)
}
