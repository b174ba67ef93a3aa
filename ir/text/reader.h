/* The inside of the SSA reader. Internal to ir/text/read*.c. */
#ifndef RLX_IR_TEXT_READER_H
#define RLX_IR_TEXT_READER_H

#include "ir/text/lex.h"
#include "ir/text/syntax.h"

typedef struct rlx_reader {
    rlx_syntax_t *syntax;
    rlx_lex_t lex;
    rlx_diag_list_t *findings;
    int depth;    /* of nested values */
    bool stopped; /* a limit was reached: nothing more is read */
} rlx_reader_t;

static inline bool rlx_reader_at(const rlx_reader_t *reader, char mark)
{
    return reader->lex.token.kind == RLX_TOKEN_MARK && reader->lex.token.mark == mark;
}
bool rlx_reader_at_word(const rlx_reader_t *reader, const char *word);
/* Takes the mark, if it is there. */
bool rlx_reader_take(rlx_reader_t *reader, char mark);
/* Reports what stands there instead of `expected`, unless the token was bad already. False, always. */
bool rlx_reader_wrong(rlx_reader_t *reader, const char *expected);
/* A mark that must follow; one that is missing is reported behind the token before. */
bool rlx_reader_expect(rlx_reader_t *reader, char mark, const char *where);
/* Reports that a limit is passed, once, and stops the reader. False, always. */
bool rlx_reader_limit(rlx_reader_t *reader, const char *what);
/* The text of a STRING or REF, escapes resolved; NULL after reporting. */
const char *rlx_reader_text(rlx_reader_t *reader, const rlx_token_t *token);
static inline const char *rlx_reader_word(rlx_reader_t *reader, const rlx_token_t *token)
{
    return rlx_syntax_strndup(reader->syntax, token->text, token->bytes);
}

/* read_value.c. Each returns false after reporting. */
bool rlx_reader_value(rlx_reader_t *reader, rlx_syntax_value_t **out_value);
/* `key = value` or `"key": value`, separated by commas, up to and with the closing brace; the opening one was taken. */
bool rlx_reader_fields(rlx_reader_t *reader, rlx_syntax_field_t **out_fields, int *out_n);
/* dtype[extent, ...]{layout} */
bool rlx_reader_type(rlx_reader_t *reader, rlx_syntax_type_t **out_type);
/* read_tensor.c: the elements of dtype[extents]{...}; the opening brace was taken. */
bool rlx_reader_tensor(rlx_reader_t *reader, rlx_syntax_value_t *tensor);

#endif
