/* A fixed point: regions only grow, from "everything in region 0" on, until every rule of the header holds. A graph whose rules cannot hold
 * (a value that must be there before it can be computed) runs into the bound on regions and is refused; so is one with too many. */
#include "ir/pass/regions.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "bundle/program.h"
#include "ir/builder.h"
#include "ir/flow.h"

bool rlx_value_is_dynamic(const rlx_graph_t *graph, const rlx_value_t *value)
{
    if (value->producer == NULL || !rlx_op_is_flow(value->producer))
        return false;
    for (int i = 0; i < graph->n_symbols; i++)
        if (graph->symbols[i].value == value && graph->symbols[i].axis >= 0)
            return true;
    return false;
}

void rlx_regions_fini(rlx_regions_t *regions)
{
    free(regions->of_symbol);
    free(regions->of_value);
    free(regions->of_expr);
    *regions = (rlx_regions_t){0};
}

/* Regions of all expressions, from those of the symbols: operands come first. */
static void exprs_fill(rlx_regions_t *regions, const rlx_graph_t *graph)
{
    int count = rlx_exprs_count(graph->exprs);

    if (count > regions->n_exprs) {
        regions->of_expr = realloc(regions->of_expr, (size_t)count * sizeof *regions->of_expr);
        RLX_ASSERT(regions->of_expr != NULL);
    }
    regions->n_exprs = count;
    for (int i = 0; i < count; i++) {
        const rlx_expr_node_t *node = rlx_expr_node(graph->exprs, i);
        const rlx_expr_t operands[3] = {node->a, node->b, node->op == RLX_EXPR_SELECT ? node->c : RLX_EXPR_NONE};
        int region = node->op == RLX_EXPR_SYMBOL ? regions->of_symbol[node->value] : 0;

        for (int k = 0; k < 3 && node->op != RLX_EXPR_CONST && node->op != RLX_EXPR_SYMBOL; k++)
            if (operands[k] >= 0 && regions->of_expr[operands[k]] > region)
                region = regions->of_expr[operands[k]];
        regions->of_expr[i] = region;
    }
}

static void raise_to(int *region, int at_least, bool *changed)
{
    if (*region >= at_least)
        return;
    *region = at_least;
    *changed = true;
}

static void expr_raise(const rlx_regions_t *regions, rlx_expr_t expr, int *region)
{
    if (expr >= 0 && regions->of_expr[expr] > *region)
        *region = regions->of_expr[expr];
}

/* The step's region by its operands and numbers. */
static int step_region(const rlx_builder_t *builder, const rlx_step_t *step)
{
    const rlx_regions_t *regions = &builder->regions;
    int region = step->region;

    for (int i = 0; i < step->n_in; i++)
        if (step->in[i] != NULL && regions->of_value[rlx_builder_root(builder, step->in[i])->id] > region)
            region = regions->of_value[rlx_builder_root(builder, step->in[i])->id];
    for (int i = 0; i < step->n_params; i++)
        expr_raise(regions, step->params[i], &region);
    expr_raise(regions, step->tiles, &region);
    expr_raise(regions, step->scratch, &region);
    expr_raise(regions, step->flops, &region);
    for (int i = 0; i < step->n_out; i++) {
        const rlx_value_t *out = step->out[i] != NULL ? rlx_builder_root(builder, step->out[i]) : NULL;

        if (out == NULL || rlx_value_is_dynamic(builder->graph, out))
            continue;
        region = regions->of_value[out->id] > region ? regions->of_value[out->id] : region; /* of several writers, each a part */
        for (int k = 0; k < out->rank; k++)
            expr_raise(regions, out->dims[k], &region);
    }
    return region;
}

/* A result belongs to its writers' region; a dynamic one to the first in which its extents are known. */
static void results_raise(rlx_builder_t *builder, const rlx_step_t *step, bool *changed)
{
    rlx_regions_t *regions = &builder->regions;

    for (int i = 0; i < step->n_out; i++) {
        const rlx_value_t *out = step->out[i] != NULL ? rlx_builder_root(builder, step->out[i]) : NULL;
        int region = step->region;

        if (out == NULL || out->is_input || out->data != NULL)
            continue;
        if (rlx_value_is_dynamic(builder->graph, out)) {
            region = step->region + 1;
            for (int k = 0; k < out->rank; k++)
                expr_raise(regions, out->dims[k], &region);
        }
        raise_to(&regions->of_value[out->id], region, changed);
    }
}

static void symbols_raise(rlx_builder_t *builder, bool *changed)
{
    rlx_regions_t *regions = &builder->regions;

    for (int i = 0; i < builder->graph->n_symbols; i++) {
        const rlx_symbol_t *symbol = &builder->graph->symbols[i];
        const rlx_value_t *root;

        if (!symbol->holds || symbol->value->is_input)
            continue;
        root = rlx_builder_root(builder, symbol->value);
        if (symbol->axis >= 0)
            raise_to(&regions->of_symbol[i], regions->of_value[root->id], changed);
        else
            raise_to(&regions->of_symbol[i], regions->of_value[root->id] + 1, changed);
    }
}

/* The symbols of a dynamic value's extents are of the value's own region, all of them. */
static bool round_once(rlx_builder_t *builder)
{
    bool changed = false;

    exprs_fill(&builder->regions, builder->graph);
    for (int i = 0; i < builder->n_steps; i++) {
        raise_to(&builder->steps[i]->region, step_region(builder, builder->steps[i]), &changed);
        results_raise(builder, builder->steps[i], &changed);
    }
    symbols_raise(builder, &changed);
    return changed;
}

static void steps_sort(rlx_builder_t *builder)
{
    rlx_step_t **sorted = malloc(((size_t)builder->n_steps + 1) * sizeof *sorted);
    int n = 0;

    RLX_ASSERT(sorted != NULL);
    for (int r = 0; r < builder->regions.count; r++)
        for (int i = 0; i < builder->n_steps; i++)
            if (builder->steps[i]->region == r)
                sorted[n++] = builder->steps[i];
    memcpy(builder->steps, sorted, (size_t)n * sizeof *sorted);
    free(sorted);
}

static int last_region(const rlx_builder_t *builder)
{
    const rlx_regions_t *regions = &builder->regions;
    int last = 0;

    for (int i = 0; i < builder->n_steps; i++)
        last = builder->steps[i]->region > last ? builder->steps[i]->region : last;
    for (int i = 0; i < regions->n_values; i++)
        last = regions->of_value[i] > last ? regions->of_value[i] : last;
    for (int i = 0; i < regions->n_symbols; i++)
        last = regions->of_symbol[i] > last ? regions->of_symbol[i] : last;
    for (int i = 0; i < builder->graph->n_checks; i++)
        expr_raise(regions, builder->graph->checks[i].condition, &last);
    return last;
}

rlx_status_t rlx_regions_assign(rlx_builder_t *builder, rlx_diag_t *diag)
{
    rlx_regions_t *regions = &builder->regions;
    bool changed;

    *regions = (rlx_regions_t){.n_values = builder->graph->n_values, .n_symbols = builder->graph->n_symbols};
    regions->of_value = calloc((size_t)regions->n_values + 1, sizeof *regions->of_value);
    regions->of_symbol = calloc((size_t)regions->n_symbols + 1, sizeof *regions->of_symbol);
    RLX_ASSERT(regions->of_value != NULL);
    RLX_ASSERT(regions->of_symbol != NULL);
    do
        changed = round_once(builder);
    while (changed && last_region(builder) < RLX_REGIONS_MAX);
    regions->count = last_region(builder) + 1;
    if (regions->count > RLX_REGIONS_MAX)
        return rlx_fail(diag, RLX_E_IR_LIMIT, "extents depend on data more than %d times one after another", RLX_REGIONS_MAX);
    steps_sort(builder);
    return RLX_OK;
}
