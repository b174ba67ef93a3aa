/* What the executor needs to know of a batch whose rows lie apart: which storages have one row of the batch per index of their outermost
 * axis. Views count too: a storage that any value sees with another outermost axis does not. */
#include <stdlib.h>

#include "base/assert.h"
#include "bundle/program.h"
#include "ir/pass/batch_rules.h"
#include "ir/builder.h"

static int independent_symbol(const rlx_graph_t *graph)
{
    for (int i = 0; i < graph->n_symbols; ++i)
        if (graph->symbols[i].independent)
            return i;
    return -1;
}

static bool depends_past(rlx_batch_t *batch, const rlx_value_t *value, int axis)
{
    for (int i = axis; i < value->rank; ++i)
        if (rlx_batch_depends(batch, value->dims[i]))
            return true;
    return false;
}

/* An integer tensor may say the batch's size without having it as an extent. */
static bool elements_depend(rlx_batch_t *batch, const rlx_value_t *value)
{
    for (int i = 0; value->elements != NULL && i < value->n_elements; ++i)
        if (value->elements[i] >= 0 && rlx_batch_depends(batch, value->elements[i]))
            return true;
    return false;
}

static uint32_t own_rows(rlx_batch_t *batch, const rlx_value_t *value, uint32_t symbol)
{
    if (value->rank > 0 && value->dims[0] == batch->extent)
        return depends_past(batch, value, 1) ? RLX_NO_INDEX : symbol;
    return depends_past(batch, value, 0) || elements_depend(batch, value) ? RLX_NO_INDEX : RLX_BATCH_FREE;
}

uint32_t *rlx_batch_storage(const rlx_builder_t *builder)
{
    rlx_graph_t *graph = builder->graph;
    int symbol = independent_symbol(graph), n_values = graph->n_values;
    uint32_t *rows = malloc(((size_t)n_values + 1) * sizeof *rows);
    rlx_batch_t batch = {.graph = graph};

    RLX_ASSERT(rows != NULL);
    for (int i = 0; i < n_values; ++i)
        rows[i] = RLX_NO_INDEX;
    if (symbol < 0)
        return rows;
    batch.extent = graph->inputs[0]->dims[0]; /* the symbol itself: it is axis 0 of every input */
    for (int i = 0; i < n_values; ++i)
        rows[i] = own_rows(&batch, graph->values[i], (uint32_t)symbol);
    for (int i = 0; i < n_values; ++i) {
        const rlx_value_t *root = rlx_builder_root(builder, graph->values[i]);

        if (rows[i] != rows[root->id])
            rows[root->id] = RLX_NO_INDEX;
    }
    free(batch.depends);
    return rows;
}
