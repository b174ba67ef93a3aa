/* Epilogues: element-wise steps that a fast kernel applies to f32 results while they are in L1, with the bits of the elementwise kernel.
 *
 * A kernel embeds rlx_epilogue_params_t in its parameter block and calls rlx_epilogue_apply on each finished contiguous run of outputs:
 * `x` holds `n` results, `at` is the element index of x[0] in the output, which is also its index in residual tensors (they have the
 * output's shape and layout). Longer runs amortise the dispatch; any n >= 0 is allowed, 256 to 2048 is best. */
#ifndef RLX_KERNELS_EPILOGUE_H
#define RLX_KERNELS_EPILOGUE_H

#include "kernels/map.h"
#include "kernels/params_elementwise.h"

static inline void rlx_epilogue_tensor(const rlx_epilogue_step_params_t *step, float *x, const float *t, int64_t n)
{
    if (step->kind == RLX_MAP_add)
        RLX_MAP_LOOP(n)
            x[i] += t[i];
    else if (step->a)
        rlx_map_binary_f32(step->kind, x, t, x, n);
    else
        rlx_map_binary_f32(step->kind, x, x, t, n);
}

static inline void rlx_epilogue_apply(const rlx_epilogue_params_t *epilogue, const rlx_kernel_args_t *args, float *x, int64_t n, int64_t at)
{
    for (int64_t s = 0; s < epilogue->n_steps; s++) {
        const rlx_epilogue_step_params_t *step = &epilogue->step[s];

        if (step->operand >= 0)
            rlx_epilogue_tensor(step, x, (const float *)args->in[step->operand].base + at, n);
        else if (step->kind == RLX_MAP_relu)
            RLX_MAP_LOOP(n)
                x[i] = x[i] < 0 ? 0 : x[i];
        else
            rlx_map_unary_f32(step->kind, x, x, n, rlx_param_f32(step->a), rlx_param_f32(step->b));
    }
}

#endif
