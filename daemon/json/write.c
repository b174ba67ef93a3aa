#include "daemon/json/write.h"

#include <inttypes.h>
#include <string.h>

/* Bytes of the UTF-8 character at `at`, 0 when it is none (overlong, surrogate, above U+10FFFF, cut). `at` ends with a NUL. */
static size_t character_bytes(const unsigned char *at)
{
    if (at[0] < 0x80)
        return 1;
    if (at[0] >= 0xc2 && at[0] <= 0xdf)
        return (at[1] & 0xc0) == 0x80 ? 2 : 0;
    if (at[0] >= 0xe0 && at[0] <= 0xef) {
        unsigned char low = at[0] == 0xe0 ? 0xa0 : 0x80, high = at[0] == 0xed ? 0x9f : 0xbf;

        return at[1] >= low && at[1] <= high && (at[2] & 0xc0) == 0x80 ? 3 : 0;
    }
    if (at[0] >= 0xf0 && at[0] <= 0xf4) {
        unsigned char low = at[0] == 0xf0 ? 0x90 : 0x80, high = at[0] == 0xf4 ? 0x8f : 0xbf;

        return at[1] >= low && at[1] <= high && (at[2] & 0xc0) == 0x80 && (at[3] & 0xc0) == 0x80 ? 4 : 0;
    }
    return 0;
}

static void string_add(rlx_text_t *text, const char *value)
{
    const unsigned char *at = (const unsigned char *)value, *from = at;

    rlx_text_puts(text, "\"");
    for (;;) {
        size_t bytes = character_bytes(at);
        unsigned char c = *at;

        if (bytes > 1 || (bytes == 1 && c >= 0x20 && c != '"' && c != '\\')) {
            at += bytes;
            continue;
        }
        rlx_text_add(text, from, (size_t)(at - from));
        if (c == '\0')
            break;
        if (bytes == 0)
            rlx_text_puts(text, "\\ufffd");
        else if (c == '"' || c == '\\')
            rlx_text_printf(text, "\\%c", c);
        else
            rlx_text_printf(text, "\\u%04x", c);
        from = ++at;
    }
    rlx_text_puts(text, "\"");
}

void rlx_json_key(rlx_json_t *json, const char *key)
{
    if (json->comma)
        rlx_text_puts(json->text, ",");
    json->comma = true;
    if (key == NULL)
        return;
    string_add(json->text, key);
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
    string_add(json->text, value);
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
