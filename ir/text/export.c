/* Graphs, their symbols, constants and ops as statements (ir/text/export.h). */
#include "ir/text/exporter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "ir/flow.h"
#include "ir/text/names.h"

static const rlx_span_t nowhere = {0, 0, 0};

static void graph_export(rlx_exporter_t *around, rlx_syntax_function_t *function, const rlx_graph_t *graph);

static rlx_syntax_statement_t *statement_add(rlx_exporter_t *exporter, rlx_syntax_function_t *function, const char *space, const char *callee)
{
    rlx_syntax_statement_t *statement = rlx_syntax_statement_add(exporter->syntax, function, nowhere);

    statement->space = space;
    statement->callee = callee;
    return statement;
}

static void keyword_add(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const char *name, rlx_syntax_value_t *value)
{
    rlx_syntax_field_add(exporter->syntax, &statement->keywords, &statement->n_keywords, name, nowhere, value);
}

/* Graphs name every value differently, but for an output that shares the name of the input that it copies. */
static const char *ref_make(rlx_exporter_t *exporter, const rlx_value_t *value)
{
    const rlx_graph_t *graph = exporter->graph;

    if (value->is_output && !value->is_input)
        for (int i = 0; i < graph->n_inputs; i++)
            if (strcmp(graph->inputs[i]->name, value->name) == 0)
                return rlx_syntax_printf(exporter->syntax, "%s@out", value->name);
    return value->name;
}

static void result_add(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_value_t *value, bool typed)
{
    rlx_syntax_result_t *result;

    if (value == NULL) {
        rlx_syntax_result_add(exporter->syntax, statement, NULL, nowhere);
        return;
    }
    exporter->refs[value->id] = ref_make(exporter, value);
    result = rlx_syntax_result_add(exporter->syntax, statement, exporter->refs[value->id], nowhere);
    if (typed)
        result->type = rlx_export_type(exporter, value);
}

static bool bounds_are_usual(const rlx_symbol_t *symbol)
{
    if (symbol->axis >= 0)
        return symbol->min == 0 && symbol->max == RLX_EXTENT_MAX;
    if (symbol->value != NULL && symbol->value->dtype == RLX_I32)
        return symbol->min == INT32_MIN && symbol->max == INT32_MAX;
    return symbol->min == INT64_MIN && symbol->max == INT64_MAX;
}

/* Shape rules make the symbol again when they ask for the datum: of a computed value, or of an input under this name. */
static bool is_made_by_rules(const rlx_symbol_t *symbol)
{
    char name[512];

    if (symbol->holds || symbol->axis >= 0 || symbol->value == NULL)
        return symbol->holds;
    snprintf(name, sizeof name, "%.400s[%d]", symbol->value->name, symbol->element);
    return strcmp(name, symbol->name) == 0;
}

/* Only what does not follow from where the symbol stands. Symbols of computed values are made by the ops' rules. */
static void symbol_export(rlx_exporter_t *exporter, rlx_syntax_function_t *function, const rlx_symbol_t *symbol)
{
    rlx_syntax_statement_t *statement;

    if (is_made_by_rules(symbol) || symbol->value == NULL || !symbol->value->is_input)
        return;
    if (bounds_are_usual(symbol) && !symbol->declared && !symbol->independent)
        return;
    statement = statement_add(exporter, function, "symbol", "range");
    rlx_syntax_arg_add(exporter->syntax, statement, rlx_export_symbol(exporter, symbol->name));
    keyword_add(exporter, statement, "min", rlx_export_int(exporter, symbol->min));
    keyword_add(exporter, statement, "max", rlx_export_int(exporter, symbol->max));
    for (int i = 0; i < 2; i++) {
        rlx_syntax_value_t *yes = rlx_syntax_value(exporter->syntax, RLX_SYNTAX_BOOL, nowhere);

        yes->i = 1;
        if (i == 0 ? symbol->declared : symbol->independent)
            keyword_add(exporter, statement, i == 0 ? "declared" : "independent", yes);
    }
}

/* Not all of them are the rules' own. */
static bool elements_are_stated(const rlx_graph_t *graph, const rlx_value_t *value)
{
    bool stated = value->elements != NULL && value->n_elements == 0;

    for (int i = 0; value->elements != NULL && i < value->n_elements; i++) {
        const rlx_expr_node_t *node = value->elements[i] >= 0 ? rlx_expr_node(graph->exprs, value->elements[i]) : NULL;

        stated |= node != NULL && (node->op != RLX_EXPR_SYMBOL || !is_made_by_rules(&graph->symbols[node->value]));
    }
    return stated;
}

static void input_export(rlx_exporter_t *exporter, rlx_syntax_function_t *function, const rlx_value_t *value)
{
    rlx_syntax_statement_t *statement = statement_add(exporter, function, "tensor", "alloc");
    rlx_syntax_value_t *dtype = rlx_syntax_value(exporter->syntax, RLX_SYNTAX_DTYPE, nowhere);

    result_add(exporter, statement, value, false);
    dtype->dtype = value->dtype;
    keyword_add(exporter, statement, "shape", rlx_export_exprs(exporter, value->dims, value->rank));
    keyword_add(exporter, statement, "dtype", dtype);
    if (elements_are_stated(exporter->graph, value))
        keyword_add(exporter, statement, "elements", rlx_export_exprs(exporter, value->elements, value->n_elements));
    rlx_export_value_annotation(exporter, statement, value);
}

static void constant_export(rlx_exporter_t *exporter, rlx_syntax_function_t *function, const rlx_value_t *value)
{
    rlx_syntax_statement_t *statement;
    rlx_tensor_t tensor = {.dtype = value->dtype, .rank = value->rank, .data = (void *)(uintptr_t)value->data};

    if (value->data == NULL || exporter->refs[value->id] != NULL)
        return;
    RLX_ASSERT(rlx_value_dims_const(exporter->graph, value, tensor.dims));
    statement = statement_add(exporter, function, "tensor", "constant");
    result_add(exporter, statement, value, value->layout != RLX_LAYOUT_ROW_MAJOR);
    if (value->layout != RLX_LAYOUT_ROW_MAJOR) { /* packed: the shape says nothing about the bytes */
        tensor.dtype = RLX_U8;
        tensor.rank = 1;
        tensor.dims[0] = value->data_bytes;
    }
    rlx_syntax_arg_add(exporter->syntax, statement, rlx_export_tensor(exporter, &tensor));
    rlx_export_value_annotation(exporter, statement, value);
}

static void labels_export(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_op_t *op)
{
    const rlx_value_t *first = op->out[0];

    if (first == NULL || strcmp(first->name, op->name) != 0)
        rlx_export_attribute(exporter, statement, "node", rlx_export_string(exporter, op->name));
    if (!rlx_source_is_text(exporter->graph, op->source))
        rlx_export_attribute(exporter, statement, "source", rlx_export_string(exporter, op->source));
}

static void bodies_export(rlx_exporter_t *exporter, rlx_syntax_statement_t *statement, const rlx_op_t *op)
{
    for (int i = 0; i < op->n_bodies; i++) {
        rlx_syntax_function_t *body = rlx_syntax_alloc(exporter->syntax, sizeof *body);

        statement->bodies = rlx_syntax_grow(exporter->syntax, statement->bodies, statement->n_bodies, sizeof(*statement->bodies));
        statement->bodies[statement->n_bodies++] = body;
        graph_export(exporter, body, op->bodies[i]);
    }
}

static void op_export(rlx_exporter_t *exporter, rlx_syntax_function_t *function, const rlx_op_t *op)
{
    rlx_syntax_statement_t *statement;

    for (int i = 0; i < op->n_in; i++)
        if (op->in[i] != NULL)
            constant_export(exporter, function, op->in[i]);
    statement = statement_add(exporter, function, "rlxc", rlx_op_text_name(op));
    for (int i = 0; i < op->n_out; i++)
        result_add(exporter, statement, op->out[i], true);
    for (int i = 0; i < op->n_in; i++)
        rlx_syntax_arg_add(exporter->syntax, statement, rlx_export_ref(exporter, op->in[i]));
    if (op->kind == RLX_OP_store_elements)
        rlx_export_attribute(exporter, statement, "elements", rlx_export_exprs(exporter, op->out[0]->elements, op->out[0]->n_elements));
    rlx_export_attrs(exporter, statement, op);
    rlx_export_op_annotation(exporter, statement, op);
    if (op->out[0] != NULL)
        rlx_export_value_annotation(exporter, statement, op->out[0]);
    rlx_export_schedule(exporter, statement, op);
    labels_export(exporter, statement, op);
    statement->where = op->source;
    bodies_export(exporter, statement, op);
}

static void check_export(rlx_exporter_t *exporter, rlx_syntax_function_t *function, const rlx_check_t *check)
{
    rlx_syntax_statement_t *statement;

    if (!check->stated && !exporter->all_checks)
        return;
    statement = statement_add(exporter, function, "symbol", "check");
    rlx_syntax_arg_add(exporter->syntax, statement, rlx_export_expr(exporter, check->condition, INT32_MAX));
    keyword_add(exporter, statement, "message", rlx_export_string(exporter, check->message));
}

static void outputs_export(rlx_exporter_t *exporter, rlx_syntax_function_t *function)
{
    for (int i = 0; i < exporter->graph->n_outputs; i++)
        constant_export(exporter, function, exporter->graph->outputs[i]);
    for (int i = 0; i < exporter->graph->n_outputs; i++) {
        const rlx_value_t *value = exporter->graph->outputs[i];
        bool renamed = strcmp(exporter->refs[value->id], value->name) != 0;

        rlx_syntax_output_add(exporter->syntax, function, renamed ? value->name : NULL, nowhere, rlx_export_ref(exporter, value));
    }
    function->returns = true;
}

static void graph_export(rlx_exporter_t *around, rlx_syntax_function_t *function, const rlx_graph_t *graph)
{
    rlx_exporter_t exporter = {.syntax = around->syntax, .graph = graph, .all_checks = around->all_checks};

    exporter.refs = calloc((size_t)graph->n_values + 1, sizeof *exporter.refs);
    RLX_ASSERT(exporter.refs != NULL);
    for (int i = 0; i < graph->n_symbols; i++)
        symbol_export(&exporter, function, &graph->symbols[i]);
    for (int i = 0; i < graph->n_inputs; i++)
        input_export(&exporter, function, graph->inputs[i]);
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next)
        op_export(&exporter, function, op);
    for (int i = 0; i < graph->n_checks; i++)
        check_export(&exporter, function, &graph->checks[i]);
    outputs_export(&exporter, function);
    free(exporter.refs);
}

static bool is_scheduled(const rlx_graph_t *graph)
{
    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next)
        if (op->sched != NULL || op->kind == RLX_OP_reorder)
            return true;
    return false;
}

static void module_attribute(rlx_exporter_t *exporter, rlx_syntax_function_t *module, const char *name, const char *text)
{
    rlx_syntax_field_add(exporter->syntax, &module->attributes, &module->n_attributes, name, nowhere, rlx_export_string(exporter, text));
}

rlx_syntax_t *rlx_syntax_export(const rlx_graph_t *graph)
{
    static const char *const accuracies[] = {[RLX_ACCURACY_CAREFUL] = "careful", [RLX_ACCURACY_DIRECT] = "direct"};
    rlx_exporter_t exporter = {.syntax = rlx_syntax_create(graph->name), .graph = graph, .all_checks = is_scheduled(graph)};
    rlx_syntax_function_t *module = rlx_syntax_module_add(exporter.syntax, nowhere);

    exporter.syntax->version = RLX_SCHEMA_VERSION;
    module->name = rlx_syntax_strndup(exporter.syntax, graph->name, strlen(graph->name));
    if (graph->accuracy != RLX_ACCURACY_DEFAULT)
        module_attribute(&exporter, module, "accuracy", accuracies[graph->accuracy]);
    if (is_scheduled(graph))
        module_attribute(&exporter, module, "level", "scheduled");
    graph_export(&exporter, module, graph);
    return exporter.syntax;
}
