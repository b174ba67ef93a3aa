/* Widths are those of the blocks that matter: combining accents, CJK, Hangul, full-width forms. Beyond the first plane all is escaped, since
 * invisible characters lie there too. */
#include "base/printable.h"

#include "base/utf8.h"

static unsigned code_point(const unsigned char *text, size_t n)
{
    if (n == 1)
        return text[0];
    if (n == 2)
        return (unsigned)(text[0] & 31) << 6 | (text[1] & 63);
    return (unsigned)(text[0] & 15) << 12 | (unsigned)(text[1] & 63) << 6 | (text[2] & 63);
}

size_t rlx_printable_bytes(const void *text, size_t bytes)
{
    const unsigned char *at = text;
    size_t n = rlx_utf8_bytes(text, bytes);
    unsigned code = n >= 1 && n <= 3 ? code_point(at, n) : 0;

    if (n == 0 || n > 3 || code < 0x20 || (code >= 0x7f && code < 0xa0))
        return 0;
    if ((code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff)
        return 0;
    return n;
}

static int code_columns(unsigned code)
{
    static const struct { unsigned first, last; } wide[] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
                                                            {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}};

    if (code >= 0x300 && code <= 0x36f)
        return 0;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (code >= wide[i].first && code <= wide[i].last)
            return 2;
    return 1;
}

size_t rlx_printable_next(rlx_text_t *out, const char *text, size_t bytes, int *out_columns)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t n = rlx_printable_bytes(text, bytes);

    *out_columns = n > 0 ? code_columns(code_point(at, n)) : 4;
    if (out != NULL && n > 0)
        rlx_text_add(out, text, n);
    else if (out != NULL)
        rlx_text_printf(out, "\\x%02x", *at);
    return n > 0 ? n : 1;
}
