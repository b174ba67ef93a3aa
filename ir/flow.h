/* Ops that run graphs: `if` and `loop`. A body is a graph of its own, with its own symbols; its inputs are operands of the op, in order, so
 * that it sees nothing of the graph around it but those. ir/op_list.h says which operand is which.
 *
 * What a body says about its extents is true outside only as far as its symbols are known there: the translation below. */
#ifndef RLX_IR_FLOW_H
#define RLX_IR_FLOW_H

#include "ir/graph.h"

#define RLX_EXTENT_MAX INT64_C(0x7fffffff)

static inline bool rlx_op_is_flow(const rlx_op_t *op) { return op->kind == RLX_OP_if || op->kind == RLX_OP_loop; }
/* Operand of the op that is the first input of body `body`. */
int rlx_flow_first(const rlx_op_t *op, int body);
/* Output of a body that becomes the op's output `index`. */
static inline int rlx_flow_output(const rlx_op_t *op, int index) { return op->kind == RLX_OP_loop ? index + 1 : index; }
/* Input `input` of the body may differ from the operand at extent `axis` (-1: in its data), since it changes from iteration to iteration. */
bool rlx_flow_varies(const rlx_op_t *op, int body, int input, int axis);

/* A body's expressions in terms of the graph around it, by index; RLX_EXPR_NONE where that cannot be said. Owned by the caller: free. */
rlx_expr_t *rlx_flow_map(rlx_graph_t *graph, const rlx_op_t *op, int body);
/* The loop runs exactly as often as its trip count says: its condition is never false. */
bool rlx_flow_always(const rlx_op_t *op);

/* ir/pass/pass_flow.c. What is constant around a body becomes constant in it: operands, extents, elements. */
rlx_status_t rlx_flow_sink(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
/* Drops operands that no body uses. */
void rlx_flow_prune(rlx_op_t *op);

#endif
