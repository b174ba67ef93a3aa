/* Bodies of `if` and `loop` (ir/text/builder.h). What a body says of its inputs must follow from the operands: what can be proven is, what can
 * not becomes a condition of the plan. */
#include <stdlib.h>

#include "ir/flow.h"
#include "ir/text/builder.h"

static int depth_of(const rlx_text_builder_t *builder)
{
    int depth = 0;

    for (; builder->around != NULL; builder = builder->around)
        depth++;
    return depth;
}

bool rlx_text_bodies_build(rlx_text_call_t *call, rlx_op_t *op)
{
    const rlx_syntax_statement_t *statement = call->statement;
    bool done = true;

    if (statement->n_bodies > 0 && !rlx_op_is_flow(op)) {
        rlx_report(call->builder->findings, RLX_E_ARG_UNKNOWN, statement->bodies[0]->span, "%s has no body", statement->callee);
        return false;
    }
    if (depth_of(call->builder) >= RLX_SYNTAX_BODIES_MAX) {
        rlx_report(call->builder->findings, RLX_E_TEXT_LIMIT, statement->callee_span, "bodies nest too deeply");
        return false;
    }
    if (statement->n_bodies == 0)
        return true;
    op->bodies = rlx_graph_alloc(call->builder->graph, (size_t)statement->n_bodies * sizeof *op->bodies);
    for (int i = 0; i < statement->n_bodies; i++) {
        rlx_text_builder_t body = {.syntax = call->builder->syntax, .function = statement->bodies[i], .findings = call->builder->findings,
                                   .files = call->builder->files, .around = call->builder,
                                   .depth = call->builder->depth};

        body.graph = rlx_graph_create_child(call->builder->graph, op->kind == RLX_OP_loop ? "body" : i == 0 ? "then_branch" : "else_branch");
        body.graph->text = call->builder->graph->text;
        done = rlx_text_function_build(&body) && done;
        op->bodies[op->n_bodies++] = body.graph;
    }
    return done;
}

static bool mismatch(rlx_text_call_t *call, int body, const rlx_value_t *input, const char *what)
{
    rlx_report(call->builder->findings, RLX_E_SHAPE_TEXT, call->statement->bodies[body]->span, "input '%s' of the body: %s", input->name, what);
    return false;
}

/* `said` inside means `given` outside. */
static bool agree(rlx_text_call_t *call, const rlx_op_t *op, int body, const rlx_value_t *input, rlx_expr_t said, rlx_expr_t given, const char *what)
{
    rlx_graph_t *graph = call->builder->graph;
    rlx_expr_t same;
    rlx_diag_t diag = {0};

    if (said < 0 || given < 0)
        return mismatch(call, body, input, what);
    same = rlx_expr_eq(graph->exprs, said, given);
    if (rlx_expr_is(graph->exprs, same, 1))
        return true;
    if (rlx_graph_check(graph, same, rlx_graph_printf(graph, "%s: the body's input '%s' has other extents than its operand", op->source, input->name),
                        &diag) != RLX_OK)
        return mismatch(call, body, input, what);
    return true;
}

/* `expr` is a symbol that stands for this extent (axis -1: datum) of the input itself. */
static bool is_own(const rlx_graph_t *graph, const rlx_value_t *input, rlx_expr_t expr, int axis, int element)
{
    const rlx_expr_node_t *node = rlx_expr_node(graph->exprs, expr);
    const rlx_symbol_t *symbol = node->op == RLX_EXPR_SYMBOL ? &graph->symbols[node->value] : NULL;

    return symbol != NULL && symbol->value == input && symbol->axis == axis && (axis >= 0 || symbol->element == element);
}

static bool extents_check(rlx_text_call_t *call, const rlx_op_t *op, int body, int index, const rlx_expr_t *map)
{
    const rlx_graph_t *inner = op->bodies[body];
    const rlx_value_t *input = inner->inputs[index], *operand = rlx_op_in(op, rlx_flow_first(op, body) + index);

    for (int i = 0; i < input->rank && i < operand->rank; i++) {
        if (is_own(inner, input, input->dims[i], i, 0))
            continue;
        if (rlx_flow_varies(op, body, index, i))
            return mismatch(call, body, input, "an extent changes from one iteration to the next, and is no symbol of its own");
        if (!agree(call, op, body, input, map[input->dims[i]], operand->dims[i], "another extent than the operand's"))
            return false;
    }
    return true;
}

static bool input_check(rlx_text_call_t *call, const rlx_op_t *op, int body, int index, const rlx_expr_t *map)
{
    const rlx_graph_t *inner = op->bodies[body];
    const rlx_value_t *input = inner->inputs[index], *operand = rlx_op_in(op, rlx_flow_first(op, body) + index);

    if (operand == NULL)
        return true; /* the shape rule has checked which ones may be absent */
    if (!extents_check(call, op, body, index, map))
        return false;
    for (int i = 0; input->elements != NULL && i < input->n_elements; i++) {
        if (input->elements[i] < 0 || is_own(inner, input, input->elements[i], -1, i))
            continue;
        if (rlx_flow_varies(op, body, index, -1) || operand->elements == NULL || i >= operand->n_elements)
            return mismatch(call, body, input, "its elements are not known outside");
        if (!agree(call, op, body, input, map[input->elements[i]], operand->elements[i], "other elements than the operand's"))
            return false;
    }
    return true;
}

bool rlx_text_bodies_check(rlx_text_call_t *call, rlx_op_t *op)
{
    for (int body = 0; body < op->n_bodies; body++) {
        rlx_expr_t *map = rlx_flow_map(call->builder->graph, op, body);
        bool done = true;

        for (int i = op->kind == RLX_OP_loop ? 2 : 0; i < op->bodies[body]->n_inputs && done; i++)
            done = input_check(call, op, body, i, map);
        free(map);
        if (!done)
            return false;
    }
    return true;
}
