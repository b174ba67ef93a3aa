/* Values of the tree as numbers, words and expressions (ir/text/builder.h). */
#include <inttypes.h>
#include <string.h>

#include "ir/flow.h"
#include "ir/text/builder.h"

bool rlx_text_wrong(rlx_text_builder_t *builder, const rlx_syntax_value_t *value, const char *what, const char *expected)
{
    rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_TYPE, value->span, "%s is %s", what, rlx_syntax_kind_name(value->kind)), "%s",
                         expected);
    return false;
}

bool rlx_text_int(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, int64_t min, int64_t max, int64_t *out)
{
    const rlx_syntax_value_t *value = field->value;

    if (value->kind != RLX_SYNTAX_INT && value->kind != RLX_SYNTAX_BOOL)
        return rlx_text_wrong(builder, value, field->name, "an integer");
    if (value->i < min || value->i > max) {
        rlx_finding_expected(rlx_report(builder->findings, RLX_E_ARG_VALUE, value->span, "%s is %" PRId64, field->name, value->i),
                             "%" PRId64 " to %" PRId64, min, max);
        return false;
    }
    *out = value->i;
    return true;
}

bool rlx_text_double(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, double *out)
{
    if (field->value->kind != RLX_SYNTAX_INT && field->value->kind != RLX_SYNTAX_FLOAT)
        return rlx_text_wrong(builder, field->value, field->name, "a number");
    *out = field->value->kind == RLX_SYNTAX_INT ? (double)field->value->i : field->value->f;
    return true;
}

bool rlx_text_string(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, const char **out)
{
    if (field->value->kind != RLX_SYNTAX_STRING && field->value->kind != RLX_SYNTAX_NAME)
        return rlx_text_wrong(builder, field->value, field->name, "a string");
    *out = field->value->s;
    return true;
}

bool rlx_text_bool(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, bool *out)
{
    if (field->value->kind != RLX_SYNTAX_BOOL)
        return rlx_text_wrong(builder, field->value, field->name, "true or false");
    *out = field->value->i != 0;
    return true;
}

/* numpy's names. */
static const struct {
    const char *word;
    rlx_dtype_t dtype;
} words[] = {{"float32", RLX_F32}, {"float64", RLX_F64}, {"float16", RLX_F16}, {"bfloat16", RLX_BF16}, {"int8", RLX_I8},
             {"int16", RLX_I16},   {"int32", RLX_I32},   {"int64", RLX_I64},   {"uint8", RLX_U8},      {"uint16", RLX_U16},
             {"uint32", RLX_U32},  {"uint64", RLX_U64},  {"bool_", RLX_BOOL},  {"float", RLX_F32},     {"double", RLX_F64}};

rlx_dtype_t rlx_text_dtype_parse(const char *word)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].dtype;
    return rlx_dtype_parse(word);
}

static void dtype_refuse(rlx_text_builder_t *builder, const rlx_syntax_value_t *value)
{
    rlx_finding_t *finding = rlx_report(builder->findings, RLX_E_ARG_VALUE, value->span, "there is no element type '%s'", value->s);
    rlx_closest_t closest;

    rlx_finding_expected(finding, "f32, f64, f16, bf16, i8 to i64, u8 to u64, bool, or numpy's names");
    rlx_closest_init(&closest, value->s, strlen(value->s));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        rlx_closest_offer(&closest, words[i].word);
    for (int dtype = RLX_DTYPE_NONE + 1; dtype < RLX_DTYPE_COUNT; dtype++)
        rlx_closest_offer(&closest, rlx_dtype_name((rlx_dtype_t)dtype));
    if (closest.best != NULL)
        rlx_finding_hint(finding, "Did you mean '%s'?", closest.best);
    else
        rlx_finding_hint(finding, "Write one of them: dtype=f32.");
}

bool rlx_text_dtype(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_dtype_t *out)
{
    const rlx_syntax_value_t *value = field->value;

    if (value->kind == RLX_SYNTAX_DTYPE)
        *out = value->dtype;
    else if (value->kind == RLX_SYNTAX_STRING || value->kind == RLX_SYNTAX_NAME)
        *out = rlx_text_dtype_parse(value->s);
    else
        return rlx_text_wrong(builder, value, field->name, "an element type such as f32");
    if (*out != RLX_DTYPE_NONE)
        return true;
    dtype_refuse(builder, value);
    return false;
}

int rlx_text_symbol(const rlx_text_builder_t *builder, const char *name)
{
    for (int i = 0; i < builder->graph->n_symbols; i++)
        if (strcmp(builder->graph->symbols[i].name, name) == 0)
            return i;
    return -1;
}

static bool symbol_expr(rlx_text_builder_t *builder, const rlx_syntax_value_t *value, rlx_expr_t *out)
{
    int index = rlx_text_symbol(builder, value->s);
    rlx_closest_t closest;
    rlx_finding_t *finding;

    if (index >= 0) {
        const rlx_symbol_t *symbol = &builder->graph->symbols[index];

        *out = rlx_expr_symbol(builder->graph->exprs, index, symbol->min, symbol->max);
        return true;
    }
    finding = rlx_report(builder->findings, RLX_E_NAME_UNKNOWN, value->span, "there is no symbol '%s'", value->s);
    rlx_finding_expected(finding, "an extent of an input, as its shape names it");
    rlx_closest_init(&closest, value->s, strlen(value->s));
    for (int i = 0; i < builder->graph->n_symbols; i++)
        rlx_closest_offer(&closest, builder->graph->symbols[i].name);
    if (closest.best != NULL)
        rlx_finding_hint(finding, "Did you mean '%s'?", closest.best);
    return false;
}

/* Operands are made one after the other: ir/expr/expr.h. */
static bool arithmetic(rlx_text_builder_t *builder, const rlx_syntax_value_t *value, rlx_expr_t *out)
{
    rlx_expr_t parts[3] = {RLX_EXPR_NONE, RLX_EXPR_NONE, RLX_EXPR_NONE};

    for (int i = 0; i < value->n_items && i < 3; i++)
        if (!rlx_text_expr(builder, value->items[i], &parts[i]))
            return false;
    *out = value->op == RLX_EXPR_SELECT ? rlx_expr_select(builder->graph->exprs, parts[0], parts[1], parts[2])
                                        : rlx_expr_binary(builder->graph->exprs, value->op, parts[0], parts[1]);
    if (*out != RLX_EXPR_ERROR)
        return true;
    rlx_report(builder->findings, RLX_E_ARG_VALUE, value->span, "this overflows, or divides by zero");
    return false;
}

bool rlx_text_expr(rlx_text_builder_t *builder, const rlx_syntax_value_t *value, rlx_expr_t *out)
{
    switch (value->kind) {
    case RLX_SYNTAX_NONE: *out = RLX_EXPR_NONE; return true;
    case RLX_SYNTAX_INT: *out = rlx_expr_const(builder->graph->exprs, value->i); return true;
    case RLX_SYNTAX_STRING:
    case RLX_SYNTAX_NAME: return symbol_expr(builder, value, out);
    case RLX_SYNTAX_EXPR: return arithmetic(builder, value, out);
    default: return rlx_text_wrong(builder, value, "an extent", "a number, a symbol, or arithmetic on symbols");
    }
}
