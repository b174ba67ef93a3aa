/* Elements of integer values: reading them, and the demand that turns elements of graph inputs and of computed values into symbols.
 *
 * A value's elements are tracked where a rule can compute them. Elements of graph inputs are symbols only once somebody needs them for a
 * shape: token ids must not become part of a plan. So the first reader walks back from the operand over small integer values, makes the
 * symbols of the inputs it meets and runs the rules in between again; where a rule cannot say an element since it depends on data, the
 * computed value's own element becomes a symbol. The walk is bounded by DEMAND_VISITS_MAX and DEMAND_DEPTH_MAX. */
#include "ir/shape/common.h"

#include <stdio.h>
#include <string.h>

#define DEMAND_VISITS_MAX 4096
#define DEMAND_DEPTH_MAX 128
#define DATA_COUNT_MAX 8 /* elements of a computed value on the way that become symbols all together */

bool rlx_shape_trackable(const rlx_graph_t *graph, const rlx_value_t *value, int *out_count)
{
    int64_t dims[RLX_RANK_MAX], count;

    if (!rlx_dtype_is_integer(value->dtype) && value->dtype != RLX_BOOL)
        return false;
    if (!rlx_value_dims_const(graph, value, dims) || !rlx_dims_count(dims, value->rank, &count) || count > RLX_ELEMENTS_MAX)
        return false;
    *out_count = (int)count;
    return true;
}

rlx_expr_t *rlx_shape_track(rlx_graph_t *graph, rlx_value_t *value)
{
    int count;

    if (value == NULL || !rlx_shape_trackable(graph, value, &count))
        return NULL;
    value->n_elements = count;
    value->elements = rlx_graph_alloc(graph, (size_t)(count ? count : 1) * sizeof(rlx_expr_t));
    for (int i = 0; i < count; i++)
        value->elements[i] = RLX_EXPR_NONE;
    return value->elements;
}

rlx_expr_t rlx_shape_element(const rlx_value_t *value, int i)
{
    return value->elements != NULL && i >= 0 && i < value->n_elements ? value->elements[i] : RLX_EXPR_NONE;
}

/* Range of a dtype as far as int64 holds it. */
static void dtype_range(rlx_dtype_t dtype, int64_t *out_min, int64_t *out_max)
{
    switch (dtype) {
    case RLX_BOOL: *out_min = 0; *out_max = 1; break;
    case RLX_I8: *out_min = INT8_MIN; *out_max = INT8_MAX; break;
    case RLX_I16: *out_min = INT16_MIN; *out_max = INT16_MAX; break;
    case RLX_I32: *out_min = INT32_MIN; *out_max = INT32_MAX; break;
    case RLX_U8: *out_min = 0; *out_max = UINT8_MAX; break;
    case RLX_U16: *out_min = 0; *out_max = UINT16_MAX; break;
    case RLX_U32: *out_min = 0; *out_max = UINT32_MAX; break;
    case RLX_U64: *out_min = 0; *out_max = INT64_MAX; break;
    default: *out_min = INT64_MIN; *out_max = INT64_MAX; break;
    }
}

rlx_expr_t rlx_shape_wrap(const rlx_graph_t *graph, rlx_dtype_t dtype, rlx_expr_t element)
{
    int64_t min, max;
    const rlx_expr_node_t *node;

    if (element < 0)
        return RLX_EXPR_NONE;
    dtype_range(dtype, &min, &max);
    node = rlx_expr_node(graph->exprs, element);
    return node->min > max || node->max < min ? RLX_EXPR_NONE : element;
}

static bool elements_complete(const rlx_value_t *value)
{
    if (value->elements == NULL)
        return false;
    for (int i = 0; i < value->n_elements; i++) {
        if (value->elements[i] == RLX_EXPR_NONE)
            return false;
    }
    return true;
}

static void input_symbols_make(rlx_graph_t *graph, rlx_value_t *input)
{
    rlx_expr_t *elements = input->elements != NULL ? input->elements : rlx_shape_track(graph, input);
    int64_t min, max;
    char name[512];

    dtype_range(input->dtype, &min, &max);
    for (int i = 0; elements != NULL && i < input->n_elements; i++) {
        int symbol;
        if (elements[i] != RLX_EXPR_NONE)
            continue;
        snprintf(name, sizeof(name), "%.400s[%d]", input->name, i);
        symbol = rlx_graph_symbol(graph, name, input, -1, i, min, max);
        if (graph->symbols[symbol].value != input || graph->symbols[symbol].element != i)
            continue; /* an extent has this name: the element stays unknown */
        elements[i] = rlx_expr_symbol(graph->exprs, symbol, min, max);
    }
}

rlx_expr_t rlx_shape_float_bits(rlx_graph_t *graph, rlx_value_t *value, int i)
{
    int64_t dims[RLX_RANK_MAX], count;
    char name[512];
    uint32_t bits;
    int symbol;

    while (value->producer != NULL && value->producer->kind == RLX_OP_identity)
        value = value->producer->in[0];
    if (value->dtype != RLX_F32 || !rlx_value_dims_const(graph, value, dims) || !rlx_dims_count(dims, value->rank, &count) || i >= count)
        return RLX_EXPR_NONE;
    if (value->data != NULL) {
        memcpy(&bits, (const char *)value->data + (size_t)i * sizeof bits, sizeof bits);
        return rlx_expr_const(graph->exprs, bits);
    }
    if (count > RLX_FLOAT_SYMBOLS_MAX || value->rank > 2)
        return RLX_EXPR_NONE;
    if (!value->is_input)
        return value->producer != NULL ? rlx_graph_symbol_computed(graph, value, -1, i, 0, UINT32_MAX) : RLX_EXPR_NONE;
    snprintf(name, sizeof(name), "%.400s[%d]", value->name, i);
    symbol = rlx_graph_symbol(graph, name, value, -1, i, 0, UINT32_MAX);
    if (graph->symbols[symbol].value != value || graph->symbols[symbol].element != i || graph->symbols[symbol].axis >= 0)
        return RLX_EXPR_NONE; /* an extent has this name */
    return rlx_expr_symbol(graph->exprs, symbol, graph->symbols[symbol].min, graph->symbols[symbol].max);
}

/* Elements that no rule can say become symbols, known when the value is computed: a region ends there (bundle/program.h). */
static void data_symbols_make(rlx_graph_t *graph, rlx_value_t *value, int count_max)
{
    int64_t min, max;
    int count;

    if (value->producer == NULL || value->is_input || !rlx_shape_trackable(graph, value, &count) || count > count_max)
        return;
    if (value->elements == NULL && rlx_shape_track(graph, value) == NULL)
        return;
    dtype_range(value->dtype, &min, &max);
    if (value->producer->kind == RLX_OP_count_non_zero || value->producer->kind == RLX_OP_unique)
        min = 0; /* a count: no check needs to say so */
    for (int i = 0; i < count; i++)
        if (value->elements[i] == RLX_EXPR_NONE)
            value->elements[i] = rlx_graph_symbol_computed(graph, value, -1, i, min, max);
}

static bool elements_const(const rlx_graph_t *graph, const rlx_value_t *value)
{
    int64_t ignored[RLX_ELEMENTS_MAX];
    int count;

    return value != NULL && rlx_value_ints(graph, value, ignored, RLX_ELEMENTS_MAX, &count);
}

/* Knowing operand `index` may tell the rule an element of the result. What else an op reads stays data: token ids, masks. */
static bool rule_reads(const rlx_graph_t *graph, const rlx_op_t *op, int index)
{
    const char *family = rlx_op_info(op->kind)->family;

    if (op->kind == RLX_OP_gather || op->kind == RLX_OP_gather_elements)
        return index == 0 && elements_const(graph, rlx_op_in(op, 1));
    return strcmp(family, "elementwise") == 0 || strcmp(family, "move") == 0 || strcmp(family, "make") == 0 || strcmp(family, "reduce") == 0;
}

static void demand(rlx_graph_t *graph, rlx_value_t *value, int depth, int *visits)
{
    rlx_op_t *op = value->producer;
    rlx_diag_t ignored = {0};
    int count;

    if (elements_complete(value) || !rlx_shape_trackable(graph, value, &count) || depth == 0 || --*visits < 0)
        return;
    if (value->is_input && value->data == NULL) {
        input_symbols_make(graph, value);
        return;
    }
    if (op == NULL)
        return;
    for (int i = 0; i < op->n_in; i++) {
        if (op->in[i] != NULL && rule_reads(graph, op, i))
            demand(graph, op->in[i], depth - 1, visits);
    }
    if (!value->observed)
        rlx_op_infer(graph, op, &ignored);
    if (!elements_complete(value))
        data_symbols_make(graph, value, DATA_COUNT_MAX);
}

rlx_status_t rlx_shape_ints(rlx_graph_t *graph, const rlx_op_t *op, int index, rlx_expr_t *out, int cap, int *out_count, rlx_diag_t *diag)
{
    rlx_value_t *value = rlx_op_in(op, index);
    int visits = DEMAND_VISITS_MAX, count;

    RLX_TRY(rlx_shape_need_integer(op, index, diag));
    if (!rlx_shape_trackable(graph, value, &count) || count > cap)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN,
                              "operand %d ('%s') decides a shape but has no fixed count of at most %d elements", index, value->name, cap);
    demand(graph, value, DEMAND_DEPTH_MAX, &visits);
    if (!elements_complete(value))
        data_symbols_make(graph, value, cap);
    for (int i = 0; i < count; i++) {
        out[i] = rlx_shape_element(value, i);
        if (out[i] < 0)
            return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "operand %d ('%s') decides a shape but its element %d depends on data",
                                  index, value->name, i);
    }
    *out_count = count;
    return RLX_OK;
}

rlx_status_t rlx_shape_int(rlx_graph_t *graph, const rlx_op_t *op, int index, rlx_expr_t *out, rlx_diag_t *diag)
{
    const rlx_value_t *value = rlx_op_in(op, index);
    rlx_expr_t element[1];
    int count;

    RLX_TRY(rlx_shape_ints(graph, op, index, element, 1, &count, diag));
    if (count != 1)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "operand %d ('%s') must have exactly one element", index, value->name);
    *out = element[0];
    return RLX_OK;
}

rlx_status_t rlx_shape_int_const(rlx_graph_t *graph, const rlx_op_t *op, int index, int64_t *out, rlx_diag_t *diag)
{
    rlx_expr_t element;

    RLX_TRY(rlx_shape_int(graph, op, index, &element, diag));
    if (!rlx_expr_is_const(graph->exprs, element, out))
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "operand %d ('%s') must be a constant", index, op->in[index]->name);
    return RLX_OK;
}

static bool data_in(const rlx_graph_t *graph, rlx_expr_t expr, int *visits)
{
    const rlx_expr_node_t *node;

    if (expr < 0)
        return false;
    if (--*visits < 0)
        return true;
    node = rlx_expr_node(graph->exprs, expr);
    if (node->op == RLX_EXPR_SYMBOL)
        return node->value >= graph->n_symbols || graph->symbols[node->value].axis < 0;
    return data_in(graph, node->a, visits) || data_in(graph, node->b, visits) || data_in(graph, node->c, visits);
}

bool rlx_shape_depends_on_data(const rlx_graph_t *graph, rlx_expr_t expr)
{
    int visits = DEMAND_VISITS_MAX;

    return data_in(graph, expr, &visits);
}
