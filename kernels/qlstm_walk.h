/* Body of qlstm and qlstm_vnni: the steps of up to RLX_QLSTM_ROWS batch items of one direction together, so that a step reads the packed R
 * once for all of them; items shorter than the longest wait with their state. Bit for bit qlstm_plain. Included once per target.
 *
 * A unit of sixteen has all its gates side by side: where they are the usual functions, sums become the new c and h in registers, while the next
 * unit's weights are on their way. Other gates are stored and finished as in the other kernels of the family. */
#ifndef RLX_KERNELS_QLSTM_WALK_H
#define RLX_KERNELS_QLSTM_WALK_H

#include <string.h>

#include "kernels/qlstm_tile.h"
#include "kernels/quant_dynamic.h"
#include "kernels/rnn_cell.h"
#include "kernels/vec16_gate.h"

enum {
    QLSTM_SUMS, QLSTM_X_SCALE, QLSTM_X_POINT, QLSTM_R, QLSTM_MORE, QLSTM_R_OTHER, QLSTM_MORE_OTHER, QLSTM_NUMBERS, QLSTM_LENGTHS, QLSTM_H,
    QLSTM_C, QLSTM_P
};
#if defined(__AVX512VNNI__)
#define QLSTM_IS_VNNI 1
#else
#define QLSTM_IS_VNNI 0
#endif
enum { QLSTM_OUT_Y, QLSTM_OUT_H, QLSTM_OUT_C };

typedef struct qlstm_walk {
    const rlx_kernel_args_t *args;
    const rlx_qlstm_params_t *p;
    int64_t direction, item, rows, padded;
    int64_t length[RLX_QLSTM_ROWS], longest;
    int in_registers;
    const rlx_qlstm_numbers_t *numbers; /* of the direction */
    float *pre, *h, *c;                 /* by row: 4 * padded, and padded */
    uint8_t *bytes;
    quant_dynamic_t range[RLX_QLSTM_ROWS]; /* of h */
    float x_scale[RLX_QLSTM_ROWS];
    int32_t x_point[RLX_QLSTM_ROWS];
    qlstm_tile_t tile;
} qlstm_walk_t;

/* The time step of item `row` at step `step`, or -1 past its length. */
static inline int64_t qlstm_time(const qlstm_walk_t *w, int64_t row, int64_t step)
{
    if (step >= w->length[row])
        return -1;
    return rnn_backwards(&w->p->cell, w->direction) ? w->length[row] - 1 - step : step;
}

/* Preactivation of sixteen outputs from both sums. */
VEC16_INLINE vec16_t qlstm_pre(const qlstm_walk_t *w, int64_t row, const rlx_qlstm_numbers_t *numbers, const int32_t *x_sums, const int32_t *h_sums)
{
    quant_i32_t x = *(const quant_i32_t *)x_sums - w->x_point[row] * *(const quant_i32_t *)numbers->w_sum;
    quant_i32_t h = *(const quant_i32_t *)h_sums - w->range[row].point * *(const quant_i32_t *)numbers->r_sum;
    vec16_t t = vec16_fma(quant_floats(x), w->x_scale[row] * vec16_load(numbers->w_scale), vec16_load(numbers->bias));

    return vec16_fma(quant_floats(h), w->range[row].scale * vec16_load(numbers->r_scale), t);
}

/* Unit `j` of a row at time t: the new c and h, or preactivations. */
static inline void qlstm_unit(const qlstm_walk_t *w, int64_t row, int64_t j, const int32_t *x_sums, const int32_t *h_sums)
{
    const rlx_qlstm_numbers_t *numbers = w->numbers + j * 4;
    float *c = w->c + row * w->padded + j * 16, *h = w->h + row * w->padded + j * 16, *pre = w->pre + row * 4 * w->padded + j * 16;
    vec16_t in, out, forget, fresh, state;

    in = qlstm_pre(w, row, numbers, x_sums, h_sums);
    out = qlstm_pre(w, row, numbers + 1, x_sums + 16, h_sums + 16);
    forget = qlstm_pre(w, row, numbers + 2, x_sums + 32, h_sums + 32);
    fresh = qlstm_pre(w, row, numbers + 3, x_sums + 48, h_sums + 48);
    if (!w->in_registers) {
        vec16_store(pre, in);
        vec16_store(pre + w->padded, out);
        vec16_store(pre + 2 * w->padded, forget);
        vec16_store(pre + 3 * w->padded, fresh);
        return;
    }
    state = vec16_fma(vec16_sigmoid(forget), vec16_load(c), vec16_sigmoid(in) * vec16_tanh(fresh));
    vec16_store(c, state);
    vec16_store(h, vec16_tanh(state) * vec16_sigmoid(out));
}

/* Rows [row, row + n), units [j, j + units). */
static void qlstm_block(qlstm_walk_t *w, int64_t row, int64_t n, int64_t j, int64_t units, const int64_t *time)
{
    int32_t sums[RLX_QLSTM_ROWS * QLSTM_UNITS * 64] __attribute__((aligned(64)));
    const int32_t *x = w->args->in[QLSTM_SUMS].base;
    qlstm_tile_t tile = w->tile;

    tile.x += row * w->padded;
    tile.w += j * tile.w_step;
    tile.more = tile.more != NULL ? tile.more + 8 * j : NULL;
    tile.sums = sums;
    qlstm_tile_call(n, units, QLSTM_IS_VNNI ? 0 : w->p->pairs, &tile);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = time[row + i] * w->p->sums_step + (w->item + row + i) * w->p->sums_batch + w->direction * 4 * w->padded;

        for (int64_t u = 0; u < units && time[row + i] >= 0; u++)
            qlstm_unit(w, row + i, j + u, x + at + (j + u) * 64, sums + (i * units + u) * 64);
    }
}

static void qlstm_range(qlstm_walk_t *w, int64_t row)
{
    quant_span_t span = {0, 0};

    quant_span_run(&span, w->h + row * w->padded, w->padded);
    w->range[row] = quant_dynamic_of(span);
    quant_dynamic_run(&w->range[row], w->h + row * w->padded, w->padded, w->bytes + row * w->padded);
}

static void qlstm_store(const qlstm_walk_t *w, int output, int64_t at, const float *from)
{
    float *to = w->args->out[output].base;

    if (to != NULL)
        memcpy(to + at, from, (size_t)w->p->cell.hidden * sizeof *to);
}

static void qlstm_finish(const qlstm_walk_t *w, int64_t row)
{
    const float *peephole = w->args->in[QLSTM_P].base;
    rnn_unit_t_f32 unit = {.cell = &w->p->cell, .direction = w->direction, .pitch = w->padded, .pre = w->pre + row * 4 * w->padded,
        .h = w->h + row * w->padded, .c = w->c + row * w->padded,
        .peephole = peephole != NULL ? peephole + w->direction * 3 * w->p->cell.hidden : NULL};

    rnn_lstm_finish_f32(&unit);
}

static void qlstm_step(qlstm_walk_t *w, int64_t step)
{
    const rlx_rnn_cell_t *cell = &w->p->cell;
    int64_t time[RLX_QLSTM_ROWS], units = w->padded / 16;

    for (int64_t row = 0; row < w->rows; row++) {
        time[row] = qlstm_time(w, row, step);
        qlstm_range(w, row);
    }
    for (int64_t j = 0, wide; j < units; j += wide) {
        wide = w->rows == 1 && units - j >= QLSTM_UNITS ? QLSTM_UNITS : 1;
        for (int64_t row = 0, n; row < w->rows; row += n) {
            n = w->rows - row < QLSTM_ROWS ? w->rows - row : QLSTM_ROWS;
            qlstm_block(w, row, n, j, wide, time);
        }
    }
    for (int64_t row = 0; row < w->rows; row++) {
        if (time[row] < 0)
            continue;
        if (!w->in_registers)
            qlstm_finish(w, row);
        qlstm_store(w, QLSTM_OUT_Y, w->direction * cell->y_direction + (w->item + row) * cell->y_batch + time[row] * cell->y_step,
                    w->h + row * w->padded);
    }
}

static void qlstm_load(const qlstm_walk_t *w, int operand, float *to)
{
    const rlx_rnn_cell_t *cell = &w->p->cell;
    const float *from = w->args->in[operand].base;

    memset(to, 0, (size_t)(w->rows * w->padded) * sizeof *to);
    for (int64_t row = 0; row < w->rows && from != NULL; row++)
        memcpy(to + row * w->padded, from + w->direction * cell->h_direction + (w->item + row) * cell->h_batch,
               (size_t)cell->hidden * sizeof *to);
}

/* Weights of the direction, and where its further half chunks find their quads. */
static void qlstm_weights(qlstm_walk_t *w, int64_t *offset)
{
    const rlx_kernel_args_t *args = w->args;
    int64_t units = w->padded / 16, all = w->p->cell.directions * units * 4, quads = (w->p->cell.hidden + 3) / 4;
    const int32_t *more = args->in[QLSTM_IS_VNNI ? QLSTM_MORE : QLSTM_MORE_OTHER].base, *entry;
    const int8_t *r = args->in[QLSTM_IS_VNNI ? QLSTM_R : QLSTM_R_OTHER].base;

    quads = w->p->pairs ? (quads + 1) / 2 * 2 : quads;
    w->tile = (qlstm_tile_t){.x = w->bytes, .x_step = w->padded, .w = r + w->direction * units * quads * 256, .w_step = quads * 256, .quads = quads};
    if (more == NULL)
        return;
    entry = more + 2 * all + 1;
    w->tile.more = more + w->direction * units * 8;
    for (int64_t i = w->tile.more[0]; i < w->tile.more[units * 8]; i++)
        *offset++ = entry[3 * i] * 16 + entry[3 * i + 2] * 4;
    w->tile.offset = offset - w->tile.more[units * 8];
    w->tile.more_w = r + all * quads * 64;
}

static int qlstm_is_usual(const qlstm_walk_t *w)
{
    const rlx_rnn_cell_t *cell = &w->p->cell;
    const int64_t *f = cell->activation[w->direction];

    return f[0] == RLX_RNN_SIGMOID && f[1] == RLX_RNN_TANH && f[2] == RLX_RNN_TANH && !cell->input_forget &&
        !(rlx_param_f32(cell->clip) > 0) && w->args->in[QLSTM_P].base == NULL;
}

static void qlstm_rows_set(qlstm_walk_t *w)
{
    for (int64_t row = 0; row < w->rows; row++) {
        w->length[row] = rnn_length(w->args, &w->p->cell, w->args->in[QLSTM_LENGTHS].base, w->item + row);
        w->longest = w->length[row] > w->longest ? w->length[row] : w->longest;
        w->x_scale[row] = ((const float *)w->args->in[QLSTM_X_SCALE].base)[w->item + row];
        w->x_point[row] = ((const uint8_t *)w->args->in[QLSTM_X_POINT].base)[w->item + row];
    }
}

/* Final states, and zeros after the last step of an item. */
static void qlstm_end(const qlstm_walk_t *w, int64_t row)
{
    const rlx_rnn_cell_t *cell = &w->p->cell;
    int64_t at = w->direction * cell->h_direction + (w->item + row) * cell->h_batch;

    qlstm_store(w, QLSTM_OUT_H, at, w->h + row * w->padded);
    qlstm_store(w, QLSTM_OUT_C, at, w->c + row * w->padded);
    memset(w->pre, 0, (size_t)cell->hidden * sizeof *w->pre);
    for (int64_t t = w->length[row]; t < cell->steps; t++)
        qlstm_store(w, QLSTM_OUT_Y, w->direction * cell->y_direction + (w->item + row) * cell->y_batch + t * cell->y_step, w->pre);
}

static void qlstm_tile_of_work(const rlx_kernel_args_t *args, int64_t direction, int64_t block)
{
    const rlx_qlstm_params_t *p = (const rlx_qlstm_params_t *)args->param;
    qlstm_walk_t w = {.args = args, .p = p, .direction = direction, .item = block * RLX_QLSTM_ROWS, .padded = (p->cell.hidden + 15) & ~15ll};

    w.rows = p->cell.batch - w.item < RLX_QLSTM_ROWS ? p->cell.batch - w.item : RLX_QLSTM_ROWS;
    w.pre = args->scratch;
    w.h = w.pre + RLX_QLSTM_ROWS * 4 * w.padded;
    w.c = w.h + RLX_QLSTM_ROWS * w.padded;
    w.bytes = (uint8_t *)(w.c + RLX_QLSTM_ROWS * w.padded);
    w.numbers = (const rlx_qlstm_numbers_t *)args->in[QLSTM_NUMBERS].base + direction * w.padded / 4;
    w.in_registers = qlstm_is_usual(&w);
    qlstm_weights(&w, (int64_t *)(void *)(w.bytes + RLX_QLSTM_ROWS * w.padded));
    qlstm_rows_set(&w);
    qlstm_load(&w, QLSTM_H, w.h);
    qlstm_load(&w, QLSTM_C, w.c);
    for (int64_t step = 0; step < w.longest; step++)
        qlstm_step(&w, step);
    for (int64_t row = 0; row < w.rows; row++)
        qlstm_end(&w, row);
}

static void qlstm_run(const rlx_kernel_args_t *args, int64_t tile_begin, int64_t tile_end)
{
    int64_t blocks = (((const rlx_qlstm_params_t *)args->param)->cell.batch + RLX_QLSTM_ROWS - 1) / RLX_QLSTM_ROWS;

    for (int64_t tile = tile_begin; tile < tile_end; tile++)
        qlstm_tile_of_work(args, tile / blocks, tile % blocks);
}

#endif
