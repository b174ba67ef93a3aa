/* What the lowerings of the rnn family share. Internal to ir/. */
#ifndef RLX_IR_LOWER_RNN_H
#define RLX_IR_LOWER_RNN_H

#include "ir/operator/rnn_read.h"

/* The rlx_rnn_cell_t that every kernel's parameters begin with. */
void rlx_rnn_cell_params(const rlx_graph_t *graph, rlx_step_t *step, const rlx_op_t *op, const rlx_rnn_read_t *r);
/* Operands from B on, and the outputs. */
void rlx_rnn_rest_operands(rlx_step_t *step, const rlx_op_t *op, const rlx_rnn_read_t *r);
/* Of products with rows of `depth`. */
rlx_expr_t rlx_rnn_flops(const rlx_graph_t *graph, const rlx_rnn_read_t *r, rlx_expr_t depth);
/* ir/lower/qlstm.c */
rlx_status_t rlx_lower_qlstm(rlx_builder_t *builder, const rlx_op_t *op, const rlx_rnn_read_t *r, rlx_diag_t *diag);

#endif
