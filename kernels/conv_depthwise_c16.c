/* conv_depthwise_c16: one filter per channel, on blocked activations, f32, any kernel, stride, dilation and padding.
 *
 * Same bits as conv_plain: one fma per kernel cell in row-major order, from the bias. One tile is a block of output rows of one channel block; its input
 * rows are gathered first (conv_gather.h), so that every stride reads neighbouring pixels. Weights: RLX_LAYOUT_DW16. */
#include "kernels/conv_gather.h"

#ifdef __AVX512F__
#define DEPTHWISE_PIXELS 14
#else
#define DEPTHWISE_PIXELS 6
#endif

VEC16_INLINE void pixels_run(int n, const conv_source_t *source, const float *x, const float *w, const float *start, float *y)
{
    vec16_t acc[DEPTHWISE_PIXELS];

    VEC16_UNROLL for (int p = 0; p < n; p++)
        acc[p] = vec16_load(start);
    VEC16_NO_UNROLL for (int64_t k = 0; k < source->taps; k++) {
        const float *q = x + source->tap[k];
        vec16_t weight = vec16_load(w + k * 16);

        VEC16_UNROLL for (int p = 0; p < n; p++)
            acc[p] = vec16_fma(vec16_load(q + p * 16), weight, acc[p]);
    }
    VEC16_UNROLL for (int p = 0; p < n; p++)
        vec16_store(y + p * 16, acc[p]);
}

#define DEPTHWISE_CASE(n)                               \
    case n:                                             \
        pixels_run(n, source, x, w, start, y);          \
        break;

static void pixels_call(int64_t n, const conv_source_t *source, const float *x, const float *w, const float *start, float *y)
{
    switch (n) {
        DEPTHWISE_CASE(1) DEPTHWISE_CASE(2) DEPTHWISE_CASE(3) DEPTHWISE_CASE(4) DEPTHWISE_CASE(5) DEPTHWISE_CASE(6)
#ifdef __AVX512F__
        DEPTHWISE_CASE(7) DEPTHWISE_CASE(8) DEPTHWISE_CASE(9) DEPTHWISE_CASE(10) DEPTHWISE_CASE(11) DEPTHWISE_CASE(12)
        DEPTHWISE_CASE(13) DEPTHWISE_CASE(14)
#endif
    }
}

RLX_KERNEL_ENTRY(conv_depthwise_c16)
{
    const rlx_conv_depthwise_c16_params_t *p = (const rlx_conv_depthwise_c16_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;
    int64_t blocks = (p->channels + 15) / 16, row_blocks = (win->out[1] + p->rows - 1) / p->rows, taps = win->kernel[1] * win->kernel[2];
    int64_t in_plane = win->in[1] * win->in[2] * 16, width = win->out[2];
    const float *bias = args->in[2].base;
    float zeros[16] = {0};

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t row = tile % row_blocks * p->rows, plane = tile / row_blocks, block = plane % blocks;
        int64_t rows = row + p->rows < win->out[1] ? p->rows : win->out[1] - row;
        float *y = (float *)args->out[0].base + (plane * win->out[1] + row) * width * 16;
        conv_source_t source;

        conv_gather(win, (const float *)args->in[0].base + plane * in_plane, 1, row, rows, args->scratch, &source);
        int64_t runs = source.flat ? 1 : rows, pixels = source.flat ? rows * width : width;
        int64_t tiles = (pixels + DEPTHWISE_PIXELS - 1) / DEPTHWISE_PIXELS;

        for (int64_t run = 0; run < runs; run++) {
            const float *x = source.x + run * source.pitch * 16;

            for (int64_t i = 0; i < tiles; i++) {
                int64_t n = pixels / tiles + (i < pixels % tiles);

                pixels_call(n, &source, x, (const float *)args->in[1].base + block * taps * 16, bias != NULL ? bias + block * 16 : zeros, y);
                x += n * 16;
                y += n * 16;
            }
        }
    }
}
