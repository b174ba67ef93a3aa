/* Attributes of operators, as ir/op_list.h declares them: "name:type" (ir/text/builder.h). */
#include <inttypes.h>
#include <string.h>

#include "ir/text/builder.h"
#include "ir/text/names.h"

static bool ints_set(rlx_text_call_t *call, rlx_op_t *op, const char *name, const rlx_syntax_field_t *field)
{
    const rlx_syntax_value_t *value = field->value;
    int n = value->kind == RLX_SYNTAX_LIST ? value->n_items : 0, spatial = rlx_op_spatial(op);
    int64_t *ints;

    if (value->kind == RLX_SYNTAX_INT && rlx_op_has_padding(op->kind) && spatial > 0)
        n = spatial; /* strides = 2 */
    else if (value->kind != RLX_SYNTAX_LIST)
        return rlx_text_wrong(call->builder, value, field->name, "a list of integers");
    ints = rlx_graph_alloc(call->builder->graph, (size_t)(n + 1) * sizeof *ints);
    for (int i = 0; i < n; i++) {
        const rlx_syntax_value_t *item = value->kind == RLX_SYNTAX_LIST ? value->items[i] : value;

        if (item->kind != RLX_SYNTAX_INT)
            return rlx_text_wrong(call->builder, item, field->name, "integers");
        ints[i] = item->i;
    }
    rlx_op_set_ints(call->builder->graph, op, name, ints, n);
    return true;
}

static bool floats_set(rlx_text_call_t *call, rlx_op_t *op, const char *name, const rlx_syntax_field_t *field)
{
    const rlx_syntax_value_t *value = field->value;
    float *floats;

    if (value->kind != RLX_SYNTAX_LIST)
        return rlx_text_wrong(call->builder, value, field->name, "a list of numbers");
    floats = rlx_graph_alloc(call->builder->graph, (size_t)(value->n_items + 1) * sizeof *floats);
    for (int i = 0; i < value->n_items; i++) {
        double number;
        rlx_syntax_field_t item = {.name = field->name, .value = value->items[i]};

        if (!rlx_text_double(call->builder, &item, &number))
            return false;
        floats[i] = (float)number;
    }
    rlx_op_set_floats(call->builder->graph, op, name, floats, value->n_items);
    return true;
}

static bool tensor_set(rlx_text_call_t *call, rlx_op_t *op, const char *name, const rlx_syntax_field_t *field)
{
    rlx_tensor_t tensor;

    if (field->value->kind == RLX_SYNTAX_TENSOR)
        tensor = field->value->tensor;
    else if (field->value->kind != RLX_SYNTAX_EXTERNAL)
        return rlx_text_wrong(call->builder, field->value, field->name, "a tensor such as f32[1]{0.5}");
    else if (!rlx_text_external_load(call->builder, field->value, &tensor))
        return false;
    rlx_op_set_tensor(call->builder->graph, op, name, &tensor);
    return true;
}

static bool scalar_set(rlx_text_call_t *call, rlx_op_t *op, const char *name, char type, const rlx_syntax_field_t *field)
{
    rlx_graph_t *graph = call->builder->graph;
    const char *text;
    rlx_dtype_t dtype;
    double number;
    int64_t integer;

    switch (type) {
    case 'i':
        if (!rlx_text_int(call->builder, field, INT64_MIN, INT64_MAX, &integer))
            return false;
        rlx_op_set_int(graph, op, name, integer);
        return true;
    case 'f':
        if (!rlx_text_double(call->builder, field, &number))
            return false;
        rlx_op_set_float(graph, op, name, (float)number);
        return true;
    case 's':
        if (!rlx_text_string(call->builder, field, &text))
            return false;
        rlx_op_set_string(graph, op, name, text);
        return true;
    default:
        if (field->value->kind == RLX_SYNTAX_INT && field->value->i >= 0 && field->value->i < RLX_DTYPE_COUNT)
            dtype = (rlx_dtype_t)field->value->i; /* 0: none */
        else if (!rlx_text_dtype(call->builder, field, &dtype))
            return false;
        rlx_op_set_int(graph, op, name, dtype);
        return true;
    }
}

static bool field_set(rlx_text_call_t *call, rlx_op_t *op, const rlx_syntax_field_t *field)
{
    const char *name = rlx_attr_canonical(field->name), *type = rlx_attr_declaration(op->kind, name);

    if (strncmp(type, "is", 2) == 0)
        return ints_set(call, op, name, field);
    if (strncmp(type, "fs", 2) == 0)
        return floats_set(call, op, name, field);
    if (strncmp(type, "tensor", 6) == 0)
        return tensor_set(call, op, name, field);
    return scalar_set(call, op, name, type[0], field);
}

/* `cut`: a result may be cut off. */
static bool pad_expr(rlx_text_call_t *call, const rlx_syntax_value_t *value, bool cut, rlx_expr_t *out)
{
    int64_t number = 0;

    if (!rlx_text_expr(call->builder, value, out))
        return false;
    rlx_expr_is_const(call->builder->graph->exprs, *out, &number);
    if (*out >= 0 && number < 0 && !cut) {
        rlx_finding_hint(rlx_finding_expected(rlx_report(call->builder->findings, RLX_E_ARG_VALUE, value->span, "the padding is negative"),
                                              "0 or more cells"), "slice(x, ...) cuts cells off.");
        return false;
    }
    if (*out >= 0 && number >= INT32_MIN && number <= INT32_MAX)
        return true;
    return rlx_text_wrong(call->builder, value, "padding", "a number of cells");
}

/* One number for all, one for each axis (begin and end), or begins and then ends. Not given: 0. */
static bool padding_set(rlx_text_call_t *call, rlx_op_t *op)
{
    rlx_graph_t *graph = call->builder->graph;
    const rlx_syntax_value_t *value = call->padding != NULL ? call->padding->value : NULL;
    int spatial = rlx_op_spatial(op), n;

    if (spatial < 1 || spatial > RLX_RANK_MAX)
        return true; /* the shape rule refuses it */
    op->pads = rlx_graph_alloc(graph, (size_t)spatial * 2 * sizeof *op->pads);
    for (int i = 0; value == NULL && i < 2 * spatial; i++)
        op->pads[i] = rlx_expr_const(graph->exprs, 0);
    if (value == NULL)
        return true;
    n = value->kind == RLX_SYNTAX_LIST ? value->n_items : 1;
    if (value->kind == RLX_SYNTAX_LIST && n != spatial && n != 2 * spatial) {
        rlx_finding_expected(rlx_report(call->builder->findings, RLX_E_ARG_VALUE, value->span, "padding has %d numbers for %d axes", n, spatial),
                             "%d numbers, or %d: begins, then ends", spatial, 2 * spatial);
        return false;
    }
    for (int i = 0; i < 2 * spatial; i++)
        if (!pad_expr(call, value->kind == RLX_SYNTAX_LIST ? value->items[i % n] : value,
                      op->kind == RLX_OP_conv_transpose && i >= spatial && n > spatial, &op->pads[i]))
            return false;
    return true;
}

/* An attribute without a default must be given where the rule cannot do without. Lists mean "one everywhere" when absent. */
static bool required_check(rlx_text_call_t *call, const rlx_op_t *op)
{
    const char *at = rlx_op_info(op->kind)->attrs;

    while (*at) {
        size_t length = strcspn(at, ":"), whole = strcspn(at, " ");
        const char *name = rlx_graph_printf(call->builder->graph, "%.*s", (int)length, at);
        bool list = strncmp(at + length + 1, "is", 2) == 0 || strncmp(at + length + 1, "fs", 2) == 0;
        bool optional = list || memchr(at, '=', whole) != NULL || strncmp(at + length + 1, "tensor", 6) == 0 || op->kind == RLX_OP_lstm ||
                        op->kind == RLX_OP_qlstm || op->kind == RLX_OP_gru || op->kind == RLX_OP_rnn || op->kind == RLX_OP_remote_call;

        if (!optional && rlx_op_attr(op, name) == NULL) {
            rlx_finding_expected(rlx_report(call->builder->findings, RLX_E_ARG_MISSING, call->statement->callee_span, "%s lacks '%s'",
                                            call->statement->callee, name), "%s = ...", name);
            return false;
        }
        at += whole;
        at += strspn(at, " ");
    }
    return true;
}

bool rlx_text_attrs_set(rlx_text_call_t *call, rlx_op_t *op)
{
    bool done = true;

    for (int i = 0; i < call->n_fields; i++)
        done = field_set(call, op, call->fields[i]) && done;
    if (rlx_op_has_padding(op->kind))
        done = padding_set(call, op) && done;
    return done && required_check(call, op);
}
