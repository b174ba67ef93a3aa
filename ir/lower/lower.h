/* Lowering: operators to steps. One file per family (ir/lower_<family>.c) exports a table row per op kind.
 *
 * A lowering function reads an op (shapes known, layouts chosen), picks kernels, and adds steps through the builder. Params are filled by
 * word: a constant, or an expression that the executor evaluates when the plan is made. The builder owns everything; one thread. */
#ifndef RLX_IR_LOWER_H
#define RLX_IR_LOWER_H

#include "ir/graph.h"
#include "kernels/abi.h"
#include "kernels/params.h"

typedef struct rlx_builder rlx_builder_t;
typedef struct rlx_step rlx_step_t;

typedef rlx_status_t rlx_lower_fn_t(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);

/* The graph being lowered; the optimisation level (1..3). At level 1 only plain kernels are chosen. */
rlx_graph_t *rlx_builder_graph(rlx_builder_t *builder);
int rlx_builder_level(const rlx_builder_t *builder);

/* Starts a step. Add operands in kernel order, then params, then finish. `param_words` is sizeof(params struct) / 8. */
rlx_step_t *rlx_step_begin(rlx_builder_t *builder, const rlx_op_t *op, rlx_kernel_id_t kernel, int param_words);
void rlx_step_in(rlx_step_t *step, const rlx_value_t *value); /* NULL: absent */
void rlx_step_out(rlx_step_t *step, const rlx_value_t *value);
void rlx_step_param(rlx_step_t *step, int word, rlx_expr_t expr);
void rlx_step_param_const(rlx_step_t *step, int word, int64_t value);
void rlx_step_param_f32(rlx_step_t *step, int word, float value);
/* `tiles`: how many; `scratch`: bytes per worker (RLX_EXPR_NONE for none). `flops` and `bytes` may be RLX_EXPR_NONE. */
rlx_status_t rlx_step_end(rlx_step_t *step, rlx_expr_t tiles, rlx_expr_t scratch, rlx_expr_t flops, rlx_diag_t *diag);

/* A temporary in the arena, dead after the last step that uses it. Row-major unless `layout` says otherwise. */
rlx_value_t *rlx_builder_temp(rlx_builder_t *builder, rlx_dtype_t dtype, int rank, const rlx_expr_t *dims, rlx_layout_t layout);
/* A constant made while lowering (packed weights). `data` is copied; equal bytes are stored once. dims are logical, bytes physical. */
rlx_value_t *rlx_builder_const(rlx_builder_t *builder, const char *name, rlx_dtype_t dtype, int rank, const int64_t *dims,
                               rlx_layout_t layout, const void *data, int64_t bytes);

/* Word index of a field: RLX_WORD(rlx_conv_plain_params_t, group). */
#define RLX_WORD(type, field) ((int)(offsetof(type, field) / sizeof(int64_t)))
#define RLX_WORDS(type) ((int)(sizeof(type) / sizeof(int64_t)))

#endif
