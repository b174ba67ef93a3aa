/* Operands: values by name, and constants made of numbers and lists where people write them in place: reshape(%x, [batch, -1]), mul(%x, 0.5)
 * (ir/text/builder.h). */
#include <math.h>
#include <string.h>

#include "ir/text/builder.h"
#include "ir/text/element.h"
#include "ir/text/names.h"

/* A name after the statement's first result, which the graph makes unique. */
static const char *made_name(const rlx_text_call_t *call, int index)
{
    const char *result = call->statement->n_results > 0 ? call->statement->results[0].name : NULL;

    return rlx_graph_printf(call->builder->graph, "%s.operand%d", result != NULL ? result : call->statement->callee, index);
}

/* The type of a number beside other operands: theirs, for what works element by element, and for what pad fills with. */
static rlx_dtype_t neighbour_dtype(const rlx_text_call_t *call, int index, rlx_dtype_t fallback)
{
    bool elementwise = (rlx_op_info(call->kind)->traits & RLX_TRAIT_ELEMENTWISE) != 0 || (call->kind == RLX_OP_pad && index == 2);
    int first = call->kind == RLX_OP_where ? 1 : 0;

    for (int i = first; elementwise && i < call->n_in; i++)
        if (call->in[i] != NULL)
            return call->in[i]->dtype;
    for (int i = 0; elementwise && i < call->statement->n_args; i++) { /* 2 * x: the value stands behind */
        const rlx_syntax_value_t *argument = call->statement->args[i];
        const rlx_text_name_t *held = argument->kind == RLX_SYNTAX_REF ? rlx_onnx_names_get(&call->builder->names, argument->s) : NULL;

        if (i >= first && held != NULL && held->value != NULL)
            return held->value->dtype;
    }
    return fallback;
}

static bool element_of(const rlx_syntax_value_t *value, rlx_element_t *out)
{
    *out = (rlx_element_t){.real = value->kind == RLX_SYNTAX_FLOAT};
    if (out->real) {
        out->number = value->f;
    } else {
        out->negative = value->i < 0;
        out->magnitude = value->i < 0 ? 0 - (uint64_t)value->i : (uint64_t)value->i;
    }
    return value->kind == RLX_SYNTAX_FLOAT || value->kind == RLX_SYNTAX_INT || value->kind == RLX_SYNTAX_BOOL;
}

/* Operators whose integer operands are scalars; others take lists, and one number stands for a list of one. */
static bool takes_scalar(rlx_op_kind_t kind)
{
    return (rlx_op_info(kind)->traits & RLX_TRAIT_ELEMENTWISE) != 0 || kind == RLX_OP_range || kind == RLX_OP_one_hot || kind == RLX_OP_cumsum ||
           kind == RLX_OP_cumprod || kind == RLX_OP_trilu || kind == RLX_OP_pad || kind == RLX_OP_quantize || kind == RLX_OP_dequantize;
}

static bool number_operand(rlx_text_call_t *call, int index, const rlx_syntax_value_t *argument, rlx_value_t **out)
{
    rlx_dtype_t dtype = neighbour_dtype(call, index, argument->kind == RLX_SYNTAX_FLOAT  ? RLX_F32
                                                     : argument->kind == RLX_SYNTAX_BOOL ? RLX_BOOL
                                                                                         : RLX_I64);
    rlx_element_t element;
    int64_t one = 1;
    char data[8];

    element_of(argument, &element);
    if (!rlx_element_encode(dtype, &element, data)) {
        rlx_finding_expected(rlx_report(call->builder->findings, RLX_E_TYPE_MISMATCH, argument->span, "this number is no %s", rlx_dtype_name(dtype)),
                             "a number of the type that the other operands have");
        return false;
    }
    *out = rlx_graph_const(call->builder->graph, made_name(call, index), dtype, takes_scalar(call->kind) ? 0 : 1, &one, data, false);
    return true;
}

/* Numbers, symbols and arithmetic become elements that are stored when the request comes. */
static bool symbols_operand(rlx_text_call_t *call, int index, const rlx_syntax_value_t *list, rlx_value_t **out)
{
    rlx_graph_t *graph = call->builder->graph;
    rlx_value_t *value;
    rlx_diag_t diag = {0};
    rlx_op_t *op;

    value = rlx_graph_value(graph, made_name(call, index), RLX_I64);
    value->rank = 1;
    value->dims[0] = rlx_expr_const(graph->exprs, list->n_items);
    value->n_elements = list->n_items;
    value->elements = rlx_graph_alloc(graph, (size_t)(list->n_items + 1) * sizeof *value->elements);
    for (int i = 0; i < list->n_items; i++) {
        if (!rlx_text_expr(call->builder, list->items[i], &value->elements[i]))
            return false;
        if (value->elements[i] < 0)
            return rlx_text_wrong(call->builder, list->items[i], "an element", "a number, a symbol, or arithmetic on symbols");
    }
    op = rlx_graph_op(graph, NULL, RLX_OP_store_elements, value->name, 0, NULL, 1, &value);
    op->source = rlx_text_source(call->builder, call->statement);
    if (rlx_op_infer(graph, op, &diag) != RLX_OK) {
        rlx_report_diag(call->builder->findings, &diag, list->span);
        return false;
    }
    *out = value;
    return true;
}

static bool list_operand(rlx_text_call_t *call, int index, const rlx_syntax_value_t *list, rlx_value_t **out)
{
    bool real = false, numbers = true, words = false;
    int64_t n = list->n_items;
    rlx_dtype_t dtype;
    char *data;

    if (list->n_items > RLX_ELEMENTS_MAX)
        return rlx_text_wrong(call->builder, list, "a long operand", "a constant of its own: tensor::constant");
    for (int i = 0; i < list->n_items; i++) {
        rlx_syntax_kind_t kind = list->items[i]->kind;

        real |= kind == RLX_SYNTAX_FLOAT;
        words |= kind == RLX_SYNTAX_NAME || kind == RLX_SYNTAX_STRING || kind == RLX_SYNTAX_EXPR;
        numbers = numbers && (kind == RLX_SYNTAX_INT || kind == RLX_SYNTAX_FLOAT || kind == RLX_SYNTAX_BOOL);
    }
    if (words && !real)
        return symbols_operand(call, index, list, out);
    if (!numbers)
        return rlx_text_wrong(call->builder, list, "an operand", "a value, a number, or a list of numbers");
    dtype = neighbour_dtype(call, index, real ? RLX_F32 : RLX_I64);
    data = rlx_graph_alloc(call->builder->graph, (size_t)(n + 1) * 8);
    for (int i = 0; i < list->n_items; i++) {
        rlx_element_t element;

        element_of(list->items[i], &element);
        if (!rlx_element_encode(dtype, &element, data + (size_t)i * rlx_dtype_size(dtype))) {
            rlx_report(call->builder->findings, RLX_E_TYPE_MISMATCH, list->items[i]->span, "this number is no %s", rlx_dtype_name(dtype));
            return false;
        }
    }
    *out = rlx_graph_const(call->builder->graph, made_name(call, index), dtype, 1, &n, data, true);
    return true;
}

bool rlx_text_operand(rlx_text_call_t *call, int index, const rlx_syntax_value_t *argument, rlx_value_t **out)
{
    *out = NULL;
    switch (argument->kind) {
    case RLX_SYNTAX_NONE: return true;
    case RLX_SYNTAX_REF: *out = rlx_text_value_find(call->builder, argument->s, argument->span); return *out != NULL;
    case RLX_SYNTAX_INT:
    case RLX_SYNTAX_FLOAT:
    case RLX_SYNTAX_BOOL: return number_operand(call, index, argument, out);
    case RLX_SYNTAX_LIST: return list_operand(call, index, argument, out);
    case RLX_SYNTAX_TENSOR:
    case RLX_SYNTAX_EXTERNAL: *out = rlx_text_constant(call->builder, made_name(call, index), argument); return *out != NULL;
    default: return rlx_text_wrong(call->builder, argument, "an operand", "a value, a number, a list of numbers, or a tensor");
    }
}
