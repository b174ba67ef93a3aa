/* Local response normalisation across channels: y = x / (bias + alpha / size * sum)^beta, where sum is the serial fma sum of squares over
 * the channels of the window that exist. The power 3/4 is the product of two square roots. f16 and bf16 compute in f32. */
#include "kernels/abi.h"
#include "kernels/lanes.h"
#include "kernels/params.h"
#include "kernels/vec16.h"

static inline float lrn_power_f32(float x, float beta)
{
    float root = __builtin_sqrtf(x);

    return beta == 0.75f ? root * __builtin_sqrtf(root) : rlx_math_powf(x, beta);
}

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
LRN_CHANNEL(float, f32, lrn_power_f32)
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

/* Cells [at, at + n) of block `block`, with the blocks beside it where they exist: [cell][48]. Lanes without a channel are zero: fma(0, 0, sum)
 * is the sum. */
static void lrn_around(const rlx_lrn_params_t *p, const float *x, int64_t block, int64_t at, int64_t n, float *around)
{
    int64_t blocks = (p->channels + 15) / 16;

    for (int64_t side = 0; side < 3; side++) {
        int64_t b = block + side - 1, lanes = b < 0 || b >= blocks ? 0 : p->channels - b * 16;
        const float *from = x + (lanes > 0 ? (b * p->space + at) * 16 : 0);

        for (int64_t i = 0; i < n; i++) {
            vec16_t v = {0};

            if (lanes >= 16)
                v = vec16_load(from + i * 16);
            else
                for (int64_t lane = 0; lane < lanes; lane++)
                    v[lane] = from[i * 16 + lane];
            vec16_store(around + i * 48 + side * 16, v);
        }
    }
}

RLX_KERNEL_ENTRY(lrn_c16)
{
    const rlx_lrn_params_t *p = (const rlx_lrn_params_t *)args->param;
    int64_t blocks = (p->channels + 15) / 16, chunks = (p->space + RLX_LRN_CELLS - 1) / RLX_LRN_CELLS, first = 16 - (p->size - 1) / 2;
    float around[RLX_LRN_CELLS * 48], sum[RLX_LRN_CELLS * 16], factor = rlx_param_f32(p->alpha) / (float)p->size;
    float base = rlx_param_f32(p->bias), beta = rlx_param_f32(p->beta);

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t at = tile % chunks * RLX_LRN_CELLS, plane = tile / chunks, n = p->space - at < RLX_LRN_CELLS ? p->space - at : RLX_LRN_CELLS;
        float *y = (float *)args->out[0].base + (plane * p->space + at) * 16;

        lrn_around(p, (const float *)args->in[0].base + plane / blocks * blocks * p->space * 16, plane % blocks, at, n, around);
        for (int64_t i = 0; i < n; i++) {
            vec16_t v = {0};

            for (int64_t k = 0; k < p->size; k++) {
                vec16_t x = vec16_load(around + i * 48 + first + k);

                v = vec16_fma(x, x, v);
            }
            vec16_store(sum + i * 16, v);
        }
        if (beta == 0.75f)
            for (int64_t i = 0; i < n * 16; i++)
                y[i] = around[i / 16 * 48 + 16 + i % 16] / lrn_power_f32(__builtin_fmaf(factor, sum[i], base), 0.75f);
        else
            for (int64_t i = 0; i < n * 16; i++)
                y[i] = around[i / 16 * 48 + 16 + i % 16] / lrn_power_f32(__builtin_fmaf(factor, sum[i], base), beta);
    }
}
