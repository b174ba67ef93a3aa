/* lp_pool: the definition of p-norm pooling. Row-major. The cells of a window that lie in the input enter a sum from +0 in row-major
 * order, in f32 (f64 for f64): |x| for p = 1, x * x by fma for p = 2, else the p-th power of |x| by repeated multiplication; the
 * result is the p-th root of the sum. One tile is one plane. */
#include "kernels/math.h"
#include "kernels/number.h"
#include "kernels/window.h"

#define LP_DEFINE(name, A, load, fabs, sqrt, fma, pow)                                                                      \
    static A name(const rlx_pool_params_t *p, const void *x, int64_t plane_at, const int64_t o[3])                         \
    {                                                                                                                       \
        const rlx_conv_window_t *w = &p->window;                                                                            \
        int64_t lo[3], hi[3];                                                                                               \
        A sum = 0, cell;                                                                                                    \
                                                                                                                            \
        for (int axis = 0; axis < 3; axis++)                                                                                \
            rlx_window_kernel_range(w, axis, o[axis], &lo[axis], &hi[axis]);                                                \
        for (int64_t kd = lo[0]; kd < hi[0]; kd++)                                                                          \
            for (int64_t kh = lo[1]; kh < hi[1]; kh++)                                                                      \
                for (int64_t kw = lo[2]; kw < hi[2]; kw++) {                                                                \
                    int64_t id = rlx_window_cell(w, 0, o[0], kd), ih = rlx_window_cell(w, 1, o[1], kh);                     \
                    A power;                                                                                                \
                                                                                                                            \
                    load(p->dtype, x, plane_at + (id * w->in[1] + ih) * w->in[2] + rlx_window_cell(w, 2, o[2], kw), 1, 1, &cell); \
                    cell = fabs(cell);                                                                                      \
                    power = cell;                                                                                           \
                    for (int64_t i = 1; i < p->p && p->p > 2; i++)                                                          \
                        power *= cell;                                                                                      \
                    sum = p->p == 2 ? fma(cell, cell, sum) : sum + power;                                                   \
                }                                                                                                           \
        return p->p == 1 ? sum : p->p == 2 ? sqrt(sum) : pow(sum, 1 / (A)p->p);                                             \
    }
LP_DEFINE(window_norm_f32, float, rlx_number_load_f32, __builtin_fabsf, __builtin_sqrtf, __builtin_fmaf, rlx_math_powf)
LP_DEFINE(window_norm_f64, double, rlx_number_load_f64, __builtin_fabs, __builtin_sqrt, __builtin_fma, rlx_math_pow)

RLX_KERNEL_ENTRY(lp_pool)
{
    const rlx_pool_params_t *p = (const rlx_pool_params_t *)args->param;
    const int64_t *out = p->window.out;
    int64_t in_plane = rlx_window_cells(p->window.in), out_plane = rlx_window_cells(out);

    for (int64_t plane = tile_begin; plane < tile_end; plane++)
        for (int64_t at = 0; at < out_plane; at++) {
            int64_t o[3] = {at / out[2] / out[1], at / out[2] % out[1], at % out[2]};

            if (p->dtype == RLX_KD_F64) {
                double norm = window_norm_f64(p, args->in[0].base, plane * in_plane, o);
                rlx_number_store_f64(p->dtype, args->out[0].base, plane * out_plane + at, 1, 1, &norm);
            } else {
                float norm = window_norm_f32(p, args->in[0].base, plane * in_plane, o);
                rlx_number_store_f32(p->dtype, args->out[0].base, plane * out_plane + at, 1, 1, &norm);
            }
        }
}
