/* Mathematical functions of kernels: float here, double in math_f64.h and math_trig.h.
 *
 * Invariants: pure, no branches (except trigonometry of huge arguments), no libm, fma only where written: gcc, clang, AVX2 and AVX-512 give
 * the same bits, scalar or vectorised. Special values follow C99. The frequent functions are float polynomials under 2 ulp (sigmoid and
 * tanh under 2.5); the rare ones round a double result once. Only swish has a table, since loops cannot look it up: kernels/swish.h is the
 * vector form. tests/kernels/math_test.c states and checks every bound. */
#ifndef RLX_KERNELS_MATH_H
#define RLX_KERNELS_MATH_H

#include <stdint.h>

#include "kernels/half.h"

#include "kernels/math_f64.h"
#include "kernels/math_trig.h"

RLX_MATH uint32_t rlx_math_bitsf(float x)
{
    union { float f; uint32_t u; } v = {.f = x};
    return v.u;
}

RLX_MATH float rlx_math_from_bitsf(uint32_t bits)
{
    union { uint32_t u; float f; } v = {.u = bits};
    return v.f;
}

/* ---- half precision: exact up, one rounding to nearest even down ---- */

RLX_MATH float rlx_math_f32_from_f16(uint16_t bits)
{
    union { uint16_t u; rlx_half_t h; } v = {.u = bits};
    return rlx_half_widen(v.h);
}

RLX_MATH uint16_t rlx_math_f16_from_f32(float x)
{
    union { rlx_half_t h; uint16_t u; } v = {.h = rlx_half_round(x)};
    return v.u;
}

RLX_MATH float rlx_math_f32_from_bf16(uint16_t bits) { return rlx_math_from_bitsf((uint32_t)bits << 16); }

RLX_MATH uint16_t rlx_math_bf16_from_f32(float x)
{
    uint32_t bits = rlx_math_bitsf(x), rounded = bits + 0x7fff + (bits >> 16 & 1);

    return (uint16_t)((x != x ? bits | 0x400000 : rounded) >> 16);
}

/* Double to float rounded to odd: a later rounding to f16 or bf16 is then as if from the double. */
RLX_MATH float rlx_math_f32_odd_from_f64(double x)
{
    float f = (float)x;
    uint32_t bits = rlx_math_bitsf(f);
    double back = (double)f;
    uint32_t down = __builtin_fabs(back) > __builtin_fabs(x); /* toward zero, then set the last bit when inexact */

    bits = ((back == x) | (x != x)) ? bits : (bits - down) | 1;
    return rlx_math_from_bitsf(bits);
}

/* ---- exp and log ---- */

#define RLX_MATH_MAGICF 12582912.0f

RLX_MATH float rlx_math_exp2_intf(float n) { return rlx_math_from_bitsf((rlx_math_bitsf(n + RLX_MATH_MAGICF) << 23) + (127u << 23)); }

/* x = n ln2 + r. */
RLX_MATH float rlx_math_exp_reducef(float x, float *out_n)
{
    float n = __builtin_fmaf(x, 1.44269504088896341f, RLX_MATH_MAGICF) - RLX_MATH_MAGICF;

    *out_n = n;
    return __builtin_fmaf(n, -1.42860677e-6f, __builtin_fmaf(n, -0.693145752f, x));
}

/* (exp(r) - 1 - r) / r^2 */
RLX_MATH float rlx_math_exp_tailf(float r)
{
    float q = 1.3884888432428e-3f;

    q = __builtin_fmaf(q, r, 8.3664145066372e-3f);
    q = __builtin_fmaf(q, r, 4.1667158796854e-2f);
    q = __builtin_fmaf(q, r, 1.6666544763357e-1f);
    return __builtin_fmaf(q, r, 4.9999998315508e-1f);
}

/* exp(x) for x in [-87, 88]. */
RLX_MATH float rlx_math_exp_nearf(float x)
{
    float n, r = rlx_math_exp_reducef(x, &n), p = __builtin_fmaf(__builtin_fmaf(rlx_math_exp_tailf(r), r, 1), r, 1);

    return p * rlx_math_exp2_intf(n);
}

RLX_MATH float rlx_math_expf(float x)
{
    float c = x > 89 ? 89 : x, magic, n, r, p;
    uint32_t half;

    c = c < -104 ? -104 : c;
    magic = __builtin_fmaf(c, 1.44269504088896341f, RLX_MATH_MAGICF);
    n = magic - RLX_MATH_MAGICF;
    r = __builtin_fmaf(n, -1.42860677e-6f, __builtin_fmaf(n, -0.693145752f, c));
    p = __builtin_fmaf(__builtin_fmaf(rlx_math_exp_tailf(r), r, 1), r, 1);
    /* 2^n in two factors, so that subnormal results are rounded once; `half` is the exponent field of floor(n / 2) */
    half = rlx_math_bitsf(magic) << 22 & 0xff800000u;
    return p * rlx_math_from_bitsf(half + (127u << 23)) * rlx_math_from_bitsf((rlx_math_bitsf(magic) << 23) - half + (127u << 23));
}

/* Softmax's exp, of x <= 0: exp with one factor 2^n, and 0 below -87 (exp(-87) is 1.6e-38). */
RLX_MATH float rlx_math_exp_fallf(float x)
{
    float magic = __builtin_fmaf(x, 1.44269504088896341f, RLX_MATH_MAGICF), n = magic - RLX_MATH_MAGICF;
    float r = __builtin_fmaf(n, -1.42860677e-6f, __builtin_fmaf(n, -0.693145752f, x));
    float p = __builtin_fmaf(__builtin_fmaf(rlx_math_exp_tailf(r), r, 1), r, 1);

    p = p * rlx_math_from_bitsf((rlx_math_bitsf(magic) << 23) + (127u << 23));
    return x < -87 ? 0 : p;
}

RLX_MATH float rlx_math_expm1f(float x)
{
    float c = x > 89 ? 89 : x, n, r, q, s, y;

    c = c < -18 ? -18 : c;
    r = rlx_math_exp_reducef(c, &n);
    q = __builtin_fmaf(r * r, rlx_math_exp_tailf(r), r);
    s = rlx_math_exp2_intf(n - 1);
    y = 2 * __builtin_fmaf(s, q, s - 0.5f);
    return __builtin_fabsf(x) < 0x1p-26f ? x : y;
}

/* log(1 + f) for f in [-1/4, 1/2]. */
RLX_MATH float rlx_math_log_coref(float f)
{
    float p = -0.044911709068201455f;

    p = __builtin_fmaf(p, f, 0.10448532427549177f);
    p = __builtin_fmaf(p, f, -0.13162244179394156f);
    p = __builtin_fmaf(p, f, 0.14482028678376097f);
    p = __builtin_fmaf(p, f, -0.16647762081848304f);
    p = __builtin_fmaf(p, f, 0.19990608591500364f);
    p = __builtin_fmaf(p, f, -0.25000054845467044f);
    p = __builtin_fmaf(p, f, 0.33333454407831123f);
    p = __builtin_fmaf(p, f, -0.50000000819583472f);
    return __builtin_fmaf(f * f, p, f);
}

RLX_MATH float rlx_math_log_specialf(float x, float y)
{
    y = x == 0 ? -__builtin_inff() : y;
    y = x < 0 ? RLX_MATH_NAN : y;
    return ((x != x) | (x == __builtin_inff())) ? x : y;
}

RLX_MATH float rlx_math_logf(float x)
{
    int tiny = x < 0x1p-126f;
    uint32_t bits = rlx_math_bitsf(tiny ? x * 0x1p23f : x), exponent = (bits - 0x3f400000u) & 0xff800000u;
    float n = (float)((int32_t)exponent >> 23) - (tiny ? 23.0f : 0.0f);

    return rlx_math_log_specialf(x, __builtin_fmaf(n, 0.693147182f, rlx_math_log_coref(rlx_math_from_bitsf(bits - exponent) - 1)));
}

RLX_MATH float rlx_math_log1pf(float x)
{
    float u = 1 + x;
    uint32_t exponent = (rlx_math_bitsf(u) - 0x3f400000u) & 0xff800000u;
    float f = rlx_math_from_bitsf(rlx_math_bitsf(x) - exponent) + __builtin_fmaf(0.25f, rlx_math_from_bitsf(0x40800000u - exponent), -1);
    float y = __builtin_fmaf((float)((int32_t)exponent >> 23), 0.693147182f, rlx_math_log_coref(f));

    y = rlx_math_log_specialf(u, y);
    return ((x == __builtin_inff()) | (__builtin_fabsf(x) < 0x1p-26f)) ? x : y;
}

/* The product for y == 2; otherwise one rounding of a double result. */
RLX_MATH float rlx_math_powf(float x, float y)
{
    double power = rlx_math_exp((double)y * rlx_math_log(__builtin_fabs((double)x)));

    return y == 2 ? x * x : (float)rlx_math_pow_special(x, y, power);
}

/* ---- activations ---- */

/* 1 / (1 + exp(-x)). exp has one factor 2^n: from 88.4 on it is infinite, and the result, under 5e-39 there, is 0. */
RLX_MATH float rlx_math_sigmoidf(float x)
{
    float c = -x, magic, n, r, p;

    c = c > 89 ? 89 : c;
    c = c < -87 ? -87 : c;
    magic = __builtin_fmaf(c, 1.44269504088896341f, RLX_MATH_MAGICF);
    n = magic - RLX_MATH_MAGICF;
    r = __builtin_fmaf(n, -1.42860677e-6f, __builtin_fmaf(n, -0.693145752f, c));
    p = __builtin_fmaf(__builtin_fmaf(rlx_math_exp_tailf(r), r, 1), r, 1);
    return 1 / (1 + p * rlx_math_from_bitsf((rlx_math_bitsf(magic) << 23) + (127u << 23)));
}

/* 2^(j/8) for j < 8, as bits less j << 20: adding n << 20 makes it 2^(n/8) for every n = 8 i + j. */
static const uint32_t rlx_math_eighths[8] = {
    0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7, 0x3f7504f3, 0x3f75672a, 0x3f7744fd, 0x3f7ac0c7,
};
#define RLX_MATH_EIGHTHS 11.5415603f /* 8 / ln2 */
#define RLX_MATH_EIGHTH_HI (0.693145752f / 8)
#define RLX_MATH_EIGHTH_LO (1.42860677e-6f / 8)
#define RLX_MATH_EIGHTH_C2 0.5000648f /* exp(r) - 1 - r = r^2 (C2 + C3 r), within 2.6e-8 for |r| <= ln2 / 16 */
#define RLX_MATH_EIGHTH_C3 0.16668232f
#define RLX_MATH_SWISH_ONE 87.0f /* exp(-87) adds nothing to 1 */
#define RLX_MATH_SWISH_HIGH 88.5f

/* x from which on exp(-alpha x) would overflow: swish is then under 4e-37 / |alpha| and stays what it is there. */
RLX_MATH float rlx_math_swish_limitf(float alpha) { return RLX_MATH_SWISH_HIGH / -alpha; }

/* x sigmoid(alpha x) as x / (1 + exp(-alpha x)). */
RLX_MATH float rlx_math_swishf(float x, float alpha)
{
    float limit = rlx_math_swish_limitf(alpha), v = (alpha < 0 ? x > limit : x < limit) ? limit : x;
    float w = v * alpha, c = w > RLX_MATH_SWISH_ONE ? RLX_MATH_SWISH_ONE : w;
    float magic = __builtin_fmaf(c, -RLX_MATH_EIGHTHS, RLX_MATH_MAGICF), n = magic - RLX_MATH_MAGICF;
    float r = __builtin_fmaf(n, -RLX_MATH_EIGHTH_LO, __builtin_fmaf(n, -RLX_MATH_EIGHTH_HI, -c));
    float q = __builtin_fmaf(__builtin_fmaf(RLX_MATH_EIGHTH_C3, r, RLX_MATH_EIGHTH_C2), r, 1) * r;
    float s = rlx_math_from_bitsf(rlx_math_eighths[rlx_math_bitsf(magic) & 7] + (rlx_math_bitsf(magic) << 20));

    return v / (1 + __builtin_fmaf(s, q, s));
}

RLX_MATH float rlx_math_tanhf(float x)
{
    float t = __builtin_fabsf(x), s = x * x, p = -5.709498103681703e-3f;
    float big = 1 - 2 / (rlx_math_exp_nearf(t > 10 ? 20 : t + t) + 1);

    p = __builtin_fmaf(p, s, 2.0643667280474118e-2f);
    p = __builtin_fmaf(p, s, -5.3741353950943820e-2f);
    p = __builtin_fmaf(p, s, 1.3331466171866736e-1f);
    p = __builtin_fmaf(p, s, -3.3333283109150503e-1f) * s;
    return t > 0.625f ? __builtin_copysignf(big, x) : __builtin_fmaf(p, x, x);
}

/* erfc(t), meant for t > 0.92; under 1e-8 absolute error beyond 4, 0 beyond 9.3. */
RLX_MATH float rlx_math_erfc_farf(float t)
{
    float c = t > 11 ? 11 : t, s = c * c;
    float r = __builtin_fmaf(-1.72853470e-5f, c, 3.83197126e-4f), u = __builtin_fmaf(-3.88396438e-3f, c, 2.42546219e-2f);

    r = __builtin_fmaf(r, s, u);
    r = __builtin_fmaf(r, c, -1.06777877e-1f);
    r = __builtin_fmaf(r, c, -6.34846687e-1f);
    r = __builtin_fmaf(r, c, -1.28717512e-1f);
    r = __builtin_fmaf(r, c, -c);
    return r < -87 ? 0 : rlx_math_exp_nearf(r);
}

RLX_MATH float rlx_math_erf_nearf(float x)
{
    float s = x * x, q = -5.96761703e-4f;

    q = __builtin_fmaf(q, s, 4.99119423e-3f);
    q = __builtin_fmaf(q, s, -2.67681349e-2f);
    q = __builtin_fmaf(q, s, 1.12819925e-1f);
    q = __builtin_fmaf(q, s, -3.76125336e-1f);
    q = __builtin_fmaf(q, s, 1.28379166e-1f);
    return __builtin_fmaf(q, x, x);
}

RLX_MATH float rlx_math_erff(float x)
{
    float t = __builtin_fabsf(x);

    return t > 0.921875f ? __builtin_copysignf(1 - rlx_math_erfc_farf(t), x) : rlx_math_erf_nearf(x);
}

/* x/2 (1 + erf(x / sqrt 2)) as max(x, 0) - t P(t): t = |x| up to 8, P the normal distribution's upper tail as 2^q with a polynomial q, and
 * 2^n by addition to the exponent. No cancellation, no division. At -infinity -1.4e-14, where the limit is 0. */
RLX_MATH float rlx_math_geluf(float x)
{
    float t = __builtin_fabsf(x), q = 3.20030637e-7f, magic, f, p;

    t = t > 8 ? 8 : t;
    q = __builtin_fmaf(q, t, -6.65288189e-6f);
    q = __builtin_fmaf(q, t, 5.70158045e-5f);
    q = __builtin_fmaf(q, t, -2.25563985e-4f);
    q = __builtin_fmaf(q, t, -9.50943358e-5f);
    q = __builtin_fmaf(q, t, 7.04968069e-3f);
    q = __builtin_fmaf(q, t, -5.25045283e-2f);
    q = __builtin_fmaf(q, t, -0.459201843f);
    q = __builtin_fmaf(q, t, -1.15110612f);
    q = __builtin_fmaf(q, t, -1);
    magic = q + RLX_MATH_MAGICF;
    f = q - (magic - RLX_MATH_MAGICF);
    p = __builtin_fmaf(1.32647273e-3f, f, 9.67151299e-3f);
    p = __builtin_fmaf(p, f, 5.55073358e-2f);
    p = __builtin_fmaf(p, f, 0.240222424f);
    p = __builtin_fmaf(p, f, 0.693147004f);
    p = __builtin_fmaf(p, f, 1);
    p = rlx_math_from_bitsf(rlx_math_bitsf(p) + (rlx_math_bitsf(magic) << 23));
    return __builtin_fmaf(-t, p, x < 0 ? 0 : x);
}

RLX_MATH float rlx_math_gelu_tanhf(float x)
{
    float u = x * __builtin_fmaf(x * x, 2 * 0.7978845608f * 0.044715f, 2 * 0.7978845608f);

    return x * rlx_math_sigmoidf(u);
}

RLX_MATH double rlx_math_gelu(double x)
{
    return __builtin_fma(0.5 * x, rlx_math_erf(x * 0.70710678118654752440), 0.5 * x);
}

RLX_MATH double rlx_math_gelu_tanh(double x)
{
    return x * rlx_math_sigmoid(x * __builtin_fma(x * x, 2 * 0.79788456080286535588 * 0.044715, 2 * 0.79788456080286535588));
}

/* log(1 + exp(x)). */
RLX_MATH float rlx_math_softplusf(float x)
{
    float y = rlx_math_log1pf(rlx_math_expf(-__builtin_fabsf(x)));

    return x > 0 ? x + y : y;
}

/* x tanh(softplus(x)) = x n / (n + 2), n = e (e + 2), e = exp(x). */
RLX_MATH float rlx_math_mishf(float x)
{
    float e = rlx_math_expf(x > 20 ? 20 : x), n = e * (e + 2);

    return x > 20 ? x : x * (n / (n + 2));
}

RLX_MATH double rlx_math_mish(double x)
{
    double e = rlx_math_exp(x > 40 ? 40 : x), n = e * (e + 2);

    return x > 40 ? x : x * (n / (n + 2));
}

/* ---- the rest, through double ---- */

#define RLX_MATH_FROM_DOUBLE(name) RLX_MATH float rlx_math_##name##f(float x) { return (float)rlx_math_##name((double)x); }
RLX_MATH_FROM_DOUBLE(sin_near)
RLX_MATH_FROM_DOUBLE(cos_near)
RLX_MATH_FROM_DOUBLE(tan_near)
RLX_MATH_FROM_DOUBLE(sin)
RLX_MATH_FROM_DOUBLE(cos)
RLX_MATH_FROM_DOUBLE(tan)
RLX_MATH_FROM_DOUBLE(asin)
RLX_MATH_FROM_DOUBLE(acos)
RLX_MATH_FROM_DOUBLE(atan)
RLX_MATH_FROM_DOUBLE(sinh)
RLX_MATH_FROM_DOUBLE(cosh)
RLX_MATH_FROM_DOUBLE(asinh)
RLX_MATH_FROM_DOUBLE(acosh)
RLX_MATH_FROM_DOUBLE(atanh)
#undef RLX_MATH_FROM_DOUBLE

RLX_MATH float rlx_math_sqrtf(float x) { return __builtin_sqrtf(x); }
RLX_MATH double rlx_math_sqrt(double x) { return __builtin_sqrt(x); }

#endif
