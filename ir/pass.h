/* Passes over the tensor level. Each takes a verified graph and leaves a verified graph; ir/compile.c runs the verifier in between.
 *
 * What changes arithmetic (folding a batch norm into weights, recognising GELU) belongs to the canonical form and runs at every level;
 * fuse and layout keep every bit. */
#ifndef RLX_IR_PASS_H
#define RLX_IR_PASS_H

#include "ir/graph.h"
#include "ir/schedule.h"

/* Replaces ops whose operands (or symbolic elements) are constants by their value. ir/pass/fold.c */
rlx_status_t rlx_pass_fold(rlx_graph_t *graph, rlx_diag_t *diag);
/* Quantised arithmetic to the integer operators of the quant family. Runs before folding, which would turn weights into floats.
 * ir/pass/quantise.c */
rlx_status_t rlx_pass_quantise(rlx_graph_t *graph, rlx_diag_t *diag);
/* Rewrites to the canonical form: batch norms into convolutions, biases, known activations, layer norms. ir/pass/canonicalise.c */
rlx_status_t rlx_pass_canonicalise(rlx_graph_t *graph, rlx_diag_t *diag);
/* Chooses the algorithm of every convolution, part of the canonical form. ir/pass/conv_algorithm_pass.c */
rlx_status_t rlx_pass_algorithm(rlx_graph_t *graph, rlx_diag_t *diag);
/* To be called before extents are bound: remembers which maps are open in the model itself. */
void rlx_conv_mark_open(rlx_graph_t *graph);
/* Transposed convolutions without overlap, to a few outputs, as 1x1 convolutions and depth_to_space. Biases must have been folded before;
 * part of the canonical form, runs last. ir/pass/canonicalise_subpixel.c */
rlx_status_t rlx_pass_subpixel(rlx_graph_t *graph, rlx_diag_t *diag);
#define RLX_SCHEDULE_LEVEL 3 /* schedules and layouts of a text are obeyed from this optimisation level on */
/* Reads what a text demands of schedules: obeyed by the passes and lowerings after it, or refused with the rule. ir/pass/demand.c */
rlx_status_t rlx_pass_demand(rlx_graph_t *graph, rlx_diag_t *diag);
/* Whether a text demands anything of the op's own loops: then no other op takes it in. */
bool rlx_op_has_demand(const rlx_op_t *op);
/* Folds transposes into the products around them. ir/pass/fuse_transpose.c */
rlx_status_t rlx_pass_fuse_transpose(rlx_graph_t *graph, rlx_diag_t *diag);
/* Scores, what is done to them, softmax and context of attention into one op. ir/pass/fuse_attention.c */
rlx_status_t rlx_pass_fuse_attention(rlx_graph_t *graph, rlx_diag_t *diag);
/* Element-wise chains into epilogues and fused ops. ir/pass/fuse.c */
rlx_status_t rlx_pass_fuse(rlx_graph_t *graph, rlx_diag_t *diag);
/* Chooses blocked layouts and inserts reorders. ir/pass/layout.c */
rlx_status_t rlx_pass_layout(rlx_graph_t *graph, rlx_diag_t *diag);
/* Part of the layout pass: rows of 4096 bytes between two products get a distance of their own. ir/pass/rows_apart.c */
void rlx_rows_apart(rlx_graph_t *graph);
/* Part of the layout pass: channel shuffles become the order in which a convolution in groups reads its input. ir/pass/channels.c */
void rlx_channels_sink(rlx_graph_t *graph);
/* Removes ops whose outputs nobody uses. ir/pass/dead_code.c */
void rlx_pass_dead_code(rlx_graph_t *graph);
/* Gives every graph output its own value, written by an op: inserts identities. The last pass before lowering. ir/pass/dead_code.c */
rlx_status_t rlx_pass_outputs(rlx_graph_t *graph, rlx_diag_t *diag);

/* Matching helpers, ir/pass/match.c. The only user's op, or NULL when the value has not exactly one use (graph outputs count). */
rlx_op_t *rlx_value_single_user(const rlx_graph_t *graph, const rlx_value_t *value);
/* The value's producer if it is of `kind`, else NULL. */
rlx_op_t *rlx_value_made_by(const rlx_value_t *value, rlx_op_kind_t kind);
/* True and the number when `value` is a constant f32 (or other float or int) with exactly one element. */
bool rlx_value_scalar(const rlx_graph_t *graph, const rlx_value_t *value, double *out_scalar);
/* The same extents. */
bool rlx_value_same_shape(const rlx_value_t *a, const rlx_value_t *b);
/* Describes `user`, an element-wise f32 op, as a step on the running value `x`, which it must not broadcast: unary, or with one other operand,
 * a constant scalar or any f32 tensor. False when kernels/epilogue.h has no such step. ir/pass/fuse.c */
bool rlx_epilogue_step_of(const rlx_graph_t *graph, rlx_op_t *user, rlx_value_t *x, rlx_epilogue_step_t *out_step);
/* The other operand of a binary op. */
rlx_value_t *rlx_op_other(const rlx_op_t *op, const rlx_value_t *value);
/* Replaces `op`'s only output by `value`, and removes the op. Keeps the name of a graph output. */
void rlx_op_replace(rlx_graph_t *graph, rlx_op_t *op, rlx_value_t *value);
/* Appends one op with one output before `before`, with its shape inferred. NULL on failure (diag set). */
rlx_value_t *rlx_graph_insert(rlx_graph_t *graph, rlx_op_t *before, rlx_op_kind_t kind, const rlx_op_t *like, int n_in, rlx_value_t *const *in,
                              rlx_diag_t *diag);

#endif
