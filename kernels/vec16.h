/* Sixteen f32 lanes, the unit of every blocked layout: one zmm or two ymm. Works with clang and gcc; always inlined. */
#ifndef RLX_KERNELS_VEC16_H
#define RLX_KERNELS_VEC16_H

#include "kernels/abi.h"

typedef float vec16_t __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t vec16_mask_t __attribute__((vector_size(64), aligned(4), may_alias));

#ifdef __clang__
#define VEC16_PRAGMA(text) _Pragma(#text)
#define VEC16_UNROLL_BY(n) VEC16_PRAGMA(clang loop unroll_count(n))
#define VEC16_NO_UNROLL _Pragma("clang loop unroll(disable)")
#define VEC16_INSTRUMENTED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define VEC16_UNROLL_BY(n)
#define VEC16_NO_UNROLL _Pragma("GCC unroll 1")
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VEC16_INSTRUMENTED 1
#else
#define VEC16_INSTRUMENTED 0
#endif
#endif

/* Under a sanitizer every access has a check of its own: unrolled for each size, register tiles take a compiler minutes. */
#if VEC16_INSTRUMENTED
#define VEC16_INLINE static inline
#define VEC16_UNROLL VEC16_NO_UNROLL
#else
#define VEC16_INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define VEC16_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VEC16_UNROLL _Pragma("GCC unroll 32")
#endif
#endif

/* No load moves across: keeps the compiler from trading registers for early loads. No instruction. */
#define VEC16_FENCE() __asm__ volatile("" ::: "memory")

/* The compiler no longer knows what `p` points to: what is loaded through it is loaded again. No instruction. */
#define VEC16_HIDE(p) __asm__("" : "+r"(p))

/* `v` is computed before the next fence, not after. */
#ifdef __AVX512F__
#define VEC16_SETTLE(v) __asm__ volatile("" : "+v"(v))
#else
#define VEC16_SETTLE(v) ((void)0)
#endif

#pragma GCC diagnostic ignored "-Wpsabi" /* every vector argument is inlined away */

VEC16_INLINE vec16_t vec16_load(const float *x) { return *(const vec16_t *)x; }
VEC16_INLINE void vec16_store(float *x, vec16_t v) { *(vec16_t *)x = v; }
VEC16_INLINE vec16_t vec16_splat(float x) { return (vec16_t){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }

#if defined(__clang__) || defined(__AVX512F__)

VEC16_INLINE vec16_t vec16_fma(vec16_t a, vec16_t b, vec16_t c)
{
#ifdef __clang__
    return __builtin_elementwise_fma(a, b, c);
#else
    vec16_t d;
    for (int i = 0; i < 16; i++)
        d[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return d;
#endif
}

/* Lanes of a where the mask is set, else of b. */
VEC16_INLINE vec16_t vec16_select(vec16_mask_t mask, vec16_t a, vec16_t b)
{
    return (vec16_t)((mask & (vec16_mask_t)a) | (~mask & (vec16_mask_t)b));
}

/* The lanes that are NaN. */
VEC16_INLINE vec16_mask_t vec16_unordered(vec16_t v) { return v != v; }

/* a > b ? a : b and a < b ? a : b in every lane: b where they are equal or unordered, as the machine's instructions. */
VEC16_INLINE vec16_t vec16_max(vec16_t a, vec16_t b) { return vec16_select(a > b, a, b); }
VEC16_INLINE vec16_t vec16_min(vec16_t a, vec16_t b) { return vec16_select(a < b, a, b); }

#else
#include "kernels/vec16_parts.h"
#endif

#endif
