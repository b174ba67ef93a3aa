/* Operators: operands, attributes and annotations sorted out, then the op made and its shape rule run (ir/text/builder.h). */
#include <string.h>

#include "base/closest.h"
#include "ir/graph_memory.h"
#include "ir/text/builder.h"
#include "ir/text/names.h"

static bool op_unknown(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    rlx_finding_t *finding =
        rlx_report(builder->findings, RLX_E_OP_UNKNOWN, statement->callee_span, "there is no operator '%s'", statement->callee);
    rlx_closest_t closest;

    rlx_closest_init(&closest, statement->callee, strlen(statement->callee));
    rlx_op_kind_offer(&closest);
    rlx_text_sugar_offer(&closest);
    if (closest.best != NULL)
        rlx_finding_hint(finding, "Did you mean '%s'?", closest.best);
    return false;
}

bool rlx_text_operand_set(rlx_text_call_t *call, int index, rlx_value_t *value)
{
    rlx_graph_t *graph = call->builder->graph;
    int n = call->n_in;

    if (index >= RLX_TEXT_OPERANDS_MAX) {
        rlx_report(call->builder->findings, RLX_E_TEXT_LIMIT, call->statement->callee_span, "the operator has too many operands");
        return false;
    }
    while (call->n_in <= index) {
        call->in = rlx_graph_array_grow(graph, call->in, call->n_in, &call->cap_in, sizeof *call->in);
        call->in[call->n_in++] = NULL;
    }
    if (index < n && call->in[index] != NULL) {
        rlx_finding_hint(rlx_report(call->builder->findings, RLX_E_NAME_TWICE, call->statement->callee_span, "operand %d is given twice", index),
                         "Remove one of them: it is given by its place and by its name.");
        return false;
    }
    call->in[index] = value;
    return true;
}

/* A list of values stands for its items: concat([%a, %b]). */
static bool is_values(const rlx_syntax_value_t *value)
{
    return value->kind == RLX_SYNTAX_LIST && value->n_items > 0 && value->items[0]->kind == RLX_SYNTAX_REF;
}

static bool operand_take(rlx_text_call_t *call, int index, const rlx_syntax_value_t *argument)
{
    rlx_value_t *value;

    for (int i = 0; is_values(argument) && i < argument->n_items; i++)
        if (!operand_take(call, index + i, argument->items[i]))
            return false;
    if (is_values(argument))
        return true;
    return rlx_text_operand(call, index, argument, &value) && rlx_text_operand_set(call, index, value);
}

static bool args_take(rlx_text_call_t *call)
{
    int index = 0;
    bool done = true;

    for (int i = 0; i < call->statement->n_args; i++) {
        const rlx_syntax_value_t *argument = call->statement->args[i];

        done = operand_take(call, index, argument) && done;
        index += is_values(argument) ? argument->n_items : 1;
    }
    return done;
}

static bool field_unknown(rlx_text_call_t *call, const rlx_syntax_field_t *field)
{
    const char *at = rlx_op_info(call->kind)->attrs, *name = call->statement->callee;
    rlx_finding_t *finding = rlx_report(call->builder->findings, RLX_E_ARG_UNKNOWN, field->name_span, "%s has no '%s'", name, field->name);
    rlx_closest_t closest;

    rlx_closest_init(&closest, field->name, strlen(field->name));
    while (*at) {
        rlx_closest_offer(&closest, rlx_graph_printf(call->builder->graph, "%.*s", (int)strcspn(at, ":"), at));
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    if (rlx_op_has_padding(call->kind))
        rlx_closest_offer(&closest, "padding");
    rlx_text_notes_offer(&closest);
    if (closest.best != NULL)
        rlx_finding_hint(finding, "Did you mean '%s'?", closest.best);
    return false;
}

static void field_keep(rlx_text_call_t *call, const rlx_syntax_field_t ***list, int *n, const rlx_syntax_field_t *field)
{
    int total = call->statement->n_keywords + call->statement->n_attributes;

    if (*list == NULL)
        *list = rlx_graph_alloc(call->builder->graph, (size_t)total * sizeof(**list));
    (*list)[(*n)++] = field;
}

static bool label_take(rlx_text_call_t *call, const rlx_syntax_field_t *field, const char **out)
{
    return rlx_text_string(call->builder, field, out);
}

/* One keyword or attribute to where it belongs. */
static bool field_take(rlx_text_call_t *call, const rlx_syntax_field_t *field)
{
    const char *canonical = rlx_attr_canonical(field->name);
    int operand = rlx_operand_parse(call->kind, field->name);

    if (rlx_attr_declaration(call->kind, canonical) != NULL)
        field_keep(call, &call->fields, &call->n_fields, field);
    else if (operand >= 0)
        return operand_take(call, operand, field->value);
    else if (strcmp(field->name, "node") == 0)
        return label_take(call, field, &call->node);
    else if (strcmp(field->name, "source") == 0)
        return label_take(call, field, &call->source);
    else if (strcmp(canonical, "padding") == 0 && rlx_op_has_padding(call->kind))
        call->padding = field;
    else if (strcmp(field->name, "elements") == 0 && call->kind == RLX_OP_store_elements)
        call->elements = field;
    else if (rlx_text_is_op_note(field->name) || rlx_text_is_value_note(field->name))
        field_keep(call, &call->notes, &call->n_notes, field);
    else
        return field_unknown(call, field);
    return true;
}

static bool field_twice(rlx_text_call_t *call, const rlx_syntax_field_t *field, const rlx_syntax_field_t *earlier)
{
    if (strcmp(rlx_attr_canonical(field->name), rlx_attr_canonical(earlier->name)) != 0)
        return false;
    rlx_finding_note(rlx_report(call->builder->findings, RLX_E_NAME_TWICE, field->name_span, "'%s' is given twice", field->name),
                     earlier->name_span, "first here");
    return true;
}

static bool fields_take(rlx_text_call_t *call)
{
    const rlx_syntax_statement_t *statement = call->statement;
    int n = statement->n_keywords + statement->n_attributes;
    bool done = true;

    for (int i = 0; i < n; i++) {
        const rlx_syntax_field_t *field = i < statement->n_keywords ? &statement->keywords[i] : &statement->attributes[i - statement->n_keywords];
        bool twice = false;

        for (int k = 0; k < i && k < 64 && !twice; k++)
            twice = field_twice(call, field, k < statement->n_keywords ? &statement->keywords[k] : &statement->attributes[k - statement->n_keywords]);
        done = !twice && field_take(call, field) && done;
    }
    return done;
}

/* "conv2d(input, weight, bias)" */
static void signature_expect(const rlx_text_call_t *call, rlx_finding_t *finding)
{
    char names[128];
    const char *at = rlx_operand_names(call->kind);
    size_t n = 0;

    for (; *at != '\0' && n + 3 < sizeof names; at++) {
        if (*at == ' ')
            names[n++] = ',';
        names[n++] = *at;
    }
    names[n] = '\0';
    if (n > 0)
        rlx_finding_expected(finding, "%s(%s)", call->statement->callee, names);
}

static void missing_report(const rlx_text_call_t *call, int index)
{
    const char *at = rlx_operand_names(call->kind);
    rlx_finding_t *finding;

    for (int i = 0; i < index && *at != '\0'; i++) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    finding = rlx_report(call->builder->findings, RLX_E_ARG_MISSING, call->statement->callee_span, *at != '\0' ? "%s lacks its operand '%.*s'" : "%s lacks an operand",
                         call->statement->callee, (int)strcspn(at, " "), at);
    signature_expect(call, finding);
    rlx_finding_hint(finding, "Write it where it stands there, or by name.");
}

static bool counts_check(rlx_text_call_t *call)
{
    const rlx_op_info_t *info = rlx_op_info(call->kind);
    const rlx_syntax_statement_t *statement = call->statement;

    while (call->n_in > info->min_in && call->in[call->n_in - 1] == NULL)
        call->n_in--;
    for (int i = 0; i < info->min_in; i++)
        if (i >= call->n_in || call->in[i] == NULL) {
            missing_report(call, i);
            return false;
        }
    if (call->n_in > info->max_in || statement->n_results < 1 || statement->n_results > info->max_out) {
        bool results = call->n_in <= info->max_in;
        rlx_finding_t *finding = rlx_report(call->builder->findings, RLX_E_ARG_UNKNOWN, statement->callee_span, "%s has at most %d %s%s, not %d",
                                            statement->callee, results ? info->max_out : info->max_in, results ? "result" : "operand",
                                            (results ? info->max_out : info->max_in) == 1 ? "" : "s", results ? statement->n_results : call->n_in);

        signature_expect(call, finding);
        rlx_finding_hint(finding, "Remove what is too much.");
        return false;
    }
    if (call->spatial > 0 && call->in[0] != NULL && call->in[0]->rank >= 0 && call->in[0]->rank != call->spatial + 2) {
        rlx_finding_expected(rlx_report(call->builder->findings, RLX_E_SHAPE_TEXT, statement->callee_span, "%s has an input of rank %d",
                                        statement->callee, call->in[0]->rank),
                             "rank %d: batch, channels and %d more", call->spatial + 2, call->spatial);
        return false;
    }
    return true;
}

/* store_elements, custom_op and remote_call have the types that are written; other rules overwrite them. */
static bool type_take(rlx_text_call_t *call, const rlx_syntax_type_t *type, rlx_value_t *value)
{
    const rlx_value_t *like = rlx_op_in(&(rlx_op_t){.n_in = call->n_in, .in = call->in}, 0);

    if (type == NULL && call->kind == RLX_OP_custom_op && like != NULL) {
        value->dtype = like->dtype;
        value->rank = like->rank;
        memcpy(value->dims, like->dims, sizeof value->dims);
    }
    if (type == NULL)
        return true;
    value->dtype = type->dtype;
    for (int i = 0; i < type->rank; i++)
        if (!rlx_text_expr(call->builder, type->dims[i], &value->dims[i]))
            return false;
    value->rank = type->rank;
    return true;
}

static bool elements_take(rlx_text_call_t *call, rlx_value_t *value)
{
    const rlx_syntax_value_t *list = call->elements != NULL ? call->elements->value : NULL;
    int64_t count;

    if (list == NULL || list->kind != RLX_SYNTAX_LIST || list->n_items > RLX_ELEMENTS_MAX || value->rank < 0 || value->dtype < RLX_I8 ||
        !rlx_expr_is_const(call->builder->graph->exprs, rlx_value_count(call->builder->graph, value), &count) || count != list->n_items) {
        rlx_finding_expected(rlx_report(call->builder->findings, RLX_E_ARG_MISSING, call->statement->callee_span,
                                        "store_elements lacks its elements or type"),
                             "%%s: i64[2] = rlxc::store_elements() { elements = [batch, 64] };");
        return false;
    }
    value->n_elements = list->n_items;
    value->elements = rlx_graph_alloc(call->builder->graph, (size_t)(list->n_items + 1) * sizeof *value->elements);
    for (int i = 0; i < list->n_items; i++) {
        if (!rlx_text_expr(call->builder, list->items[i], &value->elements[i]))
            return false;
        if (value->elements[i] < 0)
            return rlx_text_wrong(call->builder, list->items[i], "an element", "a number, a symbol, or arithmetic on symbols");
    }
    return true;
}

/* Of a call whose results' types are not written: those of the function. */
static bool remote_types(rlx_text_call_t *call, rlx_value_t *const *out)
{
    const rlx_syntax_field_t *field = rlx_text_field(call->statement, "function");
    bool typed = true;
    const char *name;

    for (int i = 0; i < call->statement->n_results; i++)
        typed = typed && (out[i] == NULL || out[i]->rank >= 0);
    if (typed || field == NULL || !rlx_text_string(call->builder, field, &name))
        return typed;
    if (rlx_text_callee_types(call->builder, name, call->statement->n_results, out))
        return true;
    rlx_finding_hint(rlx_report(call->builder->findings, RLX_E_NAME_UNKNOWN, field->value->span,
                                "the function '%s' is not known here, so the type of its results is not", name),
                     "Put %s.rlx or %s.rlxir beside the text, or give the type: %%y: f32[1,1000] = rlxc::remote_call(...)", name, name);
    return false;
}

static bool results_make(rlx_text_call_t *call, rlx_value_t **out)
{
    const rlx_syntax_statement_t *statement = call->statement;
    bool written = call->kind == RLX_OP_store_elements || call->kind == RLX_OP_custom_op || call->kind == RLX_OP_remote_call;

    for (int i = 0; i < statement->n_results; i++) {
        const rlx_syntax_result_t *result = &statement->results[i];

        if (result->name == NULL)
            continue;
        if (rlx_onnx_names_get(&call->builder->names, result->name) != NULL) {
            rlx_text_name_add(call->builder, result->name, result->span, NULL); /* reports */
            return false;
        }
        out[i] = rlx_graph_value(call->builder->graph, result->name, RLX_DTYPE_NONE);
        if (written && !type_take(call, result->type, out[i]))
            return false;
    }
    if (call->kind == RLX_OP_store_elements && out[0] == NULL)
        return false;
    if (call->kind == RLX_OP_remote_call && !remote_types(call, out))
        return false;
    return call->kind != RLX_OP_store_elements || elements_take(call, out[0]);
}

/* What is written of a result's type must not contradict what its rule found. */
static bool type_check(rlx_text_call_t *call, const rlx_syntax_type_t *type, const rlx_value_t *value)
{
    rlx_graph_t *graph = call->builder->graph;

    if (type == NULL)
        return true;
    if (type->dtype != value->dtype || type->rank != value->rank) {
        rlx_finding_expected(rlx_report(call->builder->findings, RLX_E_TYPE_MISMATCH, type->span, "the result is no %s of rank %d",
                                        rlx_dtype_name(type->dtype), type->rank), "%s of rank %d", rlx_dtype_name(value->dtype), value->rank);
        return false;
    }
    for (int i = 0; i < type->rank; i++) {
        int64_t known = -1;
        rlx_expr_t written;

        if (type->dims[i]->kind == RLX_SYNTAX_NONE)
            continue;
        if (!rlx_text_expr(call->builder, type->dims[i], &written))
            return false;
        if (!rlx_expr_is(graph->exprs, rlx_expr_eq(graph->exprs, written, value->dims[i]), 0))
            continue;
        rlx_expr_is_const(graph->exprs, value->dims[i], &known);
        rlx_finding_expected(rlx_report(call->builder->findings, RLX_E_SHAPE_TEXT, type->dims[i]->span, "extent %d of the result is another", i),
                             known >= 0 ? "%lld" : "what the operator's rule says", (long long)known);
        return false;
    }
    return true;
}

static bool notes_set(rlx_text_call_t *call, rlx_op_t *op)
{
    bool done = true;

    for (int i = 0; i < call->n_notes; i++) {
        const rlx_syntax_field_t *field = call->notes[i];

        if (rlx_text_is_op_note(field->name))
            done = rlx_text_op_note(call->builder, op, field) && done;
        else if (op->out[0] != NULL)
            done = rlx_text_value_note(call->builder, op->out[0], field) && done;
    }
    return done && rlx_text_op_notes_check(call->builder, op, call->statement);
}

static void results_name(rlx_text_call_t *call, rlx_value_t *const *out)
{
    for (int i = 0; i < call->statement->n_results; i++)
        if (out[i] != NULL)
            rlx_text_name_add(call->builder, call->statement->results[i].name, call->statement->results[i].span, out[i])->result = true;
}

static rlx_op_t *op_make(rlx_text_call_t *call, rlx_value_t **out)
{
    const rlx_syntax_statement_t *statement = call->statement;
    const char *name = call->node != NULL ? call->node : statement->results[0].name;
    rlx_op_t *op = rlx_graph_op(call->builder->graph, NULL, call->kind, name, call->n_in, call->in, statement->n_results, out);

    op->source = call->source != NULL ? rlx_graph_strdup(call->builder->graph, call->source) : rlx_text_source(call->builder, statement);
    return op;
}

static bool op_finish(rlx_text_call_t *call, rlx_op_t *op)
{
    rlx_diag_t diag = {0};

    if (!rlx_text_attrs_set(call, op) || !rlx_text_bodies_build(call, op))
        return false;
    if (rlx_op_infer(call->builder->graph, op, &diag) != RLX_OK) {
        rlx_text_rule_report(call, &diag);
        return false;
    }
    for (int i = 0; i < op->n_out; i++)
        if (op->out[i] != NULL && !type_check(call, call->statement->results[i].type, op->out[i]))
            return false;
    return rlx_text_bodies_check(call, op) && notes_set(call, op);
}

bool rlx_text_op_build(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    rlx_text_call_t call = {.builder = builder, .statement = statement};
    rlx_text_sugar_fn_t *sugar = rlx_text_sugar_find(statement);
    rlx_value_t **out;
    bool done;

    if (sugar != NULL)
        return sugar(builder, statement);
    call.kind = rlx_op_kind_parse(statement->callee, &call.spatial);
    if (call.kind == RLX_OP_NONE)
        return op_unknown(builder, statement);
    done = args_take(&call);
    done = fields_take(&call) && done;
    if (!done || builder->broken || !counts_check(&call))
        return false;
    out = rlx_graph_alloc(builder->graph, (size_t)(statement->n_results + 1) * sizeof *out);
    if (!results_make(&call, out) || !op_finish(&call, op_make(&call, out)))
        return false;
    results_name(&call, out);
    return true;
}
