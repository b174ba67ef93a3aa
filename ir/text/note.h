/* Parts of annotations: words, quantities and lists of names read from fields (ir/annotation.h). Internal to ir/text/build_annotation*.c. Each
 * returns false after reporting. */
#ifndef RLX_IR_TEXT_NOTE_H
#define RLX_IR_TEXT_NOTE_H

#include "ir/annotation.h"
#include "ir/text/builder.h"

/* "WHAT has no 'FIELD'". */
bool rlx_note_unknown(rlx_text_builder_t *builder, rlx_error_code_t code, const rlx_syntax_field_t *field, const char *what, const char *expected);
/* "FIELD is 'WORD'". */
bool rlx_note_wrong(rlx_text_builder_t *builder, rlx_error_code_t code, const rlx_syntax_field_t *field, const char *word, const char *expected);
bool rlx_note_dict(rlx_text_builder_t *builder, const rlx_syntax_field_t *field);
/* Copied into the graph. */
bool rlx_note_string(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, const char **out);
bool rlx_note_names(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, rlx_names_t *out);
bool rlx_note_bandwidth(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, int64_t *out);
bool rlx_note_latency(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, int64_t *out);
/* "gpu:0": a kind that exists, a colon, a number; else reports at the field's value. */
bool rlx_note_device(rlx_text_builder_t *builder, const rlx_syntax_field_t *field, const char *text);
/* One of `words`, or a report that lists them and says which is meant. */
bool rlx_note_word(rlx_text_builder_t *builder, rlx_error_code_t code, const rlx_syntax_field_t *field, const char *word, const char *const *words,
                   int n_words);

/* build_schedule.c: compute_schedule, tile_layout and memory_coalesce of an op whose shape rule has run: what they name must be there and fit. */
bool rlx_text_schedule_check(rlx_text_builder_t *builder, const rlx_op_t *op, const rlx_syntax_statement_t *statement);
/* build_tile.c */
bool rlx_text_tiles_check(rlx_text_builder_t *builder, const rlx_op_t *op, const rlx_syntax_statement_t *statement);

#endif
