/* If whose condition is known when the model is compiled: a constant, or a statement about extents that are fixed. The branch is expanded
 * in place, in a scope inside the node's; the other branch is not looked at. Exporters write such an If around Squeeze and the like. */
#include "ir/onnx/convert.h"

static bool condition_known(rlx_onnx_call_t *call, bool *out_condition)
{
    rlx_value_t *condition = rlx_call_const_resolve(call, call->in[0]);
    int64_t number;

    if (condition == NULL)
        return false;
    if (condition->n_elements == 1 && condition->elements != NULL &&
        rlx_expr_is_const(call->graph->exprs, condition->elements[0], &number)) {
        *out_condition = number != 0;
        return true;
    }
    rlx_call_fail(call, RLX_E_ONNX_OPERATOR,
                  "If with a condition that is known only at run time ('%s') is not supported: control flow is missing", condition->name);
    rlx_diag_hint(call->diag, "Export the model with constant conditions, or fix the input shapes that the condition looks at.");
    return false;
}

static void outputs_take(rlx_onnx_call_t *call, const rlx_onnx_model_t *branch, const rlx_onnx_scope_t *scope)
{
    if (branch->n_outputs != call->n_out)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "the branch has %d outputs, the node %d", branch->n_outputs, call->n_out);
    for (int i = 0; i < call->n_out && rlx_call_ok(call); i++) {
        rlx_value_t *value = rlx_onnx_scope_get(scope, branch->outputs[i].name);

        if (value == NULL)
            rlx_call_fail(call, RLX_E_ONNX_GRAPH, "the branch does not define its output '%s'", branch->outputs[i].name);
        rlx_call_out(call, i, value == &call->import->absent ? NULL : value);
    }
}

static void branch_expand(rlx_onnx_call_t *call, const rlx_onnx_model_t *branch, const char *name)
{
    const rlx_onnx_scope_t *outer = call->scope;
    rlx_onnx_scope_t scope = {.parent = outer,
                              .call = outer->call,
                              .function = outer->function,
                              .opsets = outer->opsets,
                              .n_opsets = outer->n_opsets,
                              .depth = outer->depth + 1};

    scope.place = rlx_graph_printf(call->graph, "%s, %s: ", call->source, name);
    rlx_onnx_names_init(&scope.names);
    call->status = rlx_onnx_inits_make(call->import, &scope, branch);
    if (rlx_call_ok(call))
        call->status = rlx_onnx_nodes_convert(call->import, &scope, branch->nodes, branch->n_nodes);
    if (rlx_call_ok(call))
        outputs_take(call, branch, &scope);
    rlx_onnx_names_fini(&scope.names);
}

void rlx_convert_if(rlx_onnx_call_t *call)
{
    const rlx_onnx_attr_t *then_branch = rlx_call_attr(call, "then_branch"), *else_branch = rlx_call_attr(call, "else_branch"), *taken;
    rlx_onnx_model_t branch = {0};
    int64_t node_budget = RLX_ONNX_NODES_MAX;
    bool condition;

    if (then_branch == NULL || else_branch == NULL || then_branch->type != RLX_ONNX_ATTR_GRAPH || else_branch->type != RLX_ONNX_ATTR_GRAPH)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "If needs the graphs 'then_branch' and 'else_branch'");
    if (rlx_call_ok(call) && call->scope->depth >= RLX_ONNX_CALL_DEPTH_MAX)
        rlx_call_fail(call, RLX_E_ONNX_LIMIT, "branches and functions nest more than %d deep", RLX_ONNX_CALL_DEPTH_MAX);
    if (!rlx_call_ok(call) || !condition_known(call, &condition))
        return;
    taken = condition ? then_branch : else_branch;
    call->status = rlx_onnx_graph_parse(call->graph, taken->graph, &node_budget, &branch, call->diag);
    if (rlx_call_ok(call) && (branch.n_inputs != 0 || branch.has_sparse))
        rlx_call_fail(call, RLX_E_ONNX_NODE, "a branch of If has no inputs and no sparse initializers");
    if (rlx_call_ok(call))
        branch_expand(call, &branch, condition ? "then_branch" : "else_branch");
}
