/* What operators and calls apply to: numbers, strings, names, and what stands in brackets. */
#include <string.h>

#include "ir/module/literal.h"
#include "ir/module/parse.h"

rlx_node_t *rlx_module_node(rlx_module_parser_t *parser, rlx_node_kind_t kind, rlx_span_t span)
{
    rlx_node_t *node = rlx_syntax_alloc(parser->syntax, sizeof *node);

    node->kind = kind;
    node->span = span;
    return node;
}

void rlx_module_node_add(rlx_module_parser_t *parser, rlx_node_t *node, rlx_node_t *item)
{
    node->items = rlx_syntax_grow(parser->syntax, node->items, node->n_items, sizeof(rlx_node_t *));
    node->items[node->n_items++] = item;
}

void rlx_module_field_add(rlx_module_parser_t *parser, rlx_node_t *node, const char *name, rlx_span_t name_span, rlx_node_t *value)
{
    node->fields = rlx_syntax_grow(parser->syntax, node->fields, node->n_fields, sizeof *node->fields);
    node->fields[node->n_fields++] = (rlx_node_field_t){name, name_span, value};
}

/* A line that begins like a statement, within a bracket: the bracket was forgotten. */
static bool bracket_refuse(rlx_module_parser_t *parser)
{
    const rlx_module_lex_t *lex = &parser->lex;
    const rlx_module_token_t *token = &lex->token;
    char open = lex->n_brackets > 0 ? lex->brackets[lex->n_brackets - 1].mark : '\0';
    rlx_finding_t *finding;

    if (open == '\0' || !token->first || token->kind != RLX_MODULE_NAME || (int)token->span.column - 1 > lex->indents[lex->n_indents - 1])
        return false;
    finding = rlx_report(parser->findings, RLX_E_SYNTAX, lex->brackets[lex->n_brackets - 1].span, "`%c` is never closed", open);
    rlx_finding_hint(finding, "Add `%c` where it ends.", open == '(' ? ')' : open == '[' ? ']' : '}');
    rlx_finding_note(finding, token->span, "this line begins a new statement");
    return true;
}

void *rlx_module_parse_fail(rlx_module_parser_t *parser, const char *expected, const char *hint)
{
    char found[64];
    rlx_finding_t *finding;
    rlx_module_token_t *token = &parser->lex.token;

    if (token->kind == RLX_MODULE_BAD || bracket_refuse(parser) || rlx_module_refuse_word(parser))
        return NULL;
    finding = rlx_report(parser->findings, RLX_E_SYNTAX, token->span,
                         token->kind == RLX_MODULE_NEWLINE ? "the line ends too early" : "%s cannot stand here", rlx_module_token_text(token, found));
    rlx_finding_expected(finding, "%s", expected);
    rlx_finding_hint(finding, "%s", hint);
    if (parser->lex.n_brackets > 0 && parser->lex.brackets[parser->lex.n_brackets - 1].span.line != token->span.line)
        rlx_finding_note(finding, parser->lex.brackets[parser->lex.n_brackets - 1].span, "inside this bracket");
    return NULL;
}

bool rlx_module_parse_mark(rlx_module_parser_t *parser, const char *mark, const char *hint)
{
    char expected[16];

    if (!rlx_module_token_is(&parser->lex.token, mark)) {
        snprintf(expected, sizeof expected, "`%s`", mark);
        rlx_module_parse_fail(parser, expected, hint);
        return false;
    }
    rlx_module_lex_next(&parser->lex);
    return true;
}

static const char *token_name(rlx_module_parser_t *parser)
{
    return rlx_syntax_strndup(parser->syntax, parser->lex.token.text, parser->lex.token.bytes);
}

static rlx_node_t *parse_number(rlx_module_parser_t *parser)
{
    const rlx_module_token_t *token = &parser->lex.token;
    rlx_node_t *node = rlx_module_node(parser, RLX_NODE_INT, token->span);
    rlx_finding_t *finding;

    switch (rlx_number_read(token->text, token->bytes, &node->i, &node->f)) {
    case RLX_NUMBER_FLOAT:
        node->kind = RLX_NODE_FLOAT;
        /* fall through */
    case RLX_NUMBER_INT:
        rlx_module_lex_next(&parser->lex);
        return node;
    case RLX_NUMBER_RANGE:
        finding = rlx_report(parser->findings, RLX_E_TOKEN, token->span, "this number is too large");
        rlx_finding_expected(finding, "an integer of 64 bits, or a float up to 1.7e308");
        rlx_finding_hint(finding, "Write a smaller number; infinity is np.inf.");
        return NULL;
    case RLX_NUMBER_COMPLEX:
        rlx_finding_hint(rlx_report(parser->findings, RLX_E_NOT_LANGUAGE, token->span, "the module form has no complex numbers"),
                         "Compute real and imaginary part as two tensors.");
        return NULL;
    default:
        finding =
            rlx_report(parser->findings, RLX_E_TOKEN, token->span, "`%.*s` is no number", token->bytes > 40 ? 40 : (int)token->bytes, token->text);
        rlx_finding_hint(finding, token->text[0] == '0' && token->bytes > 1 && token->text[1] >= '0' && token->text[1] <= '9'
                                      ? "Numbers do not begin with 0: write %.*s."
                                      : "Numbers read 12, 0x1f, 0.5, 1e-5, 1_000; names do not begin with a digit.",
                         token->bytes > 40 ? 40 : (int)token->bytes - 1, token->text + 1);
        return NULL;
    }
}

static rlx_node_t *string_refuse(rlx_module_parser_t *parser, rlx_string_read_t why, size_t at)
{
    rlx_span_t span = parser->lex.token.span;

    if (why == RLX_STRING_FORMAT)
        rlx_finding_hint(rlx_report(parser->findings, RLX_E_NOT_LANGUAGE, span, "the module form has no f-strings"),
                         "Write the text out, or join pieces with +: \"layer\" + str(i).");
    else if (why == RLX_STRING_BYTES)
        rlx_finding_hint(rlx_report(parser->findings, RLX_E_NOT_LANGUAGE, span, "the module form has no bytes"),
                         "Write a string without b, or an array of dtype np.uint8.");
    else if (why == RLX_STRING_PREFIX)
        rlx_finding_hint(rlx_report(parser->findings, RLX_E_TOKEN, span, "this prefix of a string is not known"), "Write \"text\" or r\"text\".");
    else {
        if (at < span.length)
            span = (rlx_span_t){span.line, span.column + (uint32_t)at, 2};
        rlx_finding_hint(rlx_report(parser->findings, RLX_E_TOKEN, span, "this escape does not exist"),
                         "Escapes are \\\\ \\\" \\' \\n \\t \\r \\xHH \\uHHHH; write \\\\ for a backslash, or r\"...\".");
    }
    return NULL;
}

/* One string, or several that follow each other. */
static rlx_node_t *parse_string(rlx_module_parser_t *parser)
{
    rlx_module_token_t first = parser->lex.token;
    rlx_node_t *node = rlx_module_node(parser, RLX_NODE_STRING, first.span);
    const char *text = "";

    while (parser->lex.token.kind == RLX_MODULE_STRING) {
        char *piece = rlx_syntax_alloc(parser->syntax, parser->lex.token.bytes + 1);
        size_t length;
        rlx_string_read_t read = rlx_string_read(parser->lex.token.text, parser->lex.token.bytes, piece, &length);

        if (read != RLX_STRING_OK)
            return string_refuse(parser, read, length);
        piece[length] = '\0';
        text = text[0] == '\0' ? piece : rlx_syntax_printf(parser->syntax, "%s%s", text, piece);
        rlx_module_lex_next(&parser->lex);
    }
    node->s = text;
    node->span = rlx_module_lex_span(&parser->lex, &first);
    return node;
}

bool rlx_module_refuse_comprehension(rlx_module_parser_t *parser)
{
    if (!rlx_module_token_is(&parser->lex.token, "for"))
        return false;
    rlx_finding_hint(rlx_report(parser->findings, RLX_E_NOT_LANGUAGE, parser->lex.token.span, "the module form has no comprehensions"),
                     "Write the list out, or build it in a `for` loop: items = items + [value].");
    return true;
}

bool rlx_module_refuse_star(rlx_module_parser_t *parser)
{
    if (!rlx_module_token_is(&parser->lex.token, "*") && !rlx_module_token_is(&parser->lex.token, "**"))
        return false;
    rlx_finding_hint(rlx_report(parser->findings, RLX_E_NOT_LANGUAGE, parser->lex.token.span, "the module form does not unpack with `*`"),
                     "Write the arguments one by one.");
    return true;
}

/* Expressions up to `close`, which is stepped over. */
static bool parse_items(rlx_module_parser_t *parser, rlx_node_t *node, const char *close, const char *hint)
{
    while (!rlx_module_token_is(&parser->lex.token, close)) {
        rlx_node_t *item = rlx_module_refuse_star(parser) ? NULL : rlx_module_parse_expr(parser);

        if (item == NULL || rlx_module_refuse_comprehension(parser))
            return false;
        rlx_module_node_add(parser, node, item);
        if (rlx_syntax_is_full(parser->syntax))
            return false;
        if (rlx_module_token_is(&parser->lex.token, ","))
            rlx_module_lex_next(&parser->lex);
        else if (!rlx_module_token_is(&parser->lex.token, close)) {
            char expected[32];

            snprintf(expected, sizeof expected, "`,` or `%s`", close);
            return rlx_module_parse_fail(parser, expected, hint) != NULL;
        }
    }
    rlx_module_lex_next(&parser->lex);
    return true;
}

/* (a), (a,), (a, b), () */
static rlx_node_t *parse_parentheses(rlx_module_parser_t *parser)
{
    rlx_module_token_t first = parser->lex.token;
    rlx_node_t *tuple = rlx_module_node(parser, RLX_NODE_TUPLE, first.span), *node;
    bool comma;

    rlx_module_lex_next(&parser->lex);
    if (!rlx_module_token_is(&parser->lex.token, ")")) {
        node = rlx_module_refuse_star(parser) ? NULL : rlx_module_parse_expr(parser);
        if (node == NULL || rlx_module_refuse_comprehension(parser))
            return NULL;
        comma = rlx_module_token_is(&parser->lex.token, ",");
        if (node->kind == RLX_NODE_BINARY)
            node->i = 0; /* a comparison in brackets begins no chain */
        if (!comma)
            return rlx_module_parse_mark(parser, ")", "Close the bracket, or put a comma between two values.") ? node : NULL;
        rlx_module_node_add(parser, tuple, node);
        rlx_module_lex_next(&parser->lex);
    }
    if (!parse_items(parser, tuple, ")", "Put a comma between two values, or close the bracket."))
        return NULL;
    tuple->span = rlx_module_lex_span(&parser->lex, &first);
    return tuple;
}

static rlx_node_t *parse_list(rlx_module_parser_t *parser)
{
    rlx_module_token_t first = parser->lex.token;
    rlx_node_t *list = rlx_module_node(parser, RLX_NODE_LIST, first.span);

    rlx_module_lex_next(&parser->lex);
    if (!parse_items(parser, list, "]", "Put a comma between two values, or close the list."))
        return NULL;
    list->span = rlx_module_lex_span(&parser->lex, &first);
    return list;
}

/* "key": value; keys are strings. */
static bool parse_entry(rlx_module_parser_t *parser, rlx_node_t *dict)
{
    rlx_module_token_t key = parser->lex.token;
    rlx_node_t *name = rlx_module_refuse_star(parser) ? NULL : rlx_module_parse_expr(parser), *value;

    if (name == NULL)
        return false;
    if (rlx_module_token_is(&parser->lex.token, ",") || rlx_module_token_is(&parser->lex.token, "}")) {
        rlx_finding_hint(rlx_report(parser->findings, RLX_E_NOT_LANGUAGE, name->span, "the module form has no sets"),
                         "A dictionary reads {\"key\": value}, a list [value, value].");
        return false;
    }
    if (name->kind != RLX_NODE_STRING) {
        rlx_finding_t *finding = rlx_report(parser->findings, RLX_E_ARG_TYPE, name->span, "a key of a dictionary is a string");

        rlx_finding_hint(finding, name->kind == RLX_NODE_NAME ? "Put it in quotes: \"%s\"." : "Put it in quotes.", name->s);
        return false;
    }
    if (rlx_module_token_is(&parser->lex.token, "="))
        return rlx_module_parse_fail(parser, "`:`", "An entry of a dictionary reads \"key\": value.") != NULL;
    if (!rlx_module_parse_mark(parser, ":", "An entry of a dictionary reads \"key\": value."))
        return false;
    value = rlx_module_parse_expr(parser);
    if (value == NULL || rlx_module_refuse_comprehension(parser))
        return false;
    rlx_module_field_add(parser, dict, name->s, key.span, value);
    return !rlx_syntax_is_full(parser->syntax);
}

static rlx_node_t *parse_dict(rlx_module_parser_t *parser)
{
    rlx_module_token_t first = parser->lex.token;
    rlx_node_t *dict = rlx_module_node(parser, RLX_NODE_DICT, first.span);

    rlx_module_lex_next(&parser->lex);
    while (!rlx_module_token_is(&parser->lex.token, "}")) {
        if (!parse_entry(parser, dict))
            return NULL;
        if (rlx_module_token_is(&parser->lex.token, ","))
            rlx_module_lex_next(&parser->lex);
        else if (!rlx_module_token_is(&parser->lex.token, "}"))
            return rlx_module_parse_fail(parser, "`,` or `}`", "Put a comma between two entries, or close the dictionary.");
    }
    rlx_module_lex_next(&parser->lex);
    dict->span = rlx_module_lex_span(&parser->lex, &first);
    return dict;
}

static rlx_node_t *parse_word(rlx_module_parser_t *parser)
{
    const rlx_module_token_t *token = &parser->lex.token;
    rlx_node_t *node = rlx_module_node(parser, RLX_NODE_NAME, token->span);

    if (rlx_module_token_is(token, "True") || rlx_module_token_is(token, "False")) {
        node->kind = RLX_NODE_BOOL;
        node->i = token->text[0] == 'T';
    } else if (rlx_module_token_is(token, "None")) {
        node->kind = RLX_NODE_NONE;
    } else if (rlx_module_is_keyword(token)) {
        return rlx_module_parse_fail(parser, "a value", "Write a number, a string, a list, a name or a call there.");
    }
    node->s = token_name(parser);
    rlx_module_lex_next(&parser->lex);
    return node;
}

rlx_node_t *rlx_module_parse_atom(rlx_module_parser_t *parser)
{
    const rlx_module_token_t *token = &parser->lex.token;

    if (token->kind == RLX_MODULE_NUMBER)
        return parse_number(parser);
    if (token->kind == RLX_MODULE_STRING)
        return parse_string(parser);
    if (token->kind == RLX_MODULE_NAME)
        return parse_word(parser);
    if (rlx_module_token_is(token, "("))
        return parse_parentheses(parser);
    if (rlx_module_token_is(token, "["))
        return parse_list(parser);
    if (rlx_module_token_is(token, "{"))
        return parse_dict(parser);
    if (rlx_module_token_is(token, "%"))
        return rlx_module_parse_fail(parser, "a value",
                                     "Names have no `%` in the module form; a file with `%x = ...;` is in the SSA form: end its name in .rlxir.");
    return rlx_module_parse_fail(parser, "a value", "Write a number, a string, a list, a name or a call there.");
}
