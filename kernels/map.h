/* One operation on a block of contiguous elements, per register class. `y` may equal an operand. Defined in map_f32.c, map_f64.c, map_int.c
 * and map_convert.c; called by the elementwise kernel and by epilogues, so both give the same bits. Results are error bits (abi.h). */
#ifndef RLX_KERNELS_MAP_H
#define RLX_KERNELS_MAP_H

#include "kernels/abi.h"
#include "kernels/map_op.h"
#include "kernels/number.h"

/* Loops over blocks: element i of the result depends on element i of the operands only. */
#ifdef __clang__
#define RLX_MAP_LOOP(n) _Pragma("clang loop vectorize(assume_safety)") for (int64_t i = 0; i < (n); i++)
#else
#define RLX_MAP_LOOP(n) _Pragma("GCC ivdep") for (int64_t i = 0; i < (n); i++)
#endif

#define RLX_MAP_HIDDEN __attribute__((visibility("hidden")))

/* Unary operations with immediates. */
RLX_MAP_HIDDEN void rlx_map_unary_f32(int64_t op, float *y, const float *x, int64_t n, float a, float b);
RLX_MAP_HIDDEN void rlx_map_unary_f64(int64_t op, double *y, const double *x, int64_t n, double a, double b);
RLX_MAP_HIDDEN void rlx_map_unary_i32(int64_t op, int32_t *y, const int32_t *x, int64_t n);
RLX_MAP_HIDDEN void rlx_map_unary_i64(int64_t op, int64_t *y, const int64_t *x, int64_t n);
RLX_MAP_HIDDEN void rlx_map_unary_u64(int64_t op, uint64_t *y, const uint64_t *x, int64_t n);

RLX_MAP_HIDDEN void rlx_map_binary_f32(int64_t op, float *y, const float *x0, const float *x1, int64_t n);
RLX_MAP_HIDDEN void rlx_map_binary_f64(int64_t op, double *y, const double *x0, const double *x1, int64_t n);
RLX_MAP_HIDDEN uint32_t rlx_map_binary_i32(int64_t op, int32_t *y, const int32_t *x0, const int32_t *x1, int64_t n);
RLX_MAP_HIDDEN uint32_t rlx_map_binary_i64(int64_t op, int64_t *y, const int64_t *x0, const int64_t *x1, int64_t n);
RLX_MAP_HIDDEN uint32_t rlx_map_binary_u64(int64_t op, uint64_t *y, const uint64_t *x0, const uint64_t *x1, int64_t n);

/* Comparisons, is_nan, is_inf: the result is 0 or 1 in class i32. `class_` is that of the operands. */
RLX_MAP_HIDDEN void rlx_map_compare(int64_t op, int64_t class_, int32_t *y, const void *x0, const void *x1, int64_t n);
RLX_MAP_HIDDEN void rlx_map_classify(int64_t op, int64_t class_, int32_t *y, const void *x, int64_t n, int64_t negative, int64_t positive);

RLX_MAP_HIDDEN void rlx_map_where(int64_t class_, void *y, const int32_t *c, const void *x0, const void *x1, int64_t n);
RLX_MAP_HIDDEN void rlx_map_clip(int64_t class_, void *y, const void *x, const void *lo, const void *hi, int64_t n);

/* Memory of `dtype` to its class and back; between classes (to the range of `dtype`); to the width of `dtype` inside its class. */
RLX_MAP_HIDDEN void rlx_map_load(int64_t dtype, void *y, const void *x, int64_t n);
RLX_MAP_HIDDEN void rlx_map_store(int64_t dtype, void *y, const void *x, int64_t n);
RLX_MAP_HIDDEN void rlx_map_convert(int64_t from, int64_t dtype, void *y, const void *x, int64_t n);
RLX_MAP_HIDDEN void rlx_map_wrap(int64_t dtype, void *y, const void *x, int64_t n);

static inline int64_t rlx_map_class_of(int64_t dtype)
{
    if (dtype == RLX_KD_F32 || dtype == RLX_KD_F16 || dtype == RLX_KD_BF16)
        return RLX_MAP_F32;
    if (dtype == RLX_KD_F64)
        return RLX_MAP_F64;
    if (dtype == RLX_KD_I64 || dtype == RLX_KD_U32)
        return RLX_MAP_I64;
    return dtype == RLX_KD_U64 ? RLX_MAP_U64 : RLX_MAP_I32;
}

/* Memory and class have the same form. */
static inline int rlx_map_is_native(int64_t dtype)
{
    return dtype == RLX_KD_F32 || dtype == RLX_KD_F64 || dtype == RLX_KD_I32 || dtype == RLX_KD_I64 || dtype == RLX_KD_U64;
}

static inline int64_t rlx_map_class_bytes(int64_t class_) { return class_ == RLX_MAP_F32 || class_ == RLX_MAP_I32 ? 4 : 8; }

#endif
