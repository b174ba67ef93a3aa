/* Softmax, log-softmax and hardmax along the middle axis of [outer, count, inner]. Soft: m = maximum, e = exp(x - m), s = sum of e in
 * lanes16, y = e (1 / s). Log: y = (x - m) - log(s). Hard: 1 at the first maximum (NaN is the greatest), else 0. f16 and bf16 compute in
 * f32, where exp is 0 below -87. */
#include "kernels/abi.h"
#include "kernels/lanes.h"
#include "kernels/params.h"

#define SOFTMAX_LINE(T, suffix, exponential, logarithm)                                                                \
    static T softmax_pass_##suffix(const rlx_softmax_params_t *p, int kind, const void *x, int64_t first, T shift)     \
    {                                                                                                                  \
        T lane[16], buffer[RLX_NUMBER_RUN];                                                                            \
                                                                                                                       \
        lanes_start_##suffix(kind, lane);                                                                              \
        for (int64_t i = 0; i < p->count; i += RLX_NUMBER_RUN) {                                                       \
            int64_t n = p->count - i < RLX_NUMBER_RUN ? p->count - i : RLX_NUMBER_RUN;                                 \
            rlx_number_load_##suffix(p->dtype, x, first + i * p->inner, p->inner, n, buffer);                          \
            lanes_run_##suffix(kind, lane, buffer, n, shift);                                                          \
        }                                                                                                              \
        return lanes_end_##suffix(kind, lane);                                                                         \
    }                                                                                                                  \
                                                                                                                       \
    static void softmax_line_##suffix(const rlx_softmax_params_t *p, const void *x, void *y, int64_t first)            \
    {                                                                                                                  \
        T max = softmax_pass_##suffix(p, LANES_MAX, x, first, 0), buffer[RLX_NUMBER_RUN];                              \
        T sum = p->kind == RLX_SOFTMAX_HARD ? 0 : softmax_pass_##suffix(p, LANES_FALL, x, first, max);                  \
        T log_sum = p->kind == RLX_SOFTMAX_LOG ? logarithm(sum) : 0, factor = 1 / sum;                                 \
        int found = 0;                                                                                                 \
                                                                                                                       \
        for (int64_t i = 0; i < p->count; i += RLX_NUMBER_RUN) {                                                       \
            int64_t n = p->count - i < RLX_NUMBER_RUN ? p->count - i : RLX_NUMBER_RUN;                                 \
            rlx_number_load_##suffix(p->dtype, x, first + i * p->inner, p->inner, n, buffer);                          \
            if (p->kind == RLX_SOFTMAX) {                                                                              \
                for (int64_t j = 0; j < n; j++)                                                                        \
                    buffer[j] = exponential(buffer[j] - max) * factor;                                                 \
            } else if (p->kind == RLX_SOFTMAX_LOG) {                                                                   \
                for (int64_t j = 0; j < n; j++)                                                                        \
                    buffer[j] = (buffer[j] - max) - log_sum;                                                           \
            } else {                                                                                                   \
                for (int64_t j = 0; j < n; j++) {                                                                      \
                    int hit = !found && (buffer[j] == max || buffer[j] != buffer[j]);                                  \
                    found |= hit;                                                                                      \
                    buffer[j] = hit ? 1 : 0;                                                                           \
                }                                                                                                      \
            }                                                                                                          \
            rlx_number_store_##suffix(p->dtype, y, first + i * p->inner, p->inner, n, buffer);                         \
        }                                                                                                              \
    }

SOFTMAX_LINE(float, f32, rlx_math_exp_fallf, rlx_math_logf)
SOFTMAX_LINE(double, f64, rlx_math_exp, rlx_math_log)

RLX_KERNEL_ENTRY(softmax)
{
    const rlx_softmax_params_t *p = (const rlx_softmax_params_t *)args->param;

    for (int64_t t = tile_begin; t < tile_end; t++) {
        int64_t first = t / p->inner * p->count * p->inner + t % p->inner;
        if (p->dtype == RLX_KD_F64)
            softmax_line_f64(p, args->in[0].base, args->out[0].base, first);
        else
            softmax_line_f32(p, args->in[0].base, args->out[0].base, first);
    }
}
