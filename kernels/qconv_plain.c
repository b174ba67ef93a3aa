/* qconv_plain, qmatmul_plain: the definitions of the quantised convolution and product. Sums are exact modulo 2^32, so their order does
 * not matter. */
#include "kernels/params_quant.h"
#include "kernels/quant_round.h"
#include "kernels/window.h"

typedef struct plain_work {
    const rlx_qconv_plain_params_t *p;
    const uint8_t *x;
    const int16_t *w;
    int32_t point;
} plain_work_t;

static int32_t element(const plain_work_t *work, int64_t at) { return work->x[at] - work->point; }

/* Products of one channel: its input plane starts at x, its kernel at w. */
static uint32_t channel_sum(const plain_work_t *work, const int64_t o[3], int64_t x, const int16_t *w)
{
    const rlx_conv_window_t *win = &work->p->window;
    uint32_t sum = 0;

    for (int64_t kd = 0; kd < win->kernel[0]; kd++)
        for (int64_t kh = 0; kh < win->kernel[1]; kh++)
            for (int64_t kw = 0; kw < win->kernel[2]; kw++, w++) {
                int64_t d = rlx_window_cell(win, 0, o[0], kd), h = rlx_window_cell(win, 1, o[1], kh), v = rlx_window_cell(win, 2, o[2], kw);

                if (rlx_window_inside(win, 0, d) && rlx_window_inside(win, 1, h) && rlx_window_inside(win, 2, v))
                    sum += (uint32_t)(element(work, x + (d * win->in[1] + h) * win->in[2] + v) * *w);
            }
    return sum;
}

static void result_store(const rlx_kernel_args_t *args, const rlx_quant_finish_t *f, int64_t output, int64_t at, int32_t sum)
{
    const float *scale = args->in[3].base, *factor = args->in[5].base, *bias = args->in[6].base;
    float s = scale != NULL ? scale[output] : 1, v;

    if (f->result == RLX_QUANT_SUMS) {
        ((int32_t *)args->out[0].base)[at] = sum;
        return;
    }
    if (factor != NULL)
        s *= *factor;
    v = (float)sum * s;
    if (f->result == RLX_QUANT_BYTES)
        ((uint8_t *)args->out[0].base)[at] = quant_byte(v, rlx_param_f32(f->lo), rlx_param_f32(f->hi), (int32_t)f->point);
    else
        ((float *)args->out[0].base)[at] = bias != NULL ? v + bias[output] : v;
}

static plain_work_t work_make(const rlx_kernel_args_t *args)
{
    const rlx_qconv_plain_params_t *p = (const rlx_qconv_plain_params_t *)args->param;
    plain_work_t work = {.p = p, .x = args->in[0].base, .w = args->in[1].base, .point = (int32_t)p->x_point};

    if (args->in[4].base != NULL)
        work.point = p->flip ? *(const int8_t *)args->in[4].base + 128 : *(const uint8_t *)args->in[4].base;
    return work;
}

static uint32_t start_of(const rlx_kernel_args_t *args, int64_t output)
{
    return args->in[2].base != NULL ? ((const uint32_t *)args->in[2].base)[output] : 0;
}

RLX_KERNEL_ENTRY(qconv_plain)
{
    const rlx_qconv_plain_params_t *p = (const rlx_qconv_plain_params_t *)args->param;
    const rlx_conv_window_t *win = &p->window;
    int64_t channels = p->channels / p->group, outputs = p->outputs / p->group, cells = rlx_window_cells(win->kernel);
    int64_t plane = rlx_window_cells(win->in);
    plain_work_t work = work_make(args);

    for (int64_t tile = tile_begin; tile < tile_end; tile++) { /* a row */
        int64_t output = tile / (win->out[0] * win->out[1]) % p->outputs, n = tile / (win->out[0] * win->out[1] * p->outputs);
        int64_t first = (n * p->channels + output / outputs * channels) * plane;

        for (int64_t column = 0; column < win->out[2]; column++) {
            const int64_t o[3] = {tile / win->out[1] % win->out[0], tile % win->out[1], column};
            uint32_t sum = start_of(args, output);

            for (int64_t c = 0; c < channels; c++)
                sum += channel_sum(&work, o, first + c * plane, work.w + (output * channels + c) * cells);
            result_store(args, &p->finish, output, tile * win->out[2] + column, (int32_t)sum);
        }
    }
}

RLX_KERNEL_ENTRY(qmatmul_plain)
{
    const rlx_qmatmul_plain_params_t *p = (const rlx_qmatmul_plain_params_t *)args->param;
    plain_work_t work = work_make(args);

    for (int64_t row = tile_begin; row < tile_end; row++)
        for (int64_t output = 0; output < p->outputs; output++) {
            uint32_t sum = start_of(args, output);

            for (int64_t k = 0; k < p->channels; k++)
                sum += (uint32_t)(element(&work, row * p->channels + k) * work.w[output * p->channels + k]);
            result_store(args, &p->finish, output, row * p->outputs + output, (int32_t)sum);
        }
}
