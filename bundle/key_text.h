/* Text of keys and signatures: blocks of a title line and "name: value" lines. Internal to bundle/.
 *
 * A block ends before the next line that begins with "RLX ", or with the text. Empty lines are skipped, a carriage return before the end of a
 * line too. Every field stands at most once, one that is not optional exactly once; an unknown one is refused. */
#ifndef RLX_BUNDLE_KEY_TEXT_H
#define RLX_BUNDLE_KEY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

typedef struct rlx_key_field {
    const char *name;
    uint8_t *bytes; /* hexadecimal, exactly `n`; or NULL and */
    char *text;     /* printable UTF-8 of at most `n` bytes, terminated */
    size_t n;
    bool optional;
    bool seen; /* set by the reader */
} rlx_key_field_t;

/* The rest of a text; by value, borrowed. */
typedef struct rlx_key_lines {
    const char *name; /* for messages */
    const char *at, *end;
    int line; /* of `at`, from 1 */
} rlx_key_lines_t;

/* False at the end of the text. */
bool rlx_key_block_next(rlx_key_lines_t *lines);
rlx_status_t rlx_key_block_read(rlx_key_lines_t *lines, const char *title, rlx_key_field_t *fields, int n_fields, rlx_diag_t *diag);

#endif
