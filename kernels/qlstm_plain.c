/* qlstm_plain: the definition of the LSTM on bytes (kernels/params_rnn.h), one direction of one batch item per tile. Steps past an item's
 * length give zero outputs, leave the state alone, and are not part of x's range. */
#include "kernels/quant_dynamic.h"
#include "kernels/rnn_cell.h"

enum { IN_X, IN_W, IN_R, IN_B, IN_LENGTHS, IN_H, IN_C, IN_P, IN_W_SCALE, IN_R_SCALE };
enum { OUT_Y, OUT_H, OUT_C };

typedef struct walk {
    const rlx_kernel_args_t *args;
    const rlx_rnn_cell_t *cell;
    rnn_unit_t_f32 unit;
    int64_t direction, item, length;
    float *bias;
    uint8_t *bytes; /* of x or h */
} walk_t;

/* pre += f32(products of the bytes with every output's weights) * scale. */
static void product(const walk_t *w, const quant_dynamic_t *d, int operand, int64_t width)
{
    int64_t outputs = 4 * w->cell->hidden;
    const int16_t *weight = (const int16_t *)w->args->in[operand].base + w->direction * outputs * width;
    const float *scale = (const float *)w->args->in[operand == IN_W ? IN_W_SCALE : IN_R_SCALE].base + w->direction * outputs;

    for (int64_t o = 0; o < outputs; o++) {
        uint32_t sum = 0;

        for (int64_t k = 0; k < width; k++)
            sum += (uint32_t)((w->bytes[k] - d->point) * weight[o * width + k]);
        w->unit.pre[o] = __builtin_fmaf((float)(int32_t)sum, d->scale * scale[o], w->unit.pre[o]);
    }
}

static const float *x_of(const walk_t *w, int64_t t)
{
    return (const float *)w->args->in[IN_X].base + t * w->cell->x_step + w->item * w->cell->x_batch;
}

static void bias_make(const walk_t *w)
{
    int64_t outputs = 4 * w->cell->hidden;
    const float *b = w->args->in[IN_B].base;

    for (int64_t o = 0; o < outputs; o++)
        w->bias[o] = b != NULL ? b[w->direction * 2 * outputs + o] + b[(w->direction * 2 + 1) * outputs + o] : 0;
}

static void step_run(const walk_t *w, const quant_dynamic_t *x_range, int64_t t)
{
    int64_t n = w->cell->hidden;
    quant_span_t span = {0, 0};
    quant_dynamic_t h_range;

    for (int64_t o = 0; o < 4 * n; o++)
        w->unit.pre[o] = w->bias[o];
    quant_dynamic_run(x_range, x_of(w, t), w->cell->input, w->bytes);
    product(w, x_range, IN_W, w->cell->input);
    quant_span_run(&span, w->unit.h, n);
    h_range = quant_dynamic_of(span);
    quant_dynamic_run(&h_range, w->unit.h, n, w->bytes);
    product(w, &h_range, IN_R, n);
    rnn_lstm_finish_f32(&w->unit);
}

static void state_load(const walk_t *w, int operand, int64_t at, float *to)
{
    const float *from = w->args->in[operand].base;

    for (int64_t i = 0; i < w->cell->hidden; i++)
        to[i] = from != NULL ? from[at + i] : 0;
}

static void store(const walk_t *w, int output, int64_t at, const float *from)
{
    float *to = w->args->out[output].base;

    for (int64_t i = 0; to != NULL && i < w->cell->hidden; i++)
        to[at + i] = from != NULL ? from[i] : 0;
}

static void tile_run(const rlx_kernel_args_t *args, int64_t tile)
{
    const rlx_rnn_cell_t *cell = &((const rlx_qlstm_plain_params_t *)args->param)->cell;
    int64_t n = cell->hidden, d = tile / cell->batch, b = tile % cell->batch, y = d * cell->y_direction + b * cell->y_batch;
    int64_t state = d * cell->h_direction + b * cell->h_batch;
    const float *peephole = args->in[IN_P].base;
    float *s = args->scratch;
    walk_t w = {.args = args, .cell = cell, .direction = d, .item = b, .bias = s, .bytes = (uint8_t *)(s + 11 * n),
                .length = rnn_length(args, cell, args->in[IN_LENGTHS].base, b),
                .unit = {.cell = cell, .direction = d, .pitch = n, .pre = s + 4 * n, .h = s + 8 * n, .c = s + 9 * n, .extra = s + 10 * n,
                         .peephole = peephole != NULL ? peephole + d * 3 * n : NULL}};
    quant_span_t span = {0, 0};
    quant_dynamic_t x_range;

    bias_make(&w);
    state_load(&w, IN_H, state, w.unit.h);
    state_load(&w, IN_C, state, w.unit.c);
    for (int64_t t = 0; t < w.length; t++)
        quant_span_run(&span, x_of(&w, t), cell->input);
    x_range = quant_dynamic_of(span);
    for (int64_t step = 0; step < w.length; step++) {
        int64_t t = rnn_backwards(cell, d) ? w.length - 1 - step : step;

        step_run(&w, &x_range, t);
        store(&w, OUT_Y, y + t * cell->y_step, w.unit.h);
    }
    for (int64_t t = w.length; t < cell->steps; t++)
        store(&w, OUT_Y, y + t * cell->y_step, NULL);
    store(&w, OUT_H, state, w.unit.h);
    store(&w, OUT_C, state, w.unit.c);
}

RLX_KERNEL_ENTRY(qlstm_plain)
{
    for (int64_t tile = tile_begin; tile < tile_end; tile++)
        tile_run(args, tile);
}
