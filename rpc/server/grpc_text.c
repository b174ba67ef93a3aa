/* gRPC's small notations (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). */
#include "rpc/server/grpc_text.h"

bool rlx_grpc_timeout_parse(const char *text, size_t bytes, uint64_t *out_ns)
{
    static const struct {
        char unit;
        uint64_t ns;
    } units[] = {{'H', 3600000000000u}, {'M', 60000000000u}, {'S', 1000000000u}, {'m', 1000000u}, {'u', 1000u}, {'n', 1u}};
    uint64_t value = 0;

    if (bytes < 2 || bytes > 9)
        return false;
    for (size_t i = 0; i + 1 < bytes; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].unit == text[bytes - 1]) {
            /* 99999999 hours are more nanoseconds than 64 bits hold. */
            if (__builtin_mul_overflow(value, units[i].ns, out_ns))
                *out_ns = UINT64_MAX;
            return true;
        }
    return false;
}

size_t rlx_grpc_message_encode(const char *text, char *out, size_t room)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t at = 0, whole = 0; /* `whole`: length up to the last complete UTF-8 character */

    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        bool plain = byte >= ' ' && byte <= '~' && byte != '%';

        if ((byte & 0xc0) != 0x80)
            whole = at;
        if (at + (plain ? 1 : 3) >= room) {
            at = whole;
            break;
        }
        if (plain) {
            out[at++] = (char)byte;
        } else {
            out[at++] = '%';
            out[at++] = hex[byte >> 4];
            out[at++] = hex[byte & 15];
        }
    }
    out[at] = '\0';
    return at;
}
