/* Statements. Loops over constants are unrolled, conditions on constants are decided: a graph has neither. */
#include <string.h>

#include "ir/module/evaluate.h"

static void line_run(rlx_evaluator_t *e, rlx_line_t *line);

void rlx_py_lines(rlx_evaluator_t *e, rlx_line_t *const *lines, int n)
{
    for (int i = 0; i < n && !e->returned && !e->stopped; i++)
        line_run(e, lines[i]);
}

static void bind(rlx_evaluator_t *e, const rlx_target_t *target, rlx_py_t *value, bool checked)
{
    rlx_binding_t *binding = rlx_scope_get(e->scope, target->name);

    if (value != NULL && value->kind == RLX_SYNTAX_NONE && checked)
        checked = false;
    binding->value = value;
    binding->span = target->span;
    binding->checked = checked;
    binding->used = binding->used && binding->value == NULL;
}

static void bind_nothing(rlx_evaluator_t *e, const rlx_line_t *line)
{
    for (int i = 0; i < line->n_targets; i++)
        bind(e, &line->targets[i], NULL, false);
    for (int i = 0; i < line->n_body; i++)
        bind_nothing(e, line->body[i]);
    for (int i = 0; i < line->n_other; i++)
        bind_nothing(e, line->other[i]);
}

/* `a, b = value`: a list of as many. */
static bool unpack(rlx_evaluator_t *e, const rlx_line_t *line, rlx_py_t *value)
{
    if (value->kind == RLX_SYNTAX_LIST && value->n_items == line->n_targets) {
        for (int i = 0; i < line->n_targets; i++)
            bind(e, &line->targets[i], value->items[i], true);
        return true;
    }
    if (value->kind == RLX_SYNTAX_LIST)
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_VALUE, line->targets[0].span, "%d values are unpacked into %d names", value->n_items,
                                    line->n_targets),
                         "Write as many names on the left as there are values on the right.");
    else
        rlx_finding_hint(
            rlx_report(e->findings, RLX_E_ARG_TYPE, value->span, "%s cannot be unpacked into %d names", rlx_py_kind(value), line->n_targets),
            "Only a list, a tuple or an operator of several results gives several values.");
    return false;
}

static void assign(rlx_evaluator_t *e, const rlx_line_t *line)
{
    rlx_want_t want = {line->targets, line->n_targets};
    rlx_py_t *value;

    if (e->function == NULL && line->n_targets == 1 && rlx_scope_find(e->scope, line->targets[0].name) != NULL) {
        rlx_binding_t *first = rlx_scope_find(e->scope, line->targets[0].name);

        rlx_finding_note(
            rlx_finding_hint(rlx_report(e->findings, RLX_E_NAME_TWICE, line->targets[0].span, "the constant `%s` is set twice", first->name),
                             "Give one of them another name."),
            first->span, "the first one");
        return;
    }
    value = rlx_py_evaluate(e, line->value, &want);
    if (value == NULL || (line->n_targets > 1 && !unpack(e, line, value)))
        bind_nothing(e, line);
    else if (line->n_targets == 1)
        bind(e, &line->targets[0], value, line->value->kind == RLX_NODE_CALL || line->value->kind == RLX_NODE_BINARY);
}

/* a += b */
static void update(rlx_evaluator_t *e, const rlx_line_t *line)
{
    rlx_want_t want = {line->targets, 1};
    rlx_node_t name = {.kind = RLX_NODE_NAME, .span = line->targets[0].span, .s = line->targets[0].name};
    rlx_node_t *items[2] = {&name, line->value};
    rlx_node_t binary = {.kind = RLX_NODE_BINARY, .span = line->span, .name_span = line->op_span, .s = line->op, .n_items = 2, .items = items};

    bind(e, &line->targets[0], rlx_py_evaluate(e, &binary, &want), true);
}

static void lone(rlx_evaluator_t *e, const rlx_line_t *line)
{
    rlx_py_t *value;

    if (line->value->kind == RLX_NODE_STRING)
        return; /* the text of a description */
    value = rlx_py_evaluate(e, line->value, NULL);
    if (value == NULL || value->kind == RLX_SYNTAX_NONE)
        return;
    rlx_finding_hint(rlx_report_warning(e->findings, RLX_E_UNUSED, line->span, "the result of this is not used"),
                     line->value->kind == RLX_NODE_BINARY && strcmp(line->value->s, "==") == 0 ? "To set a name, write `=`."
                                                                                               : "Give it a name: `y = ...`, or remove the line.");
}

static void leave(rlx_evaluator_t *e, const rlx_line_t *line)
{
    if (e->routine == NULL) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_SYNTAX, line->span, "`return` stands outside a function"),
                         "Indent it, as the body of the function.");
        return;
    }
    e->result_node = line->value;
    e->result = line->value != NULL ? rlx_py_evaluate(e, line->value, NULL) : rlx_py_new(e, RLX_SYNTAX_NONE, line->span);
    e->returned = true;
}

bool rlx_py_truth(rlx_evaluator_t *e, const rlx_py_t *value, rlx_span_t span, bool *out_truth)
{
    double number;

    if (value->kind == RLX_SYNTAX_REF) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_NOT_LANGUAGE, span, "a condition is a constant, and this is a tensor"),
                         "Compute both sides and choose: rlx.where(condition, a, b).");
        return false;
    }
    *out_truth = true;
    if (rlx_py_as_real(value, &number))
        *out_truth = number != 0;
    else if (value->kind == RLX_SYNTAX_STRING)
        *out_truth = value->s[0] != '\0';
    else if (value->kind == RLX_SYNTAX_LIST)
        *out_truth = value->n_items > 0;
    else if (value->kind == RLX_SYNTAX_NONE)
        *out_truth = false;
    else if (value->kind == RLX_SYNTAX_TENSOR || value->kind == RLX_SYNTAX_EXTERNAL) {
        rlx_finding_hint(rlx_report(e->findings, RLX_E_ARG_TYPE, span, "an array is no condition"), "Compare one number of it.");
        return false;
    }
    return true;
}

static void branch(rlx_evaluator_t *e, const rlx_line_t *line)
{
    rlx_py_t *value = rlx_py_evaluate(e, line->value, NULL);
    bool truth;

    if (value == NULL || !rlx_py_truth(e, value, line->value->span, &truth))
        bind_nothing(e, line); /* what either side would have set is known, and no mistake to use */
    else if (truth)
        rlx_py_lines(e, line->body, line->n_body);
    else
        rlx_py_lines(e, line->other, line->n_other);
}

static void loop(rlx_evaluator_t *e, const rlx_line_t *line)
{
    rlx_py_t *list = rlx_py_evaluate(e, line->value, NULL);
    int errors = e->findings->n_errors;

    if (list != NULL && list->kind != RLX_SYNTAX_LIST) {
        bool tensor = list->kind == RLX_SYNTAX_REF;

        rlx_finding_hint(rlx_report(e->findings, tensor ? RLX_E_NOT_LANGUAGE : RLX_E_ARG_TYPE, list->span,
                                    tensor ? "a loop runs over constants, and this is a tensor" : "%s is nothing to loop over", rlx_py_kind(list)),
                         tensor ? "Operators work on whole tensors: write rlx.relu(x), x + y, rlx.reduce_sum(x, axes)."
                                : "Loop over a list or a range: `for i in range(4):`.");
        list = NULL;
    }
    if (list == NULL) {
        bind_nothing(e, line);
        return;
    }
    for (int i = 0; i < list->n_items && !e->returned && !e->stopped && e->findings->n_errors == errors; i++) {
        if (line->n_targets == 1)
            bind(e, &line->targets[0], list->items[i], false);
        else if (!unpack(e, line, list->items[i]))
            return;
        rlx_py_lines(e, line->body, line->n_body);
    }
}

static void line_run(rlx_evaluator_t *e, rlx_line_t *line)
{
    switch (line->kind) {
    case RLX_LINE_ASSIGN: assign(e, line); break;
    case RLX_LINE_UPDATE: update(e, line); break;
    case RLX_LINE_EXPR: lone(e, line); break;
    case RLX_LINE_RETURN: leave(e, line); break;
    case RLX_LINE_FOR: loop(e, line); break;
    case RLX_LINE_IF: branch(e, line); break;
    case RLX_LINE_BROKEN: bind_nothing(e, line); break;
    }
}
