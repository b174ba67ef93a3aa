/* rlx_math_sigmoidf and rlx_math_tanhf on sixteen lanes, for gates that stay in registers. Same operations, same bits. */
#ifndef RLX_KERNELS_VEC16_GATE_H
#define RLX_KERNELS_VEC16_GATE_H

#include "kernels/math.h"
#include "kernels/vec16.h"

/* exp(r) for |r| <= ln2 / 2. */
VEC16_INLINE vec16_t vec16_exp_core(vec16_t r)
{
    vec16_t q = vec16_fma(vec16_splat(1.3884888432428e-3f), r, vec16_splat(8.3664145066372e-3f));

    q = vec16_fma(q, r, vec16_splat(4.1667158796854e-2f));
    q = vec16_fma(q, r, vec16_splat(1.6666544763357e-1f));
    q = vec16_fma(q, r, vec16_splat(4.9999998315508e-1f));
    return vec16_fma(vec16_fma(q, r, vec16_splat(1)), r, vec16_splat(1));
}

/* x = n ln2 + r; *out_magic is n + RLX_MATH_MAGICF. */
VEC16_INLINE vec16_t vec16_exp_reduce(vec16_t x, vec16_t *out_magic)
{
    vec16_t magic = vec16_fma(x, vec16_splat(1.44269504088896341f), vec16_splat(RLX_MATH_MAGICF)), n = magic - RLX_MATH_MAGICF;

    *out_magic = magic;
    return vec16_fma(n, vec16_splat(-1.42860677e-6f), vec16_fma(n, vec16_splat(-0.693145752f), x));
}

VEC16_INLINE vec16_t vec16_exp2_int(vec16_t magic) { return (vec16_t)(((vec16_mask_t)magic << 23) + (127 << 23)); }

VEC16_INLINE vec16_t vec16_sigmoid(vec16_t x)
{
    vec16_t c = vec16_max(vec16_splat(-87), vec16_min(vec16_splat(89), -x)), magic, p = vec16_exp_core(vec16_exp_reduce(c, &magic));

    return 1 / (1 + p * vec16_exp2_int(magic));
}

VEC16_INLINE vec16_t vec16_tanh(vec16_t x)
{
    vec16_mask_t sign = (vec16_mask_t)x & INT32_MIN;
    vec16_t t = (vec16_t)((vec16_mask_t)x & INT32_MAX), s = x * x, magic, p, big;

    p = vec16_exp_core(vec16_exp_reduce(vec16_select(t > 10, vec16_splat(20), t + t), &magic));
    big = 1 - 2 / (p * vec16_exp2_int(magic) + 1);
    big = (vec16_t)(((vec16_mask_t)big & INT32_MAX) | sign);
    p = vec16_fma(vec16_splat(-5.709498103681703e-3f), s, vec16_splat(2.0643667280474118e-2f));
    p = vec16_fma(p, s, vec16_splat(-5.3741353950943820e-2f));
    p = vec16_fma(p, s, vec16_splat(1.3331466171866736e-1f));
    p = vec16_fma(p, s, vec16_splat(-3.3333283109150503e-1f)) * s;
    return vec16_select(t > 0.625f, big, vec16_fma(p, x, x));
}

#endif
