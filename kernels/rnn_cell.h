/* The gates of recurrent cells, once for float and once for double: kernels/rnn_cell_type.h. Both rnn kernels call these, so what is fast
 * and what is plain differ in how they walk, never in what they compute. */
#ifndef RLX_KERNELS_RNN_CELL_H
#define RLX_KERNELS_RNN_CELL_H

#include "kernels/math.h"
#include "kernels/abi.h"
#include "kernels/params_rnn.h"

static inline int64_t rnn_gates(const rlx_rnn_cell_t *cell) { return cell->kind == RLX_RNN_LSTM ? 4 : cell->kind == RLX_RNN_GRU ? 3 : 1; }

static inline int rnn_backwards(const rlx_rnn_cell_t *cell, int64_t direction) { return direction == 1 || cell->reverse; }

/* Steps of batch item `b`: all of them without lengths. A length outside [0, steps] is an error of the request and is clamped. */
static inline int64_t rnn_length(const rlx_kernel_args_t *args, const rlx_rnn_cell_t *cell, const int32_t *lengths, int64_t b)
{
    int64_t length = lengths ? lengths[b] : cell->steps;

    if (length >= 0 && length <= cell->steps)
        return length;
    rlx_kernel_error(args, RLX_KERR_VALUE);
    return length < 0 ? 0 : cell->steps;
}

#define RNN_T float
#define RNN(name) rnn_##name##_f32
#define RNN_FMA(a, b, c) __builtin_fmaf(a, b, c)
#define RNN_MATH(name) rlx_math_##name##f
#define RNN_ABS(x) __builtin_fabsf(x)
#include "kernels/rnn_cell_type.h"

#define RNN_T double
#define RNN(name) rnn_##name##_f64
#define RNN_FMA(a, b, c) __builtin_fma(a, b, c)
#define RNN_MATH(name) rlx_math_##name
#define RNN_ABS(x) __builtin_fabs(x)
#include "kernels/rnn_cell_type.h"

#endif
