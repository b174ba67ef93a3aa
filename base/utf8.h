/* Text that strangers sent: where one character ends and the next begins. Pure. */
#ifndef RLX_BASE_UTF8_H
#define RLX_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 character at `at`, of which there are `bytes` at most. 0: there is none (a continuation byte, an overlong form, a
 * surrogate, beyond U+10FFFF, cut off). NUL is a character of one byte. */
size_t rlx_utf8_bytes(const void *at, size_t bytes);
/* All of it is UTF-8 without NUL. */
bool rlx_utf8_is_text(const void *text, size_t bytes);

#endif
