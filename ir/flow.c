/* Bodies seen from outside (ir/flow.h). Reads only, but for new expressions. */
#include "ir/flow.h"

#include <stdlib.h>

#include "base/assert.h"

int rlx_flow_first(const rlx_op_t *op, int body)
{
    if (op->kind == RLX_OP_loop)
        return 0;
    return body == 0 ? 1 : 1 + op->bodies[0]->n_inputs;
}

bool rlx_flow_varies(const rlx_op_t *op, int body, int input, int axis)
{
    int64_t carried = op->kind == RLX_OP_loop ? rlx_op_int(op, "carried") : 0;
    const rlx_graph_t *graph = op->bodies[body];
    const rlx_value_t *in, *out;

    if (op->kind != RLX_OP_loop || input >= 2 + carried)
        return false;
    if (input < 2 || axis < 0)
        return true;
    in = graph->inputs[input];
    out = graph->outputs[input - 1];
    return out->rank != in->rank || out->dims[axis] != in->dims[axis];
}

/* A symbol of the body, outside. */
static rlx_expr_t symbol_map(const rlx_op_t *op, int body, const rlx_symbol_t *symbol)
{
    const rlx_graph_t *graph = op->bodies[body];
    const rlx_value_t *operand;
    int input = 0;

    while (input < graph->n_inputs && graph->inputs[input] != symbol->value)
        input++;
    if (input == graph->n_inputs || rlx_flow_varies(op, body, input, symbol->axis))
        return RLX_EXPR_NONE;
    operand = rlx_op_in(op, rlx_flow_first(op, body) + input);
    if (operand == NULL)
        return RLX_EXPR_NONE;
    if (symbol->axis >= 0)
        return symbol->axis < operand->rank ? operand->dims[symbol->axis] : RLX_EXPR_NONE;
    return operand->elements != NULL && symbol->element < operand->n_elements ? operand->elements[symbol->element] : RLX_EXPR_NONE;
}

rlx_expr_t *rlx_flow_map(rlx_graph_t *graph, const rlx_op_t *op, int body)
{
    const rlx_graph_t *inner = op->bodies[body];
    int count = rlx_exprs_count(inner->exprs);
    rlx_expr_t *map = malloc(((size_t)count + 1) * sizeof *map);

    RLX_ASSERT(map != NULL);
    for (int i = 0; i < count; i++) { /* operands come first */
        const rlx_expr_node_t *node = rlx_expr_node(inner->exprs, i);

        if (node->op == RLX_EXPR_CONST)
            map[i] = rlx_expr_const(graph->exprs, node->value);
        else if (node->op == RLX_EXPR_SYMBOL)
            map[i] = symbol_map(op, body, &inner->symbols[node->value]);
        else if (node->op == RLX_EXPR_SELECT)
            map[i] = rlx_expr_select(graph->exprs, map[node->a], map[node->b], map[node->c]);
        else
            map[i] = rlx_expr_binary(graph->exprs, node->op, map[node->a], map[node->b]);
    }
    return map;
}

bool rlx_flow_always(const rlx_op_t *op)
{
    const rlx_graph_t *body = op->bodies[0];
    const rlx_value_t *next = body->outputs[0], *first = rlx_op_in(op, 1);

    if (first != NULL && (first->data == NULL || *(const uint8_t *)first->data == 0))
        return false;
    while (next->producer != NULL && next->producer->kind == RLX_OP_identity)
        next = next->producer->in[0];
    return next == body->inputs[1] || (next->data != NULL && *(const uint8_t *)next->data != 0);
}
