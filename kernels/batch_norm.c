/* Batch norm: a = scale / sqrt(var + epsilon), y = fma(x - mean, a, bias), per channel. At inference mean and var are operands. In
 * training they are those of the batch (lanes16 over batch and space, population variance), and the running statistics move by
 * `momentum`. f16 and bf16 compute in f32; scale and statistics may have other float types and are rounded to the computation's. */
#include "kernels/abi.h"
#include "kernels/lanes.h"
#include "kernels/params.h"
#include "kernels/vec16.h"

/* Element `i` of a float tensor of any type. */
static double float_at(int64_t dtype, const void *base, int64_t i)
{
    float value;

    if (dtype == RLX_KD_F64)
        return ((const double *)base)[i];
    rlx_number_load_f32(dtype, base, i, 1, 1, &value);
    return (double)value;
}

#define BATCH_NORM(T, suffix, square_root, fma_)                                                                               \
    typedef struct affine_##suffix {                                                                                           \
        T mean, factor, bias;                                                                                                  \
    } affine_##suffix##_t;                                                                                                     \
                                                                                                                               \
    static void batch_norm_run_##suffix(int64_t dtype, const void *x, void *y, int64_t first, int64_t count,                   \
                                        affine_##suffix##_t affine)                                                            \
    {                                                                                                                          \
        T buffer[RLX_NUMBER_RUN];                                                                                              \
                                                                                                                               \
        for (int64_t i = 0; i < count; i += RLX_NUMBER_RUN) {                                                                  \
            int64_t n = count - i < RLX_NUMBER_RUN ? count - i : RLX_NUMBER_RUN;                                               \
            rlx_number_load_##suffix(dtype, x, first + i, 1, n, buffer);                                                       \
            for (int64_t j = 0; j < n; j++)                                                                                    \
                buffer[j] = fma_(buffer[j] - affine.mean, affine.factor, affine.bias);                                         \
            rlx_number_store_##suffix(dtype, y, first + i, 1, n, buffer);                                                      \
        }                                                                                                                      \
    }                                                                                                                          \
                                                                                                                               \
    static affine_##suffix##_t batch_norm_affine_##suffix(const rlx_kernel_args_t *args, int64_t scale_dtype, int64_t channel, \
                                                          T mean, T var, T epsilon)                                            \
    {                                                                                                                          \
        T scale = (T)float_at(scale_dtype, args->in[1].base, channel);                                                         \
                                                                                                                               \
        return (affine_##suffix##_t){mean, scale / square_root(var + epsilon),                                                 \
                                     (T)float_at(scale_dtype, args->in[2].base, channel)};                                     \
    }                                                                                                                          \
                                                                                                                               \
    static T batch_sum_##suffix(const rlx_batch_norm_train_params_t *p, int kind, const void *x, int64_t channel, T shift)     \
    {                                                                                                                          \
        T lane[16], buffer[RLX_NUMBER_RUN];                                                                                    \
        int64_t fill = 0;                                                                                                      \
                                                                                                                               \
        lanes_start_##suffix(kind, lane);                                                                                      \
        for (int64_t b = 0; b < p->batch; b++)                                                                                 \
            for (int64_t i = 0, take; i < p->space; i += take) {                                                               \
                take = p->space - i < RLX_NUMBER_RUN - fill ? p->space - i : RLX_NUMBER_RUN - fill;                            \
                rlx_number_load_##suffix(p->dtype, x, (b * p->channels + channel) * p->space + i, 1, take, buffer + fill);     \
                fill += take;                                                                                                  \
                if (fill == RLX_NUMBER_RUN) {                                                                                  \
                    lanes_run_##suffix(kind, lane, buffer, fill, shift);                                                       \
                    fill = 0;                                                                                                  \
                }                                                                                                              \
            }                                                                                                                  \
        lanes_run_##suffix(kind, lane, buffer, fill, shift);                                                                   \
        return lanes_end_##suffix(kind, lane);                                                                                 \
    }                                                                                                                          \
                                                                                                                               \
    static void running_put_##suffix(const rlx_batch_norm_train_params_t *p, const rlx_operand_t *old, const rlx_operand_t *out, \
                                     int64_t channel, T batch)                                                                 \
    {                                                                                                                          \
        T momentum = (T)rlx_param_f32(p->momentum);                                                                            \
        T value = (T)float_at(p->stat_dtype, old->base, channel) * momentum + batch * (1 - momentum);                          \
                                                                                                                               \
        if (!out->base)                                                                                                        \
            return;                                                                                                            \
        if (p->stat_dtype == RLX_KD_F64) {                                                                                     \
            ((double *)out->base)[channel] = (double)value;                                                                    \
        } else {                                                                                                               \
            float rounded = (float)value;                                                                                      \
            rlx_number_store_f32(p->stat_dtype, out->base, channel, 1, 1, &rounded);                                           \
        }                                                                                                                      \
    }                                                                                                                          \
                                                                                                                               \
    static void train_channel_##suffix(const rlx_batch_norm_train_params_t *p, const rlx_kernel_args_t *args, int64_t channel) \
    {                                                                                                                          \
        const void *x = args->in[0].base;                                                                                      \
        T count = (T)(p->batch * p->space), mean = batch_sum_##suffix(p, LANES_ADD, x, channel, 0) / count;                    \
        T var = batch_sum_##suffix(p, LANES_SPREAD, x, channel, mean) / count;                                                 \
        affine_##suffix##_t affine =                                                                                           \
            batch_norm_affine_##suffix(args, p->scale_dtype, channel, mean, var, (T)rlx_param_f32(p->epsilon));                \
                                                                                                                               \
        for (int64_t b = 0; b < p->batch && args->out[0].base; b++)                                                            \
            batch_norm_run_##suffix(p->dtype, x, args->out[0].base, (b * p->channels + channel) * p->space, p->space, affine); \
        running_put_##suffix(p, &args->in[3], &args->out[1], channel, mean);                                                   \
        running_put_##suffix(p, &args->in[4], &args->out[2], channel, var);                                                    \
    }                                                                                                                          \
                                                                                                                               \
    static affine_##suffix##_t inference_affine_##suffix(const rlx_batch_norm_params_t *p, const rlx_kernel_args_t *args,      \
                                                         int64_t channel)                                                      \
    {                                                                                                                          \
        return batch_norm_affine_##suffix(args, p->scale_dtype, channel, (T)float_at(p->stat_dtype, args->in[3].base, channel), \
                                          (T)float_at(p->stat_dtype, args->in[4].base, channel), (T)rlx_param_f32(p->epsilon)); \
    }

BATCH_NORM(float, f32, __builtin_sqrtf, __builtin_fmaf)
BATCH_NORM(double, f64, __builtin_sqrt, __builtin_fma)

/* One C16 block: the 16 channels side by side. */
static void batch_norm_block(const rlx_batch_norm_params_t *p, const rlx_kernel_args_t *args, int64_t tile)
{
    const float *x = (const float *)args->in[0].base + tile * p->space * 16;
    float *y = (float *)args->out[0].base + tile * p->space * 16;
    float mean[16] = {0}, factor[16] = {0}, bias[16] = {0};
    int64_t first = tile % p->blocks * 16;

    for (int64_t c = 0; c < 16 && first + c < p->channels; c++) {
        affine_f32_t affine = inference_affine_f32(p, args, first + c);
        mean[c] = affine.mean;
        factor[c] = affine.factor;
        bias[c] = affine.bias;
    }
    vec16_t m = vec16_load(mean), f = vec16_load(factor), b = vec16_load(bias);
    for (int64_t i = 0; i < p->space; i++)
        vec16_store(y + i * 16, vec16_fma(vec16_load(x + i * 16) - m, f, b));
}

RLX_KERNEL_ENTRY(batch_norm)
{
    const rlx_batch_norm_params_t *p = (const rlx_batch_norm_params_t *)args->param;
    const void *x = args->in[0].base;
    void *y = args->out[0].base;

    for (int64_t t = tile_begin; t < tile_end; t++)
        if (p->blocks > 0)
            batch_norm_block(p, args, t);
        else if (p->dtype == RLX_KD_F64)
            batch_norm_run_f64(p->dtype, x, y, t * p->space, p->space, inference_affine_f64(p, args, t % p->channels));
        else
            batch_norm_run_f32(p->dtype, x, y, t * p->space, p->space, inference_affine_f32(p, args, t % p->channels));
}

RLX_KERNEL_ENTRY(batch_norm_train)
{
    const rlx_batch_norm_train_params_t *p = (const rlx_batch_norm_train_params_t *)args->param;

    for (int64_t channel = tile_begin; channel < tile_end; channel++)
        if (p->dtype == RLX_KD_F64)
            train_channel_f64(p, args, channel);
        else
            train_channel_f32(p, args, channel);
}
