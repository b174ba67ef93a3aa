/* qdepthwise: one filter per channel on blocked bytes. A row block's input is widened to f32 once, less its zero point and with zeros for
 * padding; the products' sums are fma chains whose every value is a whole number below 2^24 (the compiler checks the weights), hence exact. */
#include "kernels/params_quant.h"
#include "kernels/quant_round.h"
#include "kernels/window.h"

#ifdef __AVX512F__
#define DEPTHWISE_PIXELS 8
#else
#define DEPTHWISE_PIXELS 4
#endif

typedef struct depthwise {
    const rlx_qdepthwise_params_t *p;
    const float *w;           /* [cell][16] */
    const float *x;           /* scratch: [rows][columns][16] */
    int64_t columns;
    quant_i32_t start;
    vec16_t scale, bias;
    int has_bias;
} depthwise_t;

static void widen_row(float *to, const uint8_t *x, const rlx_conv_window_t *w, int64_t columns, int32_t point)
{
    quant_i32_t points = {0};
    int64_t lo, hi;

    rlx_window_range(-w->pad[2], 1, x != NULL ? w->in[2] : 0, columns, &lo, &hi);
    points += point;
    for (int64_t i = 0; i < lo; i++)
        vec16_store(to + i * 16, (vec16_t){0});
    for (int64_t i = lo; i < hi; i++)
        vec16_store(to + i * 16, quant_floats(quant_widen(*(const quant_u8_t *)(x + (i - w->pad[2]) * 16)) - points));
    for (int64_t i = hi; i < columns; i++)
        vec16_store(to + i * 16, (vec16_t){0});
}

VEC16_INLINE void depthwise_store(const depthwise_t *d, void *y, int64_t at, vec16_t products)
{
    const rlx_quant_finish_t *f = &d->p->finish;
    quant_i32_t whole = __builtin_convertvector(products, quant_i32_t) + d->start;
    vec16_t sum = quant_floats(whole);

    if (f->result == RLX_QUANT_SUMS)
        *(quant_i32_t *)((int32_t *)y + at) = whole;
    else if (f->result == RLX_QUANT_BYTES)
        *(quant_u8_t *)((uint8_t *)y + at) =
            quant_narrow(quant_bytes_lanes(sum * d->scale, rlx_param_f32(f->lo), rlx_param_f32(f->hi), (int32_t)f->point));
    else
        vec16_store((float *)y + at, d->has_bias ? sum * d->scale + d->bias : sum * d->scale);
}

VEC16_INLINE void depthwise_pixels(const depthwise_t *d, int n, const float *x, void *y, int64_t at)
{
    const rlx_conv_window_t *w = &d->p->window;
    int64_t step = w->stride[2] * 16;
    const float *weight = d->w;
    vec16_t sum[DEPTHWISE_PIXELS];

    VEC16_UNROLL for (int i = 0; i < n; i++)
        sum[i] = (vec16_t){0};
    for (int64_t kh = 0; kh < w->kernel[1]; kh++) {
        const float *row = x + kh * w->dilation[1] * d->columns * 16;

        VEC16_NO_UNROLL for (int64_t kw = 0; kw < w->kernel[2]; kw++, row += w->dilation[2] * 16, weight += 16) {
            vec16_t v = vec16_load(weight);

            VEC16_UNROLL for (int i = 0; i < n; i++)
                sum[i] = vec16_fma(vec16_load(row + i * step), v, sum[i]);
        }
    }
    VEC16_UNROLL for (int i = 0; i < n; i++)
        depthwise_store(d, y, at + i * 16, sum[i]);
}

static void depthwise_row(const depthwise_t *d, const float *x, void *y, int64_t at)
{
    const rlx_conv_window_t *w = &d->p->window;
    int64_t i = 0, step = w->stride[2] * 16;

    for (; i + DEPTHWISE_PIXELS <= w->out[2]; i += DEPTHWISE_PIXELS)
        depthwise_pixels(d, DEPTHWISE_PIXELS, x + i * step, y, at + i * 16);
    for (; i + 2 <= w->out[2]; i += 2)
        depthwise_pixels(d, 2, x + i * step, y, at + i * 16);
    for (; i < w->out[2]; i++)
        depthwise_pixels(d, 1, x + i * step, y, at + i * 16);
}

/* Weights, starts and scales of one channel block. */
static void depthwise_block(depthwise_t *d, const rlx_kernel_args_t *args, int64_t block)
{
    const rlx_conv_window_t *w = &d->p->window;
    float factor = args->in[5].base != NULL ? *(const float *)args->in[5].base : 1;

    d->w = (const float *)args->in[1].base + block * w->kernel[1] * w->kernel[2] * 16;
    d->start = *(const quant_i32_t *)((const int32_t *)args->in[2].base + block * 16);
    d->scale = args->in[3].base != NULL ? vec16_load((const float *)args->in[3].base + block * 16) : vec16_splat(1);
    if (args->in[5].base != NULL)
        d->scale *= vec16_splat(factor);
    d->has_bias = args->in[6].base != NULL;
    d->bias = d->has_bias ? vec16_load((const float *)args->in[6].base + block * 16) : vec16_splat(0);
}

RLX_KERNEL_ENTRY(qdepthwise)
{
    const rlx_qdepthwise_params_t *p = (const rlx_qdepthwise_params_t *)args->param;
    const rlx_conv_window_t *w = &p->window;
    int64_t blocks = (p->channels + 15) / 16, row_blocks = (w->out[1] + p->rows - 1) / p->rows;
    int64_t reach = (w->kernel[1] - 1) * w->dilation[1];
    depthwise_t d = {.p = p, .x = args->scratch, .columns = (w->out[2] - 1) * w->stride[2] + (w->kernel[2] - 1) * w->dilation[2] + 1};
    int32_t point = (int32_t)p->x_point;

    if (args->in[4].base != NULL)
        point = p->flip ? *(const int8_t *)args->in[4].base + 128 : *(const uint8_t *)args->in[4].base;
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        int64_t plane = tile / row_blocks, row = tile % row_blocks * p->rows, rows = w->out[1] - row < p->rows ? w->out[1] - row : p->rows;
        const uint8_t *x = (const uint8_t *)args->in[0].base + plane * w->in[1] * w->in[2] * 16;

        depthwise_block(&d, args, plane % blocks);
        for (int64_t i = 0; i < (rows - 1) * w->stride[1] + reach + 1; i++) {
            int64_t ih = row * w->stride[1] + i - w->pad[1];

            widen_row((float *)args->scratch + i * d.columns * 16, rlx_window_inside(w, 1, ih) ? x + ih * w->in[2] * 16 : NULL, w, d.columns,
                      point);
        }
        for (int64_t i = 0; i < rows; i++)
            depthwise_row(&d, d.x + i * w->stride[1] * d.columns * 16, args->out[0].base, (plane * w->out[1] + row + i) * w->out[2] * 16);
    }
}
