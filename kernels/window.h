/* Arithmetic of a moving window along one axis, shared by the plain kernels of the conv family. Pure functions.
 *
 * Output cell o meets, through kernel cell k, input cell o * stride + k * dilation - pad; outside [0, in) lies padding. */
#ifndef RLX_KERNELS_WINDOW_H
#define RLX_KERNELS_WINDOW_H

#include "kernels/abi.h"
#include "kernels/params_conv.h"

static inline int64_t rlx_window_cell(const rlx_conv_window_t *w, int axis, int64_t o, int64_t k)
{
    return o * w->stride[axis] + k * w->dilation[axis] - w->pad[axis];
}

static inline int rlx_window_inside(const rlx_conv_window_t *w, int axis, int64_t cell) { return cell >= 0 && cell < w->in[axis]; }

static inline int64_t rlx_window_clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

/* Which i of [0, n) have first + i * step inside [0, extent): [*out_lo, *out_hi), possibly empty. step > 0. */
static inline void rlx_window_range(int64_t first, int64_t step, int64_t extent, int64_t n, int64_t *out_lo, int64_t *out_hi)
{
    int64_t lo = first >= 0 ? 0 : (-first + step - 1) / step;
    int64_t hi = first >= extent ? 0 : (extent - first + step - 1) / step;

    *out_lo = rlx_window_clamp(lo, 0, n);
    *out_hi = rlx_window_clamp(hi, *out_lo, n);
}

/* Kernel cells k of [0, kernel) that meet the input, from output cell o: [*out_lo, *out_hi). */
static inline void rlx_window_kernel_range(const rlx_conv_window_t *w, int axis, int64_t o, int64_t *out_lo, int64_t *out_hi)
{
    rlx_window_range(o * w->stride[axis] - w->pad[axis], w->dilation[axis], w->in[axis], w->kernel[axis], out_lo, out_hi);
}

/* Kernel cells an average counts along one axis: inside the input, or with `padded` also inside the declared padding, never beyond it. */
static inline int64_t rlx_window_counted(const rlx_conv_window_t *w, int axis, int64_t o, int padded)
{
    int64_t lo, hi, first = o * w->stride[axis] - w->pad[axis];

    if (padded)
        rlx_window_range(first + w->pad[axis], w->dilation[axis], w->pad[axis] + w->in[axis] + w->pad_end[axis], w->kernel[axis], &lo, &hi);
    else
        rlx_window_kernel_range(w, axis, o, &lo, &hi);
    return hi - lo;
}

/* Row-major spatial cells of one plane. */
static inline int64_t rlx_window_cells(const int64_t *extents) { return extents[0] * extents[1] * extents[2]; }

#endif
