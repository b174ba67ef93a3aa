/* Gathered bytes: the input of a convolution laid out so that padding, stride and dilation are gone from the inner loops.
 *
 * Output pixel (row, column) meets kernel cell k at
 *     x + block * block_step + tap[k] + (row * pitch + column) * pixel.
 * The same two forms as kernels/conv_gather.h: rows (every input column once, columns of equal remainder by the stride together) and flat
 * (a copy per kernel column, pixels run on across rows). A pixel is 16 channels, or 4 where there are no more. Padding is x's zero point. */
#ifndef RLX_KERNELS_QUANT_GATHER_H
#define RLX_KERNELS_QUANT_GATHER_H

#include "kernels/params_quant.h"
#include "kernels/window.h"

#define QUANT_FLAT_WIDTH 14 /* narrower maps are gathered flat; ir/quant_blocking.c follows the same rule */

typedef struct quant_source {
    int64_t phases, variants, rows, columns; /* [block][row phase][variant][rows][columns] */
    int64_t pixel, block_step, pitch;
    int flat;
} quant_source_t;

static inline int64_t quant_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The form for all output rows. */
static inline quant_source_t quant_source(const rlx_conv_window_t *w, int64_t pixel)
{
    int64_t reach_h = (w->kernel[1] - 1) * w->dilation[1], reach_w = (w->kernel[2] - 1) * w->dilation[2];
    quant_source_t s = {.phases = quant_least(w->stride[1], reach_h + 1), .variants = quant_least(w->stride[2], reach_w + 1),
                        .rows = w->out[1] + reach_h / w->stride[1], .columns = w->out[2] + reach_w / w->stride[2], .pixel = pixel};

    if (w->kernel[2] == 1 || w->out[2] < QUANT_FLAT_WIDTH) {
        s.flat = 1;
        s.variants = w->kernel[2];
        s.columns = w->out[2];
    }
    s.block_step = s.phases * s.variants * s.rows * s.columns * pixel;
    s.pitch = s.columns;
    return s;
}

/* x is read where it is: 1x1, no stride, no padding. */
static inline quant_source_t quant_source_in_place(const rlx_conv_window_t *w)
{
    return (quant_source_t){.phases = 1, .variants = 1, .rows = w->out[1], .columns = w->out[2], .pixel = 16,
                            .block_step = w->in[1] * w->in[2] * 16, .pitch = w->out[2], .flat = 1};
}

static inline int64_t quant_source_tap(const rlx_conv_window_t *w, const quant_source_t *s, int64_t kh, int64_t kw)
{
    int64_t h = kh * w->dilation[1], v = kw * w->dilation[2];
    int64_t variant = s->flat ? kw : v % w->stride[2], shift = s->flat ? 0 : v / w->stride[2];

    return (((h % w->stride[1] * s->variants + variant) * s->rows + h / w->stride[1]) * s->columns + shift) * s->pixel;
}

#endif
