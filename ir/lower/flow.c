/* Lowering of ops that run graphs: the bodies are lowered by builders of their own, and one step calls them. */
#include "bundle/program.h"
#include "ir/builder.h"
#include "ir/lower/dispatch.h"
#include "ir/flow.h"

rlx_status_t rlx_lower_flow(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    int last = op->n_bodies - 1, n_in = rlx_flow_first(op, last) + op->bodies[last]->n_inputs;
    rlx_step_t *step = rlx_step_begin(builder, op, (rlx_kernel_id_t)(op->kind == RLX_OP_if ? RLX_CALL_IF : RLX_CALL_LOOP), 2);

    if (n_in > RLX_CALL_OPERANDS_MAX || op->n_out > RLX_CALL_OPERANDS_MAX)
        return rlx_fail(diag, RLX_E_IR_LIMIT, "%s: more than %d operands", op->source, RLX_CALL_OPERANDS_MAX);
    for (int i = 0; i < op->n_bodies; i++) {
        int index;

        RLX_TRY(rlx_builder_body(builder, op->bodies[i], &index, diag));
        rlx_step_param_const(step, i, index);
    }
    if (op->kind == RLX_OP_loop)
        rlx_step_param_const(step, 1, rlx_op_int(op, "carried"));
    for (int i = 0; i < n_in; i++)
        rlx_step_in(step, rlx_op_in(op, i));
    for (int i = 0; i < op->n_out; i++)
        rlx_step_out(step, op->out[i]);
    return rlx_step_end(step, rlx_expr_const(rlx_builder_graph(builder)->exprs, 1), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}
