/* Reads the module form: a recursive descent of bounded depth. After a mistake it goes on with the next statement, so one run finds many.
 *
 * Functions return NULL (or false) after they reported what is wrong; whoever called them says nothing more. One thread. */
#ifndef RLX_IR_MODULE_PARSE_H
#define RLX_IR_MODULE_PARSE_H

#include "ir/module/token.h"
#include "ir/module/tree.h"
#include "ir/text/syntax.h"

#define RLX_MODULE_FILE_MAX (16 << 20) /* bytes of a text */

/* Never NULL; what could not be read is left out of it, and stands in `findings`. `text` must be NUL-terminated. */
rlx_tree_t *rlx_module_parse(rlx_syntax_t *syntax, const char *text, size_t bytes, rlx_diag_list_t *findings);

/* Internal to ir/module/. */
typedef struct rlx_module_parser {
    rlx_module_lex_t lex;
    rlx_syntax_t *syntax; /* the arena */
    rlx_diag_list_t *findings;
    rlx_tree_t *tree;
    int depth;
} rlx_module_parser_t;

/* ir/module/parse_atom.c */
rlx_node_t *rlx_module_parse_atom(rlx_module_parser_t *parser);
bool rlx_module_refuse_comprehension(rlx_module_parser_t *parser);
bool rlx_module_refuse_star(rlx_module_parser_t *parser);
void rlx_module_field_add(rlx_module_parser_t *parser, rlx_node_t *node, const char *name, rlx_span_t name_span, rlx_node_t *value);
/* ir/module/parse_expr.c */
rlx_node_t *rlx_module_parse_expr(rlx_module_parser_t *parser);
/* An expression, or a tuple without brackets. */
rlx_node_t *rlx_module_parse_tuple(rlx_module_parser_t *parser);
rlx_node_t *rlx_module_node(rlx_module_parser_t *parser, rlx_node_kind_t kind, rlx_span_t span);
void rlx_module_node_add(rlx_module_parser_t *parser, rlx_node_t *node, rlx_node_t *item);
/* ir/module/parse_line.c: one statement with what is indented below it; false when it was not understood. */
bool rlx_module_parse_line(rlx_module_parser_t *parser, rlx_line_t ***lines, int *n_lines);
/* ":" and the lines behind it, on the same line or indented. `what` is the word that began it. */
bool rlx_module_parse_body(rlx_module_parser_t *parser, const char *what, rlx_line_t ***lines, int *n_lines);
/* Fails with "expected ..., found TOKEN". Silent at a bad token, which was reported. */
void *rlx_module_parse_fail(rlx_module_parser_t *parser, const char *expected, const char *hint);
/* Steps over `mark`, or fails. */
bool rlx_module_parse_mark(rlx_module_parser_t *parser, const char *mark, const char *hint);
/* ir/module/refuse.c: the current token is a word that Python has and the language has not; it is refused with what to write instead. */
bool rlx_module_refuse_word(rlx_module_parser_t *parser);
/* Words that cannot name a value. */
bool rlx_module_is_keyword(const rlx_module_token_t *token);

#endif
