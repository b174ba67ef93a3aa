/* Gathers the input rows that a block of output rows needs, so that convolution becomes free of padding, stride and dilation.
 *
 * The result is described by a conv_source_t: output pixel (row, column) meets kernel cell k at
 *     x + block * block_step + tap[k] + (row * pitch + column) * 16.
 * Two forms. Rows: every input column once, columns of equal remainder by the stride together; pitch is the padded row. Flat: one copy
 * per kernel column, pitch is the output width, so that pixels run on across rows (small maps). The taps are stored in scratch before the
 * pixels. */
#ifndef RLX_KERNELS_CONV_GATHER_H
#define RLX_KERNELS_CONV_GATHER_H

#include "kernels/params_conv.h"
#include "kernels/vec16.h"
#include "kernels/window.h"

#define CONV_FLAT_WIDTH 12 /* narrower maps are gathered flat; ir/lower/conv_c16.c sizes scratch by the same rule */

typedef struct conv_source {
    const float *x;
    const int64_t *tap;
    int64_t taps, block_step, pitch;
    int flat;
} conv_source_t;

/* How scratch is laid out: [block][row phase][variant][rows][columns][16]. */
typedef struct conv_gather_shape {
    int64_t phases;   /* remainders of an input row by the stride */
    int64_t variants; /* column remainders, or kernel columns when flat */
    int64_t rows, columns;
    int flat;
} conv_gather_shape_t;

static inline int64_t conv_gather_least(int64_t a, int64_t b) { return a < b ? a : b; }

static inline conv_gather_shape_t conv_gather_shape_rows(const rlx_conv_window_t *w, int64_t rows)
{
    int64_t reach_h = (w->kernel[1] - 1) * w->dilation[1], reach_w = (w->kernel[2] - 1) * w->dilation[2];

    return (conv_gather_shape_t){
        .phases = conv_gather_least(w->stride[1], reach_h + 1), .variants = conv_gather_least(w->stride[2], reach_w + 1),
        .rows = rows + reach_h / w->stride[1], .columns = w->out[2] + reach_w / w->stride[2]};
}

static inline conv_gather_shape_t conv_gather_shape(const rlx_conv_window_t *w, int64_t rows)
{
    conv_gather_shape_t s = conv_gather_shape_rows(w, rows);

    if (w->kernel[2] == 1 || w->out[2] < CONV_FLAT_WIDTH) {
        s.flat = 1;
        s.variants = w->kernel[2];
        s.columns = w->out[2];
    }
    return s;
}

static inline int conv_gather_in_place(const rlx_conv_window_t *w)
{
    return w->kernel[1] == 1 && w->kernel[2] == 1 && w->stride[1] == 1 && w->stride[2] == 1 && w->pad[1] == 0 && w->pad[2] == 0 &&
           w->out[1] == w->in[1] && w->out[2] == w->in[2];
}

/* `columns` pixels, the first at input column `first`, `step` apart; `x` NULL: a row of padding. */
static inline void conv_gather_row(float *to, const float *x, int64_t first, int64_t step, int64_t columns, int64_t width)
{
    int64_t lo, hi;

    rlx_window_range(first, step, x != NULL ? width : 0, columns, &lo, &hi);
    for (int64_t i = 0; i < lo; i++)
        vec16_store(to + i * 16, (vec16_t){0});
    for (int64_t i = lo; i < hi; i++)
        vec16_store(to + i * 16, vec16_load(x + (first + i * step) * 16));
    for (int64_t i = hi; i < columns; i++)
        vec16_store(to + i * 16, (vec16_t){0});
}

static inline void conv_gather_taps(const rlx_conv_window_t *w, const conv_gather_shape_t *s, int64_t *tap)
{
    for (int64_t kh = 0; kh < w->kernel[1]; kh++)
        for (int64_t kw = 0; kw < w->kernel[2]; kw++) {
            int64_t h = kh * w->dilation[1], v = kw * w->dilation[2];
            int64_t variant = s->flat ? kw : v % w->stride[2], shift = s->flat ? 0 : v / w->stride[2];

            tap[kh * w->kernel[2] + kw] =
                (((h % w->stride[1] * s->variants + variant) * s->rows + h / w->stride[1]) * s->columns + shift) * 16;
        }
}

/* Gathered row `index` of one block, in the order of the layout above: reads the block's plane at x, writes at the block's place `to`. */
static inline void conv_gather_line(const rlx_conv_window_t *w, const conv_gather_shape_t *s, const float *x, int64_t row,
                                    int64_t index, float *to)
{
    int64_t r = index % s->rows, variant = index / s->rows % s->variants, phase = index / s->rows / s->variants;
    int64_t ih = (row + r) * w->stride[1] + phase - w->pad[1], first = variant * (s->flat ? w->dilation[2] : 1) - w->pad[2];

    conv_gather_row(to + index * s->columns * 16, rlx_window_inside(w, 1, ih) ? x + ih * w->in[2] * 16 : NULL, first, w->stride[2],
                    s->columns,
                    w->in[2]);
}

/* The source for gathered pixels at x, in the shape `s`; the taps go to `tap`. */
static inline conv_source_t conv_gather_source(const rlx_conv_window_t *w, const conv_gather_shape_t *s, int64_t *tap, const float *x)
{
    conv_gather_taps(w, s, tap);
    return (conv_source_t){.x = x, .tap = tap, .taps = w->kernel[1] * w->kernel[2],
                           .block_step = s->phases * s->variants * s->rows * s->columns * 16, .pitch = s->columns, .flat = s->flat};
}

/* Gathers rows [row, row + rows) of the output into scratch; `x` is the first of `blocks` input blocks. In place where nothing is to do. */
static inline void conv_gather(const rlx_conv_window_t *w, const float *x, int64_t blocks, int64_t row, int64_t rows, void *scratch,
                               conv_source_t *out)
{
    conv_gather_shape_t s = conv_gather_shape(w, rows);
    int64_t plane = w->in[1] * w->in[2] * 16, lines = s.phases * s.variants * s.rows;
    float *to = (float *)((int64_t *)scratch + (w->kernel[1] * w->kernel[2] + 7) / 8 * 8);

    *out = conv_gather_source(w, &s, scratch, to);
    if (conv_gather_in_place(w)) {
        out->x = x + row * w->in[2] * 16;
        out->block_step = plane;
        return;
    }
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t line = 0; line < lines; line++)
            conv_gather_line(w, &s, x + b * plane, row, line, to + b * out->block_step);
}

#endif
