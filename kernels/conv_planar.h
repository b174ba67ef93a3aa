/* Gathers rows of a row-major image so that a convolution becomes free of padding, stride and dilation: neighbouring outputs read
 * neighbouring floats. Columns of equal remainder by the stride lie together. */
#ifndef RLX_KERNELS_CONV_PLANAR_H
#define RLX_KERNELS_CONV_PLANAR_H

#include "kernels/conv_gather.h"

/* to[i] = x[first + i * step], +0 outside [0, width). */
static inline void conv_planar_row(float *restrict to, const float *restrict x, int64_t first, int64_t step, int64_t columns, int64_t width)
{
    int64_t lo, hi;

    rlx_window_range(first, step, x != NULL ? width : 0, columns, &lo, &hi);
    for (int64_t i = 0; i < lo; i++)
        to[i] = 0;
    if (step == 1)
        for (int64_t i = lo; i < hi; i++)
            to[i] = x[first + i];
    else
        for (int64_t i = lo; i < hi; i++)
            to[i] = x[first + i * step];
    for (int64_t i = hi; i < columns; i++)
        to[i] = 0;
}

/* Both column remainders by a stride of 2 in one pass: even[i] = x[first + 2 * i], odd[i] = x[first + 2 * i + 1], +0 outside. */
static inline void conv_planar_pair(float *restrict even, float *restrict odd, const float *restrict x, int64_t first, int64_t columns, int64_t width)
{
    int64_t lo, hi, i, beyond;

    rlx_window_range(first, 2, x != NULL && width > 1 ? width - 1 : 0, columns, &lo, &hi); /* both inside */
    conv_planar_row(even, x, first, 2, lo, width);
    conv_planar_row(odd, x, first + 1, 2, lo, width);
    for (i = lo; i + 16 <= hi; i += 16) {
        vec16_t a = vec16_load(x + first + 2 * i), b = vec16_load(x + first + 2 * i + 16);

        vec16_store(even + i, __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30));
        vec16_store(odd + i, __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31));
    }
    beyond = columns - i;
    conv_planar_row(even + i, x, first + 2 * i, 2, beyond, width);
    conv_planar_row(odd + i, x, first + 2 * i + 1, 2, beyond, width);
}

/* The steps through the planes of conv_planar_gather, in the order of the chain: blocks of 16 channels, kernel cells, channels of the block. */
static inline void conv_planar_steps(const rlx_conv_window_t *w, int64_t channels, const conv_gather_shape_t *s, int64_t *step)
{
    int64_t channel_step = s->phases * s->variants * s->rows * s->columns, cells = w->kernel[1] * w->kernel[2];

    for (int64_t block = 0; block < channels; block += 16)
        for (int64_t cell = 0; cell < cells; cell++) {
            int64_t h = cell / w->kernel[2] * w->dilation[1], v = cell % w->kernel[2] * w->dilation[2];
            int64_t plane = h % w->stride[1] * s->variants + v % w->stride[2];

            for (int64_t c = block; c < block + 16 && c < channels; c++)
                *step++ = c * channel_step + (plane * s->rows + h / w->stride[1]) * s->columns + v / w->stride[2];
        }
}

/* Planes [channel][row phase][column phase][row][column] of the input rows of the output rows from `row` on, and the steps through them. */
static inline void conv_planar_gather(const rlx_conv_window_t *w, int64_t channels, const float *x, int64_t row,
                                      const conv_gather_shape_t *s, int64_t *step, float *to)
{
    int64_t variant_step = s->rows * s->columns;

    conv_planar_steps(w, channels, s, step);
    for (int64_t c = 0; c < channels; c++, x += w->in[1] * w->in[2])
        for (int64_t phase = 0; phase < s->phases; phase++, to += s->variants * s->rows * s->columns)
            for (int64_t r = 0; r < s->rows; r++) {
                int64_t ih = (row + r) * w->stride[1] + phase - w->pad[1];
                const float *from = rlx_window_inside(w, 1, ih) ? x + ih * w->in[2] : NULL;
                float *row_to = to + r * s->columns;

                if (w->stride[2] == 2 && s->variants == 2)
                    conv_planar_pair(row_to, row_to + variant_step, from, -w->pad[2], s->columns, w->in[2]);
                else
                    for (int64_t variant = 0; variant < s->variants; variant++)
                        conv_planar_row(row_to + variant * variant_step, from, variant - w->pad[2], w->stride[2], s->columns, w->in[2]);
            }
}

/* The same from an image whose pixels hold `pitch` channels each, of which `channels` from x on are gathered. */
static inline void conv_planar_gather_last(const rlx_conv_window_t *w, int64_t pitch, int64_t channels, const float *x, int64_t row,
                                           const conv_gather_shape_t *s, int64_t *step, float *to)
{
    conv_planar_steps(w, channels, s, step);
    for (int64_t c = 0; c < channels; c++, x++)
        for (int64_t phase = 0; phase < s->phases; phase++)
            for (int64_t variant = 0; variant < s->variants; variant++)
                for (int64_t r = 0; r < s->rows; r++, to += s->columns) {
                    int64_t ih = (row + r) * w->stride[1] + phase - w->pad[1], first = variant - w->pad[2], lo, hi;
                    const float *from = x + (ih * w->in[2] + first) * pitch;

                    rlx_window_range(first, w->stride[2], rlx_window_inside(w, 1, ih) ? w->in[2] : 0, s->columns, &lo, &hi);
                    for (int64_t i = 0; i < lo; i++)
                        to[i] = 0;
                    for (int64_t i = lo; i < hi; i++)
                        to[i] = from[i * w->stride[2] * pitch];
                    for (int64_t i = hi; i < s->columns; i++)
                        to[i] = 0;
                }
}

#endif
