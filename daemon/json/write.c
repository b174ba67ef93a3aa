/* Whether a comma is due is all that is kept; what is open is the caller's to know. */
#include "daemon/json/write.h"

#include <inttypes.h>

#include "base/json_quote.h"

void rlx_json_key(rlx_json_t *json, const char *key)
{
    if (json->comma)
        rlx_text_puts(json->text, ",");
    json->comma = true;
    if (key == NULL)
        return;
    rlx_json_quote(json->text, key);
    rlx_text_puts(json->text, ":");
}

void rlx_json_open(rlx_json_t *json, const char *key, char bracket)
{
    rlx_json_key(json, key);
    rlx_text_add(json->text, &bracket, 1);
    json->comma = false;
}

void rlx_json_close(rlx_json_t *json, char bracket)
{
    rlx_text_add(json->text, &bracket, 1);
    json->comma = true;
}

void rlx_json_string(rlx_json_t *json, const char *key, const char *value)
{
    rlx_json_key(json, key);
    rlx_json_quote(json->text, value);
}

void rlx_json_unsigned(rlx_json_t *json, const char *key, uint64_t value)
{
    rlx_json_key(json, key);
    rlx_text_printf(json->text, "%" PRIu64, value);
}

void rlx_json_signed(rlx_json_t *json, const char *key, int64_t value)
{
    rlx_json_key(json, key);
    rlx_text_printf(json->text, "%" PRId64, value);
}

void rlx_json_double(rlx_json_t *json, const char *key, double value)
{
    rlx_json_key(json, key);
    rlx_text_printf(json->text, "%.9g", value);
}

void rlx_json_bool(rlx_json_t *json, const char *key, bool value)
{
    rlx_json_key(json, key);
    rlx_text_puts(json->text, value ? "true" : "false");
}
