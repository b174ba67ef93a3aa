/* The arithmetic that turns sums and numbers into bytes, the same in every kernel of the quant family (definition: ir/op_list.h).
 *
 *   quant_bytes(v, lo, hi, point) = point + round(min(max(v, lo), hi)), round half to even, where lo and hi are whole numbers with
 *   0 <= point + lo <= point + hi <= 255: so saturation (and a clamp such as relu) happens before the rounding, which keeps whole numbers. NaN
 *   becomes point + lo. */
#ifndef RLX_KERNELS_QUANT_ROUND_H
#define RLX_KERNELS_QUANT_ROUND_H

#include "kernels/quant_lanes.h"

typedef uint8_t quant_u8_t __attribute__((vector_size(16), aligned(1), may_alias));

#define QUANT_MAGIC 0x1.8p23f /* what lies within 2^22 of it is rounded to a whole number by the addition */
#define QUANT_MAGIC_BITS 0x4b400000

VEC16_INLINE quant_i32_t quant_bytes_lanes(vec16_t v, float lo, float hi, int32_t point)
{
    v = vec16_min(vec16_max(v, vec16_splat(lo)), vec16_splat(hi)) + vec16_splat(QUANT_MAGIC);
    return (quant_i32_t)v - (QUANT_MAGIC_BITS - point);
}

VEC16_INLINE uint8_t quant_byte(float v, float lo, float hi, int32_t point)
{
    v = v > lo ? v : lo;
    v = v < hi ? v : hi;
    return (uint8_t)((int32_t)__builtin_rintf(v) + point);
}

/* 16 numbers of 0 to 255 as bytes. */
VEC16_INLINE quant_u8_t quant_narrow(quant_i32_t v)
{
#if defined(__AVX2__) && !defined(__AVX512BW__)
    __m256i half[2], words;
    __m128i bytes;
    quant_u8_t out;

    __builtin_memcpy(half, &v, sizeof half);
    words = _mm256_permute4x64_epi64(_mm256_packus_epi32(half[0], half[1]), 0xd8);
    bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    __builtin_memcpy(&out, &bytes, sizeof out);
    return out;
#else
    return __builtin_convertvector(v, quant_u8_t);
#endif
}

VEC16_INLINE vec16_t quant_floats(quant_i32_t v) { return __builtin_convertvector(v, vec16_t); }
VEC16_INLINE quant_i32_t quant_widen(quant_u8_t v) { return __builtin_convertvector(v, quant_i32_t); }

#endif
