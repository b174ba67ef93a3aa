/* The table of well-formed sequences is that of the Unicode standard (3.9, table 3-7): only the second byte has a range of its own. */
#include "base/utf8.h"

size_t rlx_utf8_bytes(const void *at, size_t bytes)
{
    const unsigned char *byte = at;
    size_t n = bytes == 0 ? 0 : byte[0] < 0x80 ? 1 : byte[0] < 0xc2 ? 0 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : byte[0] < 0xf5 ? 4 : 0;

    if (n < 2 || n > bytes)
        return n == 1 ? 1 : 0;
    for (size_t i = 1; i < n; i++)
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    if ((byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xed && byte[1] > 0x9f) || (byte[0] == 0xf0 && byte[1] < 0x90) ||
        (byte[0] == 0xf4 && byte[1] > 0x8f))
        return 0;
    return n;
}

bool rlx_utf8_is_text(const void *text, size_t bytes)
{
    const unsigned char *at = text, *end = at + bytes;

    while (at < end) {
        size_t n = *at != 0 ? rlx_utf8_bytes(at, (size_t)(end - at)) : 0;

        if (n == 0)
            return false;
        at += n;
    }
    return true;
}
