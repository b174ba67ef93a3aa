/* The discrete Fourier transform of one line of n complex f64 numbers, any n: Stockham's self-sorting form, one pass per prime factor,
 * factors in ascending order. The order of additions follows from n alone. */
#ifndef RLX_KERNELS_FOURIER_H
#define RLX_KERNELS_FOURIER_H

#include "kernels/math.h"
#include "kernels/number.h"

typedef struct rlx_complex {
    double re, im;
} rlx_complex_t;

/* root[k] = exp(-2 pi i k / n). */
static inline void rlx_fourier_roots(rlx_complex_t *root, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        double angle = 2 * (double)k / (double)n * 3.14159265358979323846;
        root[k] = (rlx_complex_t){rlx_math_cos(angle), -rlx_math_sin(angle)};
        if (4 * k % n == 0) {
            int64_t quarter = 4 * k / n;
            root[k] = (rlx_complex_t){quarter == 0 ? 1 : quarter == 2 ? -1 : 0, quarter == 1 ? -1 : quarter == 3 ? 1 : 0};
        }
    }
}

static inline rlx_complex_t rlx_complex_mul_add(rlx_complex_t a, rlx_complex_t b, rlx_complex_t c)
{
    return (rlx_complex_t){__builtin_fma(a.re, b.re, __builtin_fma(-a.im, b.im, c.re)),
                           __builtin_fma(a.re, b.im, __builtin_fma(a.im, b.re, c.im))};
}

/* One pass: `left` points remain to split by the factor, `done` are already interleaved. */
static inline void rlx_fourier_pass(const rlx_complex_t *root, int64_t n, int64_t factor, int64_t left, int64_t done,
                                    const rlx_complex_t *restrict x, rlx_complex_t *restrict y)
{
    int64_t rest = left / factor, unit = n / factor;

    for (int64_t j = 0; j < rest; j++)
        for (int64_t r = 0; r < factor; r++) {
            rlx_complex_t twist = root[j * r * done];
            for (int64_t k = 0; k < done; k++) {
                rlx_complex_t sum = x[k + done * j], zero = {0, 0};
                for (int64_t q = 1; q < factor; q++)
                    sum = rlx_complex_mul_add(x[k + done * (j + rest * q)], root[q * r % factor * unit], sum);
                y[k + done * (factor * j + r)] = rlx_complex_mul_add(sum, twist, zero);
            }
        }
}

/* Transforms a; b is scratch of the same size. Returns where the result stands. */
static inline rlx_complex_t *rlx_fourier(const rlx_complex_t *root, int64_t n, rlx_complex_t *a, rlx_complex_t *b)
{
    for (int64_t left = n, done = 1, factor = 2; left > 1; factor++) {
        if (factor * factor > left)
            factor = left;
        for (; left % factor == 0; left /= factor, done *= factor) {
            rlx_fourier_pass(root, n, factor, left, done, a, b);
            rlx_complex_t *swap = a;
            a = b;
            b = swap;
        }
    }
    return a;
}

/* Element `i` of a float tensor. */
static inline double rlx_fourier_get(int64_t dtype, const void *base, int64_t i)
{
    float value;

    if (dtype == RLX_KD_F64)
        return ((const double *)base)[i];
    rlx_number_load_f32(dtype, base, i, 1, 1, &value);
    return (double)value;
}

static inline void rlx_fourier_put(int64_t dtype, void *base, int64_t i, double value)
{
    float narrow = (float)value;

    if (dtype == RLX_KD_F64)
        ((double *)base)[i] = value;
    else
        rlx_number_store_f32(dtype, base, i, 1, 1, &narrow);
}

#endif
