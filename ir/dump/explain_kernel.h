/* Tells what a lowered program runs: kernels, tiles, costs, reorders. Internal to ir/. */
#ifndef RLX_IR_EXPLAIN_KERNEL_H
#define RLX_IR_EXPLAIN_KERNEL_H

#include "ir/builder.h"

void rlx_explain_program(const rlx_builder_t *builder);
/* What the schedule pass made of demands, and what the layout pass inserted. */
void rlx_explain_graph(const rlx_graph_t *graph);

#endif
