/* deform_conv: convolution whose taps are moved by offsets, sampled bilinearly, and scaled by a mask. Row-major, two spatial axes.
 *
 * A tap at (h, w) blends the four cells around it; cells outside the input are 0, and a tap at or beyond one cell outside is 0.
 * Weights of the blend: (1 - fh)(1 - fw), (1 - fh) fw, fh (1 - fw), fh fw, added in that order. The chain of an output is
 * conv_plain's. f32 (f64 for f64), one rounding at the end. One tile is one row of the output. */
#include "kernels/number.h"
#include "kernels/segment.h"
#include "kernels/window.h"

typedef struct deform_place {
    const rlx_deform_conv_params_t *p;
    const rlx_kernel_args_t *args;
    int64_t n, o, oh, ow;
} deform_place_t;

static int64_t operand_at(const rlx_deform_conv_params_t *p, int64_t n, int64_t group, int64_t cell, int64_t per_cell, int64_t oh,
                          int64_t ow)
{
    int64_t cells = p->window.kernel[1] * p->window.kernel[2];

    return (((n * p->offset_group + group) * cells * per_cell + cell) * p->window.out[1] + oh) * p->window.out[2] + ow;
}

#define DEFORM_DEFINE(A, suffix, load, fma)                                                                                       \
    static A value_##suffix(int64_t dtype, const void *x, int64_t at)                                                                \
    {                                                                                                                                \
        A v;                                                                                                                         \
        load(dtype, x, at, 1, 1, &v);                                                                                                \
        return v;                                                                                                                    \
    }                                                                                                                                \
    static A cell_##suffix(const rlx_deform_conv_params_t *p, const void *x, int64_t plane, int64_t h, int64_t w)                    \
    {                                                                                                                                \
        const int64_t *in = p->window.in;                                                                                            \
        return h < 0 || w < 0 || h >= in[1] || w >= in[2] ? 0 : value_##suffix(p->dtype, x, (plane * in[1] + h) * in[2] + w);        \
    }                                                                                                                                \
    static A sample_##suffix(const rlx_deform_conv_params_t *p, const void *x, int64_t plane, A h, A w)                              \
    {                                                                                                                                \
        if (!(h > -1 && w > -1 && h < (A)p->window.in[1] && w < (A)p->window.in[2]))                                                 \
            return 0;                                                                                                                \
        int64_t h0 = (int64_t)(h + 1) - 1, w0 = (int64_t)(w + 1) - 1; /* floor: both sums are positive */                           \
        A fh = h - (A)h0, fw = w - (A)w0, sum;                                                                                       \
        sum = (1 - fh) * (1 - fw) * cell_##suffix(p, x, plane, h0, w0);                                                              \
        sum += (1 - fh) * fw * cell_##suffix(p, x, plane, h0, w0 + 1);                                                               \
        sum += fh * (1 - fw) * cell_##suffix(p, x, plane, h0 + 1, w0);                                                               \
        return sum + fh * fw * cell_##suffix(p, x, plane, h0 + 1, w0 + 1);                                                           \
    }                                                                                                                                \
    static A tap_##suffix(const deform_place_t *at, int64_t c, int64_t kh, int64_t kw)                                               \
    {                                                                                                                                \
        const rlx_deform_conv_params_t *p = at->p;                                                                                   \
        int64_t group = c / (p->channels / p->offset_group), cell = kh * p->window.kernel[2] + kw;                                   \
        const void *offset = at->args->in[2].base, *mask = at->args->in[4].base;                                                     \
        A dh = value_##suffix(p->dtype, offset, operand_at(p, at->n, group, 2 * cell, 2, at->oh, at->ow));                           \
        A dw = value_##suffix(p->dtype, offset, operand_at(p, at->n, group, 2 * cell + 1, 2, at->oh, at->ow));                       \
        A v = sample_##suffix(p, at->args->in[0].base, at->n * p->channels + c, (A)rlx_window_cell(&p->window, 1, at->oh, kh) + dh,  \
                              (A)rlx_window_cell(&p->window, 2, at->ow, kw) + dw);                                                   \
        return mask == NULL ? v : v * value_##suffix(p->dtype, mask, operand_at(p, at->n, group, cell, 1, at->oh, at->ow));          \
    }                                                                                                                                \
    static A weight_##suffix(const deform_place_t *at, int64_t c, int64_t cell)                                                      \
    {                                                                                                                                \
        const rlx_deform_conv_params_t *p = at->p;                                                                                   \
        int64_t per_group = p->channels / p->group;                                                                                  \
        return value_##suffix(p->dtype, at->args->in[1].base, (at->o * per_group + c) * p->window.kernel[1] * p->window.kernel[2] + cell); \
    }                                                                                                                                \
    static A segment_##suffix(const deform_place_t *at, A acc, int64_t begin, int64_t end)                                           \
    {                                                                                                                                \
        const rlx_deform_conv_params_t *p = at->p;                                                                                   \
        const int64_t *kernel = p->window.kernel;                                                                                    \
        int64_t per_group = p->channels / p->group, first = at->o / (p->outputs / p->group) * per_group;                             \
        for (int64_t block = begin; block < end; block += 16)                                                                        \
            for (int64_t cell = 0; cell < kernel[1] * kernel[2]; cell++)                                                             \
                for (int64_t c = block; c < block + 16 && c < end; c++)                                                              \
                    acc = fma(tap_##suffix(at, first + c, cell / kernel[2], cell % kernel[2]), weight_##suffix(at, c, cell), acc);   \
        return acc;                                                                                                                  \
    }                                                                                                                                \
    static A output_##suffix(const deform_place_t *at)                                                                               \
    {                                                                                                                                \
        const rlx_deform_conv_params_t *p = at->p;                                                                                   \
        int64_t per_group = p->channels / p->group, step = 16 * rlx_segment_blocks_conv(&p->window);                                 \
        A total = at->args->in[3].base != NULL ? value_##suffix(p->dtype, at->args->in[3].base, at->o) : 0;                          \
        total = segment_##suffix(at, total, 0, step < per_group ? step : per_group);                                                 \
        for (int64_t c = step; c < per_group; c += step)                                                                             \
            total += segment_##suffix(at, 0, c, c + step < per_group ? c + step : per_group);                                        \
        return total;                                                                                                                \
    }
DEFORM_DEFINE(float, f32, rlx_number_load_f32, __builtin_fmaf)
DEFORM_DEFINE(double, f64, rlx_number_load_f64, __builtin_fma)

RLX_KERNEL_ENTRY(deform_conv)
{
    const rlx_deform_conv_params_t *p = (const rlx_deform_conv_params_t *)args->param;
    const int64_t *out = p->window.out;

    for (int64_t tile = tile_begin; tile < tile_end; tile++)
        for (int64_t ow = 0; ow < out[2]; ow++) {
            deform_place_t at = {.p = p, .args = args, .n = tile / out[1] / p->outputs, .o = tile / out[1] % p->outputs,
                                 .oh = tile % out[1], .ow = ow};

            if (p->dtype == RLX_KD_F64) {
                double v = output_f64(&at);
                rlx_number_store_f64(p->dtype, args->out[0].base, tile * out[2] + ow, 1, 1, &v);
            } else {
                float v = output_f32(&at);
                rlx_number_store_f32(p->dtype, args->out[0].base, tile * out[2] + ow, 1, 1, &v);
            }
        }
}
