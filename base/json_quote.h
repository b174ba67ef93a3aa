/* Text as JSON strings. Every byte sequence gives a valid one: what is no UTF-8 becomes U+FFFD. Characters that mean something to HTML are
 * escaped too, so that JSON may stand inside a page. */
#ifndef RLX_BASE_JSON_QUOTE_H
#define RLX_BASE_JSON_QUOTE_H

#include "base/text.h"

/* With its quotes. */
void rlx_json_quote(rlx_text_t *out, const char *text);
void rlx_json_quote_n(rlx_text_t *out, const char *text, size_t bytes);

#endif
