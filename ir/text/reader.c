/* Taking tokens, and the reader's messages (ir/text/reader.h). */
#include "ir/text/reader.h"

#include <string.h>

bool rlx_reader_at_word(const rlx_reader_t *reader, const char *word)
{
    const rlx_token_t *token = &reader->lex.token;

    return token->kind == RLX_TOKEN_WORD && token->bytes == strlen(word) && memcmp(token->text, word, token->bytes) == 0;
}

bool rlx_reader_take(rlx_reader_t *reader, char mark)
{
    if (!rlx_reader_at(reader, mark))
        return false;
    rlx_lex_next(&reader->lex);
    return true;
}

bool rlx_reader_wrong(rlx_reader_t *reader, const char *expected)
{
    const rlx_token_t *token = &reader->lex.token;
    char text[64];

    if (token->kind != RLX_TOKEN_BAD && !reader->stopped)
        rlx_finding_expected(rlx_report(reader->findings, RLX_E_SYNTAX, token->span, "%s does not belong here",
                                        rlx_token_text(token, text, sizeof text)), "%s", expected);
    return false;
}

bool rlx_reader_expect(rlx_reader_t *reader, char mark, const char *where)
{
    char text[64];

    if (rlx_reader_take(reader, mark))
        return true;
    if (reader->lex.token.kind != RLX_TOKEN_BAD && !reader->stopped)
        rlx_finding_hint(
            rlx_finding_expected(rlx_report(reader->findings, RLX_E_SYNTAX, reader->lex.last_end, "'%c' is missing here; what follows is %s", mark,
                                            rlx_token_text(&reader->lex.token, text, sizeof text)), "'%c' %s", mark, where),
            "Add '%c' there, or remove what follows.", mark);
    return false;
}

bool rlx_reader_limit(rlx_reader_t *reader, const char *what)
{
    if (!reader->stopped)
        rlx_report(reader->findings, RLX_E_TEXT_LIMIT, reader->lex.token.span, "%s", what);
    reader->stopped = true;
    return false;
}

const char *rlx_reader_text(rlx_reader_t *reader, const rlx_token_t *token)
{
    char *text;
    size_t length;

    if (!token->escaped && memchr(token->text, '\0', token->bytes) == NULL)
        return rlx_reader_word(reader, token);
    text = rlx_syntax_alloc(reader->syntax, token->bytes + 1);
    length = rlx_lex_unescape(token->text, token->bytes, text);
    if (length == SIZE_MAX) {
        rlx_finding_expected(rlx_report(reader->findings, RLX_E_TOKEN, token->span, "an escape in this string is unknown"),
                             "\\n \\t \\r \\\\ \\\" \\' or \\xHH with two hexadecimal digits, not 00");
        return NULL;
    }
    text[length] = '\0';
    return text;
}
