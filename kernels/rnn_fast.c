/* rnn_fast: f32 recurrences whose input projection was computed before, for all steps at once, by gemm. Bit for bit rnn_plain: the
 * total after x is where the first segment over h starts. A tile walks the steps of up to RLX_RNN_FAST_ROWS batch items of one direction together, so that a
 * step reads the packed R once for all of them; items shorter than the longest wait with their state. */
#include <string.h>

#include "kernels/gemm_tile.h"
#include "kernels/rnn_cell.h"

enum { IN_XW0, IN_XW1, IN_R, IN_B, IN_LENGTHS, IN_H, IN_C, IN_P };
enum { OUT_Y, OUT_H, OUT_C };

typedef struct walk {
    const rlx_kernel_args_t *args;
    const rlx_rnn_fast_params_t *p;
    int64_t direction, item, rows, padded, gates;
    int64_t length[RLX_RNN_FAST_ROWS], longest;
    float *pre, *h, *c, *extra; /* rows of gates * padded, and of padded */
} walk_t;

/* acc[row] += the h chain of gates [first, first + count), `h` rows `padded` apart, acc rows `ldc` apart. */
static void recur(const walk_t *w, int64_t first, int64_t count, const float *h, float *acc, int64_t ldc)
{
    int64_t n = w->p->cell.hidden, blocks = w->padded / 16 * count, wide = gemm_tile_blocks(w->rows);
    const float *r = (const float *)w->args->in[IN_R].base + (w->direction * w->gates + first) * w->padded * n;
    gemm_tile_t tile = {.a = h, .lda = w->padded, .b = r, .ldb = n * 16, .c = acc, .ldc = ldc, .init = acc, .init_step = ldc, .k = n, .prefetch = (const char *)r};

    while (blocks > 0) {
        int64_t done = blocks >= wide ? wide : 1;

        rlx_gemm_tile_run(w->rows, done, &tile);
        blocks -= done;
        tile.b += done * tile.ldb;
        tile.c += done * 16;
        tile.init += done * 16;
    }
}

static rnn_unit_t_f32 unit_of(const walk_t *w, int64_t row)
{
    const float *peephole = w->args->in[IN_P].base;

    return (rnn_unit_t_f32){.cell = &w->p->cell, .direction = w->direction, .pitch = w->padded, .pre = w->pre + row * w->gates * w->padded,
        .h = w->h + row * w->padded, .c = w->c + row * w->padded, .extra = w->extra + row * w->padded,
        .peephole = peephole ? peephole + w->direction * 3 * w->p->cell.hidden : NULL};
}

/* The time step of item `row` at step `step`, or -1 past its length. */
static int64_t row_time(const walk_t *w, int64_t row, int64_t step)
{
    if (step >= w->length[row])
        return -1;
    return rnn_backwards(&w->p->cell, w->direction) ? w->length[row] - 1 - step : step;
}

/* Preactivations after the x chain. A waiting item computes on zeros that nobody reads. */
static void load_pre(const walk_t *w, int64_t row, int64_t t)
{
    const float *xw = w->args->in[IN_XW0 + w->direction].base;
    int64_t n = w->p->cell.hidden;
    float *pre = w->pre + row * w->gates * w->padded;

    if (t >= 0)
        xw += t * w->p->xw_step + (w->item + row) * w->p->xw_batch;
    for (int64_t g = 0; g < w->gates; g++)
        if (t >= 0)
            memcpy(pre + g * w->padded, xw + g * n, (size_t)n * sizeof *pre);
        else
            memset(pre + g * w->padded, 0, (size_t)n * sizeof *pre);
}

static void gru_middle(const walk_t *w)
{
    const rlx_rnn_cell_t *cell = &w->p->cell;
    const float *bias = w->args->in[IN_B].base;
    int64_t n = cell->hidden;

    if (!cell->linear_before_reset) {
        recur(w, 2, 1, w->extra, w->pre + 2 * w->padded, w->gates * w->padded);
        return;
    }
    for (int64_t row = 0; row < w->rows; row++)
        for (int64_t i = 0; i < n; i++)
            w->extra[row * w->padded + i] = bias ? bias[(2 * w->direction + 1) * 3 * n + 2 * n + i] : 0;
    recur(w, 2, 1, w->h, w->extra, w->padded);
}

static void finish(const walk_t *w, int64_t row)
{
    rnn_unit_t_f32 unit = unit_of(w, row);

    if (w->p->cell.kind == RLX_RNN_LSTM)
        rnn_lstm_finish_f32(&unit);
    else if (w->p->cell.kind == RLX_RNN_GRU)
        rnn_gru_finish_f32(&unit);
    else
        rnn_plain_finish_f32(&unit);
}

static void store(const walk_t *w, int output, int64_t at, const float *from)
{
    float *to = w->args->out[output].base;

    if (to)
        memcpy(to + at, from, (size_t)w->p->cell.hidden * sizeof *to);
}

static void step_run(const walk_t *w, int64_t step)
{
    const rlx_rnn_cell_t *cell = &w->p->cell;
    int64_t row_pre = w->gates * w->padded;

    for (int64_t row = 0; row < w->rows; row++)
        load_pre(w, row, row_time(w, row, step));
    recur(w, 0, cell->kind == RLX_RNN_GRU ? 2 : w->gates, w->h, w->pre, row_pre);
    if (cell->kind == RLX_RNN_GRU) {
        for (int64_t row = 0; row < w->rows; row++) {
            rnn_unit_t_f32 unit = unit_of(w, row);
            rnn_gru_open_f32(&unit);
        }
        gru_middle(w);
    }
    for (int64_t row = 0; row < w->rows; row++) {
        int64_t t = row_time(w, row, step);
        if (t < 0)
            continue;
        finish(w, row);
        store(w, OUT_Y, w->direction * cell->y_direction + (w->item + row) * cell->y_batch + t * cell->y_step, w->h + row * w->padded);
    }
}

static void state_load(const walk_t *w, int operand, float *to)
{
    const rlx_rnn_cell_t *cell = &w->p->cell;
    const float *from = w->args->in[operand].base;

    memset(to, 0, (size_t)(w->rows * w->padded) * sizeof *to);
    for (int64_t row = 0; row < w->rows && from; row++)
        memcpy(to + row * w->padded, from + w->direction * cell->h_direction + (w->item + row) * cell->h_batch,
            (size_t)cell->hidden * sizeof *to);
}

static void zero_rest(const walk_t *w, int64_t row)
{
    const rlx_rnn_cell_t *cell = &w->p->cell;

    memset(w->extra, 0, (size_t)cell->hidden * sizeof *w->extra);
    for (int64_t t = w->length[row]; t < cell->steps; t++)
        store(w, OUT_Y, w->direction * cell->y_direction + (w->item + row) * cell->y_batch + t * cell->y_step, w->extra);
}

static void tile_run(const rlx_kernel_args_t *args, const rlx_rnn_fast_params_t *p, int64_t direction, int64_t block)
{
    const rlx_rnn_cell_t *cell = &p->cell;
    walk_t w = {.args = args,
        .p = p,
        .direction = direction,
        .item = block * p->rows,
        .gates = rnn_gates(cell),
        .padded = (cell->hidden + 15) & ~15ll};

    w.rows = cell->batch - w.item < p->rows ? cell->batch - w.item : p->rows;
    w.pre = args->scratch;
    w.h = w.pre + p->rows * w.gates * w.padded;
    w.c = w.h + p->rows * w.padded;
    w.extra = w.c + p->rows * w.padded;
    for (int64_t row = 0; row < w.rows; row++) {
        w.length[row] = rnn_length(args, cell, args->in[IN_LENGTHS].base, w.item + row);
        w.longest = w.length[row] > w.longest ? w.length[row] : w.longest;
    }
    memset(w.pre, 0, (size_t)(w.rows * w.gates * w.padded) * sizeof *w.pre);
    memset(w.extra, 0, (size_t)(w.rows * w.padded) * sizeof *w.extra);
    state_load(&w, IN_H, w.h);
    state_load(&w, IN_C, w.c);
    for (int64_t step = 0; step < w.longest; step++)
        step_run(&w, step);
    for (int64_t row = 0; row < w.rows; row++) {
        int64_t at = direction * cell->h_direction + (w.item + row) * cell->h_batch;
        store(&w, OUT_H, at, w.h + row * w.padded);
        store(&w, OUT_C, at, w.c + row * w.padded);
        zero_rest(&w, row);
    }
}

RLX_KERNEL_ENTRY(rnn_fast)
{
    const rlx_rnn_fast_params_t *p = (const rlx_rnn_fast_params_t *)args->param;
    int64_t blocks = (p->cell.batch + p->rows - 1) / p->rows;

    for (int64_t tile = tile_begin; tile < tile_end; tile++)
        tile_run(args, p, tile / blocks, tile % blocks);
}
