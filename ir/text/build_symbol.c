/* Symbols: their ranges and conditions on them; and fields of statements (ir/text/builder.h). */
#include <inttypes.h>
#include <string.h>

#include "ir/flow.h"
#include "ir/graph_memory.h"
#include "ir/text/builder.h"

const rlx_syntax_field_t *rlx_text_field_at(const rlx_syntax_statement_t *statement, int index)
{
    return index < statement->n_keywords ? &statement->keywords[index] : &statement->attributes[index - statement->n_keywords];
}

rlx_text_range_t *rlx_text_range_find(rlx_text_builder_t *builder, const char *name)
{
    for (int i = 0; i < builder->n_ranges; i++)
        if (strcmp(builder->ranges[i].name, name) == 0)
            return &builder->ranges[i];
    return NULL;
}

static bool range_field(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_text_range_t *range)
{
    if (strcmp(field->name, "min") == 0)
        return rlx_text_int(builder, field, INT64_MIN, INT64_MAX, &range->min);
    if (strcmp(field->name, "max") == 0)
        return rlx_text_int(builder, field, INT64_MIN, INT64_MAX, &range->max);
    if (strcmp(field->name, "declared") == 0)
        return rlx_text_bool(builder, field, &range->declared);
    if (strcmp(field->name, "independent") == 0)
        return rlx_text_bool(builder, field, &range->independent);
    rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_UNKNOWN, field->name_span, "symbol::range has no '%s'", field->name),
                         "min, max, declared or independent");
    return false;
}

/* symbol::range(batch, min=1, max=64); */
static bool range_collect(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    rlx_text_range_t range = {.span = statement->span, .min = 0, .max = RLX_EXTENT_MAX};

    if (statement->n_results > 0 || statement->n_args != 1 ||
        (statement->args[0]->kind != RLX_SYNTAX_NAME && statement->args[0]->kind != RLX_SYNTAX_STRING)) {
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_TYPE, statement->callee_span, "symbol::range does not name one symbol"),
                             "symbol::range(NAME, min=1, max=64);");
        return false;
    }
    range.name = statement->args[0]->s;
    range.span = statement->args[0]->span;
    for (int i = 0; i < statement->n_keywords + statement->n_attributes; i++)
        if (!range_field(builder, rlx_text_field_at(statement, i), &range))
            return false;
    if (rlx_text_range_find(builder, range.name) != NULL || range.min > range.max) {
        rlx_report(builder->findings, range.min > range.max ? RLX_E_ARG_VALUE : RLX_E_NAME_TWICE, range.span,
                   range.min > range.max ? "the range of '%s' is empty" : "'%s' has a range already", range.name);
        return false;
    }
    builder->ranges = rlx_graph_array_grow(builder->graph, builder->ranges, builder->n_ranges, &builder->cap_ranges, sizeof range);
    builder->ranges[builder->n_ranges++] = range;
    return true;
}

bool rlx_text_ranges_collect(rlx_text_builder_t *builder)
{
    bool done = true;

    for (int i = 0; i < builder->function->n_statements; i++)
        if (rlx_text_statement_is(builder->function->statements[i], "symbol", "range"))
            done = range_collect(builder, builder->function->statements[i]) && done;
    return done;
}

/* symbol::check(0<batch, message="..."); */
static bool check_build(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    const rlx_syntax_field_t *message = rlx_text_field(statement, "message");
    int known = builder->graph->n_checks;
    const char *text = "a condition of the model does not hold";
    rlx_diag_t diag = {0};
    rlx_expr_t condition;

    if (statement->n_args != 1 || statement->n_results > 0) {
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_MISSING, statement->callee_span, "symbol::check takes one condition"),
                             "symbol::check(0<batch, message=\"...\");");
        return false;
    }
    if ((message != NULL && !rlx_text_string(builder, message, &text)) || !rlx_text_expr(builder, statement->args[0], &condition))
        return false;
    if (rlx_graph_check(builder->graph, condition, text, &diag) != RLX_OK) {
        rlx_report_diag(builder->findings, &diag, statement->args[0]->span);
        return false;
    }
    if (builder->graph->n_checks > known)
        builder->graph->checks[known].stated = true;
    return true;
}

bool rlx_text_symbol_build(rlx_text_builder_t *builder, const rlx_syntax_statement_t *statement)
{
    if (strcmp(statement->callee, "range") == 0)
        return true; /* collected before */
    if (strcmp(statement->callee, "check") == 0)
        return check_build(builder, statement);
    rlx_finding_expected(rlx_report(builder->findings, RLX_E_OP_UNKNOWN, statement->callee_span, "there is no symbol::%s", statement->callee),
                         "symbol::range or symbol::check");
    return false;
}
