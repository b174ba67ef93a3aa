/* The places that a grid coordinate reads along one dimension, and their weights. Coordinates and weights are computed in the sampling
 * type (f64 for f64 data, else f32). A coordinate that is no number counts as far outside. Shared by the plain and the fast grid
 * sampling. */
#ifndef RLX_KERNELS_GRID_TAPS_H
#define RLX_KERNELS_GRID_TAPS_H

#include "kernels/number.h"
#include "kernels/params.h"

/* Up to 4 places along one dimension; -1 reads zero. */
typedef struct grid_taps {
    int64_t index[4];
    double weight[4];
    int n;
} grid_taps_t;

#define GRID_FAR 1e9

static inline double grid_reflect(double x, double low, double high)
{
    double range = high - low, past = x < low ? low - x : x > high ? x - high : 0;

    if (past == 0)
        return x;
    if (!(range > 0))
        return low;
    double turns = __builtin_floor(past / range), rest = past - turns * range;
    int even = turns - 2 * __builtin_floor(turns / 2) == 0;
    return (x < low) == even ? low + rest : high - rest;
}

/* An integer place, padded. */
static inline int64_t grid_padded(const rlx_grid_sample_params_t *p, double i, int64_t extent, double low, double high)
{
    if (p->padding == RLX_PAD_REFLECTION)
        i = grid_reflect(i, low, high);
    else if (p->padding == RLX_PAD_ZEROS && (i < 0 || i > (double)(extent - 1)))
        return -1;
    return i < 0 ? 0 : i > (double)(extent - 1) ? extent - 1 : (int64_t)i;
}

#define GRID_CUBIC_A (-0.75)
#define rlx_number_round_f64(x) (x)

/* Taps of normalised coordinate `n` along an extent. The arithmetic is that of T: the macro rounds where T is float. Padding is per place
 * read. With the border a coordinate outside may move onto it first only where all its places are the border's anyway: not for cubic, whose
 * weights then would be those of another coordinate. A mirror image keeps the weights. */
#define GRID_TAPS(T, suffix)                                                                                                             \
    static inline void grid_cubic_##suffix(T x, double *w)                                                                               \
    {                                                                                                                                    \
        T a = (T)GRID_CUBIC_A, y = 1 - x, x1 = x + 1, y1 = 2 - x;                                                                        \
                                                                                                                                         \
        w[0] = (double)(T)(((a * x1 - 5 * a) * x1 + 8 * a) * x1 - 4 * a);                                                                \
        w[1] = (double)(T)(((a + 2) * x - (a + 3)) * x * x + 1);                                                                         \
        w[2] = (double)(T)(((a + 2) * y - (a + 3)) * y * y + 1);                                                                         \
        w[3] = (double)(T)(((a * y1 - 5 * a) * y1 + 8 * a) * y1 - 4 * a);                                                                \
    }                                                                                                                                    \
                                                                                                                                         \
    static inline grid_taps_t grid_taps_##suffix(const rlx_grid_sample_params_t *p, T n, int64_t extent)                                 \
    {                                                                                                                                    \
        T length = (T)extent, low = p->align_corners ? 0 : (T)-0.5, high = p->align_corners ? length - 1 : length - (T)0.5;              \
        T x = p->align_corners ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;                                                \
        grid_taps_t taps = {.n = 1};                                                                                                     \
                                                                                                                                         \
        if (!(x > (T)-GRID_FAR && x < (T)GRID_FAR))                                                                                      \
            x = x > 0 ? (T)GRID_FAR : (T)-GRID_FAR;                                                                                      \
        if (p->mode == RLX_RESIZE_NEAREST)                                                                                               \
            x = (T)__builtin_rint((double)x);                                                                                            \
        if ((x < low || x > high) && p->padding == RLX_PAD_BORDER && p->mode != RLX_RESIZE_CUBIC)                                        \
            x = x < 0 ? 0 : x > length - 1 ? length - 1 : x;                                                                             \
        else if ((x < low || x > high) && p->padding == RLX_PAD_REFLECTION)                                                              \
            x = (T)rlx_number_round_##suffix(grid_reflect((double)x, (double)low, (double)high));                                        \
        T first = (T)__builtin_floor((double)x);                                                                                         \
        if (p->mode == RLX_RESIZE_NEAREST) {                                                                                             \
            taps.weight[0] = 1;                                                                                                          \
        } else if (p->mode == RLX_RESIZE_LINEAR) {                                                                                       \
            taps.n = 2;                                                                                                                  \
            taps.weight[0] = (double)(T)(1 - (x - first));                                                                               \
            taps.weight[1] = (double)(T)(x - first);                                                                                     \
        } else {                                                                                                                         \
            taps.n = 4;                                                                                                                  \
            grid_cubic_##suffix(x - first, taps.weight);                                                                                 \
            first = first - 1;                                                                                                           \
        }                                                                                                                                \
        for (int t = 0; t < taps.n; t++)                                                                                                 \
            taps.index[t] = grid_padded(p, (double)first + t, extent, (double)low, (double)high);                                        \
        return taps;                                                                                                                     \
    }

GRID_TAPS(float, f32)
GRID_TAPS(double, f64)

/* Coordinates of a grid place, last dimension first in the grid. */
static inline void grid_place(const rlx_grid_sample_params_t *p, const void *grid, int64_t place, grid_taps_t taps[3])
{
    for (int d = 0; d < 3; d++) {
        int64_t at = place * p->rank + 2 - d;
        float narrow = 0;
        taps[d] = (grid_taps_t){.n = 1, .weight = {1}};
        if (d < 3 - p->rank)
            continue;
        if (p->grid_dtype == RLX_KD_F64) {
            double wide = ((const double *)grid)[at];
            taps[d] = p->dtype == RLX_KD_F64 ? grid_taps_f64(p, wide, p->in[d]) : grid_taps_f32(p, (float)wide, p->in[d]);
            continue;
        }
        rlx_number_load_f32(p->grid_dtype, grid, at, 1, 1, &narrow);
        taps[d] = p->dtype == RLX_KD_F64 ? grid_taps_f64(p, (double)narrow, p->in[d]) : grid_taps_f32(p, narrow, p->in[d]);
    }
}

#endif
