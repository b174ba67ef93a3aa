/* Lines are logical or physical as in Python: within brackets, and behind a backslash, a line's end is white space. */
#include "ir/module/token.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "ir/module/literal.h"
#include "ir/text/lex.h"

static bool is_name_first(char c) { return isalpha((unsigned char)c) || c == '_'; }
static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

static rlx_span_t span_of(const rlx_module_lex_t *lex, const char *from, const char *to)
{
    return (rlx_span_t){lex->line, (uint32_t)(from - lex->line_start) + 1, (uint32_t)(to - from)};
}

static void token_set(rlx_module_lex_t *lex, rlx_module_token_kind_t kind, const char *from, const char *to)
{
    lex->token.kind = kind;
    lex->token.text = from;
    lex->token.bytes = (size_t)(to - from);
    lex->token.span = span_of(lex, from, to);
}

static void newline_pass(rlx_module_lex_t *lex)
{
    lex->at++;
    lex->line++;
    lex->line_start = lex->at;
}

static void comment_skip(rlx_module_lex_t *lex)
{
    const char *from = lex->at;

    while (lex->at < lex->end && *lex->at != '\n')
        lex->at++;
    if (rlx_comment_is_sync(from, (size_t)(lex->at - from)))
        rlx_finding_hint(rlx_report_warning(lex->findings, RLX_E_COMMENT, span_of(lex, from, lex->at), "this comment synchronises nothing"),
                         "Write sync_mode=\"barrier\", \"async_barrier\" or \"stream_ordered\" among the operator's arguments.");
}

/* White space and comments in front of a token; true when a line's end is next that counts. */
static bool blank_skip(rlx_module_lex_t *lex)
{
    for (;; ) {
        if (*lex->at == ' ' || *lex->at == '\t' || *lex->at == '\f' || (*lex->at == '\r' && lex->at[1] == '\n'))
            lex->at++;
        else if (*lex->at == '#')
            comment_skip(lex);
        else if (*lex->at == '\\' && (lex->at[1] == '\n' || (lex->at[1] == '\r' && lex->at[2] == '\n'))) {
            lex->at += lex->at[1] == '\r' ? 2 : 1;
            newline_pass(lex);
            lex->token.first = true;
        } else if (*lex->at == '\n' && lex->n_brackets > 0) {
            newline_pass(lex);
            lex->token.first = true;
        } else
            return *lex->at == '\n';
    }
}

/* Stands on the first character of the next line that has something; its indentation in characters, that of the block where it is mixed. */
static int indent_measure(rlx_module_lex_t *lex)
{
    for (;;) {
        const char *begin = lex->at;
        bool tabs = false, spaces = false;

        while (*lex->at == ' ' || *lex->at == '\t' || *lex->at == '\f') {
            tabs = tabs || *lex->at == '\t';
            spaces = spaces || *lex->at == ' ';
            lex->at++;
        }
        if (*lex->at == '#')
            comment_skip(lex);
        if (*lex->at == '\r' && lex->at[1] == '\n')
            lex->at++;
        if (*lex->at == '\n') {
            newline_pass(lex);
            continue;
        }
        if (tabs && spaces) {
            rlx_finding_hint(rlx_report(lex->findings, RLX_E_INDENT, span_of(lex, begin, lex->at), "this line is indented with tabs and spaces"),
                             "Indent with four spaces per level; set your editor to write spaces for tabs.");
            return lex->indents[lex->n_indents - 1];
        }
        return (int)(lex->at - begin);
    }
}

/* The indentation of a logical line against the blocks that are open. */
static void indent_apply(rlx_module_lex_t *lex)
{
    int column = indent_measure(lex), open = lex->indents[lex->n_indents - 1];

    if (lex->at == lex->end)
        column = 0;
    lex->pending = 0;
    if (column > open && lex->n_indents < RLX_MODULE_INDENTS_MAX) {
        lex->indents[lex->n_indents++] = column;
        lex->pending = -1;
    } else if (column > open && lex->n_indents == RLX_MODULE_INDENTS_MAX) {
        rlx_report(lex->findings, RLX_E_TEXT_LIMIT, span_of(lex, lex->at, lex->at), "more than %d levels of indentation", RLX_MODULE_INDENTS_MAX - 1);
    }
    while (column < lex->indents[lex->n_indents - 1]) {
        lex->n_indents--;
        lex->pending++;
    }
    if (lex->pending > 0 && column > lex->indents[lex->n_indents - 1]) { /* it belongs to the block that was closed last */
        open = lex->indents[lex->n_indents++];
        lex->pending--;
        rlx_finding_hint(rlx_report(lex->findings, RLX_E_INDENT, span_of(lex, lex->line_start, lex->at),
                                    "this line is indented by %d, which no block above is", column),
                         "Indent it by %d, as the block it belongs to.", open);
    }
}

static void bracket_open(rlx_module_lex_t *lex, const char *at)
{
    if (lex->n_brackets == RLX_MODULE_BRACKETS_MAX) {
        rlx_report(lex->findings, RLX_E_TEXT_LIMIT, span_of(lex, at, at + 1), "more than %d brackets inside each other", RLX_MODULE_BRACKETS_MAX);
        lex->token.kind = RLX_MODULE_BAD;
        return;
    }
    lex->brackets[lex->n_brackets].mark = *at;
    lex->brackets[lex->n_brackets++].span = span_of(lex, at, at + 1);
}

static void bracket_close(rlx_module_lex_t *lex, const char *at)
{
    char wanted = lex->n_brackets == 0                             ? '\0'
                  : lex->brackets[lex->n_brackets - 1].mark == '(' ? ')'
                  : lex->brackets[lex->n_brackets - 1].mark == '[' ? ']'
                                                                   : '}';
    rlx_finding_t *finding;

    if (wanted == *at) {
        lex->n_brackets--;
        return;
    }
    finding = wanted == '\0' ? rlx_report(lex->findings, RLX_E_SYNTAX, span_of(lex, at, at + 1), "`%c` closes nothing", *at)
                             : rlx_report(lex->findings, RLX_E_SYNTAX, span_of(lex, at, at + 1), "`%c` does not close `%c`", *at,
                                          lex->brackets[lex->n_brackets - 1].mark);
    if (wanted == '\0')
        rlx_finding_hint(finding, "Remove it, or open it in front.");
    else
        rlx_finding_note(
            rlx_finding_hint(rlx_finding_expected(finding, "`%c`", wanted), "Close every bracket with its own kind, the inner ones first."),
            lex->brackets[lex->n_brackets - 1].span, "this bracket is open");
    lex->token.kind = RLX_MODULE_BAD;
}

static size_t mark_bytes(const char *at)
{
    static const char *const marks[] = {"**=", "//=", ">>=", "<<=", "...", "**", "//", "==", "!=", "<=", ">=", "<<", ">>", "->", "+=", "-=", "*=",
                                        "/=", "%=", "@=", "&=", "|=", "^=", ":="};

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncmp(at, marks[i], strlen(marks[i])) == 0)
            return strlen(marks[i]);
    return *at != '\0' && strchr("()[]{},:.;@=+-*/%<>&|^~", *at) != NULL ? 1 : 0;
}

/* A character that begins no token. Those that people bring along from elsewhere are named. */
static void character_refuse(rlx_module_lex_t *lex)
{
    size_t n = rlx_utf8_bytes(lex->at, (size_t)(lex->end - lex->at));
    const char *from = lex->at;
    rlx_finding_t *finding;

    lex->at += n > 0 ? n : 1;
    token_set(lex, RLX_MODULE_BAD, from, lex->at);
    if (n == 0 || *from == '\0') {
        finding = rlx_report(lex->findings, RLX_E_TOKEN, lex->token.span, "byte 0x%02x is no UTF-8 text", (unsigned char)*from);
        rlx_finding_hint(finding, "Save the file as UTF-8.");
        return;
    }
    finding = rlx_report(lex->findings, RLX_E_TOKEN, lex->token.span, "`%.*s` cannot stand here", (int)n, from);
    if (n == 3 && (memcmp(from, "\xe2\x80\x9c", 3) == 0 || memcmp(from, "\xe2\x80\x9d", 3) == 0 || memcmp(from, "\xe2\x80\x98", 3) == 0 ||
                   memcmp(from, "\xe2\x80\x99", 3) == 0))
        rlx_finding_hint(finding, "Strings stand in straight quotes: \"text\".");
    else if (*from == '\\')
        rlx_finding_hint(finding, "A backslash joins two lines: nothing may stand behind it. Inside brackets none is needed.");
    else if (*from == '?')
        rlx_finding_hint(finding, "A choice between constants reads `a if condition else b`.");
    else if (*from == '!')
        rlx_finding_hint(finding, "Not equal is `!=`; the negation of a tensor is rlx.logical_not(x).");
    else
        rlx_finding_hint(finding,
                         n > 1 ? "Names have letters a to z, digits and `_`; other characters may stand in strings and comments." : "Remove it.");
}

static void mark_next(rlx_module_lex_t *lex)
{
    const char *from = lex->at;
    size_t n = mark_bytes(from);

    if (n == 0) {
        character_refuse(lex);
        return;
    }
    lex->at += n;
    token_set(lex, RLX_MODULE_MARK, from, lex->at);
    if (n == 1 && strchr("([{", *from) != NULL)
        bracket_open(lex, from);
    else if (n == 1 && strchr(")]}", *from) != NULL)
        bracket_close(lex, from);
}

static void string_next(rlx_module_lex_t *lex)
{
    const char *from = lex->at, *end;
    rlx_string_scan_t scan = rlx_string_scan(from, lex->end, &end);

    if (scan != RLX_STRING_CLOSED) {
        const char *quote = from + strcspn(from, "\"'"), *line_end = memchr(from, '\n', (size_t)(lex->end - from));

        line_end = line_end != NULL ? line_end : lex->end;
        rlx_finding_hint(rlx_report(lex->findings, RLX_E_TOKEN, span_of(lex, from, line_end), "this string is never closed"),
                         scan == RLX_STRING_OPEN_BLOCK ? "Close it with %.3s." : "Close it with %.1s on the same line.", quote);
        token_set(lex, RLX_MODULE_BAD, from, line_end);
        lex->at = scan == RLX_STRING_OPEN_BLOCK ? lex->end : line_end;
        return;
    }
    token_set(lex, RLX_MODULE_STRING, from, end);
    for (const char *at = from; at < end; at++)
        if (*at == '\n') {
            lex->token.span.length = lex->token.span.line == lex->line ? (uint32_t)(at - from) : lex->token.span.length;
            lex->line++;
            lex->line_start = at + 1;
        }
    lex->at = end;
}

/* Unclosed brackets at the end of the file: the innermost says it. */
static void end_next(rlx_module_lex_t *lex)
{
    if (lex->n_brackets > 0) {
        char open = lex->brackets[lex->n_brackets - 1].mark;

        rlx_finding_hint(rlx_report(lex->findings, RLX_E_SYNTAX, lex->brackets[lex->n_brackets - 1].span, "`%c` is never closed", open),
                         "Add `%c` where it ends.", open == '(' ? ')' : open == '[' ? ']' : '}');
        lex->n_brackets = 0;
        token_set(lex, RLX_MODULE_BAD, lex->at, lex->at);
        return;
    }
    if (!lex->line_begins) { /* the last line has no end */
        lex->line_begins = true;
        token_set(lex, RLX_MODULE_NEWLINE, lex->at, lex->at);
        return;
    }
    token_set(lex, RLX_MODULE_END, lex->at, lex->at);
}

static bool block_next(rlx_module_lex_t *lex)
{
    if (lex->pending == 0)
        return false;
    token_set(lex, lex->pending > 0 ? RLX_MODULE_DEDENT : RLX_MODULE_INDENT, lex->at, lex->at);
    lex->pending += lex->pending > 0 ? -1 : 1;
    return true;
}

void rlx_module_lex_next(rlx_module_lex_t *lex)
{
    if (lex->token.kind != RLX_MODULE_INDENT && lex->token.kind != RLX_MODULE_DEDENT && lex->token.kind != RLX_MODULE_NEWLINE)
        lex->last = lex->token.span;
    lex->token.first = lex->line_begins;
    if (lex->line_begins && lex->pending == 0 && lex->token.kind != RLX_MODULE_INDENT && lex->token.kind != RLX_MODULE_DEDENT)
        indent_apply(lex);
    if (block_next(lex))
        return;
    if (blank_skip(lex)) {
        token_set(lex, RLX_MODULE_NEWLINE, lex->at, lex->at);
        newline_pass(lex);
        lex->line_begins = true;
        return;
    }
    if (lex->at >= lex->end) {
        end_next(lex);
        return;
    }
    lex->line_begins = false;
    if (is_name_first(*lex->at) && !rlx_string_begins(lex->at)) {
        const char *from = lex->at;

        while (is_name(*lex->at))
            lex->at++;
        token_set(lex, RLX_MODULE_NAME, from, lex->at);
    } else if (isdigit((unsigned char)*lex->at) || (*lex->at == '.' && isdigit((unsigned char)lex->at[1]))) {
        const char *from = lex->at;

        lex->at = rlx_number_scan(from);
        token_set(lex, RLX_MODULE_NUMBER, from, lex->at);
    } else if (rlx_string_begins(lex->at))
        string_next(lex);
    else
        mark_next(lex);
}

void rlx_module_lex_init(rlx_module_lex_t *lex, const char *text, size_t bytes, rlx_diag_list_t *findings)
{
    *lex = (rlx_module_lex_t){.text = text, .at = text, .end = text + bytes, .line_start = text, .line = 1, .findings = findings, .n_indents = 1,
                              .line_begins = true};
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        lex->at += 3;
    lex->token.kind = RLX_MODULE_NEWLINE;
    rlx_module_lex_next(lex);
}

rlx_module_token_t rlx_module_lex_peek(const rlx_module_lex_t *lex)
{
    rlx_module_lex_t ahead = *lex;
    rlx_diag_list_t nobody;

    rlx_diag_list_init(&nobody, 0);
    ahead.findings = &nobody;
    rlx_module_lex_next(&ahead);
    rlx_diag_list_fini(&nobody);
    return ahead.token;
}

bool rlx_module_token_is(const rlx_module_token_t *token, const char *text)
{
    return (token->kind == RLX_MODULE_MARK || token->kind == RLX_MODULE_NAME) && strlen(text) == token->bytes &&
           memcmp(token->text, text, token->bytes) == 0;
}

const char *rlx_module_token_text(const rlx_module_token_t *token, char *buffer)
{
    static const char *const names[] = {[RLX_MODULE_END] = "the end of the file", [RLX_MODULE_NEWLINE] = "the end of the line",
                                        [RLX_MODULE_INDENT] = "a deeper indentation", [RLX_MODULE_DEDENT] = "the end of the block"};

    if (token->kind <= RLX_MODULE_DEDENT)
        return names[token->kind];
    snprintf(buffer, 64, token->bytes > 40 ? "`%.*s...`" : "`%.*s`", token->bytes > 40 ? 37 : (int)token->bytes, token->text);
    return buffer;
}

rlx_span_t rlx_module_lex_span(const rlx_module_lex_t *lex, const rlx_module_token_t *first)
{
    rlx_span_t span = first->span;
    size_t bytes, comment;

    if (lex->last.line == span.line)
        return rlx_span_join(span, lex->last);
    bytes = strcspn(first->text, "\r\n");
    comment = strcspn(first->text, "#\"'");
    if (comment < bytes && first->text[comment] == '#')
        bytes = comment;
    while (bytes > span.length && (first->text[bytes - 1] == ' ' || first->text[bytes - 1] == '\t'))
        bytes--;
    span.length = (uint32_t)bytes;
    return span;
}

/* At the begin of a line: does it go on with the statement that is left? */
static bool line_continues(const rlx_module_lex_t *lex, const char *line, int open)
{
    size_t column = strspn(line, " \t\f");

    if (line + column >= lex->end)
        return false;
    return (int)column > open || strchr(")]}#\n\r", line[column]) != NULL;
}

static void line_skip(rlx_module_lex_t *lex)
{
    while (lex->at < lex->end && *lex->at != '\n')
        lex->at++;
    if (lex->at < lex->end)
        newline_pass(lex);
}

void rlx_module_lex_recover(rlx_module_lex_t *lex)
{
    int open = lex->indents[lex->n_indents - 1];
    bool here = lex->n_brackets > 0 && lex->token.kind == RLX_MODULE_NAME && lex->token.first && (int)lex->token.span.column - 1 <= open;

    lex->n_brackets = lex->pending = 0;
    if (here)
        lex->at = lex->line_start;
    else if (lex->token.kind != RLX_MODULE_NEWLINE)
        line_skip(lex);
    while (!here && lex->at < lex->end && line_continues(lex, lex->at, open))
        line_skip(lex);
    lex->line_begins = true;
    lex->token.kind = RLX_MODULE_NEWLINE;
    rlx_module_lex_next(lex);
}
