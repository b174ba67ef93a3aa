/* Graph inputs and initializers. A named dimension is one symbol wherever the name stands; an unnamed one is a symbol of its own. Small
 * integer inputs that decide shapes get a symbol per element. An initializer that is also an input is a constant: its default is used. */
#include "ir/onnx/import.h"

#include <string.h>

#define RLX_ONNX_EXTENT_MAX INT64_C(0x7fffffff)
#define RLX_ONNX_VALUE_SYMBOLS_MAX 64

rlx_status_t rlx_onnx_inits_make(rlx_onnx_import_t *import, rlx_onnx_scope_t *scope, const rlx_onnx_model_t *model)
{
    for (int i = 0; i < model->n_inits; i++) {
        const rlx_onnx_tensor_t *init = &model->inits[i];
        rlx_value_t *value;
        rlx_tensor_t tensor;

        if (init->name[0] == '\0')
            return rlx_fail(import->diag, RLX_E_ONNX_GRAPH, "initializer %d has no name", i);
        if (rlx_onnx_scope_get(scope, init->name) != NULL)
            return rlx_fail(import->diag, RLX_E_ONNX_GRAPH, "'%s' is defined twice", init->name);
        if (rlx_onnx_tensor_decode(import->graph, init, import->dir_fd, &import->const_budget, &tensor, import->diag) != RLX_OK)
            return rlx_diag_at(import->diag, "%s: initializer %d '%s'", import->file, i, init->name);
        value = rlx_graph_const(import->graph, init->name, tensor.dtype, tensor.rank, tensor.dims, tensor.data, true);
        rlx_onnx_scope_add(scope, init->name, value);
    }
    return RLX_OK;
}

/* A symbol name that stands for nothing else yet. */
static const char *symbol_name_fresh(rlx_onnx_import_t *import, const char *name)
{
    for (int i = 0; i < import->graph->n_symbols; i++)
        if (strcmp(import->graph->symbols[i].name, name) == 0)
            return symbol_name_fresh(import, rlx_graph_printf(import->graph, "%s_", name));
    return name;
}

static bool dim_named(const rlx_onnx_dim_t *dim)
{
    return !dim->known && dim->param[0] != '\0' && strcmp(dim->param, "?") != 0;
}

static rlx_status_t dim_make(rlx_onnx_import_t *import, const rlx_onnx_port_t *port, rlx_value_t *value, int axis)
{
    const rlx_onnx_dim_t *dim = &port->dims[axis];
    rlx_graph_t *graph = import->graph;
    const char *name = dim->param;
    int symbol;

    if (dim->known && dim->value >= 0) {
        if (dim->value > RLX_ONNX_EXTENT_MAX)
            return rlx_fail(import->diag, RLX_E_ONNX_LIMIT, "input '%s' has extent %lld on axis %d; the limit is %lld", port->name,
                            (long long)dim->value, axis, (long long)RLX_ONNX_EXTENT_MAX);
        value->dims[axis] = rlx_expr_const(graph->exprs, dim->value);
        return RLX_OK;
    }
    if (dim->known && dim->value != -1)
        return rlx_fail(import->diag, RLX_E_ONNX_GRAPH, "input '%s' has extent %lld on axis %d", port->name, (long long)dim->value, axis);
    if (!dim_named(dim))
        name = symbol_name_fresh(import, rlx_graph_printf(graph, "%s_d%d", port->name, axis));
    symbol = rlx_graph_symbol(graph, name, value, axis, 0, 0, RLX_ONNX_EXTENT_MAX);
    value->dims[axis] = rlx_expr_symbol(graph->exprs, symbol, graph->symbols[symbol].min, graph->symbols[symbol].max);
    return RLX_OK;
}

static void elements_make(rlx_onnx_import_t *import, rlx_value_t *value)
{
    rlx_graph_t *graph = import->graph;
    int64_t min = value->dtype == RLX_I32 ? INT32_MIN : INT64_MIN, max = value->dtype == RLX_I32 ? INT32_MAX : INT64_MAX, n = 1;

    if ((value->dtype != RLX_I32 && value->dtype != RLX_I64) || value->rank > 1)
        return;
    if (value->rank == 1 && (!rlx_expr_is_const(graph->exprs, value->dims[0], &n) || n > RLX_ONNX_VALUE_SYMBOLS_MAX))
        return;
    value->n_elements = (int)n;
    value->elements = rlx_graph_alloc(graph, (size_t)(n + 1) * sizeof *value->elements);
    for (int i = 0; i < n; i++) {
        const char *name = symbol_name_fresh(import, rlx_graph_printf(graph, "%s_%d", value->name, i));
        int symbol = rlx_graph_symbol(graph, name, value, -1, i, min, max);

        value->elements[i] = rlx_expr_symbol(graph->exprs, symbol, min, max);
    }
}

static rlx_status_t port_check(rlx_onnx_import_t *import, const rlx_onnx_port_t *port)
{
    if (strcmp(port->kind, "tensor") != 0 && port->kind[0] != '\0')
        return rlx_fail(import->diag, RLX_E_ONNX_OPERATOR, "input '%s' is a %s; only tensors are supported", port->name, port->kind);
    if (port->kind[0] == '\0' || !port->has_shape)
        return rlx_fail(import->diag, RLX_E_ONNX_GRAPH, "input '%s' has no type or no shape; RLX needs its rank", port->name);
    if (rlx_onnx_dtype(port->elem_type) == RLX_DTYPE_NONE)
        return rlx_fail(import->diag, RLX_E_ONNX_OPERATOR, "input '%s' has element type %s (%lld), which is not supported", port->name,
                        rlx_onnx_dtype_name(port->elem_type), (long long)port->elem_type);
    return RLX_OK;
}

/* Names of dimensions are taken before any other symbol, so that an invented name never meets one. */
static rlx_status_t input_make(rlx_onnx_import_t *import, rlx_onnx_scope_t *scope, const rlx_onnx_port_t *port)
{
    rlx_value_t *value;

    RLX_TRY(port_check(import, port));
    value = rlx_graph_input(import->graph, port->name, rlx_onnx_dtype(port->elem_type), port->rank, NULL);
    value->rank = port->rank;
    for (int i = 0; i < port->rank; i++)
        if (dim_named(&port->dims[i]))
            RLX_TRY(dim_make(import, port, value, i));
    rlx_onnx_names_add(&scope->names, port->name, value);
    return RLX_OK;
}

static rlx_status_t ports_make(rlx_onnx_import_t *import, rlx_onnx_scope_t *scope)
{
    const rlx_onnx_model_t *model = import->model;

    for (int i = 0; i < model->n_inputs; i++) {
        rlx_value_t *known = rlx_onnx_names_get(&scope->names, model->inputs[i].name);

        if (model->inputs[i].name[0] == '\0')
            return rlx_fail(import->diag, RLX_E_ONNX_GRAPH, "input %d has no name", i);
        if (known != NULL && known->is_input)
            return rlx_fail(import->diag, RLX_E_ONNX_GRAPH, "'%s' is defined twice", model->inputs[i].name);
        if (known == NULL)
            RLX_TRY(input_make(import, scope, &model->inputs[i]));
    }
    return RLX_OK;
}

rlx_status_t rlx_onnx_inputs_make(rlx_onnx_import_t *import, rlx_onnx_scope_t *scope)
{
    const rlx_onnx_model_t *model = import->model;
    rlx_onnx_names_t used;
    rlx_status_t status = RLX_OK;

    RLX_TRY(rlx_onnx_inits_make(import, scope, model));
    RLX_TRY(ports_make(import, scope));
    rlx_onnx_names_init(&used);
    rlx_onnx_shape_use(import, &used);
    for (int i = 0; i < model->n_inputs && status == RLX_OK; i++) {
        rlx_value_t *value = rlx_onnx_names_get(&scope->names, model->inputs[i].name);

        for (int axis = 0; value->is_input && axis < value->rank && status == RLX_OK; axis++)
            if (!dim_named(&model->inputs[i].dims[axis]))
                status = dim_make(import, &model->inputs[i], value, axis);
        if (value->is_input && status == RLX_OK && rlx_onnx_names_get(&used, model->inputs[i].name) != NULL)
            elements_make(import, value);
    }
    rlx_onnx_names_fini(&used);
    return status;
}
