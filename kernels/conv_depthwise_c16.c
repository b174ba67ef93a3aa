/* conv_depthwise_c16: one filter per channel, on blocked activations, f32, any kernel, stride, dilation and padding.
 *
 * Same bits as conv_plain: one fma per kernel cell in row-major order, from the bias. One tile is a block of output rows of one channel block; its input
 * rows are gathered first (conv_gather.h), so that every stride reads neighbouring pixels. Weights: RLX_LAYOUT_DW16. */
#include "kernels/conv_finish.h"
#include "kernels/conv_gather.h"

#ifdef __AVX512F__
#define DEPTHWISE_PIXELS 14
#else
#define DEPTHWISE_PIXELS 6
#endif

/* A run of up to DEPTHWISE_PIXELS output pixels. */
typedef struct pixels {
    const conv_source_t *source;
    const float *x, *w, *start;
    float *y;
    const float *residual; /* laid out like y, or NULL */
    const conv_finish_t *finish;
} pixels_t;

VEC16_INLINE void pixels_run(int n, const pixels_t *t)
{
    vec16_t acc[DEPTHWISE_PIXELS];
    const int64_t *tap = t->source->tap;
    int64_t taps = t->source->taps;

    VEC16_UNROLL for (int p = 0; p < n; p++)
        acc[p] = vec16_load(t->start);
    VEC16_NO_UNROLL for (int64_t k = 0; k < taps; k++) {
        const float *q = t->x + tap[k];
        vec16_t weight = vec16_load(t->w + k * 16);

        VEC16_UNROLL for (int p = 0; p < n; p++)
            acc[p] = vec16_fma(vec16_load(q + p * 16), weight, acc[p]);
    }
    if (t->residual != NULL)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            acc[p] += vec16_load(t->residual + p * 16);
    if (t->finish->clamp)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            acc[p] = conv_finish_clamp(acc[p], t->finish->lo, t->finish->hi);
    VEC16_UNROLL for (int p = 0; p < n; p++)
        vec16_store(t->y + p * 16, acc[p]);
}

#define DEPTHWISE_CASE(n) \
    case n:               \
        pixels_run(n, t); \
        break;

static void pixels_call(int64_t n, const pixels_t *t)
{
    switch (n) {
        DEPTHWISE_CASE(1) DEPTHWISE_CASE(2) DEPTHWISE_CASE(3) DEPTHWISE_CASE(4) DEPTHWISE_CASE(5) DEPTHWISE_CASE(6)
#ifdef __AVX512F__
        DEPTHWISE_CASE(7) DEPTHWISE_CASE(8) DEPTHWISE_CASE(9) DEPTHWISE_CASE(10) DEPTHWISE_CASE(11) DEPTHWISE_CASE(12)
        DEPTHWISE_CASE(13) DEPTHWISE_CASE(14)
#endif
    }
}

/* All pixels of a block of rows, whose gathered input is t->source. */
static void rows_run(pixels_t *t, int64_t rows, int64_t width)
{
    int64_t runs = t->source->flat ? 1 : rows, pixels = t->source->flat ? rows * width : width;
    int64_t tiles = (pixels + DEPTHWISE_PIXELS - 1) / DEPTHWISE_PIXELS;

    for (int64_t run = 0; run < runs; run++) {
        t->x = t->source->x + run * t->source->pitch * 16;
        for (int64_t i = 0; i < tiles; i++) {
            int64_t n = pixels / tiles + (i < pixels % tiles);

            t->residual = conv_finish_residual(t->finish, t->y);
            pixels_call(n, t);
            conv_finish_rest(t->finish, t->y, n * 16);
            t->x += n * 16;
            t->y += n * 16;
        }
    }
}

RLX_KERNEL_ENTRY(conv_depthwise_c16)
{
    const rlx_conv_depthwise_c16_params_t *p = (const rlx_conv_depthwise_c16_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;
    int64_t blocks = (p->channels + 15) / 16, row_blocks = (win->out[1] + p->rows - 1) / p->rows, taps = win->kernel[1] * win->kernel[2];
    float zeros[16] = {0};
    conv_source_t source;
    conv_finish_t finish;
    pixels_t t = {.source = &source, .finish = &finish};

    conv_finish_make(&p->epilogue, args, &finish);
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t row = tile % row_blocks * p->rows, plane = tile / row_blocks, block = plane % blocks;
        int64_t rows = row + p->rows < win->out[1] ? p->rows : win->out[1] - row;

        conv_gather(win, (const float *)args->in[0].base + plane * (win->in[1] * win->in[2] * 16), 1, row, rows, args->scratch, &source);
        t.w = (const float *)args->in[1].base + block * taps * 16;
        t.start = args->in[2].base != NULL ? (const float *)args->in[2].base + block * 16 : zeros;
        t.y = (float *)args->out[0].base + (plane * win->out[1] + row) * win->out[2] * 16;
        rows_run(&t, rows, win->out[2]);
    }
}
