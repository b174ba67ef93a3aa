/* Softmax of one contiguous row, in place or from x to y: the bits of kernels/softmax.c (lanes16 order). Sixteen elements at a time: lane j of
 * a vector is chain j. */
#ifndef RLX_KERNELS_SOFTMAX_ROW_H
#define RLX_KERNELS_SOFTMAX_ROW_H

#include "kernels/lanes.h"
#include "kernels/vec16.h"

typedef float softmax_v8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float softmax_v4 __attribute__((vector_size(16), aligned(4), may_alias));

#ifdef __clang__
#define SOFTMAX_LOOP _Pragma("clang loop vectorize(assume_safety) interleave_count(4)")
#else
#define SOFTMAX_LOOP _Pragma("GCC ivdep")
#endif

/* The first `n` < 16 of x; the others are `fill`. `padded`: sixteen can be read. */
VEC16_INLINE vec16_t softmax_row_tail(int padded, const float *x, int64_t n, float fill)
{
    const vec16_mask_t lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    int32_t k = (int32_t)n;
    vec16_mask_t end = {k, k, k, k, k, k, k, k, k, k, k, k, k, k, k, k};
    float v[16];

    if (padded)
        return vec16_select(lane < end, vec16_load(x), vec16_splat(fill));
    for (int i = 0; i < 16; i++)
        v[i] = i < n ? x[i] : fill;
    return vec16_load(v);
}

VEC16_INLINE void softmax_row_store(int padded, float *y, vec16_t v, int64_t n)
{
    float part[16];

    vec16_store(padded ? y : part, v);
    for (int64_t j = 0; j < n && !padded; j++)
        y[j] = part[j];
}

/* The final tree of sums: +8 and +4 as vectors, +2 and +1 as numbers. */
VEC16_INLINE float softmax_row_sum(vec16_t l)
{
    softmax_v8 a = __builtin_shufflevector(l, l, 0, 1, 2, 3, 4, 5, 6, 7), b = __builtin_shufflevector(l, l, 8, 9, 10, 11, 12, 13, 14, 15);
    softmax_v8 s = a + b;
    softmax_v4 c = __builtin_shufflevector(s, s, 0, 1, 2, 3), d = __builtin_shufflevector(s, s, 4, 5, 6, 7), t = c + d;

    return (t[0] + t[2]) + (t[1] + t[3]);
}

/* The largest lane. */
VEC16_INLINE float softmax_row_largest(vec16_t max)
{
    float lane[16];

    vec16_store(lane, max);
    for (int half = 8; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            lane[j] = lane[j + half] > lane[j] ? lane[j + half] : lane[j];
    return lane[0];
}

/* NaNs are not looked for: exp makes one of each, and the sum hands it to all. */
VEC16_INLINE float softmax_row_max(int padded, const float *x, int64_t n)
{
    vec16_t max = vec16_splat(-__builtin_inff());
    int64_t i = 0;

    for (; i + 16 <= n; i += 16)
        max = vec16_max(vec16_load(x + i), max);
    if (i < n)
        max = vec16_max(softmax_row_tail(padded, x + i, n - i, -__builtin_inff()), max);
    return softmax_row_largest(max);
}

/* The passes after the maximum. `padded`: rows of x and y may be read and written up to a multiple of 16. Exponentials of x to y: four
 * vectors side by side, since each is one long chain. */
VEC16_INLINE void softmax_row_exp(int padded, const float *x, float *y, int64_t n, float max)
{
    int64_t whole = padded ? (n + 15) & ~15ll : n;

    SOFTMAX_LOOP for (int64_t i = 0; i < whole; i++)
        y[i] = rlx_math_exp_fallf(x[i] - max);
}

/* 1 by the sum of y. */
VEC16_INLINE float softmax_row_factor(int padded, const float *y, int64_t n)
{
    vec16_t sum = vec16_splat(0);
    int64_t i = 0;

    for (; i + 16 <= n; i += 16)
        sum = sum + vec16_load(y + i);
    if (i < n)
        sum = sum + softmax_row_tail(padded, y + i, n - i, 0);
    return 1 / softmax_row_sum(sum);
}

VEC16_INLINE void softmax_row_scale(int padded, float *y, int64_t n, float factor)
{
    int64_t i = 0;

    for (; i + 16 <= n; i += 16)
        vec16_store(y + i, vec16_load(y + i) * vec16_splat(factor));
    if (i < n)
        softmax_row_store(padded, y + i, softmax_row_tail(padded, y + i, n - i, 0) * vec16_splat(factor), n - i);
}

VEC16_INLINE void softmax_row_run(int padded, const float *x, float *y, int64_t n)
{
    softmax_row_exp(padded, x, y, n, softmax_row_max(padded, x, n));
    softmax_row_scale(padded, y, n, softmax_row_factor(padded, y, n));
}

#endif
