/* Sixteen lanes in parts as wide as the machine's registers: for gcc without AVX-512, which takes wider vectors apart lane by lane. Included by
 * vec16.h; the same bits, since every operation is lane by lane. */
#ifndef RLX_KERNELS_VEC16_PARTS_H
#define RLX_KERNELS_VEC16_PARTS_H

#ifdef __AVX__
#include <immintrin.h>
#define VEC16_PARTS 2
#else
#define VEC16_PARTS 4
#endif
#ifdef __aarch64__
#include <arm_neon.h>
#endif

typedef float vec16_part_t __attribute__((vector_size(64 / VEC16_PARTS), aligned(4), may_alias));
typedef int32_t vec16_part_mask_t __attribute__((vector_size(64 / VEC16_PARTS), aligned(4), may_alias));
typedef union vec16_in_parts {
    vec16_t whole;
    vec16_mask_t mask;
    vec16_part_t part[VEC16_PARTS];
    vec16_part_mask_t part_mask[VEC16_PARTS];
} vec16_in_parts_t;

#define VEC16_EACH_PART(i) VEC16_UNROLL for (int i = 0; i < VEC16_PARTS; i++)

VEC16_INLINE vec16_part_t vec16_part_fma(vec16_part_t a, vec16_part_t b, vec16_part_t c)
{
#ifdef __FMA__
    return (vec16_part_t)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (vec16_part_t)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    vec16_part_t d;

    for (int i = 0; i < 16 / VEC16_PARTS; i++)
        d[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return d;
#endif
}

VEC16_INLINE vec16_part_t vec16_part_splat(float x)
{
#ifdef __AVX__
    return (vec16_part_t){x, x, x, x, x, x, x, x};
#else
    return (vec16_part_t){x, x, x, x};
#endif
}

VEC16_INLINE vec16_part_t vec16_part_select(vec16_part_mask_t mask, vec16_part_t a, vec16_part_t b)
{
    return (vec16_part_t)((mask & (vec16_part_mask_t)a) | (~mask & (vec16_part_mask_t)b));
}

VEC16_INLINE vec16_part_t vec16_part_max(vec16_part_t a, vec16_part_t b) { return vec16_part_select(a > b, a, b); }
VEC16_INLINE vec16_part_t vec16_part_min(vec16_part_t a, vec16_part_t b) { return vec16_part_select(a < b, a, b); }

VEC16_INLINE vec16_t vec16_fma(vec16_t a, vec16_t b, vec16_t c)
{
    vec16_in_parts_t x = {a}, y = {b}, z = {c};

    VEC16_EACH_PART(i) z.part[i] = vec16_part_fma(x.part[i], y.part[i], z.part[i]);
    return z.whole;
}

VEC16_INLINE vec16_t vec16_select(vec16_mask_t mask, vec16_t a, vec16_t b)
{
    vec16_in_parts_t m = {.mask = mask}, x = {a}, y = {b};

    VEC16_EACH_PART(i) x.part[i] = vec16_part_select(m.part_mask[i], x.part[i], y.part[i]);
    return x.whole;
}

VEC16_INLINE vec16_mask_t vec16_unordered(vec16_t v)
{
    vec16_in_parts_t x = {v};

    VEC16_EACH_PART(i) x.part_mask[i] = x.part[i] != x.part[i];
    return x.mask;
}

VEC16_INLINE vec16_t vec16_max(vec16_t a, vec16_t b)
{
    vec16_in_parts_t x = {a}, y = {b};

    VEC16_EACH_PART(i) x.part[i] = vec16_part_max(x.part[i], y.part[i]);
    return x.whole;
}

VEC16_INLINE vec16_t vec16_min(vec16_t a, vec16_t b)
{
    vec16_in_parts_t x = {a}, y = {b};

    VEC16_EACH_PART(i) x.part[i] = vec16_part_min(x.part[i], y.part[i]);
    return x.whole;
}

#endif
