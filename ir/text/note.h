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
/* "gpu:0": a word, a colon, a number. */
bool rlx_note_is_device(const char *text);

#endif
