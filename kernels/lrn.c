/* Local response normalisation across channels: y = x / (bias + alpha / size * sum)^beta, where sum is the serial fma sum of squares over
 * the channels of the window that exist. f16 and bf16 compute in f32. */
#include "kernels/abi.h"
#include "kernels/lanes.h"
#include "kernels/params.h"

#define LRN_CHANNEL(T, suffix, power)                                                                                    \
    static void lrn_channel_##suffix(const rlx_lrn_params_t *p, const void *x, void *y, int64_t tile)                    \
    {                                                                                                                    \
        int64_t batch = tile / p->channels, channel = tile % p->channels, begin = channel - (p->size - 1) / 2;           \
        int64_t end = begin + p->size < p->channels ? begin + p->size : p->channels;                                     \
        T sum[RLX_NUMBER_RUN], buffer[RLX_NUMBER_RUN], factor = (T)rlx_param_f32(p->alpha) / (T)p->size;                 \
        T base = (T)rlx_param_f32(p->bias), beta = (T)rlx_param_f32(p->beta);                                            \
                                                                                                                         \
        for (int64_t i = 0; i < p->space; i += RLX_NUMBER_RUN) {                                                         \
            int64_t n = p->space - i < RLX_NUMBER_RUN ? p->space - i : RLX_NUMBER_RUN;                                   \
            for (int64_t j = 0; j < n; j++)                                                                              \
                sum[j] = 0;                                                                                              \
            for (int64_t c = begin > 0 ? begin : 0; c < end; c++) {                                                      \
                rlx_number_load_##suffix(p->dtype, x, (batch * p->channels + c) * p->space + i, 1, n, buffer);           \
                for (int64_t j = 0; j < n; j++)                                                                          \
                    sum[j] = LRN_FMA_##suffix(buffer[j], buffer[j], sum[j]);                                             \
            }                                                                                                            \
            rlx_number_load_##suffix(p->dtype, x, tile * p->space + i, 1, n, buffer);                                    \
            for (int64_t j = 0; j < n; j++)                                                                              \
                buffer[j] = buffer[j] / power(LRN_FMA_##suffix(factor, sum[j], base), beta);                             \
            rlx_number_store_##suffix(p->dtype, y, tile * p->space + i, 1, n, buffer);                                   \
        }                                                                                                                \
    }

#define LRN_FMA_f32(a, b, c) __builtin_fmaf(a, b, c)
#define LRN_FMA_f64(a, b, c) __builtin_fma(a, b, c)
LRN_CHANNEL(float, f32, rlx_math_powf)
LRN_CHANNEL(double, f64, rlx_math_pow)

RLX_KERNEL_ENTRY(lrn)
{
    const rlx_lrn_params_t *p = (const rlx_lrn_params_t *)args->param;

    for (int64_t t = tile_begin; t < tile_end; t++)
        if (p->dtype == RLX_KD_F64)
            lrn_channel_f64(p, args->in[0].base, args->out[0].base, t);
        else
            lrn_channel_f32(p, args->in[0].base, args->out[0].base, t);
}
