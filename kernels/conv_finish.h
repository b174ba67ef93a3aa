/* The epilogue of the blocked convolutions. Its usual beginning, a residual and a clamp (relu is a clamp), is applied in registers
 * before results are stored; what remains runs over stored results while they are near. Same bits either way: kernels/epilogue.h
 * defines each step. */
#ifndef RLX_KERNELS_CONV_FINISH_H
#define RLX_KERNELS_CONV_FINISH_H

#include "kernels/epilogue.h"
#include "kernels/vec16.h"

typedef struct conv_finish {
    const float *residual; /* added first, indexed like the output; or NULL */
    int clamp;             /* then v < lo ? lo : v, then v > hi ? hi : v */
    float lo, hi;
    const rlx_kernel_args_t *args;
    rlx_epilogue_params_t rest;
} conv_finish_t;

static inline void conv_finish_make(const rlx_epilogue_params_t *epilogue, const rlx_kernel_args_t *args, conv_finish_t *out)
{
    int64_t s = 0;

    out->args = args;
    out->residual = NULL;
    out->clamp = 0;
    out->lo = 0;
    out->hi = __builtin_inff();
    if (s < epilogue->n_steps && epilogue->step[s].kind == RLX_MAP_add && epilogue->step[s].operand >= 0)
        out->residual = args->in[epilogue->step[s++].operand].base;
    if (s < epilogue->n_steps && (epilogue->step[s].kind == RLX_MAP_relu || epilogue->step[s].kind == RLX_MAP_clip_imm)) {
        out->clamp = 1;
        if (epilogue->step[s].kind == RLX_MAP_clip_imm) {
            out->lo = rlx_param_f32(epilogue->step[s].a);
            out->hi = rlx_param_f32(epilogue->step[s].b);
        }
        s++;
    }
    out->rest.n_steps = 0;
    for (; s < epilogue->n_steps; s++)
        out->rest.step[out->rest.n_steps++] = epilogue->step[s];
}

VEC16_INLINE vec16_t conv_finish_clamp(vec16_t v, float lo, float hi) { return vec16_min(vec16_splat(hi), vec16_max(vec16_splat(lo), v)); }

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
