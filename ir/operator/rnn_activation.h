/* Activation lists of recurrent operators. Internal to ir/. */
#ifndef RLX_IR_RNN_ACTIVATION_H
#define RLX_IR_RNN_ACTIVATION_H

#include "ir/operator/rnn_read.h"

/* Fills activation, alpha and beta of every direction of `read`, whose kind and directions are set. `fallback`: the operator's default
 * names. */
rlx_status_t rlx_rnn_activations(const rlx_op_t *op, const char *fallback, rlx_rnn_read_t *read, rlx_diag_t *diag);

#endif
