/* The scanner of the SSA form (ir/text/lex.h). */
#include "ir/text/lex.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
static bool is_name(char c) { return is_word(c) || c == '/' || c == '~' || c == '-' || c == '$' || c == '@'; }

static rlx_span_t span_of(const rlx_lex_t *lex, const char *from, const char *to)
{
    return (rlx_span_t){lex->line, (uint32_t)(from - lex->line_start) + 1, (uint32_t)(to - from)};
}

bool rlx_comment_is_sync(const char *text, size_t bytes)
{
    const char *at = text, *end = text + bytes;

    while (at < end && (*at == ' ' || *at == '\t' || *at == '/' || *at == '*' || *at == '#'))
        at++;
    if (end - at < 4 || strncasecmp(at, "sync", 4) != 0)
        return false;
    at += 4;
    if (end - at >= 5 && strncasecmp(at, "_mode", 5) == 0)
        at += 5;
    while (at < end && *at == ' ')
        at++;
    return at < end && (*at == ':' || *at == '=');
}

static void comment_check(rlx_lex_t *lex, const char *from, const char *to)
{
    if (rlx_comment_is_sync(from, (size_t)(to - from)))
        rlx_finding_hint(rlx_report_warning(lex->findings, RLX_E_COMMENT, span_of(lex, from, to), "this comment synchronises nothing"),
                         "Write sync_mode = \"barrier\", \"async_barrier\" or \"stream_ordered\" among the operator's attributes.");
}

static void newline(rlx_lex_t *lex)
{
    lex->line++;
    lex->line_start = lex->at + 1;
}

static void line_comment_skip(rlx_lex_t *lex)
{
    const char *from = lex->at;

    while (lex->at < lex->end && *lex->at != '\n')
        lex->at++;
    comment_check(lex, from, lex->at);
}

/* False: it is not closed. */
static bool block_comment_skip(rlx_lex_t *lex)
{
    const char *open = lex->at, *line = lex->at;
    rlx_span_t span = span_of(lex, open, open + 2);

    for (lex->at += 2; lex->at < lex->end; lex->at++) {
        if (lex->at[0] == '*' && lex->at[1] == '/') {
            comment_check(lex, line, lex->at);
            lex->at += 2;
            return true;
        }
        if (*lex->at == '\n') {
            comment_check(lex, line, lex->at);
            newline(lex);
            line = lex->at + 1;
        }
    }
    rlx_finding_hint(rlx_report(lex->findings, RLX_E_TOKEN, span, "this comment is never closed"), "Close it with */, or begin it with // for one line.");
    return false;
}

static void blank_skip(rlx_lex_t *lex)
{
    for (; lex->at < lex->end;) {
        char c = *lex->at;

        if (c == '\n')
            newline(lex);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
            lex->at++;
        else if (c == '#' || (c == '/' && lex->at[1] == '/'))
            line_comment_skip(lex);
        else if (c != '/' || lex->at[1] != '*' || !block_comment_skip(lex))
            return;
    }
}

static rlx_finding_t *bad(rlx_lex_t *lex, const char *from, const char *to, const char *what)
{
    lex->token.kind = RLX_TOKEN_BAD;
    return rlx_report(lex->findings, RLX_E_TOKEN, span_of(lex, from, to), "%s", what);
}

/* From the opening quote; the token's text is what stands between. */
static void quoted_scan(rlx_lex_t *lex)
{
    const char *open = lex->at;
    char quote = *lex->at++;

    lex->token.text = lex->at;
    while (lex->at < lex->end && *lex->at != quote && *lex->at != '\n') {
        lex->token.escaped |= *lex->at == '\\';
        lex->at += *lex->at == '\\' && lex->at + 1 < lex->end && lex->at[1] != '\n' ? 2 : 1;
    }
    lex->token.bytes = (size_t)(lex->at - lex->token.text);
    if (lex->at >= lex->end || *lex->at != quote)
        rlx_finding_hint(bad(lex, open, lex->at, "this string is never closed"), "Close it with %c on the same line.", quote);
    else
        lex->at++;
}

static void ref_scan(rlx_lex_t *lex)
{
    const char *from = lex->at++;

    lex->token.kind = RLX_TOKEN_REF;
    if (*lex->at == '"' || *lex->at == '\'') {
        quoted_scan(lex);
        return;
    }
    lex->token.text = lex->at;
    while (is_name(*lex->at))
        lex->at++;
    lex->token.bytes = (size_t)(lex->at - lex->token.text);
    if (lex->token.bytes == 0)
        bad(lex, from, from + 1, "a value's name is missing after '%'");
}

static void hex_scan(rlx_lex_t *lex)
{
    char *end;

    errno = 0;
    lex->token.magnitude = strtoull(lex->at, &end, 16);
    if (*end == '.' || *end == 'p' || *end == 'P') {
        lex->token.kind = RLX_TOKEN_FLOAT;
        lex->token.number = strtod(lex->at, &end);
    } else if (errno == ERANGE) {
        bad(lex, lex->at, end, "this number needs more than 64 bits");
    }
    lex->at = end;
}

static void number_scan(rlx_lex_t *lex)
{
    const char *from = lex->at, *digit = lex->at;
    char *end;
    bool real = false;

    lex->token.kind = RLX_TOKEN_INT;
    if (from[0] == '0' && (from[1] == 'x' || from[1] == 'X')) {
        hex_scan(lex);
    } else {
        while (is_digit(*digit))
            digit++;
        real = *digit == '.' || *digit == 'e' || *digit == 'E';
        errno = 0;
        lex->token.magnitude = strtoull(from, &end, 10);
        if (!real && errno == ERANGE)
            bad(lex, from, end, "this number needs more than 64 bits");
        if (real) {
            lex->token.kind = RLX_TOKEN_FLOAT;
            lex->token.number = strtod(from, &end);
        }
        lex->at = end;
    }
    if (lex->token.kind != RLX_TOKEN_BAD && (is_word(*lex->at) || lex->at == from)) {
        lex->at += lex->at == from;
        while (is_word(*lex->at))
            lex->at++;
        bad(lex, from, lex->at, "this is neither a number nor a name");
    }
}

/* A whole character, so that a message never cuts one in two. */
static void foreign_scan(rlx_lex_t *lex)
{
    const char *from = lex->at++;

    while (lex->at < lex->end && ((unsigned char)*lex->at & 0xc0) == 0x80)
        lex->at++;
    rlx_finding_hint(bad(lex, from, lex->at, "no such character belongs here"), "Remove it; in names and strings it stands in quotes.");
}

static void word_scan(rlx_lex_t *lex)
{
    lex->token.kind = RLX_TOKEN_WORD;
    while (is_word(*lex->at))
        lex->at++;
    lex->token.bytes = (size_t)(lex->at - lex->token.text);
}

static void mark_scan(rlx_lex_t *lex)
{
    char c = *lex->at, next = lex->at[1];

    lex->token.kind = RLX_TOKEN_MARK;
    lex->token.mark = c;
    if ((c == ':' && next == ':') || (c == '=' && next == '=')) {
        lex->token.kind = c == ':' ? RLX_TOKEN_SCOPE : RLX_TOKEN_EQUAL;
        lex->at++;
    }
    lex->at++;
}

void rlx_lex_next(rlx_lex_t *lex)
{
    const char *from = lex->at;
    uint32_t line;

    lex->last_end = span_of(lex, from, from);
    blank_skip(lex);
    from = lex->at;
    line = lex->line;
    lex->token = (rlx_token_t){.kind = RLX_TOKEN_END, .text = from};
    if (from >= lex->end)
        lex->at = lex->end;
    else if (is_letter(*from))
        word_scan(lex);
    else if (*from == '%')
        ref_scan(lex);
    else if (*from == '"' || *from == '\'') {
        lex->token.kind = RLX_TOKEN_STRING;
        quoted_scan(lex);
    } else if (is_digit(*from))
        number_scan(lex);
    else if (*from != '\0' && strchr("()[]{},;=:+-*/<", *from) != NULL)
        mark_scan(lex);
    else
        foreign_scan(lex);
    lex->token.span = span_of(lex, from, lex->at);
    lex->token.span.line = line;
}

void rlx_lex_init(rlx_lex_t *lex, const char *text, size_t bytes, rlx_diag_list_t *findings)
{
    *lex = (rlx_lex_t){.at = text, .end = text + bytes, .line_start = text, .line = 1, .findings = findings};
    rlx_lex_next(lex);
}

const char *rlx_token_text(const rlx_token_t *token, char *buffer, size_t bytes)
{
    const char *start = token->text;
    int length = token->span.length > 40 ? 40 : (int)token->span.length;

    if (token->kind == RLX_TOKEN_END)
        return "the end of the file";
    if (token->kind == RLX_TOKEN_STRING || (token->kind == RLX_TOKEN_REF && token->span.length == token->bytes + 3))
        start -= token->kind == RLX_TOKEN_STRING ? 1 : 2;
    else if (token->kind == RLX_TOKEN_REF)
        start -= 1;
    snprintf(buffer, bytes, "'%.*s'", length, start);
    return buffer;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

size_t rlx_lex_unescape(const char *text, size_t bytes, char *out)
{
    static const char from[] = "ntr\\\"'", to[] = "\n\t\r\\\"'";
    size_t length = 0;

    for (size_t i = 0; i < bytes; i++) {
        const char *found;

        if (text[i] != '\\') {
            if (text[i] == '\0')
                return SIZE_MAX;
            out[length++] = text[i];
            continue;
        }
        if (++i >= bytes)
            return SIZE_MAX;
        if (text[i] == 'x' && i + 2 < bytes && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0) {
            out[length] = (char)(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
            i += 2;
        } else if (text[i] != '\0' && (found = strchr(from, text[i])) != NULL) {
            out[length] = to[found - from];
        } else {
            return SIZE_MAX;
        }
        if (out[length++] == '\0')
            return SIZE_MAX;
    }
    return length;
}
