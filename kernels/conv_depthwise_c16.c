/* conv_depthwise_c16: one filter per channel, on blocked activations, f32, any kernel, stride, dilation and padding.
 *
 * Same bits as conv_plain: one fma per kernel cell in row-major order, from the bias; cells outside the input are +0 factors. One tile
 * of work is a block of output rows of one channel block, cut into runs of several pixels, straight on the input. Runs that cross the
 * input's left or right edge are *checked*: each column's address is chosen between the input and a vector of zeros. Weights:
 * RLX_LAYOUT_DW16. */
#include "kernels/conv_finish.h"
#include "kernels/window.h"

#ifdef __AVX512F__
#define PIXELS 8
/* Load each input column once for all kernel columns; else weights once for all pixels: fewer registers. */
#define COLUMNS_ONCE(width) 1
#else
#define PIXELS 4
#define COLUMNS_ONCE(width) ((width) == 3)
#endif

typedef struct depthwise {
    const rlx_conv_window_t *window;
    const conv_finish_t *finish;
    const float *x; /* the input plane */
    const float *w; /* [kernel row][kernel column][16] */
    const float *start, *zeros;
    int64_t ih;     /* input row of kernel row 0; may lie outside */
} depthwise_t;

/* A run: its first output pixel is y, input column of kernel column 0 for that pixel is iw. Both come in registers (kernels/conv_tile.h). */

/* Input row of kernel row kh at the run's first column, or NULL outside. */
VEC16_INLINE const float *row_of(const depthwise_t *t, int64_t iw, int64_t kh)
{
    int64_t ih = t->ih + kh * t->window->dilation[1];

    return rlx_window_inside(t->window, 1, ih) ? t->x + (ih * t->window->in[2] + iw) * 16 : NULL;
}

VEC16_INLINE void run_finish(int n, const depthwise_t *t, float *y, vec16_t *acc)
{
    const float *residual = conv_finish_residual(t->finish, y);
    vec16_t lo = vec16_splat(t->finish->lo), hi = vec16_splat(t->finish->hi);

    if (residual != NULL)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            acc[p] += vec16_load(residual + p * 16);
    if (t->finish->end == CONV_FINISH_CLAMP) {
        VEC16_UNROLL for (int p = 0; p < n; p++) { /* one by one: kernels/vec16_tile.h */
            vec16_store(y + p * 16, vec16_min(hi, vec16_max(lo, acc[p])));
            VEC16_FENCE();
        }
        return;
    }
    if (t->finish->end == CONV_FINISH_HARD_SWISH)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            acc[p] = conv_finish_hard_swish(acc[p], t->finish->affine);
    VEC16_UNROLL for (int p = 0; p < n; p++)
        vec16_store(y + p * 16, acc[p]);
}

/* Column `at` of the row whose column iw stands at x. */
VEC16_INLINE vec16_t column_load(const depthwise_t *t, int64_t iw, int checked, const float *x, int64_t at)
{
    const float *from = x + at * 16;

    if (checked)
        from = (uint64_t)(iw + at) < (uint64_t)t->window->in[2] ? from : t->zeros;
    return vec16_load(from);
}

/* Whether column q of a checked run may lie outside: every pixel's window touches the input (run_call). */
VEC16_INLINE int column_unsure(int n, int width, int stride, int q) { return q < width - 1 || q > (n - 1) * stride; }

/* A row of `width` kernel cells, dilation 1: input column q meets pixel p through kernel column q - p * stride. */
VEC16_INLINE void row_fixed(int n, int width, int stride, int checked, const depthwise_t *t, int64_t iw, const float *x, const float *w,
                            vec16_t *acc)
{
    if (COLUMNS_ONCE(width)) {
        vec16_t weight[5];

        VEC16_UNROLL for (int kw = 0; kw < width; kw++) {
            weight[kw] = vec16_load(w + kw * 16);
            VEC16_SETTLE(weight[kw]); /* in a register: else it is loaded again for every pixel */
        }
        VEC16_UNROLL for (int q = 0; q < (n - 1) * stride + width; q++) {
            vec16_t v = column_load(t, iw, checked && column_unsure(n, width, stride, q), x, q);

            VEC16_UNROLL for (int kw = 0; kw < width; kw++)
                if (q >= kw && (q - kw) % stride == 0 && (q - kw) / stride < n)
                    acc[(q - kw) / stride] = vec16_fma(v, weight[kw], acc[(q - kw) / stride]);
        }
    } else {
        VEC16_UNROLL for (int kw = 0; kw < width; kw++) {
            vec16_t weight = vec16_load(w + kw * 16);

            VEC16_UNROLL for (int p = 0; p < n; p++) {
                int q = p * stride + kw;

                acc[p] = vec16_fma(column_load(t, iw, checked && column_unsure(n, width, stride, q), x, q), weight, acc[p]);
            }
            VEC16_FENCE();
        }
    }
}

VEC16_INLINE void row_any(int n, const depthwise_t *t, int64_t iw, const float *x, const float *w, vec16_t *acc)
{
    const rlx_conv_window_t *window = t->window;

    VEC16_NO_UNROLL for (int64_t kw = 0; kw < window->kernel[2]; kw++) {
        vec16_t weight = vec16_load(w + kw * 16);

        VEC16_UNROLL for (int p = 0; p < n; p++)
            acc[p] = vec16_fma(column_load(t, iw, 1, x, p * window->stride[2] + kw * window->dilation[2]), weight, acc[p]);
    }
}

/* A kernel row outside the input. */
VEC16_INLINE void row_padding(int n, int64_t width, const float *w, vec16_t *acc)
{
    VEC16_NO_UNROLL for (int64_t kw = 0; kw < width; kw++)
        VEC16_UNROLL for (int p = 0; p < n; p++)
            acc[p] = vec16_fma((vec16_t){0}, vec16_load(w + kw * 16), acc[p]);
}

/* `width` 0: any kernel. */
VEC16_INLINE void run_pixels(int n, int width, int stride, int checked, const depthwise_t *t, float *y, int64_t iw)
{
    vec16_t acc[PIXELS];
    const float *w = t->w;

    VEC16_UNROLL for (int p = 0; p < n; p++)
        acc[p] = vec16_load(t->start);
    VEC16_NO_UNROLL for (int64_t kh = 0; kh < t->window->kernel[1]; kh++, w += t->window->kernel[2] * 16) {
        const float *x = row_of(t, iw, kh);

        if (x == NULL)
            row_padding(n, t->window->kernel[2], w, acc);
        else if (width != 0)
            row_fixed(n, width, stride, checked, t, iw, x, w, acc);
        else
            row_any(n, t, iw, x, w, acc);
    }
    run_finish(n, t, y, acc);
}

#define RUN_CASE(n, width, stride, checked)       \
    case n:                                              \
        run_pixels(n, width, stride, checked, t, y, iw); \
        break;
#ifdef __AVX512F__
#define RUN_MORE(width, stride, checked)                                                                \
    RUN_CASE(5, width, stride, checked) RUN_CASE(6, width, stride, checked) RUN_CASE(7, width, stride, checked) \
    RUN_CASE(8, width, stride, checked)
#else
#define RUN_MORE(width, stride, checked)
#endif
#define RUN_DEFINE(name, width, stride, checked)                                                                                   \
    static __attribute__((noinline)) void name(int64_t n, const depthwise_t *t, float *y, int64_t iw)                              \
    {                                                                                                                              \
        switch (n) {                                                                                                               \
            RUN_CASE(1, width, stride, checked) RUN_CASE(2, width, stride, checked) RUN_CASE(3, width, stride, checked)            \
            RUN_CASE(4, width, stride, checked) RUN_MORE(width, stride, checked)                                                   \
        }                                                                                                                          \
    }
RUN_DEFINE(run_3x1, 3, 1, 0)
RUN_DEFINE(run_3x2, 3, 2, 0)
RUN_DEFINE(run_5x1, 5, 1, 0)
RUN_DEFINE(run_5x2, 5, 2, 0)
RUN_DEFINE(run_3x1_checked, 3, 1, 1)
RUN_DEFINE(run_3x2_checked, 3, 2, 1)
RUN_DEFINE(run_5x1_checked, 5, 1, 1)
RUN_DEFINE(run_5x2_checked, 5, 2, 1)
RUN_DEFINE(run_any, 0, 0, 1)

static void run_call(int64_t n, const depthwise_t *t, float *y, int64_t iw)
{
    const rlx_conv_window_t *window = t->window;
    int64_t width = window->kernel[2], stride = window->stride[2];
    int checked = iw < 0 || iw + (n - 1) * stride + width > window->in[2];

    int touches = iw + width > 0 && iw + (n - 1) * stride < window->in[2];

    if (window->dilation[2] != 1 || (width != 3 && width != 5) || stride > 2 || !touches)
        run_any(n, t, y, iw);
    else if (width == 3 && stride == 1)
        checked ? run_3x1_checked(n, t, y, iw) : run_3x1(n, t, y, iw);
    else if (width == 3)
        checked ? run_3x2_checked(n, t, y, iw) : run_3x2(n, t, y, iw);
    else if (stride == 1)
        checked ? run_5x1_checked(n, t, y, iw) : run_5x1(n, t, y, iw);
    else
        checked ? run_5x2_checked(n, t, y, iw) : run_5x2(n, t, y, iw);
}

static void row_run(const depthwise_t *t, float *y)
{
    const rlx_conv_window_t *window = t->window;
    int64_t runs = (window->out[2] + PIXELS - 1) / PIXELS, ow = 0;

    for (int64_t i = 0; i < runs; i++) {
        int64_t n = window->out[2] / runs + (i < window->out[2] % runs);

        run_call(n, t, y + ow * 16, rlx_window_cell(window, 2, ow, 0));
        ow += n;
    }
    conv_finish_rest(t->finish, y, window->out[2] * 16);
}

RLX_KERNEL_ENTRY(conv_depthwise_c16)
{
    const rlx_conv_depthwise_c16_params_t *p = (const rlx_conv_depthwise_c16_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;
    int64_t blocks = (p->channels + 15) / 16, row_blocks = (win->out[1] + p->rows - 1) / p->rows, taps = win->kernel[1] * win->kernel[2];
    float zeros[16] = {0};
    conv_finish_t finish;
    depthwise_t t = {.window = win, .finish = &finish, .zeros = zeros};

    conv_finish_make(&p->epilogue, args, &finish);
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t block = tile % blocks, place = tile / blocks, row = place % row_blocks * p->rows, plane = place / row_blocks * blocks + block;
        int64_t end = row + p->rows < win->out[1] ? row + p->rows : win->out[1];

        t.x = (const float *)args->in[0].base + plane * (win->in[1] * win->in[2] * 16);
        t.w = (const float *)args->in[1].base + block * taps * 16;
        t.start = args->in[2].base != NULL ? (const float *)args->in[2].base + block * 16 : zeros;
        for (int64_t oh = row; oh < end; oh++) {
            t.ih = rlx_window_cell(win, 1, oh, 0);
            row_run(&t, (float *)args->out[0].base + (plane * win->out[1] + oh) * win->out[2] * 16);
        }
    }
}
