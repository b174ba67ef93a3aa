/* Walks the graph in order once per candidate symbol. A rule says where the rows of a result are; its extents must agree, else it is
 * mixed. Integer values whose elements are known are what their elements are, whoever made them. */
#include "ir/pass/batch.h"

#include <stdlib.h>

#include "base/assert.h"
#include "ir/pass/batch_rules.h"

bool rlx_batch_depends(rlx_batch_t *batch, rlx_expr_t expr)
{
    int count = rlx_exprs_count(batch->graph->exprs);

    if (expr < 0)
        return true;
    if (count > batch->cap_depends) {
        batch->cap_depends = 2 * count;
        batch->depends = realloc(batch->depends, (size_t)batch->cap_depends * sizeof *batch->depends);
        RLX_ASSERT(batch->depends != NULL);
    }
    for (; batch->n_depends < count; batch->n_depends++) { /* operands come first */
        const rlx_expr_node_t *node = rlx_expr_node(batch->graph->exprs, batch->n_depends);
        bool *depends = &batch->depends[batch->n_depends];

        *depends = batch->n_depends == batch->extent;
        if (node->op == RLX_EXPR_CONST || node->op == RLX_EXPR_SYMBOL)
            continue;
        *depends = batch->depends[node->a] || batch->depends[node->b] || (node->op == RLX_EXPR_SELECT && batch->depends[node->c]);
    }
    return batch->depends[expr];
}

int rlx_batch_in(const rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    const rlx_value_t *value = rlx_op_in(op, index);

    return value != NULL ? batch->rows[value->id] : RLX_BATCH_NONE;
}

/* The extents say what `rows` says. */
static bool dims_agree(rlx_batch_t *batch, const rlx_value_t *value, int rows)
{
    if (rows >= value->rank)
        return false;
    for (int i = 0; i < value->rank; i++)
        if (i == rows ? value->dims[i] != batch->extent : rlx_batch_depends(batch, value->dims[i]))
            return false;
    return true;
}

/* All elements are known: then they tell. */
static bool rows_from_elements(rlx_batch_t *batch, const rlx_value_t *value, int *out_rows)
{
    if (value->n_elements < 0 || value->elements == NULL)
        return false;
    *out_rows = RLX_BATCH_NONE;
    for (int i = 0; i < value->n_elements; i++) {
        if (value->elements[i] < 0)
            return false;
        if (rlx_batch_depends(batch, value->elements[i]))
            *out_rows = RLX_BATCH_MIXED;
    }
    return true;
}

static bool pads_depend(rlx_batch_t *batch, const rlx_op_t *op)
{
    int spatial = op->pads != NULL && op->in[0] != NULL ? op->in[0]->rank - 2 : 0;

    for (int i = 0; i < 2 * spatial; i++)
        if (rlx_batch_depends(batch, op->pads[i]))
            return true;
    return false;
}

static int output_rows(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    bool rows = false, shapes = false;
    int from;

    if (rows_from_elements(batch, op->out[index], &from))
        return from;
    for (int i = 0; i < op->n_in; i++) {
        int in = rlx_batch_in(batch, op, i);

        if (in == RLX_BATCH_MIXED && !rlx_batch_is_shape(op, i))
            return RLX_BATCH_MIXED;
        rows |= in >= 0;
        shapes |= in == RLX_BATCH_MIXED;
    }
    if (pads_depend(batch, op))
        return RLX_BATCH_MIXED;
    from = rows || shapes ? rlx_batch_rule(batch, op, index) : RLX_BATCH_NONE;
    return from != RLX_BATCH_MIXED && dims_agree(batch, op->out[index], from) ? from : RLX_BATCH_MIXED;
}

/* Every input has the symbol at axis 0 and nowhere else; no symbol is data or comes from a computed value; no condition depends on it. */
static bool interface_fits(rlx_batch_t *batch)
{
    const rlx_graph_t *graph = batch->graph;

    for (int i = 0; i < graph->n_inputs; i++)
        if (!dims_agree(batch, graph->inputs[i], 0))
            return false;
    for (int i = 0; i < graph->n_symbols; i++)
        if (graph->symbols[i].axis < 0 || graph->symbols[i].holds)
            return false;
    for (int i = 0; i < graph->n_checks; i++)
        if (rlx_batch_depends(batch, graph->checks[i].condition))
            return false;
    return true;
}

static bool is_independent(rlx_batch_t *batch)
{
    const rlx_graph_t *graph = batch->graph;

    if (!interface_fits(batch))
        return false;
    for (int i = 0; i < graph->n_values; i++)
        batch->rows[i] = graph->values[i]->is_input ? 0 : RLX_BATCH_NONE;
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next)
        for (int i = 0; i < op->n_out; i++)
            if (op->out[i] != NULL)
                batch->rows[op->out[i]->id] = output_rows(batch, op, i);
    for (int i = 0; i < graph->n_outputs; i++)
        if (batch->rows[graph->outputs[i]->id] != 0)
            return false;
    return true;
}

void rlx_batch_mark(rlx_graph_t *graph)
{
    rlx_batch_t batch = {.graph = graph};
    const rlx_expr_node_t *node;

    if (graph->n_inputs == 0 || graph->inputs[0]->rank < 1)
        return;
    batch.extent = graph->inputs[0]->dims[0];
    node = rlx_expr_node(graph->exprs, batch.extent);
    if (node->op != RLX_EXPR_SYMBOL)
        return;
    batch.rows = malloc(((size_t)graph->n_values + 1) * sizeof *batch.rows);
    RLX_ASSERT(batch.rows != NULL);
    graph->symbols[node->value].independent = is_independent(&batch);
    free(batch.rows);
    free(batch.depends);
}
