/* Arithmetic on f32 that are given by their bits, zero-extended: extents that follow from a float known only when a request is
 * planned. One definition for the compiler's folding and the executor's shape code; no libm, so the same numbers everywhere.
 *
 * n * f is rounded as the f32 multiplication of both rounds it where n is exact in f32 (|n| < 2^24), so that 10 * 0.7f is 7; else as f64.
 * Quotients are those of f64. False where bits are no finite number, |n| is above 2^53, or the result is not finite or outside int64. */
#ifndef RLX_BASE_FLOAT_BITS_H
#define RLX_BASE_FLOAT_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline bool rlx_float_bits_read(int64_t bits, double *out)
{
    uint32_t word = (uint32_t)bits;
    float value;

    if (bits < 0 || bits > UINT32_MAX || (word & 0x7f800000u) == 0x7f800000u)
        return false;
    memcpy(&value, &word, sizeof value);
    *out = (double)value;
    return true;
}

static inline bool rlx_float_bits_floor(double x, int64_t *out)
{
    if (!(x >= -0x1p63 && x < 0x1p63))
        return false;
    *out = (int64_t)x; /* toward zero */
    if ((double)*out > x)
        *out -= 1; /* not INT64_MIN, which is whole */
    return true;
}

/* floor(n * f) */
static inline bool rlx_float_bits_scale(int64_t n, int64_t bits, int64_t *out)
{
    const int64_t narrow = (int64_t)1 << 24, wide = (int64_t)1 << 53;
    double f;

    if (n < -wide || n > wide || !rlx_float_bits_read(bits, &f))
        return false;
    if (n > -narrow && n < narrow)
        return rlx_float_bits_floor((double)((float)n * (float)f), out);
    return rlx_float_bits_floor((double)n * f, out);
}

/* ceil(a / b) of two f32; division by zero is false */
static inline bool rlx_float_bits_ceildiv(int64_t a, int64_t b, int64_t *out)
{
    double x, y;

    if (!rlx_float_bits_read(a, &x) || !rlx_float_bits_read(b, &y) || y == 0)
        return false;
    if (!rlx_float_bits_floor(-(x / y), out) || *out == INT64_MIN)
        return false;
    *out = -*out;
    return true;
}

/* The bits of a - b in f32 */
static inline bool rlx_float_bits_sub(int64_t a, int64_t b, int64_t *out)
{
    double x, y;
    float difference;
    uint32_t word;

    if (!rlx_float_bits_read(a, &x) || !rlx_float_bits_read(b, &y))
        return false;
    difference = (float)x - (float)y;
    memcpy(&word, &difference, sizeof word);
    *out = word;
    return rlx_float_bits_read(word, &x);
}

#endif
