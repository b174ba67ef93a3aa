/* rnn_plain: lstm, gru and rnn as defined in kernels/params_rnn.h, one direction of one batch item per tile.
 * f16 and bf16 compute in f32, state included; what is stored is rounded. Steps past an item's length give zero
 * outputs and leave the state alone. */
#include "kernels/number.h"
#include "kernels/rnn_cell.h"
#include "kernels/segment.h"

enum { IN_X, IN_W, IN_R, IN_B, IN_LENGTHS, IN_H, IN_C, IN_P };
enum { OUT_Y, OUT_H, OUT_C };

/* A row vector x and a matrix W of rows of `width`. */
typedef struct factor {
    int64_t x_dtype; /* the state's is the type it computes in */
    const void *x, *w;
    int64_t x_at, width;
} factor_t;

static int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }

#define RNN_PLAIN(T, suffix, state_dtype, fma)                                                                               \
    typedef struct walk_##suffix {                                                                                           \
        const rlx_kernel_args_t *args;                                                                                       \
        const rlx_rnn_cell_t *cell;                                                                                          \
        rnn_unit_t_##suffix unit;                                                                                          \
        T *bias;           /* where every x chain starts: gates * hidden */                                                  \
        int64_t direction, item, state; /* state: element offset of this tile's row in initial and final states */           \
    } walk_##suffix##_t;                                                                                                     \
                                                                                                                             \
    /* acc[j] takes the products of x[k] and W[at + j * width + k], k in [k_begin, k_end), for j < n <= RLX_NUMBER_RUN. */   \
    static void segment_##suffix(                                                                                            \
        const walk_##suffix##_t *w, const factor_t *f, int64_t at, int64_t n, int64_t k_begin, int64_t k_end, T *acc)        \
    {                                                                                                                        \
        T column[RLX_NUMBER_RUN], x;                                                                                         \
        for (int64_t k = k_begin; k < k_end; k++) {                                                                          \
            rlx_number_load_##suffix(f->x_dtype, f->x, f->x_at + k, 1, 1, &x);                                               \
            rlx_number_load_##suffix(w->cell->dtype, f->w, at + k, f->width, n, column);                                     \
            for (int64_t j = 0; j < n; j++)                                                                                  \
                acc[j] = fma(x, column[j], acc[j]);                                                                          \
        }                                                                                                                    \
    }                                                                                                                        \
                                                                                                                             \
    /* The product of x and rows [row, row + n) of W, in segments; the first goes on from total. */                          \
    static void product_##suffix(const walk_##suffix##_t *w, const factor_t *f, int64_t row, int64_t n, T *total)            \
    {                                                                                                                        \
        for (int64_t j = 0; j < n; j += RLX_NUMBER_RUN) {                                                                    \
            int64_t run = min_of(n - j, RLX_NUMBER_RUN), at = (row + j) * f->width;                                          \
            segment_##suffix(w, f, at, run, 0, min_of(RLX_SEGMENT_K, f->width), total + j);                                  \
            for (int64_t k = RLX_SEGMENT_K; k < f->width; k += RLX_SEGMENT_K) {                                              \
                T acc[RLX_NUMBER_RUN] = {0};                                                                                 \
                segment_##suffix(w, f, at, run, k, min_of(k + RLX_SEGMENT_K, f->width), acc);                                \
                for (int64_t i = 0; i < run; i++)                                                                            \
                    total[j + i] += acc[i];                                                                                  \
            }                                                                                                                \
        }                                                                                                                    \
    }                                                                                                                        \
                                                                                                                             \
    /* The h chain of gates [first, first + count). */                                                                       \
    static void recur_##suffix(const walk_##suffix##_t *w, int64_t first, int64_t count, const T *h, T *total)               \
    {                                                                                                                        \
        int64_t n = w->cell->hidden, row = (w->direction * rnn_gates(w->cell) + first) * n;                                  \
        factor_t f = {.x_dtype = state_dtype, .x = h, .w = w->args->in[IN_R].base, .width = n};                              \
        product_##suffix(w, &f, row, count * n, total);                                                                      \
    }                                                                                                                        \
                                                                                                                             \
    static void load_bias_##suffix(const walk_##suffix##_t *w, int64_t gate, int recurrent, T *to)                           \
    {                                                                                                                        \
        int64_t n = w->cell->hidden, gates = rnn_gates(w->cell);                                                             \
        int64_t at = ((2 * w->direction + recurrent) * gates + gate) * n;                                                    \
        for (int64_t i = 0; i < n; i++)                                                                                      \
            to[i] = 0;                                                                                                       \
        if (w->args->in[IN_B].base)                                                                                          \
            rlx_number_load_##suffix(w->cell->dtype, w->args->in[IN_B].base, at, 1, n, to);                                  \
    }                                                                                                                        \
                                                                                                                             \
    /* Wb + Rb per gate; Wb alone where gru keeps the recurrent part apart. */                                               \
    static void bias_##suffix(const walk_##suffix##_t *w)                                                                    \
    {                                                                                                                        \
        int64_t n = w->cell->hidden, gates = rnn_gates(w->cell);                                                             \
        for (int64_t g = 0; g < gates; g++) {                                                                                \
            load_bias_##suffix(w, g, 0, w->bias + g * n);                                                                    \
            if (g == 2 && w->cell->kind == RLX_RNN_GRU && w->cell->linear_before_reset)                                      \
                continue;                                                                                                    \
            load_bias_##suffix(w, g, 1, w->unit.extra);                                                                      \
            for (int64_t i = 0; i < n; i++)                                                                                  \
                w->bias[g * n + i] += w->unit.extra[i];                                                                      \
        }                                                                                                                    \
    }                                                                                                                        \
                                                                                                                             \
    static void step_##suffix(const walk_##suffix##_t *w, int64_t t)                                                         \
    {                                                                                                                        \
        const rlx_rnn_cell_t *cell = w->cell;                                                                                \
        int64_t n = cell->hidden, gates = rnn_gates(cell), x_at = t * cell->x_step + w->item * cell->x_batch;                \
        factor_t f = {.x_dtype = cell->dtype, .x = w->args->in[IN_X].base, .x_at = x_at, .w = w->args->in[IN_W].base,        \
            .width = cell->input};                                                                                           \
        T *pre = w->unit.pre;                                                                                                \
        for (int64_t i = 0; i < gates * n; i++)                                                                              \
            pre[i] = w->bias[i];                                                                                             \
        product_##suffix(w, &f, w->direction * gates * n, gates * n, pre);                                                   \
        recur_##suffix(w, 0, cell->kind == RLX_RNN_GRU ? 2 : gates, w->unit.h, pre);                                         \
        if (cell->kind == RLX_RNN_LSTM) {                                                                                    \
            rnn_lstm_finish_##suffix(&w->unit);                                                                              \
        } else if (cell->kind == RLX_RNN_PLAIN) {                                                                            \
            rnn_plain_finish_##suffix(&w->unit);                                                                             \
        } else {                                                                                                             \
            rnn_gru_open_##suffix(&w->unit);                                                                                 \
            if (cell->linear_before_reset) {                                                                                 \
                load_bias_##suffix(w, 2, 1, w->unit.extra);                                                                  \
                recur_##suffix(w, 2, 1, w->unit.h, w->unit.extra);                                                           \
            } else {                                                                                                         \
                recur_##suffix(w, 2, 1, w->unit.extra, pre + 2 * n);                                                         \
            }                                                                                                                \
            rnn_gru_finish_##suffix(&w->unit);                                                                               \
        }                                                                                                                    \
    }                                                                                                                        \
                                                                                                                             \
    static void state_load_##suffix(const walk_##suffix##_t *w, int operand, T *to)                                          \
    {                                                                                                                        \
        for (int64_t i = 0; i < w->cell->hidden; i++)                                                                        \
            to[i] = 0;                                                                                                       \
        if (w->args->in[operand].base)                                                                                       \
            rlx_number_load_##suffix(w->cell->dtype, w->args->in[operand].base, w->state, 1, w->cell->hidden, to);           \
    }                                                                                                                        \
                                                                                                                             \
    static void store_##suffix(const walk_##suffix##_t *w, int output, int64_t at, const T *from)                            \
    {                                                                                                                        \
        if (w->args->out[output].base)                                                                                       \
            rlx_number_store_##suffix(w->cell->dtype, w->args->out[output].base, at, 1, w->cell->hidden, from);              \
    }                                                                                                                        \
                                                                                                                             \
    static void tile_##suffix(const rlx_kernel_args_t *args, int64_t tile)                                                   \
    {                                                                                                                        \
        const rlx_rnn_cell_t *cell = &((const rlx_rnn_plain_params_t *)args->param)->cell;                                   \
        int64_t n = cell->hidden, d = tile / cell->batch, b = tile % cell->batch;                                            \
        int64_t length = rnn_length(args, cell, args->in[IN_LENGTHS].base, b), y = d * cell->y_direction + b * cell->y_batch; \
        T *s = args->scratch, *peephole = s + 11 * n;                                                                        \
        walk_##suffix##_t w = {.args = args, .cell = cell, .bias = s, .direction = d, .item = b,                             \
            .state = d * cell->h_direction + b * cell->h_batch,                                                              \
            .unit = {.cell = cell, .direction = d, .pitch = n, .pre = s + 4 * n, .h = s + 8 * n, .c = s + 9 * n, .extra = s + 10 * n}}; \
        if (cell->kind == RLX_RNN_LSTM && args->in[IN_P].base) {                                                             \
            rlx_number_load_##suffix(cell->dtype, args->in[IN_P].base, d * 3 * n, 1, 3 * n, peephole);                       \
            w.unit.peephole = peephole;                                                                                      \
        }                                                                                                                    \
        bias_##suffix(&w);                                                                                                   \
        state_load_##suffix(&w, IN_H, w.unit.h);                                                                             \
        state_load_##suffix(&w, IN_C, w.unit.c);                                                                             \
        for (int64_t step = 0; step < length; step++) {                                                                      \
            int64_t t = rnn_backwards(cell, d) ? length - 1 - step : step;                                                   \
            step_##suffix(&w, t);                                                                                            \
            store_##suffix(&w, OUT_Y, y + t * cell->y_step, w.unit.h);                                                       \
        }                                                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                                                      \
            w.unit.pre[i] = 0;                                                                                               \
        for (int64_t t = length; t < cell->steps; t++)                                                                       \
            store_##suffix(&w, OUT_Y, y + t * cell->y_step, w.unit.pre);                                                     \
        store_##suffix(&w, OUT_H, w.state, w.unit.h);                                                                        \
        store_##suffix(&w, OUT_C, w.state, w.unit.c);                                                                        \
    }
RNN_PLAIN(float, f32, RLX_KD_F32, __builtin_fmaf)
RNN_PLAIN(double, f64, RLX_KD_F64, __builtin_fma)

RLX_KERNEL_ENTRY(rnn_plain)
{
    const rlx_rnn_plain_params_t *p = (const rlx_rnn_plain_params_t *)args->param;

    for (int64_t tile = tile_begin; tile < tile_end; tile++)
        if (p->cell.dtype == RLX_KD_F64)
            tile_f64(args, tile);
        else
            tile_f32(args, tile);
}
