/* Tokens of the module form: Python's, as far as a graph needs them. Indentation, comments, lines joined in brackets or by a backslash.
 *
 * Owner: the caller, by value; tokens point into the text, which must be NUL-terminated. One thread. A wrong token is reported to the list of
 * findings and comes out as RLX_MODULE_BAD; whoever reads it gives up on its statement without a word (rlx_module_lex_recover). */
#ifndef RLX_IR_MODULE_TOKEN_H
#define RLX_IR_MODULE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag_list.h"
#include "base/span.h"

#define RLX_MODULE_INDENTS_MAX 32
#define RLX_MODULE_BRACKETS_MAX 64

typedef enum rlx_module_token_kind {
    RLX_MODULE_END,
    RLX_MODULE_NEWLINE,
    RLX_MODULE_INDENT,
    RLX_MODULE_DEDENT,
    RLX_MODULE_NAME,
    RLX_MODULE_NUMBER,
    RLX_MODULE_STRING, /* with prefix and quotes */
    RLX_MODULE_MARK,   /* operators and brackets */
    RLX_MODULE_BAD,
} rlx_module_token_kind_t;

typedef struct rlx_module_token {
    rlx_module_token_kind_t kind;
    rlx_span_t span;
    const char *text;
    size_t bytes;
    bool first; /* on its line */
} rlx_module_token_t;

typedef struct rlx_module_lex {
    const char *text, *at, *end, *line_start;
    uint32_t line;
    rlx_diag_list_t *findings;
    rlx_module_token_t token; /* the current one */
    rlx_span_t last;          /* span of the one before */
    int indents[RLX_MODULE_INDENTS_MAX]; /* columns of open blocks; [0] is 0 */
    int n_indents, pending;   /* pending: DEDENTs to hand out (> 0), or an INDENT (-1) */
    struct { char mark; rlx_span_t span; } brackets[RLX_MODULE_BRACKETS_MAX];
    int n_brackets;
    bool line_begins;         /* the next token is the first of a logical line */
} rlx_module_lex_t;

/* Stands on the first token. */
void rlx_module_lex_init(rlx_module_lex_t *lex, const char *text, size_t bytes, rlx_diag_list_t *findings);
void rlx_module_lex_next(rlx_module_lex_t *lex);
/* The token behind the current one. Nothing is reported, nothing moves. */
rlx_module_token_t rlx_module_lex_peek(const rlx_module_lex_t *lex);
/* After a mistake: leaves the statement, brackets and all, and stands on the next line that is indented as statements of the block are, or less. */
void rlx_module_lex_recover(rlx_module_lex_t *lex);
bool rlx_module_token_is(const rlx_module_token_t *token, const char *text);
/* The token for a message: "`x`", "the end of the line"; `buffer` holds at least 64 bytes. */
const char *rlx_module_token_text(const rlx_module_token_t *token, char *buffer);
/* From the begin of `first` to the end of the last token read; of several lines, to the end of the first. */
rlx_span_t rlx_module_lex_span(const rlx_module_lex_t *lex, const rlx_module_token_t *first);

#endif
