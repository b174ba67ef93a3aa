/* fmaf and fma for machines whose instruction set has none and whose C library is slow or absent: exact, one rounding, every case of
 * IEEE 754. Weak, so that a library's own wins; unused where the compiler has an instruction. Rounding: to nearest, ties to even. */
#include <stdint.h>

typedef union { double f; uint64_t u; } double_bits_t;
typedef struct { uint64_t hi, lo; } wide_t;

__attribute__((weak)) float fmaf(float a, float b, float c);
__attribute__((weak)) double fma(double a, double b, double c);

/* The product of two f32 is exact in f64. The sum is rounded to odd, so that rounding it again to f32 is right. */
__attribute__((weak)) float fmaf(float a, float b, float c)
{
    double product = (double)a * (double)b, addend = (double)c;
    volatile double sum = product + addend, virtual_part = sum - product; /* volatile: as written, also with 80-bit registers */
    double error = (product - (sum - virtual_part)) + (addend - virtual_part);
    double_bits_t bits = {.f = sum};

    if (error != 0 && (bits.u & 1) == 0 && sum - sum == 0) /* inexact, even and finite: the neighbour towards the error */
        bits.u += (error > 0) == (sum > 0) ? 1 : (uint64_t)-1;
    return (float)bits.f;
}

static wide_t wide_shift_left(wide_t x, int n)
{
    if (n >= 64)
        return (wide_t){n >= 128 ? 0 : x.lo << (n - 64), 0};
    return n == 0 ? x : (wide_t){x.hi << n | x.lo >> (64 - n), x.lo << n};
}

/* What is shifted out leaves a one behind. */
static wide_t wide_shift_right_sticky(wide_t x, int n)
{
    wide_t y;

    if (n == 0)
        return x;
    if (n >= 128)
        return (wide_t){0, (x.hi | x.lo) != 0};
    if (n >= 64)
        y = (wide_t){0, n == 64 ? x.hi : x.hi >> (n - 64)};
    else
        y = (wide_t){x.hi >> n, x.hi << (64 - n) | x.lo >> n};
    x = (wide_t){n > 64 ? x.hi << (128 - n) : 0, n < 64 ? x.lo << (64 - n) : x.lo};
    y.lo |= (x.hi | x.lo) != 0;
    return y;
}

static wide_t wide_multiply(uint64_t a, uint64_t b)
{
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t low = al * bl, m1 = ah * bl + (low >> 32), m2 = al * bh + (uint32_t)m1;

    return (wide_t){ah * bh + (m1 >> 32) + (m2 >> 32), m2 << 32 | (uint32_t)low};
}

static int wide_top(wide_t x) { return x.hi != 0 ? 127 - __builtin_clzll(x.hi) : x.lo != 0 ? 63 - __builtin_clzll(x.lo) : -1; }

/* Mantissa with its hidden one, and the exponent of its last bit. */
static uint64_t take_apart(double x, int *out_exponent)
{
    uint64_t u = ((double_bits_t){.f = x}).u, mantissa = u & 0xfffffffffffffull;
    int exponent = (int)(u >> 52 & 0x7ff);

    *out_exponent = (exponent != 0 ? exponent : 1) - 1075;
    return exponent != 0 ? mantissa | 1ull << 52 : mantissa;
}

/* sign, magnitude * 2^exponent, to f64. Two more bits than a mantissa has are kept: the next one, and whether any follows. */
static double put_together(int negative, wide_t x, int exponent)
{
    int drop = wide_top(x) - 52;
    double_bits_t bits;
    uint64_t rest;

    if (exponent + drop < -1074)
        drop = -1074 - exponent;
    exponent += drop;
    bits.u = (drop >= 2 ? wide_shift_right_sticky(x, drop - 2) : wide_shift_left(x, 2 - drop)).lo;
    rest = bits.u & 3;
    bits.u >>= 2;
    bits.u += rest == 3 || (rest == 2 && (bits.u & 1));
    if (bits.u >> 53) {
        bits.u >>= 1;
        exponent++;
    }
    if (bits.u >> 52)
        bits.u = exponent + 1075 >= 0x7ff ? 0x7ffull << 52 : (bits.u & 0xfffffffffffffull) | (uint64_t)(exponent + 1075) << 52;
    bits.u |= (uint64_t)(negative != 0) << 63;
    return bits.f;
}

__attribute__((weak)) double fma(double a, double b, double c)
{
    int ea, eb, ec, ep, negative_p, negative_c = (int)(((double_bits_t){.f = c}).u >> 63);
    uint64_t ma, mb, mc;
    wide_t p, q;

    if (a - a != 0 || b - b != 0 || a == 0 || b == 0) /* not finite, or exact as it is */
        return a * b + c;
    if (c - c != 0)
        return c;
    if (c == 0) /* rounds once; the sign of a product that is too small is its own */
        return a * b;
    negative_p = (int)((((double_bits_t){.f = a}).u ^ ((double_bits_t){.f = b}).u) >> 63);
    ma = take_apart(a, &ea);
    mb = take_apart(b, &eb);
    mc = take_apart(c, &ec);
    p = wide_multiply(ma, mb);
    ep = ea + eb;
    q = (wide_t){0, mc};
    {   /* Both with their top bit at 125 at most, the larger there: room for a carry and for what is sticky. */
        int top_p = wide_top(p) + ep, top_q = wide_top(q) + ec, base = (top_p > top_q ? top_p : top_q) - 124;

        p = ep >= base ? wide_shift_left(p, ep - base) : wide_shift_right_sticky(p, base - ep);
        q = ec >= base ? wide_shift_left(q, ec - base) : wide_shift_right_sticky(q, base - ec);
        ep = base;
    }
    if (negative_p == negative_c) {
        p.lo += q.lo;
        p.hi += q.hi + (p.lo < q.lo);
    } else {
        if (q.hi > p.hi || (q.hi == p.hi && q.lo > p.lo)) {
            wide_t swap = p;

            p = q;
            q = swap;
            negative_p = negative_c;
        }
        p.hi -= q.hi + (p.lo < q.lo);
        p.lo -= q.lo;
    }
    if ((p.hi | p.lo) == 0)
        return 0.0;
    return put_together(negative_p, p, ep);
}
