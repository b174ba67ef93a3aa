/* Tokens of the SSA form. The text must be NUL-terminated; tokens point into it. One thread, no memory of its own: a wrong token is reported to
 * the list of findings and comes out as RLX_TOKEN_BAD, once per place. Comments (`//`, `#` and slash-star) are skipped; one that reads like a
 * synchronisation attribute gets a warning. */
#ifndef RLX_IR_TEXT_LEX_H
#define RLX_IR_TEXT_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag_list.h"

typedef enum rlx_token_kind {
    RLX_TOKEN_END,
    RLX_TOKEN_WORD,   /* a letter or `_`, then letters, digits, `_`, `.` */
    RLX_TOKEN_REF,    /* %name or %"any name" */
    RLX_TOKEN_STRING, /* in double or single quotes */
    RLX_TOKEN_INT,    /* magnitude: decimal or 0x */
    RLX_TOKEN_FLOAT,
    RLX_TOKEN_SCOPE,  /* :: */
    RLX_TOKEN_EQUAL,  /* == */
    RLX_TOKEN_MARK,   /* one character: ( ) [ ] { } , ; = : + - * / < */
    RLX_TOKEN_BAD,
} rlx_token_kind_t;

typedef struct rlx_token {
    rlx_token_kind_t kind;
    rlx_span_t span;
    const char *text; /* STRING and REF: without % and quotes, escapes still in it */
    size_t bytes;
    bool escaped;     /* there are escapes */
    char mark;
    uint64_t magnitude;
    double number;
} rlx_token_t;

typedef struct rlx_lex {
    const char *at, *end, *line_start;
    uint32_t line;
    rlx_diag_list_t *findings;
    rlx_token_t token;    /* the current one */
    rlx_span_t last_end;  /* the place behind the one before */
} rlx_lex_t;

/* Stands on the first token. */
void rlx_lex_init(rlx_lex_t *lex, const char *text, size_t bytes, rlx_diag_list_t *findings);
void rlx_lex_next(rlx_lex_t *lex);
/* The token as it stands in the text, for messages: at most 40 bytes, "the end of the file". */
const char *rlx_token_text(const rlx_token_t *token, char *buffer, size_t bytes);
/* Resolves escapes (\n \t \r \\ \" \' \xHH) into `out` (of at least `bytes`); returns the length, or SIZE_MAX for a wrong escape or a NUL. */
size_t rlx_lex_unescape(const char *text, size_t bytes, char *out);

/* A comment (without its mark) that reads like `sync: async` or `sync_mode = ...`. Both forms of the text warn of it. */
bool rlx_comment_is_sync(const char *text, size_t bytes);

#endif
