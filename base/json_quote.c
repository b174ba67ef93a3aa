/* Runs of plain characters, which are most of any text, go out in one piece. */
#include "base/json_quote.h"

#include <string.h>

#include "base/utf8.h"

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
        n = rlx_utf8_bytes(at + i, bytes - i);
        if (n == 0)
            rlx_text_puts(out, "\\ufffd");
        else if (at[i] == '"' || at[i] == '\\')
            rlx_text_printf(out, "\\%c", at[i]);
        else if (n == 1)
            rlx_text_printf(out, "\\u%04x", at[i]);
        else
            rlx_text_add(out, at + i, n);
        i += n > 0 ? n : 1;
    }
    rlx_text_add(out, "\"", 1);
}

void rlx_json_quote(rlx_text_t *out, const char *text) { rlx_json_quote_n(out, text, strlen(text)); }
