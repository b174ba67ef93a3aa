/* The verifier of the tensor level: runs after every pass, on what passes and the importer made. It reads only.
 *
 * Rules: ops form one doubly linked list; every operand is an input, a constant or the output of an earlier op; every output has one
 * producer; use counts and names are right; attributes are declared and of their type; dtypes, ranks, extents, elements and constants
 * agree; bodies obey the same rules. A broken rule is RLX_E_IR_INVALID with op, operand and rule. ir/verify_shape.c repeats the shape rules. */
#include "ir/verify.h"

#include "ir/schedule.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct verifier {
    const rlx_graph_t *graph;
    rlx_diag_t *diag;
    bool *defined; /* by value id: defined by now */
    int *uses;     /* by value id */
} verifier_t;

rlx_status_t rlx_verify_fail(const rlx_op_t *op, rlx_diag_t *diag, const char *format, ...)
{
    char text[512];
    va_list args;
    rlx_status_t status;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (op == NULL)
        return rlx_fail(diag, RLX_E_IR_INVALID, "%s", text);
    status = rlx_fail(diag, RLX_E_IR_INVALID, "%s: %s",
                      (unsigned)op->kind < RLX_OP_COUNT ? rlx_op_info(op->kind)->name : "op of unknown kind", text);
    if (diag != NULL && op->source != NULL)
        rlx_diag_at(diag, "%s", op->source);
    return status;
}

static bool belongs(const rlx_graph_t *graph, const rlx_value_t *value)
{
    return value->id < (uint32_t)graph->n_values && graph->values[value->id] == value;
}

static rlx_status_t check_value(verifier_t *v, const rlx_op_t *op, const rlx_value_t *value)
{
    int64_t count;

    if (!belongs(v->graph, value))
        return rlx_verify_fail(op, v->diag, "a value is not in the graph's list");
    if (value->name == NULL)
        return rlx_verify_fail(op, v->diag, "value %u has no name", value->id);
    if (rlx_dtype_size(value->dtype) == 0)
        return rlx_verify_fail(op, v->diag, "value '%s' has no element type", value->name);
    if (value->rank < 0 || value->rank > RLX_RANK_MAX)
        return rlx_verify_fail(op, v->diag, "value '%s' has rank %d", value->name, value->rank);
    for (int i = 0; i < value->rank; i++) {
        if (value->dims[i] < 0 || rlx_expr_node(v->graph->exprs, value->dims[i])->max < 0)
            return rlx_verify_fail(op, v->diag, "extent %d of value '%s' is unknown or negative", i, value->name);
    }
    if (value->elements != NULL && rlx_expr_is_const(v->graph->exprs, rlx_value_count(v->graph, value), &count) &&
        count != value->n_elements)
        return rlx_verify_fail(op, v->diag, "value '%s' has %lld elements, %d are tracked", value->name, (long long)count,
                               value->n_elements);
    return RLX_OK;
}

static int64_t element_of(const rlx_value_t *value, int i)
{
    switch (value->dtype) {
    case RLX_I8: return ((const int8_t *)value->data)[i];
    case RLX_I16: return ((const int16_t *)value->data)[i];
    case RLX_I32: return ((const int32_t *)value->data)[i];
    case RLX_U8: return ((const uint8_t *)value->data)[i];
    case RLX_BOOL: return ((const uint8_t *)value->data)[i] != 0;
    case RLX_U16: return ((const uint16_t *)value->data)[i];
    case RLX_U32: return ((const uint32_t *)value->data)[i];
    default: return ((const int64_t *)value->data)[i];
    }
}

static rlx_status_t check_constant(verifier_t *v, const rlx_value_t *value)
{
    int64_t dims[RLX_RANK_MAX], count, bytes, known;

    if (value->producer != NULL || value->is_input)
        return rlx_verify_fail(value->producer, v->diag, "constant '%s' is also produced or an input", value->name);
    if (!rlx_value_dims_const(v->graph, value, dims) || !rlx_dims_count(dims, value->rank, &count) ||
        !rlx_size_mul(count, (int64_t)rlx_dtype_size(value->dtype), &bytes))
        return rlx_verify_fail(NULL, v->diag, "constant '%s' has no constant shape", value->name);
    if (value->layout != RLX_LAYOUT_ROW_MAJOR)
        return RLX_OK;
    if (value->data_bytes != bytes)
        return rlx_verify_fail(NULL, v->diag, "constant '%s' has %lld bytes, its shape needs %lld", value->name,
                               (long long)value->data_bytes, (long long)bytes);
    for (int i = 0; value->elements != NULL && i < value->n_elements; i++) {
        if (rlx_expr_is_const(v->graph->exprs, value->elements[i], &known) && known != element_of(value, i))
            return rlx_verify_fail(NULL, v->diag, "element %d of constant '%s' is not what its data says", i, value->name);
    }
    return RLX_OK;
}

static bool attr_type_matches(const char *declared, rlx_attr_type_t type)
{
    static const struct {
        const char *text;
        rlx_attr_type_t type;
    } types[] = {{"tensor", RLX_ATTR_TENSOR}, {"is", RLX_ATTR_INTS}, {"fs", RLX_ATTR_FLOATS}, {"i", RLX_ATTR_INT},
                 {"f", RLX_ATTR_FLOAT},       {"s", RLX_ATTR_STRING}, {"t", RLX_ATTR_INT}};
    size_t length = strcspn(declared, "= ");

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strlen(types[i].text) == length && strncmp(types[i].text, declared, length) == 0)
            return types[i].type == type;
    }
    return false;
}

static rlx_status_t check_attrs(verifier_t *v, const rlx_op_t *op)
{
    for (int i = 0; i < op->n_attrs; i++) {
        const char *declared = rlx_attr_declaration(op->kind, op->attrs[i].name);
        if (declared == NULL)
            return rlx_verify_fail(op, v->diag, "attribute '%s' is not declared", op->attrs[i].name);
        if (!attr_type_matches(declared, op->attrs[i].type))
            return rlx_verify_fail(op, v->diag, "attribute '%s' has the wrong type", op->attrs[i].name);
    }
    return RLX_OK;
}

static rlx_status_t check_operands(verifier_t *v, const rlx_op_t *op)
{
    const rlx_op_info_t *info = rlx_op_info(op->kind);
    int residuals = rlx_op_residuals(op), n_in = op->n_in - residuals;

    if (n_in < info->min_in || n_in > info->max_in)
        return rlx_verify_fail(op, v->diag, "%d operands, %d to %d expected", n_in, info->min_in, info->max_in);
    for (int i = 0; i < op->n_in; i++) {
        const rlx_value_t *value = op->in[i];
        if (value == NULL && (i < info->min_in || i >= n_in))
            return rlx_verify_fail(op, v->diag, "operand %d is missing", i);
        if (value == NULL)
            continue;
        if (!belongs(v->graph, value))
            return rlx_verify_fail(op, v->diag, "operand %d is not in the graph's list", i);
        if (!v->defined[value->id])
            return rlx_verify_fail(op, v->diag, "operand %d ('%s') is used before it is defined", i, value->name);
        v->uses[value->id]++;
    }
    return RLX_OK;
}

static rlx_status_t check_outputs(verifier_t *v, const rlx_op_t *op)
{
    if (op->n_out < 1 || op->n_out > rlx_op_info(op->kind)->max_out)
        return rlx_verify_fail(op, v->diag, "%d outputs, 1 to %d expected", op->n_out, rlx_op_info(op->kind)->max_out);
    for (int i = 0; i < op->n_out; i++) {
        const rlx_value_t *value = op->out[i];
        if (value == NULL)
            continue;
        RLX_TRY(check_value(v, op, value));
        if (value->producer != op)
            return rlx_verify_fail(op, v->diag, "output %d ('%s') names another producer", i, value->name);
        if (v->defined[value->id])
            return rlx_verify_fail(op, v->diag, "output %d ('%s') is defined twice", i, value->name);
        v->defined[value->id] = true;
    }
    return RLX_OK;
}

static rlx_status_t check_op(verifier_t *v, const rlx_op_t *op)
{
    if (op->kind <= RLX_OP_NONE || op->kind >= RLX_OP_COUNT)
        return rlx_verify_fail(op, v->diag, "kind %d", (int)op->kind);
    if (op->name == NULL || op->source == NULL)
        return rlx_verify_fail(op, v->diag, "the op has no name or no source");
    RLX_TRY(check_operands(v, op));
    RLX_TRY(check_attrs(v, op));
    RLX_TRY(check_outputs(v, op));
    for (int i = 0; i < op->n_bodies; i++)
        if (rlx_graph_verify(op->bodies[i], v->diag) != RLX_OK)
            return rlx_diag_at(v->diag, "body %d of %s", i, op->source);
    return rlx_verify_op_shape(v->graph, op, v->diag);
}

static rlx_status_t check_ops(verifier_t *v)
{
    const rlx_op_t *previous = NULL;
    int count = 0;

    for (const rlx_op_t *op = v->graph->first; op != NULL; op = op->next) {
        if (op->prev != previous || ++count > v->graph->n_ops)
            return rlx_verify_fail(op, v->diag, "the list of ops is broken");
        RLX_TRY(check_op(v, op));
        previous = op;
    }
    if (v->graph->last != previous || count != v->graph->n_ops || count > RLX_GRAPH_OPS_MAX)
        return rlx_verify_fail(NULL, v->diag, "the list of ops is broken: %d linked, %d counted", count, v->graph->n_ops);
    return RLX_OK;
}

static rlx_status_t check_sources(verifier_t *v)
{
    for (int i = 0; i < v->graph->n_values; i++) {
        const rlx_value_t *value = v->graph->values[i];
        if (value == NULL || value->id != (uint32_t)i)
            return rlx_verify_fail(NULL, v->diag, "value %d does not stand at its place", i);
        if (value->data == NULL && !value->is_input)
            continue;
        RLX_TRY(check_value(v, NULL, value));
        if (value->data != NULL)
            RLX_TRY(check_constant(v, value));
        v->defined[i] = true;
    }
    for (int i = 0; i < v->graph->n_inputs; i++) {
        if (!belongs(v->graph, v->graph->inputs[i]) || !v->graph->inputs[i]->is_input || v->graph->inputs[i]->producer != NULL)
            return rlx_verify_fail(NULL, v->diag, "input %d is not marked as such or is produced", i);
    }
    return RLX_OK;
}

static rlx_status_t check_results(verifier_t *v)
{
    for (int i = 0; i < v->graph->n_outputs; i++) {
        const rlx_value_t *value = v->graph->outputs[i];
        if (!belongs(v->graph, value) || !v->defined[value->id] || !value->is_output)
            return rlx_verify_fail(NULL, v->diag, "graph output %d is not defined or not marked as such", i);
        v->uses[value->id]++;
    }
    for (int i = 0; i < v->graph->n_symbols; i++) {
        const rlx_symbol_t *symbol = &v->graph->symbols[i];
        if (!symbol->holds)
            continue;
        if (!belongs(v->graph, symbol->value) || !v->defined[symbol->value->id] || !symbol->value->observed)
            return rlx_verify_fail(NULL, v->diag, "symbol '%s' comes from a value that is not there", symbol->name);
        v->uses[symbol->value->id]++;
    }
    for (int i = 0; i < v->graph->n_values; i++) {
        const rlx_value_t *value = v->graph->values[i];
        if (v->defined[i] && value->n_uses != v->uses[i])
            return rlx_verify_fail(value->producer, v->diag, "value '%s' counts %d uses, %d were found", value->name, value->n_uses,
                                   v->uses[i]);
    }
    for (int i = 0; i < v->graph->n_checks; i++) {
        if (v->graph->checks[i].condition < 0 || v->graph->checks[i].message == NULL)
            return rlx_verify_fail(NULL, v->diag, "check %d has no condition or no message", i);
    }
    return RLX_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const rlx_value_t *const *)a)->name, (*(const rlx_value_t *const *)b)->name);
}

/* A model may hand an input through under its own name: then the output is a copy that shares it. */
static bool is_handed_through(const rlx_value_t *a, const rlx_value_t *b)
{
    return (a->is_input && b->is_output && !b->is_input) || (b->is_input && a->is_output && !a->is_input);
}

static rlx_status_t check_names(verifier_t *v)
{
    int n = v->graph->n_values;
    const rlx_value_t **sorted = malloc((size_t)(n + 1) * sizeof(const rlx_value_t *));
    rlx_status_t status = RLX_OK;

    if (sorted == NULL)
        return rlx_fail(v->diag, RLX_E_NO_MEMORY, "the verifier needs memory for %d values", n);
    for (int i = 0; i < n; i++)
        sorted[i] = v->graph->values[i];
    qsort(sorted, (size_t)n, sizeof(*sorted), by_name);
    for (int i = 1; i < n && status == RLX_OK; i++) {
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0 && v->defined[sorted[i - 1]->id] && v->defined[sorted[i]->id] &&
            !is_handed_through(sorted[i - 1], sorted[i]))
            status = rlx_verify_fail(sorted[i]->producer, v->diag, "two values have the name '%s'", sorted[i]->name);
    }
    free(sorted);
    return status;
}

rlx_status_t rlx_graph_verify(const rlx_graph_t *graph, rlx_diag_t *diag)
{
    verifier_t v = {.graph = graph, .diag = diag};
    rlx_status_t status;

    v.defined = calloc((size_t)graph->n_values + 1, sizeof(*v.defined));
    v.uses = calloc((size_t)graph->n_values + 1, sizeof(*v.uses));
    if (v.defined == NULL || v.uses == NULL)
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "the verifier needs memory for %d values", graph->n_values);
    else if ((status = check_sources(&v)) == RLX_OK && (status = check_ops(&v)) == RLX_OK && (status = check_results(&v)) == RLX_OK)
        status = check_names(&v);
    free(v.defined);
    free(v.uses);
    return status;
}
