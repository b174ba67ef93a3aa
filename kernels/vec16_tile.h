/* Sixteen f32 lanes as a register tile holds them: the one vec16_t where the compiler keeps it in registers (clang; gcc with AVX-512), else
 * parts as wide as the machine's registers, since gcc keeps wider vectors in memory (14 times slower). Same bits: every operation is lane by
 * lane.
 *
 * How a tile ends. On Zen 4 a 512-bit store costs as much as two 512-bit multiply-adds, even beside them, unless exactly two vector operations
 * stand between it and the next store: then it costs nothing. With fewer, two stores of 256 bits cost a half each (tile16_store_halves). So
 * tiles finish and store vector by vector, a fence after each. */
#ifndef RLX_KERNELS_VEC16_TILE_H
#define RLX_KERNELS_VEC16_TILE_H

#include "kernels/vec16.h"

typedef float tile8_t __attribute__((vector_size(32), aligned(4), may_alias));

#if defined(__clang__) || defined(__AVX512F__)

typedef vec16_t tile16_t;

/* Lanes 8 to 15 become 0. */
VEC16_INLINE tile16_t tile16_widen(tile8_t v)
{
    return __builtin_shufflevector(v, (tile8_t){0}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

VEC16_INLINE tile16_t tile16_load(const float *x) { return vec16_load(x); }
VEC16_INLINE void tile16_store(float *x, tile16_t v) { vec16_store(x, v); }
VEC16_INLINE tile16_t tile16_splat(float x) { return vec16_splat(x); }
VEC16_INLINE tile16_t tile16_add(tile16_t a, tile16_t b) { return a + b; }
VEC16_INLINE tile16_t tile16_sub(tile16_t a, tile16_t b) { return a - b; }
VEC16_INLINE tile16_t tile16_mul(tile16_t a, tile16_t b) { return a * b; }
VEC16_INLINE tile16_t tile16_fma(tile16_t a, tile16_t b, tile16_t c) { return vec16_fma(a, b, c); }
VEC16_INLINE tile16_t tile16_max(tile16_t a, tile16_t b) { return vec16_max(a, b); }
VEC16_INLINE tile16_t tile16_min(tile16_t a, tile16_t b) { return vec16_min(a, b); }

#else

typedef struct tile16 {
    vec16_part_t part[VEC16_PARTS];
} tile16_t;

VEC16_INLINE tile16_t tile16_widen(tile8_t v)
{
    tile16_t wide = {0};

    __builtin_memcpy(&wide, &v, sizeof v);
    return wide;
}

VEC16_INLINE tile16_t tile16_load(const float *x)
{
    tile16_t v;

    VEC16_EACH_PART(i) v.part[i] = *(const vec16_part_t *)(x + i * (16 / VEC16_PARTS));
    return v;
}

VEC16_INLINE void tile16_store(float *x, tile16_t v) { VEC16_EACH_PART(i) *(vec16_part_t *)(x + i * (16 / VEC16_PARTS)) = v.part[i]; }

VEC16_INLINE tile16_t tile16_splat(float x)
{
    tile16_t v;

    VEC16_EACH_PART(i) v.part[i] = vec16_part_splat(x);
    return v;
}

VEC16_INLINE tile16_t tile16_add(tile16_t a, tile16_t b)
{
    VEC16_EACH_PART(i) a.part[i] = a.part[i] + b.part[i];
    return a;
}

VEC16_INLINE tile16_t tile16_sub(tile16_t a, tile16_t b)
{
    VEC16_EACH_PART(i) a.part[i] = a.part[i] - b.part[i];
    return a;
}

VEC16_INLINE tile16_t tile16_mul(tile16_t a, tile16_t b)
{
    VEC16_EACH_PART(i) a.part[i] = a.part[i] * b.part[i];
    return a;
}

VEC16_INLINE tile16_t tile16_fma(tile16_t a, tile16_t b, tile16_t c)
{
    VEC16_EACH_PART(i) c.part[i] = vec16_part_fma(a.part[i], b.part[i], c.part[i]);
    return c;
}

VEC16_INLINE tile16_t tile16_max(tile16_t a, tile16_t b)
{
    VEC16_EACH_PART(i) a.part[i] = vec16_part_max(a.part[i], b.part[i]);
    return a;
}

VEC16_INLINE tile16_t tile16_min(tile16_t a, tile16_t b)
{
    VEC16_EACH_PART(i) a.part[i] = vec16_part_min(a.part[i], b.part[i]);
    return a;
}

#endif

VEC16_INLINE tile8_t tile8_load(const float *x) { return *(const tile8_t *)x; }
VEC16_INLINE tile8_t tile8_splat(float x) { return (tile8_t){x, x, x, x, x, x, x, x}; }

VEC16_INLINE tile8_t tile8_fma(tile8_t a, tile8_t b, tile8_t c)
{
#ifdef __clang__
    return __builtin_elementwise_fma(a, b, c);
#elif defined(__FMA__) && !defined(__AVX512F__)
    return (tile8_t)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    tile8_t d;

    for (int i = 0; i < 8; i++)
        d[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return d;
#endif
}

#endif
