/* det: determinants by LU with partial pivoting. One tile is one matrix, copied into scratch. f16 and bf16 compute in f32. */
#include "kernels/number.h"
#include "kernels/params_matmul.h"

#define DET(type, suffix, fma, abs)                                               \
    /* Row of the largest magnitude in column k, the first among equals. */        \
    static int64_t pivot_##suffix(const type *a, int64_t n, int64_t k)            \
    {                                                                             \
        int64_t best = k;                                                         \
        for (int64_t i = k + 1; i < n; i++)                                       \
            if (abs(a[i * n + k]) > abs(a[best * n + k]))                         \
                best = i;                                                         \
        return best;                                                              \
    }                                                                             \
    static type det_##suffix(type *a, int64_t n)                                  \
    {                                                                             \
        type det = 1, sign = 1;                                                   \
        for (int64_t k = 0; k < n; k++) {                                         \
            int64_t pivot = pivot_##suffix(a, n, k);                              \
            if (pivot != k)                                                       \
                sign = -sign;                                                     \
            for (int64_t j = k; j < n && pivot != k; j++) {                       \
                type t = a[k * n + j];                                            \
                a[k * n + j] = a[pivot * n + j];                                  \
                a[pivot * n + j] = t;                                             \
            }                                                                     \
            det *= a[k * n + k];                                                  \
            if (a[k * n + k] == 0)                                                \
                return det;                                                       \
            for (int64_t i = k + 1; i < n; i++) {                                 \
                type factor = a[i * n + k] / a[k * n + k];                        \
                for (int64_t j = k + 1; j < n; j++)                               \
                    a[i * n + j] = fma(-factor, a[k * n + j], a[i * n + j]);      \
            }                                                                     \
        }                                                                         \
        return det * sign;                                                        \
    }                                                                             \
    static void tile_##suffix(const rlx_kernel_args_t *args, int64_t tile)        \
    {                                                                             \
        const rlx_det_params_t *p = (const rlx_det_params_t *)args->param;        \
        int64_t count = p->n * p->n;                                              \
        type det;                                                                 \
        rlx_number_load_##suffix(p->dtype, args->in[0].base, tile * count, 1, count, args->scratch); \
        det = det_##suffix(args->scratch, p->n);                                  \
        rlx_number_store_##suffix(p->dtype, args->out[0].base, tile, 1, 1, &det); \
    }
DET(float, f32, __builtin_fmaf, __builtin_fabsf)
DET(double, f64, __builtin_fma, __builtin_fabs)

RLX_KERNEL_ENTRY(det)
{
    const rlx_det_params_t *p = (const rlx_det_params_t *)args->param;

    for (int64_t tile = tile_begin; tile < tile_end; tile++)
        if (p->dtype == RLX_KD_F64)
            tile_f64(args, tile);
        else
            tile_f32(args, tile);
}
