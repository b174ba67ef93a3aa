/* What may go to a terminal as it is, and how many columns it takes there. Pure. */
#ifndef RLX_BASE_PRINTABLE_H
#define RLX_BASE_PRINTABLE_H

#include <stddef.h>

#include "base/text.h"

/* Bytes of the character at `text` if a terminal may see it, else 0: controls, what is no UTF-8, and the invisible and bidirectional
 * characters that would let a name rewrite its line. */
size_t rlx_printable_bytes(const void *text, size_t bytes);
/* Adds the next character of `text` (at least one byte of it), as \xNN where it is not printable; returns the bytes it took.
 * `out_columns`: columns of the terminal, 2 for wide characters, 0 for combining ones. `out` may be NULL: nothing is added. */
size_t rlx_printable_next(rlx_text_t *out, const char *text, size_t bytes, int *out_columns);

#endif
