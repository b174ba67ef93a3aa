/* What the layout pass asks the families: may this operator work on RLX_LAYOUT_C16? Pure questions on operators whose shapes are known. */
#ifndef RLX_IR_LAYOUT_SUPPORT_H
#define RLX_IR_LAYOUT_SUPPORT_H

#include "ir/graph.h"

/* conv, conv_transpose, max_pool, avg_pool: true when a fast kernel takes operand 0 in C16 and gives output 0 in C16. `*out_input_row_major`
 * is set when the kernel wants operand 0 row-major all the same (the first layer of an image network). False: everything row-major.
 * Output 0 of such an op must be given layout C16 by the pass; residual operands of its epilogue must be C16 too. */
bool rlx_conv_wants_c16(const rlx_graph_t *graph, const rlx_op_t *op, bool *out_input_row_major);

/* Sampling ops: true when operand 0 stands in C16 and the kernel can read it so and give output 0 in C16 as well. */
bool rlx_sample_carries_c16(const rlx_graph_t *graph, const rlx_op_t *op);

#endif
