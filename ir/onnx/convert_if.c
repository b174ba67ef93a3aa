/* If. A condition that is known when the model is compiled (a constant, or a statement about extents that are fixed) expands the branch in
 * place, in a scope inside the node's; the other branch is not looked at. Exporters write such an If around Squeeze and the like.
 *
 * Else both branches become bodies of an `if`. Where they cannot both be one op's (their results differ in rank, or one makes no sense with
 * the extents around it) and the condition is about extents, one branch is expanded and the condition becomes a check of the plan: which
 * one, the rest of the model decides (ir/onnx/import.c). */
#include "ir/onnx/body.h"
#include "ir/onnx/convert.h"

#include <string.h>

typedef struct branches {
    rlx_onnx_model_t graphs[2];
    rlx_onnx_body_t bodies[2];
    rlx_status_t status[2];
    rlx_diag_t diag[2];
} branches_t;

static const char *const branch_names[2] = {"then_branch", "else_branch"};

/* The condition as an expression; RLX_EXPR_NONE where it depends on data. */
static rlx_expr_t condition_expr(rlx_onnx_call_t *call, rlx_value_t **condition)
{
    *condition = rlx_call_const_resolve(call, call->in[0]);
    return *condition != NULL && (*condition)->n_elements == 1 && (*condition)->elements != NULL ? (*condition)->elements[0] : RLX_EXPR_NONE;
}

static void outputs_take(rlx_onnx_call_t *call, const rlx_onnx_model_t *branch, const rlx_onnx_scope_t *scope)
{
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
                              .body = outer->body,
                              .call = outer->call,
                              .function = outer->function,
                              .opsets = outer->opsets,
                              .n_opsets = outer->n_opsets,
                              .depth = outer->depth + 1};

    if (scope.depth > RLX_ONNX_CALL_DEPTH_MAX) {
        rlx_call_fail(call, RLX_E_ONNX_LIMIT, "branches and functions nest more than %d deep", RLX_ONNX_CALL_DEPTH_MAX);
        return;
    }
    scope.place = rlx_graph_printf(call->graph, "%s, %s: ", call->source, name);
    rlx_onnx_names_init(&scope.names);
    call->status = rlx_onnx_inits_make(call->import, &scope, branch);
    if (rlx_call_ok(call))
        call->status = rlx_onnx_nodes_convert(call->import, &scope, branch->nodes, branch->n_nodes);
    if (rlx_call_ok(call))
        outputs_take(call, branch, &scope);
    rlx_onnx_names_fini(&scope.names);
}

/* A failure is the branch's own for now. */
static void branch_convert(rlx_onnx_call_t *call, branches_t *b, int index)
{
    rlx_diag_t *diag = call->import->diag;

    call->diag = call->import->diag = &b->diag[index];
    rlx_onnx_body_begin(call, &b->bodies[index], branch_names[index]);
    rlx_onnx_body_convert(call, &b->bodies[index], &b->graphs[index]);
    rlx_onnx_body_outputs(call, &b->bodies[index], &b->graphs[index], 0);
    rlx_onnx_body_end(call, &b->bodies[index]);
    b->status[index] = call->status;
    call->status = RLX_OK;
    call->diag = call->import->diag = diag;
}

static bool branches_fit(const branches_t *b)
{
    const rlx_graph_t *x = b->bodies[0].graph, *y = b->bodies[1].graph;

    if (b->status[0] != RLX_OK || b->status[1] != RLX_OK)
        return false;
    for (int i = 0; i < x->n_outputs; i++)
        if (x->outputs[i]->rank != y->outputs[i]->rank || x->outputs[i]->dtype != y->outputs[i]->dtype)
            return false;
    return true;
}

static void if_make(rlx_onnx_call_t *call, branches_t *b, rlx_value_t *condition)
{
    int n_in = 1 + b->bodies[0].n_captured + b->bodies[1].n_captured, at = 1;
    rlx_value_t **in = rlx_graph_alloc(call->graph, (size_t)n_in * sizeof *in);
    rlx_op_t *op;

    in[0] = condition->dtype == RLX_BOOL ? condition : rlx_call_cast(call, condition, RLX_BOOL);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < b->bodies[i].n_captured; k++)
            in[at++] = b->bodies[i].captured[k];
    op = rlx_call_begin_results(call, RLX_OP_if, n_in, in, call->n_out);
    if (op == NULL)
        return;
    op->n_bodies = 2;
    op->bodies = rlx_graph_alloc(call->graph, 2 * sizeof *op->bodies);
    op->bodies[0] = b->bodies[0].graph;
    op->bodies[1] = b->bodies[1].graph;
    rlx_call_end_results(call, op);
}

/* Which branch this If takes in this attempt: bits of import->choices, by node. First comes the more general one: where the condition is an
 * equation, that is the else-branch. */
static int choice_take(rlx_onnx_call_t *call, rlx_expr_t condition)
{
    rlx_onnx_import_t *import = call->import;
    int first = rlx_expr_node(call->graph->exprs, condition)->op == RLX_EXPR_EQ ? 1 : 0, i = 0;

    while (i < import->n_choices && strcmp(import->choice_source[i], call->source) != 0)
        i++;
    if (i == RLX_ONNX_CHOICES_MAX)
        return first;
    if (i == import->n_choices)
        import->choice_source[import->n_choices++] = call->source;
    return first ^ (int)(import->choices >> i & 1);
}

/* One branch only makes a model: the other is refused when a plan is made. */
static void branch_choose(rlx_onnx_call_t *call, branches_t *b, rlx_expr_t condition)
{
    bool both = b->status[0] == RLX_OK && b->status[1] == RLX_OK;
    int taken = both ? choice_take(call, condition) : b->status[0] == RLX_OK ? 0 : 1;
    rlx_expr_t holds = taken == 0 ? condition : rlx_expr_eq(call->graph->exprs, condition, rlx_call_expr(call, 0));

    rlx_call_check(call, holds, rlx_graph_printf(call->graph, "%s: with these extents it takes its %s, which the model around it does not fit",
                                                 call->source, branch_names[1 - taken]));
    if (rlx_call_ok(call))
        branch_expand(call, &b->graphs[taken], branch_names[taken]);
}

static void branches_run(rlx_onnx_call_t *call, branches_t *b, rlx_value_t *condition, rlx_expr_t expr)
{
    for (int i = 0; i < 2; i++)
        branch_convert(call, b, i);
    if (branches_fit(b)) {
        if_make(call, b, condition);
    } else if (expr >= 0 && (b->status[0] == RLX_OK || b->status[1] == RLX_OK)) {
        branch_choose(call, b, expr);
    } else if (b->status[0] != RLX_OK || b->status[1] != RLX_OK) {
        *call->diag = b->diag[b->status[0] != RLX_OK ? 0 : 1];
        call->status = call->diag->status;
    } else {
        rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "the branches of If give results of different rank or type; which runs depends on data");
    }
}

void rlx_convert_if(rlx_onnx_call_t *call)
{
    branches_t *b = rlx_graph_alloc(call->graph, sizeof *b);
    rlx_value_t *condition;
    rlx_expr_t expr;
    int64_t number;

    for (int i = 0; i < 2; i++) {
        if (!rlx_onnx_body_parse(call, branch_names[i], &b->graphs[i]))
            return;
        if (b->graphs[i].n_inputs != 0 || b->graphs[i].n_outputs != call->n_out) {
            rlx_call_fail(call, RLX_E_ONNX_NODE, "%s has %d inputs and %d outputs; the node gives it none and has %d", branch_names[i],
                          b->graphs[i].n_inputs, b->graphs[i].n_outputs, call->n_out);
            return;
        }
    }
    expr = condition_expr(call, &condition);
    if (condition == NULL)
        return;
    if (expr >= 0 && rlx_expr_is_const(call->graph->exprs, expr, &number))
        branch_expand(call, &b->graphs[number == 0], branch_names[number == 0]);
    else
        branches_run(call, b, condition, expr);
}
