/* Field numbers are those of proto/oip.proto. */
#include "rpc/message/stream_answer.h"

#include <string.h>

enum { ERROR_MESSAGE = 1, INFER_RESPONSE = 2, RESPONSE_ID = 3 };
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

typedef struct field {
    uint64_t number;
    const uint8_t *data; /* WIRE_BYTES, else NULL */
    size_t bytes;
} field_t;

static bool varint_read(const uint8_t **at, const uint8_t *end, uint64_t *out_value)
{
    uint64_t value = 0;

    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out_value = value;
            return true;
        }
    }
    return false;
}

static bool field_read(const uint8_t **at, const uint8_t *end, field_t *out_field)
{
    uint64_t tag, size;
    field_t field = {0};

    if (!varint_read(at, end, &tag))
        return false;
    field.number = tag >> 3;
    switch (tag & 7) {
    case WIRE_VARINT: size = 0; break;
    case WIRE_64: size = 8; break;
    case WIRE_32: size = 4; break;
    case WIRE_BYTES: break;
    default: return false;
    }
    if ((tag & 7) == WIRE_VARINT || (tag & 7) == WIRE_BYTES) {
        if (!varint_read(at, end, &size))
            return false;
        size = (tag & 7) == WIRE_BYTES ? size : 0;
    }
    if (size > (size_t)(end - *at))
        return false;
    if ((tag & 7) == WIRE_BYTES) {
        field.data = *at;
        field.bytes = (size_t)size;
    }
    *at += size;
    *out_field = field;
    return true;
}

static bool number_parse(const field_t *id, uint64_t *out_number)
{
    uint64_t number = 0;

    if (id->bytes < 1 || id->bytes > 19)
        return false;
    for (size_t i = 0; i < id->bytes; i++) {
        if (id->data[i] < '0' || id->data[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(id->data[i] - '0');
    }
    *out_number = number;
    return true;
}

static bool id_find(rlx_stream_answer_t *answer)
{
    const uint8_t *at = answer->data, *end = answer->data + answer->bytes;
    field_t field;

    while (at < end) {
        if (!field_read(&at, end, &field))
            return false;
        if (field.number == RESPONSE_ID && field.data != NULL)
            answer->has_number = number_parse(&field, &answer->number);
    }
    return true;
}

bool rlx_stream_answer_read(const void *data, size_t bytes, rlx_stream_answer_t *out_answer)
{
    const uint8_t *at = data, *end = at + bytes;
    rlx_stream_answer_t answer = {0};
    field_t field;

    while (at < end) {
        if (!field_read(&at, end, &field))
            return false;
        if (field.number == ERROR_MESSAGE && field.data != NULL) {
            answer.error = (const char *)field.data;
            answer.error_bytes = field.bytes;
        } else if (field.number == INFER_RESPONSE && field.data != NULL) {
            answer.data = field.data;
            answer.bytes = field.bytes;
        }
    }
    if (answer.data != NULL && !id_find(&answer))
        return false;
    *out_answer = answer;
    return true;
}
