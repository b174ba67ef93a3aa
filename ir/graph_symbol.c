/* Symbols of a graph and the conditions on them (ir/graph.h). A symbol's name is unique; its index is what expressions hold. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "ir/graph_memory.h"

int rlx_graph_symbol(rlx_graph_t *graph, const char *name, rlx_value_t *value, int axis, int element, int64_t min, int64_t max)
{
    rlx_symbol_t *symbol;

    for (int i = 0; i < graph->n_symbols; i++) {
        if (strcmp(graph->symbols[i].name, name) == 0)
            return i;
    }
    graph->symbols = rlx_graph_array_grow(graph, graph->symbols, graph->n_symbols, &graph->cap_symbols, sizeof(*graph->symbols));
    symbol = &graph->symbols[graph->n_symbols];
    *symbol =
        (rlx_symbol_t){.name = rlx_graph_strdup(graph, name), .value = value, .axis = axis, .element = element, .min = min, .max = max};
    return graph->n_symbols++;
}

static const char *computed_name(rlx_graph_t *graph, const rlx_value_t *value, int axis, int element)
{
    return rlx_graph_printf(graph, axis >= 0 ? "%s:%d" : "%s[%d]", value->name, axis >= 0 ? axis : element);
}

void rlx_value_rename(rlx_graph_t *graph, rlx_value_t *value, const char *name)
{
    value->name = name;
    for (int i = 0; value->observed && i < graph->n_symbols; i++)
        if (graph->symbols[i].value == value && graph->symbols[i].holds)
            graph->symbols[i].name = computed_name(graph, value, graph->symbols[i].axis, graph->symbols[i].element);
}

rlx_expr_t rlx_graph_symbol_computed(rlx_graph_t *graph, rlx_value_t *value, int axis, int element, int64_t min, int64_t max)
{
    const char *name = computed_name(graph, value, axis, element);
    int index = 0;

    while (index < graph->n_symbols && (graph->symbols[index].value != value || graph->symbols[index].axis != axis ||
                                        (axis < 0 && graph->symbols[index].element != element)))
        index++;
    if (index == graph->n_symbols && rlx_graph_symbol(graph, name, value, axis, element, min, max) != index)
        index = rlx_graph_symbol(graph, rlx_graph_printf(graph, "%s'%u", name, value->id), value, axis, element, min, max);
    RLX_ASSERT(graph->symbols[index].value == value);
    if (!graph->symbols[index].holds) {
        graph->symbols[index].holds = true;
        value->observed = true;
        value->n_uses++;
    }
    return rlx_expr_symbol(graph->exprs, index, graph->symbols[index].min, graph->symbols[index].max);
}

/* Operands have smaller indices: a visited mark per expression keeps shared parts cheap. */
bool rlx_expr_is_computed(const rlx_graph_t *graph, rlx_expr_t expr)
{
    bool found = false, any = false;
    char *wanted;

    for (int i = 0; i < graph->n_symbols; i++)
        any |= graph->symbols[i].holds;
    if (!any || expr < 0)
        return false;
    wanted = calloc((size_t)expr + 1, 1);
    RLX_ASSERT(wanted != NULL);
    wanted[expr] = 1;
    for (rlx_expr_t i = expr; i >= 0 && !found; i--) {
        const rlx_expr_node_t *node = rlx_expr_node(graph->exprs, i);
        const rlx_expr_t operands[3] = {node->a, node->b, node->c};

        if (!wanted[i] || node->op == RLX_EXPR_CONST)
            continue;
        if (node->op == RLX_EXPR_SYMBOL) {
            found = graph->symbols[node->value].holds;
            continue;
        }
        for (int k = 0; k < (node->op == RLX_EXPR_SELECT ? 3 : 2); k++)
            if (operands[k] >= 0)
                wanted[operands[k]] = 1;
    }
    free(wanted);
    return found;
}

rlx_status_t rlx_graph_check(rlx_graph_t *graph, rlx_expr_t condition, const char *message, rlx_diag_t *diag)
{
    int64_t value;
    int known;

    if (condition < 0)
        return rlx_fail(diag, RLX_E_SHAPE_MISMATCH, "%s (the arithmetic overflows or depends on data)", message);
    if (rlx_expr_is_const(graph->exprs, condition, &value))
        return value != 0 ? RLX_OK : rlx_fail(diag, RLX_E_SHAPE_MISMATCH, "%s", message);
    if (rlx_expr_node(graph->exprs, condition)->min > 0 || rlx_expr_node(graph->exprs, condition)->max < 0)
        return RLX_OK;
    known = rlx_graph_memory_mark(graph->memory, condition);
    if (known > 0 && known <= graph->n_checks && graph->checks[known - 1].condition == condition)
        return RLX_OK;
    graph->checks = rlx_graph_array_grow(graph, graph->checks, graph->n_checks, &graph->cap_checks, sizeof(*graph->checks));
    graph->checks[graph->n_checks++] = (rlx_check_t){condition, rlx_graph_strdup(graph, message)};
    rlx_graph_memory_set_mark(graph->memory, condition, graph->n_checks);
    return RLX_OK;
}
