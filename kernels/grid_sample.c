/* Samples x at the places a grid names, in 1 to 3 spatial dimensions (depth, height, width; a missing one has extent 1). Coordinates and
 * weights are computed in the sampling type (f64 for f64 data, else f32); sums go along the width first, then height, then depth: w0 *
 * v0, then fma. A place outside reads 0, the border or its mirror image. A coordinate that is no number counts as far outside. */
#include "kernels/abi.h"
#include "kernels/grid_taps.h"
#include "kernels/number.h"
#include "kernels/params.h"

/* One output: sums along the width, height and depth of a plane at `base`. */
#define GRID_SUM(T, suffix, fma_)                                                                                                   \
    static T grid_line_##suffix(const rlx_grid_sample_params_t *p, const void *x, int64_t base, const grid_taps_t *taps)            \
    {                                                                                                                               \
        T total = 0, value;                                                                                                         \
                                                                                                                                    \
        for (int t = 0; t < taps->n; t++) {                                                                                         \
            value = 0;                                                                                                              \
            if (taps->index[t] >= 0 && base >= 0)                                                                                   \
                rlx_number_load_##suffix(p->dtype, x, base + taps->index[t], 1, 1, &value);                                         \
            total = taps->n == 1 ? value : t == 0 ? (T)taps->weight[0] * value : fma_((T)taps->weight[t], value, total);            \
        }                                                                                                                           \
        return total;                                                                                                               \
    }                                                                                                                               \
                                                                                                                                    \
    static T grid_plane_##suffix(const rlx_grid_sample_params_t *p, const void *x, int64_t base, const grid_taps_t taps[3])         \
    {                                                                                                                               \
        T total = 0, plane = 0, value;                                                                                              \
                                                                                                                                    \
        for (int d = 0; d < taps[0].n; d++) {                                                                                       \
            for (int h = 0; h < taps[1].n; h++) {                                                                                   \
                int64_t row = taps[0].index[d] * p->in[1] + taps[1].index[h];                                                       \
                int inside = taps[0].index[d] >= 0 && taps[1].index[h] >= 0;                                                        \
                value = grid_line_##suffix(p, x, inside ? base + row * p->in[2] : -1, &taps[2]);                                    \
                plane = taps[1].n == 1 ? value : h == 0 ? (T)taps[1].weight[0] * value : fma_((T)taps[1].weight[h], value, plane);  \
            }                                                                                                                       \
            total = taps[0].n == 1 ? plane : d == 0 ? (T)taps[0].weight[0] * plane : fma_((T)taps[0].weight[d], plane, total);      \
        }                                                                                                                           \
        return total;                                                                                                               \
    }

GRID_SUM(float, f32, __builtin_fmaf)
GRID_SUM(double, f64, __builtin_fma)

RLX_KERNEL_ENTRY(grid_sample)
{
    const rlx_grid_sample_params_t *p = (const rlx_grid_sample_params_t *)args->param;
    int64_t places = p->batch * p->out_space, end = tile_end * p->per_tile < places ? tile_end * p->per_tile : places;
    int64_t plane = p->in[0] * p->in[1] * p->in[2];
    grid_taps_t taps[3];

    for (int64_t place = tile_begin * p->per_tile; place < end; place++) {
        grid_place(p, args->in[1].base, place, taps);
        for (int64_t c = 0; c < p->channels; c++) {
            int64_t channel = place / p->out_space * p->channels + c, at = channel * p->out_space + place % p->out_space;
            if (p->dtype == RLX_KD_F64) {
                double value = grid_plane_f64(p, args->in[0].base, channel * plane, taps);
                rlx_number_store_f64(p->dtype, args->out[0].base, at, 1, 1, &value);
            } else {
                float value = grid_plane_f32(p, args->in[0].base, channel * plane, taps);
                rlx_number_store_f32(p->dtype, args->out[0].base, at, 1, 1, &value);
            }
        }
    }
}

/* Normalised coordinate of place `i`: centres of cells, or with aligned corners -1 .. 1. */
static double grid_coordinate(const rlx_affine_grid_params_t *p, int64_t i, int64_t extent)
{
    if (p->align_corners)
        return extent > 1 ? 2 * (double)i / (double)(extent - 1) - 1 : 0;
    return (double)(2 * i + 1) / (double)extent - 1;
}

/* theta times (x, y, (z,) 1), in f64, rounded once. */
RLX_KERNEL_ENTRY(affine_grid)
{
    const rlx_affine_grid_params_t *p = (const rlx_affine_grid_params_t *)args->param;
    int64_t space = p->out[0] * p->out[1] * p->out[2], rank = p->rank;
    double theta[12];
    float narrow[12];

    for (int64_t b = tile_begin; b < tile_end; b++) {
        if (p->dtype == RLX_KD_F64)
            rlx_number_load_f64(p->dtype, args->in[0].base, b * rank * (rank + 1), 1, rank * (rank + 1), theta);
        else
            rlx_number_load_f32(p->dtype, args->in[0].base, b * rank * (rank + 1), 1, rank * (rank + 1), narrow);
        for (int64_t i = 0; i < rank * (rank + 1) && p->dtype != RLX_KD_F64; i++)
            theta[i] = (double)narrow[i];
        for (int64_t s = 0; s < space; s++) {
            double at[3] = {grid_coordinate(p, s % p->out[2], p->out[2]), grid_coordinate(p, s / p->out[2] % p->out[1], p->out[1]),
                            grid_coordinate(p, s / p->out[2] / p->out[1], p->out[0])};
            for (int64_t r = 0; r < rank; r++) {
                double sum = theta[r * (rank + 1)] * at[0];
                for (int64_t k = 1; k < rank; k++)
                    sum = __builtin_fma(theta[r * (rank + 1) + k], at[k], sum);
                sum += theta[r * (rank + 1) + rank];
                float rounded = (float)sum;
                if (p->dtype == RLX_KD_F64)
                    rlx_number_store_f64(p->dtype, args->out[0].base, (b * space + s) * rank + r, 1, 1, &sum);
                else
                    rlx_number_store_f32(p->dtype, args->out[0].base, (b * space + s) * rank + r, 1, 1, &rounded);
            }
        }
    }
}
