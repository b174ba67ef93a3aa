/* Winograd's F(2,3) and F(4,3): a 3x3 convolution of stride 1, or with F(2,3) of stride 2, by patches of m x m outputs. ir/op_list.h
 * ("winograd") has the definition; these are its one-dimensional transforms, once for one number and once for sixteen lanes: the same
 * operations in the same order.
 *
 * Points 0, 1, -1 and infinity for m = 2; 0, 1, -1, 1/2, -2 and infinity for m = 4, whose largest error is half of that of the usual
 * +-1, +-2. Stride 2 takes the first and last column of the filter as F(2,2) with points 0, 1 and infinity on every second input column, and
 * the middle one as it is on the others; so for rows. The grid of patches is anchored at output (0, 0) of every image; patch index =
 * (image * rows of patches + row) * columns of patches + column. */
#ifndef RLX_KERNELS_WINOGRAD_H
#define RLX_KERNELS_WINOGRAD_H

#include "kernels/params_conv.h"
#include "kernels/segment.h"
#include "kernels/vec16.h"
#include "kernels/winograd_shape.h"

#define WINOGRAD_INLINE VEC16_INLINE
#define WINOGRAD_SIDE_MAX 6
#define WINOGRAD_TAPS_MAX (WINOGRAD_SIDE_MAX * WINOGRAD_SIDE_MAX)
#define WINOGRAD_GROUP 2 /* output-channel blocks that stand together in packed filters */

/* The cells that winograd_input_tap takes. */
static const int8_t winograd_cells[6][2] = {{0, 2}, {2, 3}, {2, 3}, {2, 3}, {2, 3}, {5, 3}};

#define WINOGRAD_T float
#define WINOGRAD(name) winograd_##name
#define WINOGRAD_FMA(constant, a, b) __builtin_fmaf(constant, a, b)
#include "kernels/winograd_type.h"

#define WINOGRAD_T vec16_t
#define WINOGRAD(name) winograd_##name##_16
#define WINOGRAD_FMA(constant, a, b) vec16_fma(vec16_splat(constant), a, b)
#include "kernels/winograd_type.h"

static inline int64_t winograd_least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t winograd_rows(const rlx_conv_window_t *w, int64_t m) { return (w->out[1] + m - 1) / m; }
static inline int64_t winograd_columns(const rlx_conv_window_t *w, int64_t m) { return (w->out[2] + m - 1) / m; }

/* Patches side by side: `count` of them, the first with its first output at (row, column) of image n. */
typedef struct winograd_run {
    int64_t n, row, column, count;
} winograd_run_t;

/* The longest run that begins with patch `index` and has at most `most` patches. */
static inline winograd_run_t winograd_run_at(const rlx_conv_window_t *w, int64_t m, int64_t index, int64_t most)
{
    int64_t rows = winograd_rows(w, m), columns = winograd_columns(w, m), column = index % columns;

    return (winograd_run_t){.n = index / columns / rows, .row = index / columns % rows * m, .column = column * m,
                            .count = winograd_least(columns - column, most)};
}

/* Transformed input of a block of patches: [tap][input-channel block][patch][16], floats from tap to tap. The further line keeps taps
 * from meeting in the same cache sets. */
static inline int64_t winograd_tap_step(int64_t channel_blocks, int64_t patches) { return (channel_blocks * patches + 1) * 16; }

#endif
