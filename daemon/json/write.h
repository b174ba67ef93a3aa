/* Writes JSON into a text: keys, strings and numbers with the commas between them. The caller opens and closes in pairs. Strings that are
 * no UTF-8 get U+FFFD for each wrong byte, so that an answer is always JSON. */
#ifndef RLX_DAEMON_JSON_WRITE_H
#define RLX_DAEMON_JSON_WRITE_H

#include <stdint.h>

#include "base/text.h"

typedef struct rlx_json {
    rlx_text_t *text; /* borrowed */
    bool comma;
} rlx_json_t;

/* `key` NULL inside arrays. */
void rlx_json_open(rlx_json_t *json, const char *key, char bracket);
void rlx_json_close(rlx_json_t *json, char bracket);
void rlx_json_string(rlx_json_t *json, const char *key, const char *value);
void rlx_json_unsigned(rlx_json_t *json, const char *key, uint64_t value);
void rlx_json_signed(rlx_json_t *json, const char *key, int64_t value);
void rlx_json_double(rlx_json_t *json, const char *key, double value); /* finite */
void rlx_json_bool(rlx_json_t *json, const char *key, bool value);
/* Only the key: the caller writes the value and is done. */
void rlx_json_key(rlx_json_t *json, const char *key);

#endif
