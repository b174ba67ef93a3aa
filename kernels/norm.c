/* The plain normalisation of rows: layer, rms, instance and group norm. mean = sum / count in lanes16; variance = sum of squared centred
 * values (fma, lanes16) / count; inv = 1 / sqrt(variance + epsilon); y = ((x - mean) * inv) * scale, or fma(.., scale, bias) with a bias.
 * Without centring the mean is 0 and nothing is subtracted. f16 and bf16 compute in f32. */
#include "kernels/abi.h"
#include "kernels/lanes.h"
#include "kernels/params.h"

/* Place of an element in the 8 extents, with its offsets in scale and bias. */
typedef struct norm_walk {
    int64_t at[8], scale, bias;
} norm_walk_t;

static norm_walk_t norm_walk_begin(const rlx_norm_params_t *p, int64_t index)
{
    norm_walk_t walk = {.scale = 0};

    if (p->count == 0)
        return walk;

    for (int d = 7; d >= 0; d--) {
        walk.at[d] = index % p->dims[d];
        index /= p->dims[d];
        walk.scale += walk.at[d] * p->scale_stride[d];
        walk.bias += walk.at[d] * p->bias_stride[d];
    }
    return walk;
}

static void norm_walk_next(const rlx_norm_params_t *p, norm_walk_t *walk)
{
    for (int d = 7; d >= 0; d--) {
        walk->scale += p->scale_stride[d];
        walk->bias += p->bias_stride[d];
        if (++walk->at[d] < p->dims[d])
            return;
        walk->scale -= p->dims[d] * p->scale_stride[d];
        walk->bias -= p->dims[d] * p->bias_stride[d];
        walk->at[d] = 0;
    }
}

#define NORM_ROW(T, suffix, square_root, fma_, epsilon_)                                                                       \
    static T norm_pass_##suffix(const rlx_norm_params_t *p, int kind, const void *x, int64_t first, T shift)                   \
    {                                                                                                                          \
        T lane[16], buffer[RLX_NUMBER_RUN];                                                                                    \
                                                                                                                               \
        lanes_start_##suffix(kind, lane);                                                                                      \
        for (int64_t i = 0; i < p->count; i += RLX_NUMBER_RUN) {                                                               \
            int64_t n = p->count - i < RLX_NUMBER_RUN ? p->count - i : RLX_NUMBER_RUN;                                         \
            rlx_number_load_##suffix(p->dtype, x, first + i, 1, n, buffer);                                                    \
            lanes_run_##suffix(kind, lane, buffer, n, shift);                                                                  \
        }                                                                                                                      \
        return lanes_end_##suffix(kind, lane);                                                                                 \
    }                                                                                                                          \
                                                                                                                               \
    static void norm_row_##suffix(const rlx_norm_params_t *p, const rlx_kernel_args_t *args, int64_t row)                      \
    {                                                                                                                          \
        const void *x = args->in[0].base, *scale = args->in[1].base, *bias = args->in[2].base;                                 \
        int64_t first = row * p->count;                                                                                        \
        T count = (T)p->count, buffer[RLX_NUMBER_RUN], s, b;                                                                   \
        T mean = p->center ? norm_pass_##suffix(p, LANES_ADD, x, first, 0) / count : 0;                                        \
        T spread = norm_pass_##suffix(p, p->center ? LANES_SPREAD : LANES_SQUARE, x, first, mean) / count;                     \
        T inv = 1 / square_root(spread + epsilon_(p->epsilon));                                                                \
        norm_walk_t walk = norm_walk_begin(p, first);                                                                          \
                                                                                                                               \
        for (int64_t i = 0; i < p->count && args->out[0].base; i += RLX_NUMBER_RUN) {                                          \
            int64_t n = p->count - i < RLX_NUMBER_RUN ? p->count - i : RLX_NUMBER_RUN;                                         \
            rlx_number_load_##suffix(p->dtype, x, first + i, 1, n, buffer);                                                    \
            for (int64_t j = 0; j < n; j++, norm_walk_next(p, &walk)) {                                                        \
                rlx_number_load_##suffix(p->dtype, scale, walk.scale, 1, 1, &s);                                               \
                if (bias)                                                                                                      \
                    rlx_number_load_##suffix(p->dtype, bias, walk.bias, 1, 1, &b);                                             \
                T unit = (p->center ? buffer[j] - mean : buffer[j]) * inv;                                                     \
                buffer[j] = bias ? fma_(unit, s, b) : unit * s;                                                                \
            }                                                                                                                  \
            rlx_number_store_##suffix(p->dtype, args->out[0].base, first + i, 1, n, buffer);                                   \
        }                                                                                                                      \
        if (args->out[1].base)                                                                                                 \
            ((float *)args->out[1].base)[row] = (float)mean;                                                                   \
        if (args->out[2].base)                                                                                                 \
            ((float *)args->out[2].base)[row] = (float)inv;                                                                    \
    }

#define EPSILON_F64(bits) ((double)rlx_param_f32(bits))
NORM_ROW(float, f32, __builtin_sqrtf, __builtin_fmaf, rlx_param_f32)
NORM_ROW(double, f64, __builtin_sqrt, __builtin_fma, EPSILON_F64)

RLX_KERNEL_ENTRY(norm)
{
    const rlx_norm_params_t *p = (const rlx_norm_params_t *)args->param;

    for (int64_t row = tile_begin; row < tile_end; row++)
        if (p->dtype == RLX_KD_F64)
            norm_row_f64(p, args, row);
        else
            norm_row_f32(p, args, row);
}
