/* Statements, functions and the file. Every statement that is not understood is reported and left behind; the names that it would have set are
 * kept, so that their uses are no mistakes. */
#include <ctype.h>
#include <string.h>

#include "ir/module/parse.h"

static rlx_line_t *line_add(rlx_module_parser_t *parser, rlx_line_t ***lines, int *n_lines, rlx_line_kind_t kind)
{
    rlx_line_t *line = rlx_syntax_alloc(parser->syntax, sizeof *line);

    line->kind = kind;
    line->span = parser->lex.token.span;
    *lines = rlx_syntax_grow(parser->syntax, *lines, *n_lines, sizeof **lines);
    (*lines)[(*n_lines)++] = line;
    return line;
}

static void target_add(rlx_module_parser_t *parser, rlx_line_t *line, const char *name, rlx_span_t span)
{
    line->targets = rlx_syntax_grow(parser->syntax, line->targets, line->n_targets, sizeof *line->targets);
    line->targets[line->n_targets++] = (rlx_target_t){name, span};
}

static bool target_refuse(rlx_module_parser_t *parser, const rlx_node_t *node)
{
    rlx_finding_t *finding = rlx_report(parser->findings, node->kind == RLX_NODE_SUBSCRIPT ? RLX_E_NOT_LANGUAGE : RLX_E_SYNTAX, node->span,
                                        node->kind == RLX_NODE_SUBSCRIPT ? "elements cannot be assigned" : "this cannot be assigned to");

    if (node->kind == RLX_NODE_SUBSCRIPT)
        rlx_finding_hint(finding, "A value never changes. Make a new one, with rlx.scatter_nd, rlx.where or rlx.concat.");
    else if (node->kind == RLX_NODE_ATTRIBUTE)
        rlx_finding_hint(finding, "Values have no fields to set: give the result a name of its own.");
    else
        rlx_finding_hint(finding, "On the left of `=` stands a name, or several: `a, b = ...`.");
    return false;
}

/* The names on the left of `=`. */
static bool targets_read(rlx_module_parser_t *parser, rlx_line_t *line, const rlx_node_t *left)
{
    int n = left->kind == RLX_NODE_TUPLE || left->kind == RLX_NODE_LIST ? left->n_items : 1;

    for (int i = 0; i < n; i++) {
        const rlx_node_t *node = left->kind == RLX_NODE_TUPLE || left->kind == RLX_NODE_LIST ? left->items[i] : left;

        if (node->kind != RLX_NODE_NAME)
            return target_refuse(parser, node);
        target_add(parser, line, node->s, node->span);
    }
    return n > 0 ? true : target_refuse(parser, left);
}

static const char *update_operator(const rlx_module_token_t *token)
{
    static const char *const marks[] = {"+=", "-=", "*=", "/=", "//=", "**=", "%=", "@=", "&=", "|=", "^=", ">>=", "<<="};
    static const char *const operators[] = {"+", "-", "*", "/", "//", "**", "%", "@", "&", "|", "^", ">>", "<<"};

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (rlx_module_token_is(token, marks[i]))
            return operators[i];
    return NULL;
}

static bool annotation_refuse(rlx_module_parser_t *parser)
{
    if (!rlx_module_token_is(&parser->lex.token, ":"))
        return false;
    rlx_finding_hint(rlx_report(parser->findings, RLX_E_NOT_LANGUAGE, parser->lex.token.span, "the module form has no annotations"),
                     "Remove what stands between the name and `=`: types are arguments of rlx.tensor.");
    return true;
}

static bool line_end(rlx_module_parser_t *parser, const char *hint)
{
    if (rlx_module_token_is(&parser->lex.token, ";"))
        rlx_module_lex_next(&parser->lex);
    else if (parser->lex.token.kind != RLX_MODULE_NEWLINE && parser->lex.token.kind != RLX_MODULE_END)
        return rlx_module_parse_fail(parser, "the end of the line", hint) != NULL;
    if (parser->lex.token.kind == RLX_MODULE_NEWLINE)
        rlx_module_lex_next(&parser->lex);
    return true;
}

/* `a = b`, `a += b`, or an expression that stands alone. */
static bool parse_simple(rlx_module_parser_t *parser, rlx_line_t *line)
{
    rlx_module_token_t first = parser->lex.token;
    rlx_node_t *node = rlx_module_parse_tuple(parser);
    const char *op;

    if (node == NULL || annotation_refuse(parser))
        return false;
    op = update_operator(&parser->lex.token);
    if (op == NULL && !rlx_module_token_is(&parser->lex.token, "=")) {
        line->kind = RLX_LINE_EXPR;
        line->value = node;
        line->span = node->span;
        return line_end(parser, node->kind == RLX_NODE_NAME ? "A statement reads name = value." : "Put one statement on a line.");
    }
    if (!targets_read(parser, line, node))
        return false;
    if (op != NULL && line->n_targets > 1)
        return target_refuse(parser, node);
    line->op = op;
    line->op_span = parser->lex.token.span;
    rlx_module_lex_next(&parser->lex);
    line->value = rlx_module_parse_tuple(parser);
    if (line->value == NULL)
        return false;
    if (rlx_module_token_is(&parser->lex.token, "=")) {
        rlx_finding_hint(rlx_report(parser->findings, RLX_E_NOT_LANGUAGE, parser->lex.token.span, "the module form assigns once per line"),
                         "Write two lines: `b = value`, then `a = b`.");
        return false;
    }
    line->kind = op != NULL ? RLX_LINE_UPDATE : RLX_LINE_ASSIGN;
    line->span = rlx_module_lex_span(&parser->lex, &first);
    return line_end(parser, "Put one statement on a line.");
}

static bool parse_return(rlx_module_parser_t *parser, rlx_line_t *line)
{
    rlx_module_token_t first = parser->lex.token;

    rlx_module_lex_next(&parser->lex);
    line->kind = RLX_LINE_RETURN;
    if (parser->lex.token.kind != RLX_MODULE_NEWLINE && (line->value = rlx_module_parse_tuple(parser)) == NULL)
        return false;
    line->span = rlx_module_lex_span(&parser->lex, &first);
    return line_end(parser, "Put one statement on a line.");
}

/* The lines of a block, to its end. */
static void block_read(rlx_module_parser_t *parser, rlx_line_t ***lines, int *n_lines)
{
    while (parser->lex.token.kind != RLX_MODULE_DEDENT && parser->lex.token.kind != RLX_MODULE_END && !rlx_syntax_is_full(parser->syntax))
        rlx_module_parse_line(parser, lines, n_lines);
    if (parser->lex.token.kind == RLX_MODULE_DEDENT)
        rlx_module_lex_next(&parser->lex);
}

/* ":" and the lines behind it, on the same line or indented. */
bool rlx_module_parse_body(rlx_module_parser_t *parser, const char *what, rlx_line_t ***lines, int *n_lines)
{
    char hint[96];
    bool block;

    snprintf(hint, sizeof hint, "A line with `%s` ends with `:`.", what);
    if (!rlx_module_parse_mark(parser, ":", hint) && parser->lex.token.kind != RLX_MODULE_NEWLINE)
        return false;
    if (parser->lex.token.kind != RLX_MODULE_NEWLINE)
        return rlx_module_parse_line(parser, lines, n_lines);
    rlx_module_lex_next(&parser->lex);
    block = parser->lex.token.kind == RLX_MODULE_INDENT;
    if (!block) {
        rlx_finding_t *finding = rlx_report(parser->findings, RLX_E_INDENT, parser->lex.token.span, "the body of `%s` is missing", what);

        rlx_finding_hint(finding, "Indent the lines that belong to it by four spaces.");
        while (strcmp(what, "def") == 0 && parser->lex.token.kind != RLX_MODULE_END && parser->lex.token.kind != RLX_MODULE_DEDENT &&
               !rlx_module_token_is(&parser->lex.token, "def") && !rlx_module_token_is(&parser->lex.token, "@"))
            rlx_module_parse_line(parser, lines, n_lines); /* what follows is the body, most likely */
        return true;
    }
    rlx_module_lex_next(&parser->lex);
    block_read(parser, lines, n_lines);
    return true;
}

static bool parse_for(rlx_module_parser_t *parser, rlx_line_t *line)
{
    rlx_module_lex_next(&parser->lex);
    for (;; rlx_module_lex_next(&parser->lex)) {
        if (parser->lex.token.kind != RLX_MODULE_NAME || rlx_module_is_keyword(&parser->lex.token))
            return rlx_module_parse_fail(parser, "a name", "A loop reads `for i in range(4):`.") != NULL;
        target_add(parser, line, rlx_syntax_strndup(parser->syntax, parser->lex.token.text, parser->lex.token.bytes), parser->lex.token.span);
        rlx_module_lex_next(&parser->lex);
        if (!rlx_module_token_is(&parser->lex.token, ","))
            break;
    }
    if (!rlx_module_parse_mark(parser, "in", "A loop reads `for i in range(4):`.") || (line->value = rlx_module_parse_tuple(parser)) == NULL)
        return false;
    line->kind = RLX_LINE_FOR;
    return rlx_module_parse_body(parser, "for", &line->body, &line->n_body);
}

static bool parse_if(rlx_module_parser_t *parser, rlx_line_t *line)
{
    if (parser->depth > RLX_SYNTAX_DEPTH_MAX)
        return rlx_module_parse_fail(parser, "fewer conditions", "Move some of them into a function of their own.") != NULL;
    rlx_module_lex_next(&parser->lex);
    line->value = rlx_module_parse_expr(parser);
    if (line->value == NULL)
        return false;
    line->kind = RLX_LINE_IF;
    if (rlx_module_token_is(&parser->lex.token, "="))
        return rlx_module_parse_fail(parser, "`:`", "Equality is `==`.") != NULL;
    if (!rlx_module_parse_body(parser, "if", &line->body, &line->n_body))
        return false;
    if (rlx_module_token_is(&parser->lex.token, "elif")) {
        bool good = ++parser->depth > 0 && parse_if(parser, line_add(parser, &line->other, &line->n_other, RLX_LINE_BROKEN));

        parser->depth--;
        return good;
    }
    if (!rlx_module_token_is(&parser->lex.token, "else"))
        return true;
    rlx_module_lex_next(&parser->lex);
    return rlx_module_parse_body(parser, "else", &line->other, &line->n_other);
}

static bool nested_refuse(rlx_module_parser_t *parser)
{
    bool decorator = rlx_module_token_is(&parser->lex.token, "@");

    rlx_finding_hint(rlx_report(parser->findings, RLX_E_NOT_LANGUAGE, parser->lex.token.span,
                                decorator ? "a decorator stands in front of a function, outside others" : "functions cannot stand inside functions"),
                     "Move it out, to the left margin of the file, and pass what it needs as arguments.");
    return false;
}

static bool line_parse(rlx_module_parser_t *parser, rlx_line_t *line)
{
    const rlx_module_token_t *token = &parser->lex.token;

    if (parser->depth > RLX_SYNTAX_DEPTH_MAX)
        return rlx_module_parse_fail(parser, "fewer statements inside each other", "Move some of them into a function of their own.") != NULL;
    if (rlx_module_refuse_word(parser))
        return false;
    if (rlx_module_token_is(token, "return"))
        return parse_return(parser, line);
    if (rlx_module_token_is(token, "for"))
        return parse_for(parser, line);
    if (rlx_module_token_is(token, "if"))
        return parse_if(parser, line);
    if (rlx_module_token_is(token, "def") || rlx_module_token_is(token, "@"))
        return nested_refuse(parser);
    if (rlx_module_token_is(token, "elif") || rlx_module_token_is(token, "else"))
        return rlx_module_parse_fail(parser, "a statement", "`else` belongs below an `if`, indented like it.") != NULL;
    if (rlx_module_token_is(token, "//"))
        return rlx_module_parse_fail(parser, "a statement", "Comments begin with `#` in the module form.") != NULL;
    return parse_simple(parser, line);
}

/* The name that a line sets: `name = ...`, `name: type = ...`, `def name`. False: none. */
static bool name_set(const char *at, const char *end, const char **out_name, size_t *out_bytes)
{
    size_t n;

    at += strspn(at, " \t%");
    at += end - at > 4 && strncmp(at, "def ", 4) == 0 ? 4 : 0;
    for (n = 0; at + n < end && (isalnum((unsigned char)at[n]) || at[n] == '_'); n++)
        continue;
    *out_name = at;
    *out_bytes = n;
    at += n + strspn(at + n, " \t");
    return n > 0 && !isdigit((unsigned char)**out_name) && at < end && ((*at == '=' && at[1] != '=') || *at == ':' || *at == '(');
}

/* Leaves a statement behind that was not understood, with all that is indented below it. Names that its lines would have set are known from now
 * on, so that their uses are no mistakes. */
static void line_break(rlx_module_parser_t *parser, rlx_line_t *line, const rlx_module_token_t *first)
{
    const char *at = first->text, *end, *name;
    bool is_try = rlx_module_token_is(first, "try");
    size_t bytes;

    do
        rlx_module_lex_recover(&parser->lex);
    while (is_try && (rlx_module_token_is(&parser->lex.token, "except") || rlx_module_token_is(&parser->lex.token, "else") ||
                      rlx_module_token_is(&parser->lex.token, "finally")));
    line->kind = RLX_LINE_BROKEN;
    for (; at < parser->lex.token.text; at = end < parser->lex.end ? end + 1 : parser->lex.token.text) {
        end = memchr(at, '\n', (size_t)(parser->lex.end - at));
        end = end != NULL ? end : parser->lex.end;
        if (name_set(at, end, &name, &bytes))
            target_add(parser, line, rlx_syntax_strndup(parser->syntax, name, bytes), first->span);
    }
}

/* One statement with what is indented below it; false when something in it was not understood. */
bool rlx_module_parse_line(rlx_module_parser_t *parser, rlx_line_t ***lines, int *n_lines)
{
    rlx_module_token_t first;
    rlx_line_t *line;
    bool good;

    if (parser->lex.token.kind == RLX_MODULE_NEWLINE) {
        rlx_module_lex_next(&parser->lex);
        return true;
    }
    if (parser->lex.token.kind == RLX_MODULE_INDENT) {
        rlx_module_lex_next(&parser->lex);
        rlx_finding_hint(rlx_report(parser->findings, RLX_E_INDENT, parser->lex.token.span, "this line is indented more than the one above"),
                         "Indent it like its neighbours.");
        block_read(parser, lines, n_lines);
        return false;
    }
    if (rlx_module_token_is(&parser->lex.token, "pass")) {
        rlx_module_lex_next(&parser->lex);
        return line_end(parser, "Put one statement on a line.");
    }
    first = parser->lex.token;
    line = line_add(parser, lines, n_lines, RLX_LINE_BROKEN);
    good = ++parser->depth > 0 && !rlx_syntax_is_full(parser->syntax) && line_parse(parser, line);
    parser->depth--;
    if (!good)
        line_break(parser, line, &first);
    return good;
}
