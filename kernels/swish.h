/* rlx_math_swishf on vectors: its table lies in a register. Same operations, same bits. */
#ifndef RLX_KERNELS_SWISH_H
#define RLX_KERNELS_SWISH_H

#include "kernels/math.h"
#include "kernels/vec16.h"

#ifdef __clang__

typedef int32_t swish_v8i __attribute__((vector_size(32), aligned(4), may_alias));

/* Lane i: rlx_math_eighths[index[i] mod 8]. */
VEC16_INLINE vec16_mask_t swish_scale(vec16_mask_t index)
{
    swish_v8i table = *(const swish_v8i *)rlx_math_eighths;
#ifdef __AVX512F__
    return (vec16_mask_t)__builtin_ia32_permvarsi512(__builtin_shufflevector(table, table, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7), index);
#elif defined(__AVX2__)
    swish_v8i lo = __builtin_ia32_permvarsi256(table, __builtin_shufflevector(index, index, 0, 1, 2, 3, 4, 5, 6, 7));
    swish_v8i hi = __builtin_ia32_permvarsi256(table, __builtin_shufflevector(index, index, 8, 9, 10, 11, 12, 13, 14, 15));

    return __builtin_shufflevector(lo, hi, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#else
    vec16_mask_t scale;

    VEC16_UNROLL for (int i = 0; i < 16; i++)
        scale[i] = table[index[i] & 7];
    return scale;
#endif
}

/* v / (1 + exp(-w)) */
VEC16_INLINE vec16_t swish_quotient(vec16_t v, vec16_t w)
{
    vec16_t c = vec16_min(vec16_splat(RLX_MATH_SWISH_ONE), w);
    vec16_t magic = vec16_fma(c, vec16_splat(-RLX_MATH_EIGHTHS), vec16_splat(RLX_MATH_MAGICF)), n = magic - RLX_MATH_MAGICF;
    vec16_t r = vec16_fma(n, vec16_splat(-RLX_MATH_EIGHTH_LO), vec16_fma(n, vec16_splat(-RLX_MATH_EIGHTH_HI), -c));
    vec16_t q = vec16_fma(vec16_fma(vec16_splat(RLX_MATH_EIGHTH_C3), r, vec16_splat(RLX_MATH_EIGHTH_C2)), r, vec16_splat(1)) * r;
    vec16_t s = (vec16_t)(swish_scale((vec16_mask_t)magic) + ((vec16_mask_t)magic << 20));

    return v / (1 + vec16_fma(s, q, s));
}

#endif

/* y may be x. */
static inline void swish_run(float *y, const float *x, int64_t n, float alpha)
{
    int64_t i = 0;

#ifdef __clang__
    vec16_t limit = vec16_splat(rlx_math_swish_limitf(alpha));

    if (alpha == 1)
        for (; i + 16 <= n; i += 16) {
            vec16_t v = vec16_max(limit, vec16_load(x + i));

            vec16_store(y + i, swish_quotient(v, v));
        }
    else if (alpha >= 0)
        for (; i + 16 <= n; i += 16) {
            vec16_t v = vec16_max(limit, vec16_load(x + i));

            vec16_store(y + i, swish_quotient(v, v * alpha));
        }
#endif
    for (; i < n; i++)
        y[i] = rlx_math_swishf(x[i], alpha);
}

#endif
