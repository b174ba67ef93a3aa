/* Products of bytes for the quantised kernels: 16 lanes of i32, each the sum of four products u8 x s8.
 *
 * `quant_dot` is exact for every operand where the target has VNNI (QUANT_VNNI). Elsewhere it goes through sums of two products in i16,
 * which saturate: the compiler packs weights so that no such sum leaves i16 (ir/lower/pack_quant.h), hence it is exact there, too.
 * `quant_dot2` adds two such sums in i16 before they are widened; the same holds. */
#ifndef RLX_KERNELS_QUANT_LANES_H
#define RLX_KERNELS_QUANT_LANES_H

#include "kernels/vec16.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

typedef int32_t quant_i32_t __attribute__((vector_size(64), aligned(4), may_alias));

#if defined(__AVX512BW__)
#define QUANT_PARTS 1
typedef __m512i quant_part_t;
#define QUANT_PART(name) _mm512_##name
#define QUANT_PART_LOAD(p) _mm512_loadu_si512(p)
#define QUANT_PART_ZERO() _mm512_setzero_si512()
#elif defined(__AVX2__)
#define QUANT_PARTS 2
typedef __m256i quant_part_t;
#define QUANT_PART(name) _mm256_##name
#define QUANT_PART_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define QUANT_PART_ZERO() _mm256_setzero_si256()
#else
#define QUANT_PARTS 1
typedef struct quant_part { int32_t lane[16]; } quant_part_t;
#endif

/* 16 accumulators. */
typedef struct quant_acc { quant_part_t part[QUANT_PARTS]; } quant_acc_t;

VEC16_INLINE int32_t quant_load4(const void *x)
{
    int32_t v;

    __builtin_memcpy(&v, x, sizeof v);
    return v;
}

VEC16_INLINE quant_acc_t quant_acc_load(const int32_t *x)
{
    quant_acc_t acc;

    __builtin_memcpy(&acc, x, sizeof acc);
    return acc;
}

VEC16_INLINE quant_i32_t quant_acc_lanes(quant_acc_t acc)
{
    quant_i32_t v;

    __builtin_memcpy(&v, &acc, sizeof v);
    return v;
}

#if defined(__AVX2__)

VEC16_INLINE quant_part_t quant_part_load(const int8_t *w) { return QUANT_PART_LOAD(w); }
VEC16_INLINE quant_part_t quant_part_splat(const uint8_t *x) { return QUANT_PART(set1_epi32)(quant_load4(x)); }

/* 32 bytes: the lanes of outputs 0 to 7 (half 0) or 8 to 15; the other lanes of the part, if it has them, are zero. */
VEC16_INLINE quant_part_t quant_part_half(const int8_t *w, int half)
{
#if defined(__AVX512BW__)
    return _mm512_maskz_loadu_epi32(half ? 0xff00 : 0x00ff, w - half * 32);
#else
    (void)half;
    return quant_part_load(w);
#endif
}

VEC16_INLINE quant_part_t quant_part_widen(quant_part_t acc, quant_part_t sums)
{
    return QUANT_PART(add_epi32)(acc, QUANT_PART(madd_epi16)(sums, QUANT_PART(set1_epi16)(1)));
}

VEC16_INLINE quant_part_t quant_part_dot(quant_part_t acc, quant_part_t x, quant_part_t w)
{
#if defined(__AVX512VNNI__)
    return _mm512_dpbusd_epi32(acc, x, w);
#else
    return quant_part_widen(acc, QUANT_PART(maddubs_epi16)(x, w));
#endif
}

VEC16_INLINE quant_part_t quant_part_dot2(quant_part_t acc, quant_part_t x0, quant_part_t w0, quant_part_t x1, quant_part_t w1)
{
#if defined(__AVX512VNNI__)
    return quant_part_dot(quant_part_dot(acc, x0, w0), x1, w1);
#else
    return quant_part_widen(acc, QUANT_PART(add_epi16)(QUANT_PART(maddubs_epi16)(x0, w0), QUANT_PART(maddubs_epi16)(x1, w1)));
#endif
}

#else

VEC16_INLINE quant_part_t quant_part_load(const int8_t *w)
{
    quant_part_t v;

    __builtin_memcpy(&v, w, sizeof v);
    return v;
}

VEC16_INLINE quant_part_t quant_part_half(const int8_t *w, int half)
{
    quant_part_t v = {0};

    __builtin_memcpy((char *)&v + half * 32, w, 32);
    return v;
}

VEC16_INLINE quant_part_t quant_part_splat(const uint8_t *x)
{
    quant_part_t v;

    for (int i = 0; i < 16; i++)
        v.lane[i] = quant_load4(x);
    return v;
}

VEC16_INLINE quant_part_t quant_part_dot(quant_part_t acc, quant_part_t x, quant_part_t w)
{
    uint8_t a[64];
    int8_t b[64];

    __builtin_memcpy(a, &x, sizeof a);
    __builtin_memcpy(b, &w, sizeof b);
    for (int i = 0; i < 64; i++)
        acc.lane[i / 4] += a[i] * b[i];
    return acc;
}

VEC16_INLINE quant_part_t quant_part_dot2(quant_part_t acc, quant_part_t x0, quant_part_t w0, quant_part_t x1, quant_part_t w1)
{
    return quant_part_dot(quant_part_dot(acc, x0, w0), x1, w1);
}

#endif

#endif
