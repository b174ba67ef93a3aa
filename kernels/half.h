/* f16 in memory: the machine's own type where it converts, else its bits, converted here. Same results: to nearest, ties to even, NaNs quiet
 * with the upper bits of their payload. */
#ifndef RLX_KERNELS_HALF_H
#define RLX_KERNELS_HALF_H

#include <stdint.h>

#if defined(__FLT16_MANT_DIG__) && (defined(__F16C__) || defined(__aarch64__) || defined(__riscv_zfh))

typedef _Float16 rlx_half_t;

static inline float rlx_half_widen(rlx_half_t x) { return (float)x; }
static inline rlx_half_t rlx_half_round(float x) { return (rlx_half_t)x; }

#else

typedef struct rlx_half {
    uint16_t bits;
} rlx_half_t;

static inline float rlx_half_widen(rlx_half_t x)
{
    uint32_t sign = (uint32_t)(x.bits & 0x8000) << 16, exponent = x.bits >> 10 & 31, mantissa = x.bits & 0x3ff;
    union { uint32_t u; float f; } v;

    if (exponent == 0) { /* mantissa * 2^-24, exact */
        v.f = (float)mantissa * 0x1p-24f;
        v.u |= sign;
    } else if (exponent == 31) {
        v.u = sign | 0x7f800000 | mantissa << 13 | (mantissa != 0 ? 0x400000 : 0);
    } else {
        v.u = sign | (exponent + 112) << 23 | mantissa << 13;
    }
    return v.f;
}

static inline rlx_half_t rlx_half_round(float x)
{
    union { float f; uint32_t u; } v = {x};
    uint32_t sign = v.u >> 16 & 0x8000, magnitude = v.u & 0x7fffffff, bits;

    if (magnitude > 0x7f800000) {
        bits = 0x7e00 | (magnitude >> 13 & 0x3ff);
    } else if (magnitude >= 0x477ff000) { /* 65520 and more round to infinity */
        bits = 0x7c00;
    } else if (magnitude >= 0x38800000) { /* normal: 13 bits go */
        bits = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
    } else { /* a multiple of 2^-24: the sum's last bit is that */
        v.u = magnitude;
        v.f += 0.5f;
        bits = v.u - 0x3f000000;
    }
    return (rlx_half_t){(uint16_t)(sign | bits)};
}

#endif

#endif
