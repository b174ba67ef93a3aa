/* Values of the SSA form: numbers, lists, dictionaries, types and symbolic arithmetic (ir/text/reader.h). */
#include "ir/text/reader.h"

#include <math.h>
#include <string.h>

#define OPERATORS_MAX 128 /* in a row: they nest to the left */

static bool expression_read(rlx_reader_t *reader, int level, rlx_syntax_value_t **out);

static bool list_read(rlx_reader_t *reader, char close, rlx_syntax_value_t *list)
{
    rlx_syntax_value_t *item;

    while (!rlx_reader_at(reader, close)) {
        if (!rlx_reader_value(reader, &item))
            return false;
        rlx_syntax_value_add(reader->syntax, list, item);
        if (rlx_syntax_is_full(reader->syntax))
            return rlx_reader_limit(reader, "the text is too large");
        if (!rlx_reader_take(reader, ','))
            break;
    }
    list->span = rlx_span_join(list->span, reader->lex.token.span);
    return rlx_reader_expect(reader, close, "at the end of a list");
}

bool rlx_reader_fields(rlx_reader_t *reader, rlx_syntax_field_t **out_fields, int *out_n)
{
    while (!rlx_reader_at(reader, '}')) {
        rlx_token_t token = reader->lex.token;
        rlx_syntax_value_t *value;
        const char *name;

        if (token.kind != RLX_TOKEN_WORD && token.kind != RLX_TOKEN_STRING)
            return rlx_reader_wrong(reader, "name = value");
        name = token.kind == RLX_TOKEN_WORD ? rlx_reader_word(reader, &token) : rlx_reader_text(reader, &token);
        rlx_lex_next(&reader->lex);
        if (name == NULL)
            return false;
        if (!rlx_reader_take(reader, ':') && !rlx_reader_expect(reader, '=', "between a name and its value"))
            return false;
        if (!rlx_reader_value(reader, &value))
            return false;
        rlx_syntax_field_add(reader->syntax, out_fields, out_n, name, token.span, value);
        if (rlx_syntax_is_full(reader->syntax))
            return rlx_reader_limit(reader, "the text is too large");
        if (!rlx_reader_take(reader, ','))
            break;
    }
    return rlx_reader_expect(reader, '}', "at the end of the attributes");
}

/* [extent, ...] of a type or tensor; the dtype was taken. */
static bool dims_read(rlx_reader_t *reader, rlx_syntax_type_t *type)
{
    if (!rlx_reader_expect(reader, '[', "before the extents"))
        return false;
    while (!rlx_reader_at(reader, ']')) {
        if (type->rank == RLX_RANK_MAX)
            return rlx_reader_limit(reader, "a tensor has at most 8 extents");
        if (!rlx_reader_value(reader, &type->dims[type->rank]))
            return false;
        type->rank++;
        if (!rlx_reader_take(reader, ','))
            break;
    }
    type->span = rlx_span_join(type->span, reader->lex.token.span);
    return rlx_reader_expect(reader, ']', "behind the extents");
}

static rlx_dtype_t dtype_at(const rlx_reader_t *reader)
{
    const rlx_token_t *token = &reader->lex.token;
    char word[16];

    if (token->kind != RLX_TOKEN_WORD || token->bytes >= sizeof word)
        return RLX_DTYPE_NONE;
    memcpy(word, token->text, token->bytes);
    word[token->bytes] = '\0';
    return rlx_dtype_parse(word);
}

bool rlx_reader_type(rlx_reader_t *reader, rlx_syntax_type_t **out_type)
{
    rlx_syntax_type_t *type = rlx_syntax_alloc(reader->syntax, sizeof *type);

    type->span = reader->lex.token.span;
    type->dtype = dtype_at(reader);
    if (type->dtype == RLX_DTYPE_NONE)
        return rlx_reader_wrong(reader, "an element type: f32, f64, f16, bf16, i8 to i64, u8 to u64, bool");
    rlx_lex_next(&reader->lex);
    if (!dims_read(reader, type))
        return false;
    if (rlx_reader_take(reader, '{')) {
        if (reader->lex.token.kind != RLX_TOKEN_WORD && reader->lex.token.kind != RLX_TOKEN_STRING)
            return rlx_reader_wrong(reader, "a layout");
        type->layout = rlx_reader_word(reader, &reader->lex.token);
        rlx_lex_next(&reader->lex);
        if (!rlx_reader_expect(reader, '}', "behind a layout"))
            return false;
    }
    *out_type = type;
    return true;
}

/* A word that is an element type: alone, or of a tensor f32[2]{1, 2}. */
static bool dtype_read(rlx_reader_t *reader, rlx_dtype_t dtype, rlx_syntax_value_t *value)
{
    rlx_syntax_type_t type = {.span = value->span, .dtype = dtype};

    value->kind = RLX_SYNTAX_DTYPE;
    value->dtype = dtype;
    rlx_lex_next(&reader->lex);
    if (!rlx_reader_at(reader, '['))
        return true;
    if (!dims_read(reader, &type))
        return false;
    value->kind = RLX_SYNTAX_TENSOR;
    value->span = type.span;
    value->tensor = (rlx_tensor_t){.dtype = dtype, .rank = type.rank};
    for (int i = 0; i < type.rank; i++) {
        if (type.dims[i]->kind != RLX_SYNTAX_INT || type.dims[i]->i < 0) {
            rlx_finding_expected(rlx_report(reader->findings, RLX_E_SHAPE_TEXT, type.dims[i]->span, "a constant's extent is not a number"),
                                 "a number that is not negative");
            return false;
        }
        value->tensor.dims[i] = type.dims[i]->i;
    }
    return rlx_reader_expect(reader, '{', "before the elements") && rlx_reader_tensor(reader, value);
}

static const struct {
    const char *word;
    rlx_syntax_kind_t kind;
    int64_t i;
    double f;
} constants[] = {
    {"true", RLX_SYNTAX_BOOL, 1, 0},  {"false", RLX_SYNTAX_BOOL, 0, 0}, {"True", RLX_SYNTAX_BOOL, 1, 0}, {"False", RLX_SYNTAX_BOOL, 0, 0},
    {"none", RLX_SYNTAX_NONE, 0, 0},  {"None", RLX_SYNTAX_NONE, 0, 0},  {"_", RLX_SYNTAX_NONE, 0, 0},
    {"inf", RLX_SYNTAX_FLOAT, 0, (double)INFINITY}, {"nan", RLX_SYNTAX_FLOAT, 0, (double)NAN},
};

/* Functions of symbolic arithmetic. */
static const struct {
    const char *word;
    rlx_expr_op_t op;
    int n_args;
} functions[] = {
    {"ceildiv", RLX_EXPR_CEILDIV, 2}, {"truncdiv", RLX_EXPR_TRUNCDIV, 2}, {"mod", RLX_EXPR_MOD, 2},
    {"min", RLX_EXPR_MIN, 2},         {"max", RLX_EXPR_MAX, 2},           {"select", RLX_EXPR_SELECT, 3},
    {"fscale", RLX_EXPR_FSCALE, 2},   {"fceildiv", RLX_EXPR_FCEILDIV, 2}, {"fsub", RLX_EXPR_FSUB, 2},
};

static bool function_read(rlx_reader_t *reader, const char *word, rlx_syntax_value_t *value)
{
    rlx_syntax_value_t list = {.span = value->span};

    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strcmp(functions[i].word, word) != 0)
            continue;
        rlx_lex_next(&reader->lex);
        if (!list_read(reader, ')', &list))
            return false;
        if (list.n_items != functions[i].n_args) {
            rlx_report(reader->findings, RLX_E_SYNTAX, list.span, "%s takes %d numbers, not %d", word, functions[i].n_args, list.n_items);
            return false;
        }
        list.kind = RLX_SYNTAX_EXPR;
        list.op = functions[i].op;
        *value = list;
        return true;
    }
    return rlx_reader_wrong(reader, "no parenthesis: calls stand in statements of their own");
}

static bool word_read(rlx_reader_t *reader, rlx_syntax_value_t *value)
{
    rlx_dtype_t dtype = dtype_at(reader);
    const char *word;

    if (dtype != RLX_DTYPE_NONE)
        return dtype_read(reader, dtype, value);
    word = rlx_reader_word(reader, &reader->lex.token);
    value->kind = RLX_SYNTAX_NAME;
    value->s = word;
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        if (strcmp(constants[i].word, word) == 0) {
            value->kind = constants[i].kind;
            if (value->kind == RLX_SYNTAX_FLOAT)
                value->f = constants[i].f;
            else
                value->i = constants[i].i;
        }
    rlx_lex_next(&reader->lex);
    return !rlx_reader_at(reader, '(') || function_read(reader, word, value);
}

static bool number_read(rlx_reader_t *reader, bool negative, rlx_syntax_value_t *value)
{
    const rlx_token_t *token = &reader->lex.token;

    if (token->kind == RLX_TOKEN_FLOAT) {
        value->kind = RLX_SYNTAX_FLOAT;
        value->f = negative ? -token->number : token->number;
    } else if (token->magnitude > (uint64_t)INT64_MAX + negative) {
        rlx_report(reader->findings, RLX_E_TOKEN, token->span, "this number needs more than 64 bits");
        return false;
    } else {
        value->kind = RLX_SYNTAX_INT;
        value->i = (int64_t)(negative ? 0 - token->magnitude : token->magnitude);
    }
    value->span = rlx_span_join(value->span, token->span);
    rlx_lex_next(&reader->lex);
    return true;
}

/* -5 is a number, -x is 0-x, -inf is a number. */
static bool negative_read(rlx_reader_t *reader, rlx_syntax_value_t *value)
{
    rlx_syntax_value_t *zero, *operand;

    rlx_lex_next(&reader->lex);
    if (reader->lex.token.kind == RLX_TOKEN_INT || reader->lex.token.kind == RLX_TOKEN_FLOAT)
        return number_read(reader, true, value);
    if (!expression_read(reader, 3, &operand))
        return false;
    value->span = rlx_span_join(value->span, operand->span);
    if (operand->kind == RLX_SYNTAX_FLOAT) {
        value->kind = RLX_SYNTAX_FLOAT;
        value->f = -operand->f;
        return true;
    }
    zero = rlx_syntax_value(reader->syntax, RLX_SYNTAX_INT, value->span);
    value->kind = RLX_SYNTAX_EXPR;
    value->op = RLX_EXPR_SUB;
    rlx_syntax_value_add(reader->syntax, value, zero);
    rlx_syntax_value_add(reader->syntax, value, operand);
    return true;
}

static bool text_read(rlx_reader_t *reader, rlx_syntax_kind_t kind, rlx_syntax_value_t *value)
{
    value->kind = kind;
    value->s = rlx_reader_text(reader, &reader->lex.token);
    rlx_lex_next(&reader->lex);
    return value->s != NULL;
}

static bool mark_read(rlx_reader_t *reader, rlx_syntax_value_t *value)
{
    rlx_syntax_value_t *inner;

    if (rlx_reader_take(reader, '[')) {
        value->kind = RLX_SYNTAX_LIST;
        return list_read(reader, ']', value);
    }
    if (rlx_reader_take(reader, '{')) {
        value->kind = RLX_SYNTAX_DICT;
        return rlx_reader_fields(reader, &value->fields, &value->n_fields);
    }
    if (rlx_reader_at(reader, '-'))
        return negative_read(reader, value);
    if (!rlx_reader_take(reader, '('))
        return rlx_reader_wrong(reader, "a value: a number, string, list, %name ...");
    if (!expression_read(reader, 0, &inner) || !rlx_reader_expect(reader, ')', "behind an expression"))
        return false;
    *value = *inner;
    return true;
}

static bool primary_read(rlx_reader_t *reader, rlx_syntax_value_t **out)
{
    rlx_syntax_value_t *value = rlx_syntax_value(reader->syntax, RLX_SYNTAX_NONE, reader->lex.token.span);

    *out = value;
    switch (reader->lex.token.kind) {
    case RLX_TOKEN_WORD: return word_read(reader, value);
    case RLX_TOKEN_REF: return text_read(reader, RLX_SYNTAX_REF, value);
    case RLX_TOKEN_STRING: return text_read(reader, RLX_SYNTAX_STRING, value);
    case RLX_TOKEN_INT:
    case RLX_TOKEN_FLOAT: return number_read(reader, false, value);
    case RLX_TOKEN_MARK: return mark_read(reader, value);
    default: return rlx_reader_wrong(reader, "a value: a number, string, list, %name ...");
    }
}

/* The infix operator that stands here: its level (1 comparison, 2 sum, 3 product), or 0. */
static int operator_at(const rlx_reader_t *reader, rlx_expr_op_t *out_op)
{
    static const struct {
        char mark;
        rlx_expr_op_t op;
        int level;
    } operators[] = {{'<', RLX_EXPR_LT, 1}, {'+', RLX_EXPR_ADD, 2}, {'-', RLX_EXPR_SUB, 2}, {'*', RLX_EXPR_MUL, 3}, {'/', RLX_EXPR_FLOORDIV, 3}};

    if (reader->lex.token.kind == RLX_TOKEN_EQUAL) {
        *out_op = RLX_EXPR_EQ;
        return 1;
    }
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (rlx_reader_at(reader, operators[i].mark)) {
            *out_op = operators[i].op;
            return operators[i].level;
        }
    return 0;
}

/* Operators of a level above `level`, from left to right. */
static bool expression_read(rlx_reader_t *reader, int level, rlx_syntax_value_t **out)
{
    rlx_syntax_value_t *left, *right, *both;
    rlx_expr_op_t op = RLX_EXPR_CONST;
    int found, n = 0;
    bool ok;

    if (++reader->depth > RLX_SYNTAX_DEPTH_MAX)
        return rlx_reader_limit(reader, "this nests too deeply");
    ok = primary_read(reader, &left);
    while (ok && (found = operator_at(reader, &op)) > level) {
        rlx_lex_next(&reader->lex);
        ok = expression_read(reader, found, &right);
        if (!ok)
            break;
        both = rlx_syntax_value(reader->syntax, RLX_SYNTAX_EXPR, rlx_span_join(left->span, right->span));
        both->op = op;
        rlx_syntax_value_add(reader->syntax, both, left);
        rlx_syntax_value_add(reader->syntax, both, right);
        left = both;
        if (++n > OPERATORS_MAX || rlx_syntax_is_full(reader->syntax))
            ok = rlx_reader_limit(reader, "this expression is too long");
    }
    reader->depth--;
    *out = left;
    return ok;
}

bool rlx_reader_value(rlx_reader_t *reader, rlx_syntax_value_t **out_value) { return expression_read(reader, 0, out_value); }
