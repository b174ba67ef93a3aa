/* Binds symbols to numbers: `--shape input=1x3x224x224` at compile time. Every expression of the graph is rebuilt with the symbol replaced,
 * so what was symbolic folds, and kernels get constants. */
#include "ir/pass/bind.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

typedef struct binding {
    rlx_exprs_t *exprs;
    int count;         /* expressions that existed when binding began */
    rlx_expr_t *map;   /* old -> new */
} binding_t;

static rlx_expr_t mapped(const binding_t *binding, rlx_expr_t expr) { return expr < 0 || expr >= binding->count ? expr : binding->map[expr]; }

/* Operands of an expression are older than it, so one ascending walk sees them first. */
static void rebuild(binding_t *binding, const int64_t *values, const bool *bound)
{
    for (rlx_expr_t i = 0; i < binding->count; ++i) {
        rlx_expr_node_t node = *rlx_expr_node(binding->exprs, i);

        if (node.op == RLX_EXPR_CONST)
            binding->map[i] = i;
        else if (node.op == RLX_EXPR_SYMBOL)
            binding->map[i] = bound[node.value] ? rlx_expr_const(binding->exprs, values[node.value]) : i;
        else if (node.op == RLX_EXPR_SELECT)
            binding->map[i] = rlx_expr_select(binding->exprs, mapped(binding, node.a), mapped(binding, node.b), mapped(binding, node.c));
        else
            binding->map[i] = rlx_expr_binary(binding->exprs, node.op, mapped(binding, node.a), mapped(binding, node.b));
    }
}

static rlx_status_t rewrite_graph(rlx_graph_t *graph, const binding_t *binding, rlx_diag_t *diag)
{
    int n_checks = graph->n_checks;
    rlx_check_t *checks = graph->checks;

    for (int i = 0; i < graph->n_values; ++i) {
        rlx_value_t *value = graph->values[i];

        for (int k = 0; k < value->rank; ++k)
            value->dims[k] = mapped(binding, value->dims[k]);
        for (int k = 0; value->elements != NULL && k < value->n_elements; ++k)
            value->elements[k] = mapped(binding, value->elements[k]);
    }
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        int spatial = op->pads != NULL && op->in[0] != NULL ? op->in[0]->rank - 2 : 0;

        for (int k = 0; k < 2 * spatial; ++k)
            op->pads[k] = mapped(binding, op->pads[k]);
    }
    graph->checks = NULL;
    graph->n_checks = graph->cap_checks = 0;
    for (int i = 0; i < n_checks; ++i)
        RLX_TRY(rlx_graph_check(graph, mapped(binding, checks[i].condition), checks[i].message, diag));
    return RLX_OK;
}

rlx_status_t rlx_graph_bind(rlx_graph_t *graph, const int64_t *values, const bool *bound, rlx_diag_t *diag)
{
    binding_t binding = {.exprs = graph->exprs, .count = rlx_exprs_count(graph->exprs)};
    rlx_status_t status;

    for (int i = 0; i < graph->n_symbols; ++i) {
        const rlx_symbol_t *symbol = &graph->symbols[i];

        if (bound[i] && (values[i] < symbol->min || values[i] > symbol->max))
            return rlx_fail(diag, RLX_E_USAGE, "symbol '%s' cannot be %lld: it lies in %lld to %lld", symbol->name, (long long)values[i],
                            (long long)symbol->min, (long long)symbol->max);
    }
    binding.map = malloc(((size_t)binding.count + 1) * sizeof *binding.map);
    RLX_ASSERT(binding.map != NULL);
    rebuild(&binding, values, bound);
    status = rewrite_graph(graph, &binding, diag);
    free(binding.map);
    return status;
}

/* The axis' symbol, or -1 when its extent is a constant or more than a symbol. */
static int axis_symbol(const rlx_graph_t *graph, const rlx_value_t *input, int axis)
{
    const rlx_expr_node_t *node = rlx_expr_node(graph->exprs, input->dims[axis]);

    return node->op == RLX_EXPR_SYMBOL ? (int)node->value : -1;
}

static rlx_status_t bind_axis(rlx_graph_t *graph, const rlx_value_t *input, int axis, int64_t extent, int64_t *values, bool *bound, rlx_diag_t *diag)
{
    int symbol = axis_symbol(graph, input, axis);
    int64_t fixed;

    if (extent < 0)
        return RLX_OK;
    if (rlx_expr_is_const(graph->exprs, input->dims[axis], &fixed))
        return fixed == extent ? RLX_OK
                               : rlx_fail(diag, RLX_E_USAGE, "--shape: axis %d of input '%s' is fixed at %lld, not %lld", axis, input->name,
                                          (long long)fixed, (long long)extent);
    if (symbol < 0)
        return RLX_OK;
    if (bound[symbol] && values[symbol] != extent)
        return rlx_fail(diag, RLX_E_USAGE, "--shape: symbol '%s' would be both %lld and %lld", graph->symbols[symbol].name,
                        (long long)values[symbol], (long long)extent);
    bound[symbol] = true;
    values[symbol] = extent;
    return RLX_OK;
}

rlx_status_t rlx_graph_bind_shape(rlx_graph_t *graph, const char *name, int rank, const int64_t *dims, int64_t *values, bool *bound, rlx_diag_t *diag)
{
    for (int i = 0; i < graph->n_inputs; ++i) {
        const rlx_value_t *input = graph->inputs[i];

        if (strcmp(input->name, name) != 0)
            continue;
        if (input->rank != rank)
            return rlx_fail(diag, RLX_E_USAGE, "--shape: input '%s' has rank %d, not %d", name, input->rank, rank);
        for (int axis = 0; axis < rank; ++axis)
            RLX_TRY(bind_axis(graph, input, axis, dims[axis], values, bound, diag));
        return RLX_OK;
    }
    rlx_fail(diag, RLX_E_USAGE, "--shape names '%s', which is no input of this model", name);
    return rlx_diag_hint(diag, "`rlx dump MODEL` lists the inputs.");
}

static bool constant_element(const rlx_value_t *value, int element, int64_t *out)
{
    uint32_t bits;

    if (value->data == NULL || value->layout != RLX_LAYOUT_ROW_MAJOR || element >= value->data_bytes / (int64_t)rlx_dtype_size(value->dtype))
        return false;
    if (value->dtype != RLX_F32)
        return rlx_element_load(value->dtype, value->data, element, out);
    memcpy(&bits, (const char *)value->data + (size_t)element * sizeof bits, sizeof bits);
    *out = bits;
    return true;
}

rlx_status_t rlx_graph_bind_known(rlx_graph_t *graph, rlx_diag_t *diag)
{
    int64_t *values = rlx_graph_alloc(graph, ((size_t)graph->n_symbols + 1) * sizeof *values);
    bool *bound = rlx_graph_alloc(graph, (size_t)graph->n_symbols + 1), any = false;

    for (int i = 0; i < graph->n_symbols; ++i) {
        const rlx_symbol_t *symbol = &graph->symbols[i];

        bound[i] = symbol->holds && symbol->axis < 0 && symbol->min != symbol->max &&
                   constant_element(symbol->value, symbol->element, &values[i]);
        any |= bound[i];
    }
    if (!any)
        return RLX_OK;
    RLX_TRY(rlx_graph_bind(graph, values, bound, diag));
    for (int i = 0; i < graph->n_symbols; ++i)
        if (bound[i])
            graph->symbols[i].min = graph->symbols[i].max = values[i];
    return RLX_OK;
}
