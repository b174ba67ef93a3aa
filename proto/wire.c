/* Lengths of nested messages are known when they end: open leaves one byte, and close moves the message when its length needs more. */
#include "proto/wire.h"

#include <string.h>

#define VARINT_BYTES_MAX 10

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static size_t varint_encode(uint8_t *to, uint64_t value)
{
    size_t n = 0;

    while (value >= 0x80) {
        to[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to[n++] = (uint8_t)value;
    return n;
}

static void varint_add(rlx_text_t *out, uint64_t value)
{
    char *to = rlx_text_reserve(out, VARINT_BYTES_MAX);

    if (to != NULL)
        rlx_text_commit(out, varint_encode((uint8_t *)to, value));
}

static void tag_add(rlx_text_t *out, uint32_t field, unsigned wire) { varint_add(out, (uint64_t)field << 3 | wire); }

void rlx_wire_int64(rlx_text_t *out, uint32_t field, int64_t value)
{
    tag_add(out, field, WIRE_VARINT);
    varint_add(out, (uint64_t)value);
}

void rlx_wire_uint(rlx_text_t *out, uint32_t field, uint64_t value)
{
    if (value != 0)
        rlx_wire_int64(out, field, (int64_t)value);
}

void rlx_wire_bool(rlx_text_t *out, uint32_t field, bool value) { rlx_wire_uint(out, field, value); }

void rlx_wire_length(rlx_text_t *out, uint32_t field, uint64_t bytes)
{
    tag_add(out, field, WIRE_BYTES);
    varint_add(out, bytes);
}

void rlx_wire_bytes(rlx_text_t *out, uint32_t field, const void *data, size_t bytes)
{
    rlx_wire_length(out, field, bytes);
    if (bytes > 0)
        rlx_text_add(out, data, bytes);
}

void rlx_wire_string(rlx_text_t *out, uint32_t field, const char *value)
{
    if (value != NULL && value[0] != '\0')
        rlx_wire_bytes(out, field, value, strlen(value));
}

void rlx_wire_int64s(rlx_text_t *out, uint32_t field, const int64_t *values, int n)
{
    size_t at;

    if (n == 0)
        return;
    at = rlx_wire_open(out, field);
    for (int i = 0; i < n; i++)
        varint_add(out, (uint64_t)values[i]);
    rlx_wire_close(out, at);
}

size_t rlx_wire_open(rlx_text_t *out, uint32_t field)
{
    rlx_wire_length(out, field, 0);
    return out->bytes;
}

void rlx_wire_close(rlx_text_t *out, size_t at)
{
    size_t bytes = out->bytes - at, n;
    uint8_t length[VARINT_BYTES_MAX];

    if (out->full)
        return;
    n = varint_encode(length, bytes);
    if (n > 1) {
        if (rlx_text_reserve(out, n - 1) == NULL)
            return;
        rlx_text_commit(out, n - 1);
        memmove(out->data + at + n - 1, out->data + at, bytes);
    }
    memcpy(out->data + at - 1, length, n);
}
