/* Rules of ir/pass/batch.c: where the rows of an operator's result are, given where those of its operands are. Internal to ir/. */
#ifndef RLX_IR_BATCH_RULES_H
#define RLX_IR_BATCH_RULES_H

#include "ir/graph.h"

/* Where a value's rows are: an axis, or one of these. */
#define RLX_BATCH_NONE (-1)  /* the same for every batch */
#define RLX_BATCH_MIXED (-2) /* depends on the batch in another way, or nobody knows */

typedef struct rlx_batch {
    rlx_graph_t *graph;
    rlx_expr_t extent; /* the symbol */
    int *rows;         /* by value id */
    bool *depends;     /* by expression: the symbol is in it */
    int n_depends, cap_depends;
} rlx_batch_t;

/* `expr` contains the symbol. */
bool rlx_batch_depends(rlx_batch_t *batch, rlx_expr_t expr);
/* Rows of operand `index`; NONE when absent. */
int rlx_batch_in(const rlx_batch_t *batch, const rlx_op_t *op, int index);
/* Rows of output `index`, if its extents bear it out (the caller looks). Not called when any operand but a shape is MIXED, and only when
 * some operand has rows. */
int rlx_batch_rule(rlx_batch_t *batch, const rlx_op_t *op, int index);
/* Is 1 at the axis that broadcasting to `rank` makes `axis`, or has no such axis. */
bool rlx_batch_repeats_at(const rlx_batch_t *batch, const rlx_value_t *value, int rank, int axis);
/* ir/pass/batch_product.c: rules of these two. */
int rlx_batch_matmul(rlx_batch_t *batch, const rlx_op_t *op, int index);
int rlx_batch_einsum(rlx_batch_t *batch, const rlx_op_t *op, int index);
/* Operand `index` only says extents, which the result's own extents show: it may depend on the batch in any way. */
bool rlx_batch_is_shape(const rlx_op_t *op, int index);

#endif
