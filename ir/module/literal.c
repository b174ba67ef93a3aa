/* After the Python language reference, 2.4: prefixes in any case and order, underscores between digits only, no leading zeros. */
#include "ir/module/literal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 400 /* characters */

static size_t prefix_bytes(const char *at)
{
    size_t n = 0;

    while (n < 2 && at[n] != '\0' && strchr("rRbBfFuU", at[n]) != NULL)
        n++;
    return at[n] == '"' || at[n] == '\'' ? n : SIZE_MAX;
}

bool rlx_string_begins(const char *at) { return prefix_bytes(at) != SIZE_MAX; }

static size_t quote_bytes(const char *at) { return at[1] == at[0] && at[2] == at[0] ? 3 : 1; }

rlx_string_scan_t rlx_string_scan(const char *at, const char *end, const char **out_end)
{
    const char *quote = at + prefix_bytes(at);
    size_t n = quote_bytes(quote);

    *out_end = end;
    for (at = quote + n; at < end; at++) {
        if (*at == '\\' && at + 1 < end)
            at++;
        else if (n == 1 && *at == '\n')
            return RLX_STRING_OPEN_LINE;
        else if (*at == *quote && (n == 1 || (end - at >= 3 && strncmp(at, quote, 3) == 0))) {
            *out_end = at + n;
            return RLX_STRING_CLOSED;
        }
    }
    return n == 1 ? RLX_STRING_OPEN_LINE : RLX_STRING_OPEN_BLOCK;
}

static size_t utf8_put(char *out, unsigned code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    out[0] = (char)(0xe0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 63));
    out[2] = (char)(0x80 | (code & 63));
    return 3;
}

/* Digits of \xHH, \uHHHH or octal \ooo at `at`; the bytes they take, 0 when they are wrong. */
static size_t code_read(const char *at, const char *end, unsigned *out_code)
{
    size_t n = *at == 'x' ? 2 : *at == 'u' ? 4 : 0, i = 0;

    *out_code = 0;
    if (n == 0)
        for (; i < 3 && at + i < end && at[i] >= '0' && at[i] <= '7'; i++)
            *out_code = *out_code * 8 + (unsigned)(at[i] - '0');
    for (; n > 0 && i < n; i++) {
        if (at + 1 + i >= end || !isxdigit((unsigned char)at[1 + i]))
            return 0;
        *out_code = *out_code * 16 + (unsigned)(isdigit((unsigned char)at[1 + i]) ? at[1 + i] - '0' : tolower((unsigned char)at[1 + i]) - 'a' + 10);
    }
    return *out_code == 0 || (*out_code >= 0xd800 && *out_code <= 0xdfff) ? 0 : n > 0 ? n + 1 : i;
}

/* One escape behind its backslash: the bytes it takes, 0 when there is none like it. A joined line gives nothing. */
static size_t escape_read(const char *at, const char *end, char *out, size_t *length)
{
    static const char names[] = "\\'\"abfnrtv", values[] = "\\'\"\a\b\f\n\r\t\v";
    const char *name = at < end && *at != '\0' ? strchr(names, *at) : NULL;
    unsigned code;
    size_t n;

    if (at < end && *at == '\n')
        return 1;
    if (name != NULL) {
        out[(*length)++] = values[name - names];
        return 1;
    }
    n = at < end && (*at == 'x' || *at == 'u' || isdigit((unsigned char)*at)) ? code_read(at, end, &code) : 0;
    if (n > 0)
        *length += utf8_put(out + *length, code);
    return n;
}

rlx_string_read_t rlx_string_read(const char *at, size_t bytes, char *out, size_t *out_length)
{
    size_t prefix = prefix_bytes(at), quotes = quote_bytes(at + prefix), length = 0;
    const char *begin = at, *end = at + bytes - quotes;
    bool raw = false;

    *out_length = 0;
    for (size_t i = 0; i < prefix; i++) {
        char letter = (char)tolower((unsigned char)at[i]);

        if (letter == 'f' || letter == 'b')
            return letter == 'f' ? RLX_STRING_FORMAT : RLX_STRING_BYTES;
        if (prefix == 2)
            return RLX_STRING_PREFIX;
        raw = raw || letter == 'r';
    }
    for (at += prefix + quotes; at < end;) {
        size_t n = *at == '\\' && !raw ? escape_read(at + 1, end, out, &length) : 0;

        if (*at == '\\' && !raw && n == 0) {
            *out_length = (size_t)(at - begin);
            return RLX_STRING_ESCAPE;
        }
        if (*at != '\\' || raw)
            out[length++] = *at;
        at += n + 1;
    }
    *out_length = length;
    return RLX_STRING_OK;
}

const char *rlx_number_scan(const char *at)
{
    bool hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');

    for (;; at++) {
        if (!hex && (*at == 'e' || *at == 'E') && (at[1] == '+' || at[1] == '-'))
            at++;
        else if (!isalnum((unsigned char)*at) && *at != '_' && (*at != '.' || hex))
            return at;
    }
}

/* Copies the digits without underscores, which must stand between digits. */
static bool digits_copy(const char *at, size_t bytes, char out[NUMBER_MAX + 1])
{
    size_t n = 0;

    if (bytes > NUMBER_MAX)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != '_')
            out[n++] = at[i];
        else if (i == 0 || i + 1 == bytes || !isxdigit((unsigned char)at[i + 1]) || !isalnum((unsigned char)at[i - 1]))
            return false;
    }
    out[n] = '\0';
    return true;
}

static rlx_number_read_t int_read(const char *digits, int base, int64_t *out_int)
{
    char *end;

    errno = 0;
    *out_int = strtoll(digits, &end, base);
    if (end == digits || *end != '\0' || !isalnum((unsigned char)*digits))
        return RLX_NUMBER_BAD;
    return errno == ERANGE ? RLX_NUMBER_RANGE : RLX_NUMBER_INT;
}

rlx_number_read_t rlx_number_read(const char *at, size_t bytes, int64_t *out_int, double *out_float)
{
    char digits[NUMBER_MAX + 1], *end, base;
    size_t n;

    if (!digits_copy(at, bytes, digits))
        return RLX_NUMBER_BAD;
    n = strlen(digits);
    base = n > 2 && digits[0] == '0' ? (char)tolower((unsigned char)digits[1]) : '\0';
    if (base == 'x' || base == 'o' || base == 'b')
        return int_read(digits + 2, base == 'x' ? 16 : base == 'o' ? 8 : 2, out_int);
    if (tolower((unsigned char)digits[n - 1]) == 'j')
        return RLX_NUMBER_COMPLEX;
    if (strspn(digits, "0123456789") == n)
        return n > 1 && digits[0] == '0' && strspn(digits, "0") != n ? RLX_NUMBER_BAD : int_read(digits, 10, out_int);
    if (strspn(digits, "0123456789.eE+-") != n)
        return RLX_NUMBER_BAD;
    *out_float = strtod(digits, &end);
    if (*end != '\0')
        return RLX_NUMBER_BAD;
    return isinf(*out_float) ? RLX_NUMBER_RANGE : RLX_NUMBER_FLOAT;
}
