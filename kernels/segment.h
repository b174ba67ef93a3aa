/* Where a chain of products is cut: the one place that says so. ir/op_list.h ("chain") has the definition.
 *
 * The first segment is one fma chain that starts from the bias (or +0). Every later one is a chain of its own that starts from +0; at its
 * end it is added to the total so far: total = total + segment. Short sums lose fewer bits than one long chain, and a fast kernel pays one
 * addition per output and segment. */
#ifndef RLX_KERNELS_SEGMENT_H
#define RLX_KERNELS_SEGMENT_H

#include "kernels/params_conv.h"

#ifndef RLX_SEGMENT_UNITS
#define RLX_SEGMENT_UNITS 8 /* of 16 products each; of a convolution: 16 channels of one kernel cell */
#endif
#define RLX_SEGMENT_K (16 * RLX_SEGMENT_UNITS) /* products of a segment of matmul, einsum and the recurrent operators */

/* Input-channel blocks of a segment, where an output meets `cells` kernel cells. */
static inline int64_t rlx_segment_blocks(int64_t cells)
{
    return cells < RLX_SEGMENT_UNITS ? RLX_SEGMENT_UNITS / cells : 1;
}

static inline int64_t rlx_segment_blocks_conv(const rlx_conv_window_t *w)
{
    return rlx_segment_blocks(w->kernel[0] * w->kernel[1] * w->kernel[2]);
}

/* Of a transposed convolution: an axis brings ceil(kernel / stride) cells to an output. */
static inline int64_t rlx_segment_blocks_transpose(const rlx_conv_window_t *w)
{
    int64_t cells = 1;

    for (int axis = 0; axis < 3; axis++)
        cells *= (w->kernel[axis] + w->stride[axis] - 1) / w->stride[axis];
    return rlx_segment_blocks(cells);
}

#endif
