/* The epilogue of the blocked convolutions. Its usual beginning, a residual and a clamp (relu is one) or a hard swish between numbers that scale
 * and shift, is applied in registers
 * before results are stored; what remains runs over stored results while they are near. Same bits either way: kernels/epilogue.h
 * defines each step. */
#ifndef RLX_KERNELS_CONV_FINISH_H
#define RLX_KERNELS_CONV_FINISH_H

#include "kernels/epilogue.h"
#include "kernels/vec16_tile.h"

enum { CONV_FINISH_NONE, CONV_FINISH_CLAMP, CONV_FINISH_HARD_SWISH };

typedef struct conv_finish {
    const float *residual; /* added first, indexed like the output; or NULL */
    int end;               /* then CONV_FINISH_CLAMP: v < lo ? lo : v, then v > hi ? hi : v; or another of the list */
    float lo, hi;
    float affine[4];       /* CONV_FINISH_HARD_SWISH: hard_swish(v * [0] + [1]) * [2] + [3], every operation rounded */
    const rlx_kernel_args_t *args;
    rlx_epilogue_params_t rest;
} conv_finish_t;

/* Step `s` takes a number of kind `kind`: the next step; else `s`. */
static inline int64_t conv_finish_number(const rlx_epilogue_params_t *epilogue, int64_t s, int64_t kind, float *out)
{
    if (s >= epilogue->n_steps || epilogue->step[s].kind != kind || epilogue->step[s].operand >= 0)
        return s;
    *out = rlx_param_f32(epilogue->step[s].a);
    return s + 1;
}

/* A hard swish from step `s` on, with what scales and shifts before and after it: the step behind them; else `s`. v * 1 and v + -0 are v. */
static inline int64_t conv_finish_hard_swish_read(const rlx_epilogue_params_t *epilogue, int64_t s, conv_finish_t *out)
{
    float affine[4] = {1, -0.0f, 1, -0.0f};
    int64_t at = conv_finish_number(epilogue, s, RLX_MAP_mul_imm, &affine[0]);

    at = conv_finish_number(epilogue, at, RLX_MAP_add_imm, &affine[1]);
    if (at >= epilogue->n_steps || epilogue->step[at].kind != RLX_MAP_hard_swish)
        return s;
    at = conv_finish_number(epilogue, at + 1, RLX_MAP_mul_imm, &affine[2]);
    at = conv_finish_number(epilogue, at, RLX_MAP_add_imm, &affine[3]);
    out->end = CONV_FINISH_HARD_SWISH;
    for (int i = 0; i < 4; i++)
        out->affine[i] = affine[i];
    return at;
}

static inline void conv_finish_make(const rlx_epilogue_params_t *epilogue, const rlx_kernel_args_t *args, conv_finish_t *out)
{
    int64_t s = 0;

    out->args = args;
    out->residual = NULL;
    out->end = CONV_FINISH_NONE;
    out->lo = 0;
    out->hi = __builtin_inff();
    if (s < epilogue->n_steps && epilogue->step[s].kind == RLX_MAP_add && epilogue->step[s].operand >= 0)
        out->residual = args->in[epilogue->step[s++].operand].base;
    if (s < epilogue->n_steps && (epilogue->step[s].kind == RLX_MAP_relu || epilogue->step[s].kind == RLX_MAP_clip_imm)) {
        out->end = CONV_FINISH_CLAMP;
        if (epilogue->step[s].kind == RLX_MAP_clip_imm) {
            out->lo = rlx_param_f32(epilogue->step[s].a);
            out->hi = rlx_param_f32(epilogue->step[s].b);
        }
        s++;
    } else {
        s = conv_finish_hard_swish_read(epilogue, s, out);
    }
    out->rest.n_steps = 0;
    for (; s < epilogue->n_steps; s++)
        out->rest.step[out->rest.n_steps++] = epilogue->step[s];
}

VEC16_INLINE vec16_t conv_finish_clamp(vec16_t v, float lo, float hi) { return vec16_min(vec16_splat(hi), vec16_max(vec16_splat(lo), v)); }

/* kernels/map_float.h has the definition. */
VEC16_INLINE vec16_t conv_finish_hard_swish(vec16_t v, const float *affine)
{
    v = v * vec16_splat(affine[0]) + vec16_splat(affine[1]);
    v = v * conv_finish_clamp(vec16_fma(v, vec16_splat(1.0f / 6), vec16_splat(0.5f)), 0, 1);
    return v * vec16_splat(affine[2]) + vec16_splat(affine[3]);
}

VEC16_INLINE tile16_t conv_finish_tile_hard_swish(tile16_t v, const float *affine)
{
    tile16_t gate;

    v = tile16_add(tile16_mul(v, tile16_splat(affine[0])), tile16_splat(affine[1]));
    gate = tile16_fma(v, tile16_splat(1.0f / 6), tile16_splat(0.5f));
    gate = tile16_min(tile16_splat(1), tile16_max(tile16_splat(0), gate));
    return tile16_add(tile16_mul(tile16_mul(v, gate), tile16_splat(affine[2])), tile16_splat(affine[3]));
}

/* The remaining steps, on `n` results that lie together. */
static inline void conv_finish_rest(const conv_finish_t *finish, float *y, int64_t n)
{
    if (finish->rest.n_steps > 0)
        rlx_epilogue_apply(&finish->rest, finish->args, y, n, y - (const float *)finish->args->out[0].base);
}

/* The residual of the results at y, or NULL. */
static inline const float *conv_finish_residual(const conv_finish_t *finish, const float *y)
{
    return finish->residual != NULL ? finish->residual + (y - (const float *)finish->args->out[0].base) : NULL;
}

#endif
