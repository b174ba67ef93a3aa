/* Mathematical functions of double: exp, log, powers, hyperbolic functions and erf. Part of kernels/math.h; trigonometry is in math_trig.h.
 *
 * Invariants: pure, no tables, no branches (selects vectorise), no libm, fma only where written: every compiler and ISA gives the same
 * bits. Special values follow C99. Errors stay under 2 ulp (tests/kernels/math_test.c) except where a function says otherwise. */
#ifndef RLX_KERNELS_MATH_F64_H
#define RLX_KERNELS_MATH_F64_H

#include <stdint.h>

#define RLX_MATH static inline __attribute__((always_inline, unused))

#define RLX_MATH_NAN __builtin_nanf("")
#define RLX_MATH_MAGIC 0x1.8p52 /* x + MAGIC holds the nearest integer of x in its low bits */
#define RLX_MATH_LN2_HI 0x1.62e42fee00000p-1 /* 33 bits: a multiple by an exponent is exact */
#define RLX_MATH_LN2_LO 0x1.a39ef35793c76p-33

RLX_MATH uint64_t rlx_math_bits(double x)
{
    union { double d; uint64_t u; } v = {.d = x};
    return v.u;
}

RLX_MATH double rlx_math_from_bits(uint64_t bits)
{
    union { uint64_t u; double d; } v = {.u = bits};
    return v.d;
}

/* 2^n for an integral n in [-1022, 1023]. */
RLX_MATH double rlx_math_exp2_int(double n)
{
    return rlx_math_from_bits((rlx_math_bits(n + RLX_MATH_MAGIC) << 52) + ((uint64_t)1023 << 52));
}

/* x * 2^n for an integral n in [-2044, 2046], one rounding. */
RLX_MATH double rlx_math_scale(double x, double n)
{
    double half = __builtin_fma(n, 0.5, RLX_MATH_MAGIC) - RLX_MATH_MAGIC;

    return x * rlx_math_exp2_int(half) * rlx_math_exp2_int(n - half);
}

/* (exp(r) - 1 - r) / r^2 for |r| <= ln2 / 2. */
RLX_MATH double rlx_math_exp_tail(double r)
{
    double q = 0x1.1eee8c234444bp-29;

    q = __builtin_fma(q, r, 0x1.af5da71b09815p-26);
    q = __builtin_fma(q, r, 0x1.27e531ba8c2edp-22);
    q = __builtin_fma(q, r, 0x1.71ddf8ff95601p-19);
    q = __builtin_fma(q, r, 0x1.a01a017e395a1p-16);
    q = __builtin_fma(q, r, 0x1.a01a01af9b5a6p-13);
    q = __builtin_fma(q, r, 0x1.6c16c16c1e6aep-10);
    q = __builtin_fma(q, r, 0x1.111111110f77bp-7);
    q = __builtin_fma(q, r, 0x1.5555555555541p-5);
    q = __builtin_fma(q, r, 0x1.5555555555559p-3);
    return __builtin_fma(q, r, 0.5);
}

/* exp(x + lo) for a small correction `lo`. */
RLX_MATH double rlx_math_exp_sum(double x, double lo)
{
    double c = x > 710 ? 710 : x < -746 ? -746 : x, d = c == x ? lo : 0;
    double n = __builtin_fma(c, 0x1.71547652b82fep+0, RLX_MATH_MAGIC) - RLX_MATH_MAGIC;
    double hi = __builtin_fma(n, -RLX_MATH_LN2_HI, c), low = __builtin_fma(n, -RLX_MATH_LN2_LO, d);
    double r = hi + low, err = (hi - r) + low;

    return rlx_math_scale(1 + (r + __builtin_fma(r * r, rlx_math_exp_tail(r), err)), n);
}

RLX_MATH double rlx_math_exp(double x) { return rlx_math_exp_sum(x, 0); }

RLX_MATH double rlx_math_expm1(double x)
{
    double c = x > 710 ? 710 : x < -40 ? -40 : x;
    double n = __builtin_fma(c, 0x1.71547652b82fep+0, RLX_MATH_MAGIC) - RLX_MATH_MAGIC;
    double hi = __builtin_fma(n, -RLX_MATH_LN2_HI, c), low = n * -RLX_MATH_LN2_LO;
    double r = hi + low, err = (hi - r) + low, s = rlx_math_exp2_int(n - 1);
    double q = __builtin_fma(r * r, rlx_math_exp_tail(r), err);
    double y = 2 * ((s - 0.5) + s * r), low_part = 2 * s * q; /* the leading terms first: their error is what counts near n = -1, 1 */
    double rest = 2 * (((s - 0.5) - 0.5 * y) + s * r);

    y = n == 0 ? r + q : n > 1000 ? 2 * __builtin_fma(s, r + q, s - 0.5) : y + (rest + low_part);
    return __builtin_fabs(x) < 0x1p-54 ? x : y;
}

/* log(1 + f) + n ln2 for 1 + f in [sqrt(1/2), sqrt(2)]; `lo` corrects f. */
RLX_MATH double rlx_math_log_core(double f, double lo, double n)
{
    double s = f / (2 + f), z = s * s, half = 0.5 * f * f, p = 1.479819860511658591e-01;

    p = __builtin_fma(p, z, 1.531383769920937332e-01);
    p = __builtin_fma(p, z, 1.818357216161805012e-01);
    p = __builtin_fma(p, z, 2.222219843214978396e-01);
    p = __builtin_fma(p, z, 2.857142874366239149e-01);
    p = __builtin_fma(p, z, 3.999999999940941908e-01);
    p = __builtin_fma(p, z, 6.666666666666735130e-01);
    p *= z;
    return __builtin_fma(n, RLX_MATH_LN2_HI, -((half - __builtin_fma(s, half + p, __builtin_fma(n, RLX_MATH_LN2_LO, lo))) - f));
}

/* Splits a positive normal x into m * 2^n with m in [sqrt(1/2), sqrt(2)). */
RLX_MATH double rlx_math_split(double x, double *out_n)
{
    uint64_t bits = rlx_math_bits(x), offset = bits - 0x3fe6a09e667f3bcdu, exponent = offset & 0xfff0000000000000u;
    double biased = rlx_math_from_bits((((offset ^ (uint64_t)1 << 63) >> 52)) | rlx_math_bits(0x1p52)); /* 2^52 + n + 2048 */

    *out_n = biased - (0x1p52 + 2048);
    return rlx_math_from_bits(bits - exponent);
}

/* What log does outside the positive finite numbers. */
RLX_MATH double rlx_math_log_special(double x, double y)
{
    y = x == 0 ? -__builtin_inf() : y;
    y = x < 0 ? (double)RLX_MATH_NAN : y;
    return ((x != x) | (x == __builtin_inf())) ? x : y;
}

RLX_MATH double rlx_math_log(double x)
{
    int tiny = x < 0x1p-1022;
    double n, m = rlx_math_split(tiny ? x * 0x1p54 : x, &n);

    return rlx_math_log_special(x, rlx_math_log_core(m - 1, 0, tiny ? n - 54 : n));
}

RLX_MATH double rlx_math_log1p(double x)
{
    double u = 1 + x, n, m = rlx_math_split(u, &n);
    double c = x >= 1 ? 1 - (u - x) : x - (u - 1); /* 1 + x == u + c */
    double f = n == 0 ? x : m - 1;
    double y = rlx_math_log_core(f, n == 0 ? 0 : n > 60 ? 0 : c / u, n);

    y = rlx_math_log_special(u, y);
    y = x > 0x1.fffffffffffffp1023 ? x : y;
    return __builtin_fabs(x) < 0x1p-54 ? x : y;
}

/* log(x) of a positive normal x as an unevaluated sum, 68 bits. */
RLX_MATH double rlx_math_log_pair(double x, double *out_lo)
{
    double n, m = rlx_math_split(x, &n), f = m - 1, d = 2 + f, d_lo = f - (d - 2);
    double s = f / d, s_lo = (__builtin_fma(-s, d, f) - s * d_lo) / d;
    double z = s * s, z_lo = __builtin_fma(s, s, -z) + 2 * s * s_lo, p, c, c_lo, h, l;

    /* 2 atanh(s) = 2 s + s^3 (2/3 + z (2/5 + z (2/7 + ...))); the series' first two terms are kept as pairs. */
    p = 2.0 / 25;
    p = __builtin_fma(p, z, 2.0 / 23);
    p = __builtin_fma(p, z, 2.0 / 21);
    p = __builtin_fma(p, z, 2.0 / 19);
    p = __builtin_fma(p, z, 2.0 / 17);
    p = __builtin_fma(p, z, 2.0 / 15);
    p = __builtin_fma(p, z, 2.0 / 13);
    p = __builtin_fma(p, z, 2.0 / 11);
    p = __builtin_fma(p, z, 2.0 / 9);
    p = __builtin_fma(p, z, 2.0 / 7);
    p = __builtin_fma(p, z, 2.0 / 5) * z;
    c = 0x1.5555555555555p-1 + p; /* 2/3 + p as a pair */
    c_lo = (0x1.5555555555555p-1 - c) + p + 0x1.5555555555555p-55;
    h = z * s;                    /* z s as a pair */
    l = __builtin_fma(z, s, -h) + z * s_lo + z_lo * s;
    p = h * c;
    l = __builtin_fma(h, c, -p) + h * c_lo + l * c;
    /* n ln2 + 2 s + p, largest first (n ln2_hi is exact). */
    c = n * RLX_MATH_LN2_HI;
    h = c + 2 * s;
    c_lo = n == 0 ? 0 : (c - h) + 2 * s;
    d = h + p;
    d_lo = (h - d) + p;
    l += c_lo + d_lo + 2 * s_lo + n * RLX_MATH_LN2_LO;
    h = d + l;
    *out_lo = (d - h) + l;
    return h;
}

RLX_MATH int rlx_math_is_integer(double x) { return __builtin_floor(x) == x; } /* infinities too */
RLX_MATH int rlx_math_is_odd(double x)
{
    return rlx_math_is_integer(x) & (__builtin_fabs(x) < 0x1p53) & (__builtin_floor(x * 0.5) != x * 0.5);
}

/* C99's special cases of pow, given |x|^y. */
RLX_MATH double rlx_math_pow_special(double x, double y, double power)
{
    double a = __builtin_fabs(x), huge = __builtin_inf();
    double edge = (a > 1) == (y > 0) ? huge : 0; /* |y| infinite, or x zero or infinite */

    power = ((a == 0) | (a == huge) | (__builtin_fabs(y) == huge)) ? edge : power;
    power = ((a == 1) & (__builtin_fabs(y) == huge)) ? 1 : power;
    power = ((x < 0) & !rlx_math_is_integer(y)) ? (a == huge ? power : (double)RLX_MATH_NAN) : power;
    power = ((__builtin_copysign(1.0, x) < 0) & rlx_math_is_odd(y)) ? -power : power;
    power = ((x != x) | (y != y)) ? x + y : power;
    return ((y == 0) | (x == 1)) ? 1 : power;
}

RLX_MATH double rlx_math_pow(double x, double y)
{
    double a = __builtin_fabs(x), lo, hi, e, e_lo, power;
    int tiny = a < 0x1p-1022;

    hi = rlx_math_log_pair(tiny ? a * 0x1p54 : a, &lo);
    if (tiny) { /* log(a) = log(a 2^54) - 54 ln2, as a pair */
        e = hi - 54 * RLX_MATH_LN2_HI;
        e_lo = ((hi - e) - 54 * RLX_MATH_LN2_HI) + (lo - 54 * RLX_MATH_LN2_LO);
        hi = e + e_lo;
        lo = (e - hi) + e_lo;
    }
    e = hi * y;
    e_lo = __builtin_fma(hi, y, -e) + lo * y;
    power = rlx_math_exp_sum(e, __builtin_fabs(e) < 800 ? e_lo : 0);
    return rlx_math_pow_special(x, y, y == 2 ? x * x : power);
}

/* Remainder with the sign of x, exact. */
static inline double rlx_math_fmod(double x, double y)
{
    double a = __builtin_fabs(x), d = __builtin_fabs(y);
    uint64_t m, divisor;
    int e_m, e_d;

    if (!(a < __builtin_inf()) || !(d > 0))
        return RLX_MATH_NAN;
    if (a < d || d == __builtin_inf())
        return x;
    e_m = (int)(rlx_math_bits(a) >> 52);
    e_d = (int)(rlx_math_bits(d) >> 52);
    m = (rlx_math_bits(a) & 0xfffffffffffffu) | (uint64_t)(e_m > 0) << 52;
    divisor = (rlx_math_bits(d) & 0xfffffffffffffu) | (uint64_t)(e_d > 0) << 52;
    e_m += e_m == 0;
    e_d += e_d == 0;
    for (int left = e_m - e_d; ; left -= 11) {
        m %= divisor;
        if (left <= 0)
            break;
        m <<= left < 11 ? left : 11;
    }
    /* m < divisor <= 2^53, in units of 2^(e_d - 1075) */
    return __builtin_copysign(rlx_math_scale((double)m, e_d - 1075), x);
}

RLX_MATH double rlx_math_sigmoid(double x)
{
    double e = rlx_math_exp(-__builtin_fabs(x));

    return (x < 0 ? e : 1) / (1 + e);
}

RLX_MATH double rlx_math_swish(double x, double alpha) { return x * rlx_math_sigmoid(alpha * x); }

RLX_MATH double rlx_math_tanh(double x)
{
    double t = rlx_math_expm1(2 * __builtin_fabs(x) > 44 ? 44 : 2 * __builtin_fabs(x)), y = t / (t + 2);

    y = x != x ? x : y;
    return __builtin_fabs(x) < 0x1p-28 ? x : __builtin_copysign(y, x);
}

RLX_MATH double rlx_math_sinh(double x)
{
    double a = __builtin_fabs(x), t = rlx_math_expm1(a), half = rlx_math_exp(a * 0.5);
    double y = a > 40 ? 0.5 * half * half : 0.5 * (t + t / (t + 1));

    y = a < 0x1p-28 ? a : y;
    return __builtin_copysign(y, x);
}

RLX_MATH double rlx_math_cosh(double x)
{
    double a = __builtin_fabs(x), e = rlx_math_exp(a), half = rlx_math_exp(a * 0.5);

    return a > 40 ? 0.5 * half * half : 0.5 * (e + 1 / e);
}

RLX_MATH double rlx_math_asinh(double x)
{
    double a = __builtin_fabs(x), s = a * a, small = rlx_math_log1p(a + s / (1 + __builtin_sqrt(1 + s)));
    double y = a > 0x1p28 ? rlx_math_log(a) + 0x1.62e42fefa39efp-1 : small;

    return __builtin_copysign(a < 0x1p-28 ? a : y, x);
}

RLX_MATH double rlx_math_acosh(double x)
{
    double t = x - 1, y = rlx_math_log1p(t + __builtin_sqrt(t * (t + 2)));

    return x < 1 ? (double)RLX_MATH_NAN : x > 0x1p28 ? rlx_math_log(x) + 0x1.62e42fefa39efp-1 : y;
}

RLX_MATH double rlx_math_atanh(double x)
{
    double a = __builtin_fabs(x), y = 0.5 * rlx_math_log1p(2 * a / (1 - a));

    y = a == 1 ? __builtin_inf() : a > 1 ? (double)RLX_MATH_NAN : y;
    return __builtin_copysign(a < 0x1p-28 ? a : y, x);
}

RLX_MATH double rlx_math_erf(double x)
{
    double a = __builtin_fabs(x) > 5.96 ? 5.96 : __builtin_fabs(x), z = a * a, t = (a - 3.46875) * 0.4;
    double p = 0x1.06275a47420a5p-34, q = 0x1.78bd522b8965dp-25, s, z_lo;

    p = __builtin_fma(p, z, -0x1.38ac2175a10a8p-30);
    p = __builtin_fma(p, z, 0x1.f7b99ca860cafp-27);
    p = __builtin_fma(p, z, -0x1.5f1f40da9320cp-23);
    p = __builtin_fma(p, z, 0x1.b9df30572cd2fp-20);
    p = __builtin_fma(p, z, -0x1.f4d1e43428129p-17);
    p = __builtin_fma(p, z, 0x1.f9a321e4ae58bp-14);
    p = __builtin_fma(p, z, -0x1.c02db3db4907ep-11);
    p = __builtin_fma(p, z, 0x1.565bcd0dbd8f2p-8);
    p = __builtin_fma(p, z, -0x1.b82ce31284f37p-6);
    p = __builtin_fma(p, z, 0x1.ce2f21a042b34p-4);
    p = __builtin_fma(p, z, -0x1.812746b0379e6p-2);
    p = __builtin_fma(p, z, 0x1.06eba8214db69p-3); /* erf(x) = x + x p */
    /* log(erfc(a)) + a^2 on [1, 5.96875] */
    q = __builtin_fma(q, t, -0x1.371e8a19d9ec5p-26);
    q = __builtin_fma(q, t, -0x1.5318f9ffd37a8p-23);
    q = __builtin_fma(q, t, 0x1.c7b0b6733ada3p-28);
    q = __builtin_fma(q, t, 0x1.71ad799da42a1p-23);
    q = __builtin_fma(q, t, 0x1.23850e37f06b2p-21);
    q = __builtin_fma(q, t, -0x1.697e007011e0dp-20);
    q = __builtin_fma(q, t, 0x1.fcbb8a2e1a04fp-20);
    q = __builtin_fma(q, t, -0x1.ded9abf2cc787p-19);
    q = __builtin_fma(q, t, 0x1.696ed3622900ap-18);
    q = __builtin_fma(q, t, -0x1.3ca26dd154da7p-19);
    q = __builtin_fma(q, t, -0x1.32e992e134258p-16);
    q = __builtin_fma(q, t, 0x1.87ea388c207b6p-14);
    q = __builtin_fma(q, t, -0x1.4ed1d8e3db208p-12);
    q = __builtin_fma(q, t, 0x1.e6fc5a89a64a6p-11);
    q = __builtin_fma(q, t, -0x1.431b7d30a77cap-9);
    q = __builtin_fma(q, t, 0x1.940e0fe3c07c3p-8);
    q = __builtin_fma(q, t, -0x1.e63e4075a922dp-7);
    q = __builtin_fma(q, t, 0x1.1f0f7c07cbb19p-5);
    q = __builtin_fma(q, t, -0x1.55864f4383481p-4);
    q = __builtin_fma(q, t, 0x1.afe5d5ee6df77p-3);
    q = __builtin_fma(q, t, -0x1.5749765d92ea1p-1);
    q = __builtin_fma(q, t, -0x1.daa5965a921e5p+0);
    s = q - z;
    z_lo = ((-z - s) + q) - __builtin_fma(a, a, -z);
    q = a > 1 ? 1 - rlx_math_exp_sum(s, z_lo) : __builtin_fma(p, a, a);
    return __builtin_copysign(q, x);
}

/* log(1 + exp(x)). */
RLX_MATH double rlx_math_softplus(double x)
{
    double y = rlx_math_log1p(rlx_math_exp(-__builtin_fabs(x)));

    return x > 0 ? x + y : y;
}

#endif
