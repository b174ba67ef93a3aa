/* Functions with their decorators, and the constants between them. */
#include <string.h>

#include "ir/module/parse.h"

/* @name or @name(arguments), up to the end of its line. */
static bool parse_decorator(rlx_module_parser_t *parser, rlx_routine_t *routine)
{
    rlx_node_t *node;

    rlx_module_lex_next(&parser->lex);
    node = rlx_module_parse_expr(parser);
    if (node == NULL)
        return false;
    routine->decorators = rlx_syntax_grow(parser->syntax, routine->decorators, routine->n_decorators, sizeof(rlx_node_t *));
    routine->decorators[routine->n_decorators++] = node;
    if (parser->lex.token.kind != RLX_MODULE_NEWLINE)
        return rlx_module_parse_fail(parser, "the end of the line", "A decorator has a line of its own.") != NULL;
    rlx_module_lex_next(&parser->lex);
    return true;
}

static bool parse_parameter(rlx_module_parser_t *parser, rlx_routine_t *routine)
{
    rlx_parameter_t parameter = {.span = parser->lex.token.span};

    if (rlx_module_refuse_star(parser))
        return false;
    if (parser->lex.token.kind != RLX_MODULE_NAME || rlx_module_is_keyword(&parser->lex.token))
        return rlx_module_parse_fail(parser, "the name of a parameter", "A function reads `def block(x, channels=64):`.") != NULL;
    parameter.name = rlx_syntax_strndup(parser->syntax, parser->lex.token.text, parser->lex.token.bytes);
    rlx_module_lex_next(&parser->lex);
    if (rlx_module_token_is(&parser->lex.token, ":")) {
        rlx_finding_hint(rlx_report(parser->findings, RLX_E_NOT_LANGUAGE, parser->lex.token.span, "the module form has no annotations"),
                         "Remove it: a parameter takes the type of what is passed. Inputs are made in the body, x = rlx.tensor(shape=...).");
        return false;
    }
    if (rlx_module_token_is(&parser->lex.token, "=")) {
        rlx_module_lex_next(&parser->lex);
        if ((parameter.value = rlx_module_parse_expr(parser)) == NULL)
            return false;
    }
    routine->parameters = rlx_syntax_grow(parser->syntax, routine->parameters, routine->n_parameters, sizeof *routine->parameters);
    routine->parameters[routine->n_parameters++] = parameter;
    return true;
}

static bool parse_parameters(rlx_module_parser_t *parser, rlx_routine_t *routine)
{
    if (!rlx_module_parse_mark(parser, "(", "A function reads `def name():`, with its brackets."))
        return false;
    while (!rlx_module_token_is(&parser->lex.token, ")")) {
        if (!parse_parameter(parser, routine))
            return false;
        if (rlx_module_token_is(&parser->lex.token, ","))
            rlx_module_lex_next(&parser->lex);
        else if (!rlx_module_token_is(&parser->lex.token, ")"))
            return rlx_module_parse_fail(parser, "`,` or `)`", "Put a comma between two parameters, or close the bracket.") != NULL;
    }
    rlx_module_lex_next(&parser->lex);
    if (!rlx_module_token_is(&parser->lex.token, "->"))
        return true;
    rlx_finding_hint(rlx_report(parser->findings, RLX_E_NOT_LANGUAGE, parser->lex.token.span, "the module form has no annotations"),
                     "Remove what stands between `)` and `:`.");
    return false;
}

/* `def name(...):` and its body. A header that is not understood takes its body with it. */
static bool parse_routine(rlx_module_parser_t *parser, rlx_routine_t *routine)
{
    int errors = parser->findings->n_errors;

    rlx_module_lex_next(&parser->lex);
    routine->name_span = parser->lex.token.span;
    if (parser->lex.token.kind != RLX_MODULE_NAME || rlx_module_is_keyword(&parser->lex.token))
        return rlx_module_parse_fail(parser, "the function's name", "A function reads `def name():`.") != NULL;
    routine->name = rlx_syntax_strndup(parser->syntax, parser->lex.token.text, parser->lex.token.bytes);
    rlx_module_lex_next(&parser->lex);
    if (!parse_parameters(parser, routine) || !rlx_module_parse_body(parser, "def", &routine->lines, &routine->n_lines))
        return false;
    routine->broken = parser->findings->n_errors > errors;
    return true;
}

static void routine_add(rlx_module_parser_t *parser, rlx_routine_t *routine)
{
    rlx_tree_t *tree = parser->tree;

    for (int i = 0; i < tree->n_routines; i++)
        if (strcmp(tree->routines[i]->name, routine->name) == 0) {
            rlx_finding_t *finding =
                rlx_report(parser->findings, RLX_E_NAME_TWICE, routine->name_span, "there is a function `%s` already", routine->name);

            rlx_finding_note(rlx_finding_hint(finding, "Give one of them another name."), tree->routines[i]->name_span, "the first one");
            return;
        }
    tree->routines = rlx_syntax_grow(parser->syntax, tree->routines, tree->n_routines, sizeof(rlx_routine_t *));
    tree->routines[tree->n_routines++] = routine;
}

/* Decorators and the function below them. */
static bool parse_definition(rlx_module_parser_t *parser)
{
    rlx_routine_t *routine = rlx_syntax_alloc(parser->syntax, sizeof *routine);
    bool good = true;

    routine->span = parser->lex.token.span;
    while (rlx_module_token_is(&parser->lex.token, "@"))
        if (!parse_decorator(parser, routine)) {
            rlx_module_lex_recover(&parser->lex);
            good = false;
        }
    if (!rlx_module_token_is(&parser->lex.token, "def"))
        return !good || rlx_module_parse_fail(parser, "`def`", "Below a decorator stands a function: `def name():`.") != NULL;
    if (!parse_routine(parser, routine)) {
        routine->broken = true;
        if (routine->name != NULL)
            routine_add(parser, routine);
        return false;
    }
    routine->broken = routine->broken || !good;
    routine_add(parser, routine);
    return true;
}

/* What stands at the left margin. */
static void parse_top(rlx_module_parser_t *parser)
{
    const rlx_module_token_t *token = &parser->lex.token;

    if (token->kind == RLX_MODULE_NEWLINE || token->kind == RLX_MODULE_DEDENT)
        rlx_module_lex_next(&parser->lex);
    else if (!rlx_module_token_is(token, "@") && !rlx_module_token_is(token, "def"))
        rlx_module_parse_line(parser, &parser->tree->lines, &parser->tree->n_lines);
    else if (!parse_definition(parser))
        rlx_module_lex_recover(&parser->lex);
}

/* Bytes that no token may hold, wherever they stand. */
static bool text_check(const char *text, size_t bytes, rlx_diag_list_t *findings)
{
    const char *nul = memchr(text, '\0', bytes), *at = text, *next;
    uint32_t line = 1;

    if (bytes <= RLX_MODULE_FILE_MAX && nul == NULL)
        return true;
    if (bytes > RLX_MODULE_FILE_MAX) {
        rlx_finding_hint(rlx_report(findings, RLX_E_TEXT_LIMIT, RLX_SPAN_NONE, "the file has %zu bytes, more than %d", bytes, RLX_MODULE_FILE_MAX),
                         "Keep large constants in .npy or .safetensors files beside it.");
        return false;
    }
    while ((next = memchr(at, '\n', (size_t)(nul - at))) != NULL) {
        at = next + 1;
        line++;
    }
    rlx_finding_hint(rlx_report(findings, RLX_E_TOKEN, (rlx_span_t){line, (uint32_t)(nul - at) + 1, 1}, "a byte 0 stands in the text"),
                     "Save the file as plain text in UTF-8.");
    return false;
}

rlx_tree_t *rlx_module_parse(rlx_syntax_t *syntax, const char *text, size_t bytes, rlx_diag_list_t *findings)
{
    rlx_module_parser_t parser = {.syntax = syntax, .findings = findings};

    parser.tree = rlx_syntax_alloc(syntax, sizeof *parser.tree);
    if (!text_check(text, bytes, findings))
        return parser.tree;
    rlx_module_lex_init(&parser.lex, text, bytes, findings);
    while (parser.lex.token.kind != RLX_MODULE_END && !rlx_syntax_is_full(syntax))
        parse_top(&parser);
    if (rlx_syntax_is_full(syntax))
        rlx_finding_hint(rlx_report(findings, RLX_E_TEXT_LIMIT, parser.lex.token.span, "the module is too large"),
                         "Keep large constants in .npy or .safetensors files beside it.");
    return parser.tree;
}
