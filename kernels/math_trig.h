/* Trigonometric functions of double. Part of kernels/math.h.
 *
 * |x| up to RLX_MATH_TRIG_NEAR is reduced by pi/2 in three parts without a branch; loops over such arguments vectorise by calling the
 * _near forms. Larger ones take 192 bits of 2/pi at the argument's exponent (Payne and Hanek). Both give the same functions. */
#ifndef RLX_KERNELS_MATH_TRIG_H
#define RLX_KERNELS_MATH_TRIG_H

#include "kernels/math_f64.h"

#define RLX_MATH_TRIG_NEAR 0x1p20

/* x = quadrant * pi/2 + hi + lo, |hi| <= pi/4 (about). */
typedef struct rlx_math_angle {
    double hi, lo;
    uint64_t quadrant; /* low two bits count */
} rlx_math_angle_t;

RLX_MATH rlx_math_angle_t rlx_math_reduce_near(double x)
{
    double magic = __builtin_fma(x, 0x1.45f306dc9c883p-1, RLX_MATH_MAGIC), n = magic - RLX_MATH_MAGIC;
    double a = __builtin_fma(n, -0x1.921fb54400000p+0, x); /* exact */
    double w = n * 0x1.0b4611a600000p-34, b = a - w, b_lo = (a - b) - w; /* w exact */
    double c = n * 0x1.3198a2e037073p-69, lo = b_lo - c, hi = b + lo;

    return (rlx_math_angle_t){.hi = hi, .lo = (b - hi) + lo, .quadrant = rlx_math_bits(magic)};
}

/* The upper half of a product. Written out: not every machine's compiler has 128-bit integers. */
static inline uint64_t rlx_math_product_high(uint64_t a, uint64_t b)
{
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t m1 = ah * bl + (al * bl >> 32), m2 = al * bh + (uint32_t)m1;

    return ah * bh + (m1 >> 32) + (m2 >> 32);
}

/* Finite |x| >= 2^19. */
static __attribute__((noinline, unused)) rlx_math_angle_t rlx_math_reduce_far(double x)
{
    static const uint64_t two_over_pi[22] = { /* fraction bits, after one word of zeros */
        0,
        0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c,
        0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
        0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08,
        0x56033046fc7b6bab, 0xf0cfbc209af4361d, 0,
    };
    uint64_t bits = rlx_math_bits(x), mantissa = (bits & 0xfffffffffffffu) | (uint64_t)1 << 52, w[3];
    int first = (int)(bits >> 52 & 0x7ff) - 1023 - 52 - 2 + 64, word = first >> 6, shift = first & 63; /* the bit of weight 2 */
    uint64_t low, low_high, mid, top, frac_hi, frac_lo, quadrant;
    double hi, lo, r, sign;

    for (int i = 0; i < 3; i++)
        w[i] = two_over_pi[word + i] << shift | (shift ? two_over_pi[word + i + 1] >> (64 - shift) : 0);
    low = w[2] * mantissa;
    low_high = rlx_math_product_high(w[2], mantissa);
    mid = w[1] * mantissa + low_high;
    top = w[0] * mantissa + rlx_math_product_high(w[1], mantissa) + (mid < low_high);
    quadrant = top >> 62;
    frac_hi = top << 2 | mid >> 62; /* fraction of a quadrant */
    frac_lo = mid << 2 | low >> 62;
    sign = 1;
    if (frac_hi >> 63) { /* nearer to the next quadrant */
        quadrant++;
        frac_lo = ~frac_lo;
        frac_hi = ~frac_hi;
        sign = -1;
    }
    hi = (double)(frac_hi >> 11) * 0x1p-53;
    lo = (double)((frac_hi & 0x7ff) << 42 | frac_lo >> 22) * 0x1p-106;
    r = hi + lo;
    lo = (hi - r) + lo;
    hi = r * 0x1.921fb54442d18p+0;
    lo = __builtin_fma(r, 0x1.921fb54442d18p+0, -hi) + (lo * 0x1.921fb54442d18p+0 + r * 0x1.1a62633145c07p-54);
    r = hi + lo;
    lo = (hi - r) + lo;
    if (bits >> 63) {
        sign = -sign;
        quadrant = 0 - quadrant;
    }
    return (rlx_math_angle_t){.hi = sign * r, .lo = sign * lo, .quadrant = quadrant};
}

RLX_MATH double rlx_math_sin_core(rlx_math_angle_t a)
{
    double x = a.hi, z = x * x, v = z * x, r = 1.58969099521155010221e-10;

    r = __builtin_fma(r, z, -2.50507602534068634195e-08);
    r = __builtin_fma(r, z, 2.75573137070700676789e-06);
    r = __builtin_fma(r, z, -1.98412698298579493134e-04);
    r = __builtin_fma(r, z, 8.33333333332248946124e-03);
    return x - (__builtin_fma(z, 0.5 * a.lo - v * r, -a.lo) - v * -1.66666666666666324348e-01);
}

RLX_MATH double rlx_math_cos_core(rlx_math_angle_t a)
{
    double x = a.hi, z = x * x, r = -1.13596475577881948265e-11, half = 0.5 * z, w = 1 - half;

    r = __builtin_fma(r, z, 2.08757232129817482790e-09);
    r = __builtin_fma(r, z, -2.75573143513906633035e-07);
    r = __builtin_fma(r, z, 2.48015872894767294178e-05);
    r = __builtin_fma(r, z, -1.38888888888741095749e-03);
    r = __builtin_fma(r, z, 4.16666666666666019037e-02) * z;
    return w + (((1 - w) - half) + (z * r - x * a.lo));
}

/* sin(x) for offset 0, cos(x) for offset 1. */
RLX_MATH double rlx_math_sin_angle(rlx_math_angle_t a, uint64_t offset)
{
    uint64_t quadrant = a.quadrant + offset;
    double y = quadrant & 1 ? rlx_math_cos_core(a) : rlx_math_sin_core(a);

    return rlx_math_from_bits(rlx_math_bits(y) ^ (quadrant & 2) << 62);
}

RLX_MATH double rlx_math_tan_angle(rlx_math_angle_t a)
{
    double s = rlx_math_sin_core(a), c = rlx_math_cos_core(a);

    return a.quadrant & 1 ? -c / s : s / c;
}

RLX_MATH double rlx_math_sin_near(double x) { return x == 0 ? x : rlx_math_sin_angle(rlx_math_reduce_near(x), 0); }
RLX_MATH double rlx_math_cos_near(double x) { return rlx_math_sin_angle(rlx_math_reduce_near(x), 1); }
RLX_MATH double rlx_math_tan_near(double x) { return x == 0 ? x : rlx_math_tan_angle(rlx_math_reduce_near(x)); }

/* Infinities give NaN. */
static inline rlx_math_angle_t rlx_math_reduce(double x)
{
    if (__builtin_fabs(x) <= RLX_MATH_TRIG_NEAR)
        return rlx_math_reduce_near(x);
    if (__builtin_fabs(x) < __builtin_inf())
        return rlx_math_reduce_far(x);
    return (rlx_math_angle_t){.hi = x - x};
}

static inline double rlx_math_sin(double x) { return x == 0 ? x : rlx_math_sin_angle(rlx_math_reduce(x), 0); }
static inline double rlx_math_cos(double x) { return rlx_math_sin_angle(rlx_math_reduce(x), 1); }
static inline double rlx_math_tan(double x) { return x == 0 ? x : rlx_math_tan_angle(rlx_math_reduce(x)); }

/* (asin(x) - x) / x for x*x == z <= 1/4. */
RLX_MATH double rlx_math_asin_tail(double z)
{
    double p = 3.47933107596021167570e-05, q = 7.70381505559019352791e-02;

    p = __builtin_fma(p, z, 7.91534994289814532176e-04);
    p = __builtin_fma(p, z, -4.00555345006794114027e-02);
    p = __builtin_fma(p, z, 2.01212532134862925881e-01);
    p = __builtin_fma(p, z, -3.25565818622400915405e-01);
    p = __builtin_fma(p, z, 1.66666666666666657415e-01);
    q = __builtin_fma(q, z, -6.88283971605453293030e-01);
    q = __builtin_fma(q, z, 2.02094576023350569471e+00);
    q = __builtin_fma(q, z, -2.40339491173441421878e+00);
    return p * z / __builtin_fma(q, z, 1);
}

/* asin(sqrt((1 - a) / 2)) for a in [1/2, 1], the half angle. */
RLX_MATH double rlx_math_asin_half(double a, double *out_lo)
{
    double z = (1 - a) * 0.5, s = __builtin_sqrt(z), s_lo = s == 0 ? 0 : __builtin_fma(-s, s, z) / (2 * s);
    double low = __builtin_fma(s, rlx_math_asin_tail(z), s_lo), hi = s + low;

    *out_lo = (s - hi) + low;
    return hi;
}

RLX_MATH double rlx_math_asin(double x)
{
    double a = __builtin_fabs(x), lo, h = rlx_math_asin_half(a < 0.5 ? 0.5 : a, &lo);
    double big = 0x1.921fb54442d18p+0 - 2 * h;
    double y = a < 0.5 ? __builtin_fma(a, rlx_math_asin_tail(a < 0.5 ? a * a : 0), a)
                       : big + (((0x1.921fb54442d18p+0 - big) - 2 * h) + (0x1.1a62633145c07p-54 - 2 * lo));

    return a > 1 ? (double)RLX_MATH_NAN : __builtin_copysign(y, x);
}

RLX_MATH double rlx_math_acos(double x)
{
    double a = __builtin_fabs(x), lo, h = rlx_math_asin_half(a < 0.5 ? 0.5 : a, &lo);
    double z = a < 0.5 ? x * x : 0, tail = x * rlx_math_asin_tail(z);
    double small = 0x1.921fb54442d18p+0 - x, rest = (0x1.921fb54442d18p+0 - small) - x;
    double negative = 0x1.921fb54442d18p+1 - 2 * h, negative_rest = (0x1.921fb54442d18p+1 - negative) - 2 * h;
    double y = x > 0 ? 2 * h + 2 * lo : negative + (negative_rest + (0x1.1a62633145c07p-53 - 2 * lo));

    y = a < 0.5 ? small + (rest + (0x1.1a62633145c07p-54 - tail)) : y;
    return a > 1 ? (double)RLX_MATH_NAN : y;
}

RLX_MATH double rlx_math_atan(double x)
{
    double a = __builtin_fabs(x) > 0x1p66 ? 0x1p66 : __builtin_fabs(x);
    int half = a >= 7.0 / 16, one = a >= 11.0 / 16, more = a >= 19.0 / 16, far = a >= 39.0 / 16;
    double num = far ? -1 : more ? a - 1.5 : one ? a - 1 : half ? 2 * a - 1 : a;
    double den = far ? a : more ? __builtin_fma(1.5, a, 1) : one ? a + 1 : half ? 2 + a : 1;
    double hi = far ? 0x1.921fb54442d18p+0 : more ? 9.82793723247329054082e-01
              : one ? 0x1.921fb54442d18p-1 : half ? 4.63647609000806093515e-01 : 0;
    double lo = far ? 0x1.1a62633145c07p-54 : more ? 1.39033110312309984516e-17
              : one ? 0x1.1a62633145c07p-55 : half ? 2.26987774529616870924e-17 : 0;
    double t = num / den, z = t * t, p = 1.62858201153657823623e-02, y;

    p = __builtin_fma(p, z, -3.65315727442169155270e-02);
    p = __builtin_fma(p, z, 4.97687799461593236017e-02);
    p = __builtin_fma(p, z, -5.83357013379057348645e-02);
    p = __builtin_fma(p, z, 6.66107313738753120669e-02);
    p = __builtin_fma(p, z, -7.69187620504482999495e-02);
    p = __builtin_fma(p, z, 9.09088713343650656196e-02);
    p = __builtin_fma(p, z, -1.11111104054623557880e-01);
    p = __builtin_fma(p, z, 1.42857142725034663711e-01);
    p = __builtin_fma(p, z, -1.99999999998764832476e-01);
    p = __builtin_fma(p, z, 3.33333333333329318027e-01) * z;
    y = half ? hi - ((t * p - lo) - t) : t - t * p;
    return __builtin_copysign(y, x);
}

#endif
