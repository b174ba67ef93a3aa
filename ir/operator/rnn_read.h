/* How lstm, gru and rnn read their operands and attributes. Internal to ir/. */
#ifndef RLX_IR_RNN_READ_H
#define RLX_IR_RNN_READ_H

#include "ir/lower/lower.h"

/* Operands and outputs by role. */
enum {
    RLX_RNN_IN_X,
    RLX_RNN_IN_W,
    RLX_RNN_IN_R,
    RLX_RNN_IN_B,
    RLX_RNN_IN_LENGTHS,
    RLX_RNN_IN_H,
    RLX_RNN_IN_C,
    RLX_RNN_IN_P,
    RLX_RNN_IN_COUNT,
    RLX_RNN_IN_W_SCALE = RLX_RNN_IN_COUNT, /* qlstm */
    RLX_RNN_IN_R_SCALE
};

typedef struct rlx_rnn_read {
    int kind;            /* RLX_RNN_LSTM, ... */
    int64_t gates;
    int directions, reverse, layout;
    int64_t activation[2][3];
    float alpha[2][3], beta[2][3];
    rlx_expr_t steps, batch, input, hidden;
} rlx_rnn_read_t;

/* Checks ranks, dtypes and attributes; extents that must agree become checks. Attribute "activations" is a list of names, separated by
 * commas, in any case: those of the forward, then of the backward direction. */
rlx_status_t rlx_rnn_read(rlx_graph_t *graph, const rlx_op_t *op, rlx_rnn_read_t *out_read, rlx_diag_t *diag);
/* Operand by role, NULL when absent. */
static inline const rlx_value_t *rlx_rnn_operand(const rlx_op_t *op, int role) { return rlx_op_in(op, role); }

#endif
