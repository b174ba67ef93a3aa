#include "trace/json.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the UTF-8 sequence at `at`, or 0 where there is none (overlong forms, surrogates and beyond U+10FFFF are none). */
static size_t sequence_bytes(const unsigned char *at, size_t bytes)
{
    size_t n = at[0] < 0x80 ? 1 : at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3 : at[0] >= 0xf0 && at[0] < 0xf5 ? 4 : 0;

    if (n == 0 || n > bytes)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if (at[0] == 0xe0 && at[1] < 0xa0)
        return 0;
    if (at[0] == 0xed && at[1] > 0x9f)
        return 0;
    if (at[0] == 0xf0 && at[1] < 0x90)
        return 0;
    if (at[0] == 0xf4 && at[1] > 0x8f)
        return 0;
    return n;
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\' && byte != '<' && byte != '>' && byte != '&';
}

void rlx_json_quote_n(rlx_text_t *out, const char *text, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t i = 0;

    rlx_text_add(out, "\"", 1);
    while (i < bytes) {
        size_t begin = i, n;

        while (i < bytes && is_plain(at[i]))
            i++;
        rlx_text_add(out, at + begin, i - begin);
        if (i == bytes)
            break;
        n = sequence_bytes(at + i, bytes - i);
        if (n == 0)
            rlx_text_puts(out, "\\ufffd");
        else if (n == 1)
            rlx_text_printf(out, "\\u%04x", at[i]);
        else
            rlx_text_add(out, at + i, n);
        i += n > 0 ? n : 1;
    }
    rlx_text_add(out, "\"", 1);
}

void rlx_json_quote(rlx_text_t *out, const char *text) { rlx_json_quote_n(out, text, strlen(text)); }
