/* Constants go into bodies, unused operands go away. After the graph around was folded, before a body is. */
#include "ir/flow.h"

#include "ir/pass/bind.h"

/* The body's own copy of a constant; the bytes are shared. */
static rlx_value_t *constant_sink(rlx_graph_t *body, const rlx_value_t *constant, const rlx_value_t *input, const int64_t *dims)
{
    return rlx_graph_const(body, input->name, constant->dtype, constant->rank, dims, constant->data, true);
}

static void operands_sink(rlx_graph_t *graph, rlx_op_t *op, int index)
{
    rlx_graph_t *body = op->bodies[index];
    int64_t dims[RLX_RANK_MAX];

    for (int i = 0; i < body->n_inputs; i++) {
        const rlx_value_t *operand = rlx_op_in(op, rlx_flow_first(op, index) + i);

        if (operand == NULL || operand->data == NULL || operand->layout != RLX_LAYOUT_ROW_MAJOR || rlx_flow_varies(op, index, i, -1) ||
            body->inputs[i]->n_uses == 0 || !rlx_value_dims_const(graph, operand, dims))
            continue;
        rlx_value_replace_uses(body, body->inputs[i], constant_sink(body, operand, body->inputs[i], dims));
    }
}

/* Symbols of the body that are numbers outside. */
static rlx_status_t symbols_sink(rlx_graph_t *graph, rlx_op_t *op, int index, rlx_diag_t *diag)
{
    rlx_graph_t *body = op->bodies[index];
    int64_t *values = rlx_graph_alloc(body, ((size_t)body->n_symbols + 1) * sizeof *values);
    bool *bound = rlx_graph_alloc(body, (size_t)body->n_symbols + 1), any = false;

    for (int i = 0; i < body->n_inputs; i++) {
        const rlx_value_t *operand = rlx_op_in(op, rlx_flow_first(op, index) + i);

        for (int s = 0; operand != NULL && s < body->n_symbols; s++) {
            const rlx_symbol_t *symbol = &body->symbols[s];
            rlx_expr_t known = RLX_EXPR_NONE;

            if (symbol->value != body->inputs[i] || symbol->holds || rlx_flow_varies(op, index, i, symbol->axis))
                continue;
            if (symbol->axis >= 0)
                known = operand->dims[symbol->axis];
            else if (operand->elements != NULL && symbol->element < operand->n_elements)
                known = operand->elements[symbol->element];
            bound[s] = known >= 0 && rlx_expr_is_const(graph->exprs, known, &values[s]);
            any |= bound[s];
        }
    }
    if (!any)
        return RLX_OK;
    RLX_TRY(rlx_graph_bind(body, values, bound, diag));
    for (int s = 0; s < body->n_symbols; s++)
        if (bound[s])
            body->symbols[s].min = body->symbols[s].max = values[s];
    return RLX_OK;
}

rlx_status_t rlx_flow_sink(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    for (int i = 0; i < op->n_bodies; i++) {
        operands_sink(graph, op, i);
        RLX_TRY(symbols_sink(graph, op, i, diag));
    }
    return RLX_OK;
}

/* Symbols keep an input: its extents or data are read when the body is planned. */
static bool input_is_needed(const rlx_graph_t *body, const rlx_value_t *input)
{
    if (input->n_uses > 0 || input->is_output)
        return true;
    for (int i = 0; i < body->n_symbols; i++)
        if (body->symbols[i].value == input && body->symbols[i].min != body->symbols[i].max)
            return true;
    return false;
}

/* Symbols of a dropped input that has one value only must not be read any more. */
static void symbols_drop(rlx_graph_t *body, const rlx_value_t *input)
{
    for (int i = 0; i < body->n_symbols; i++)
        if (body->symbols[i].value == input)
            body->symbols[i].value = NULL;
}

void rlx_flow_prune(rlx_op_t *op)
{
    int64_t fixed = op->kind == RLX_OP_loop ? 2 + rlx_op_int(op, "carried") : 0;
    int n_in = op->kind == RLX_OP_loop ? 0 : 1, at = n_in;

    for (int b = 0; b < op->n_bodies; b++) {
        rlx_graph_t *body = op->bodies[b];
        int kept = 0, count = body->n_inputs;

        for (int i = 0; i < count; i++, at++) {
            rlx_value_t *operand = rlx_op_in(op, at);

            if (i >= fixed && !input_is_needed(body, body->inputs[i])) {
                symbols_drop(body, body->inputs[i]);
                body->inputs[i]->is_input = false;
                if (operand != NULL)
                    operand->n_uses--;
                continue;
            }
            body->inputs[kept++] = body->inputs[i];
            if (n_in < op->n_in)
                op->in[n_in] = operand;
            n_in++;
        }
        body->n_inputs = kept;
    }
    op->n_in = n_in < op->n_in ? n_in : op->n_in;
}
