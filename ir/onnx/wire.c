/* The protobuf pull reader: see wire.h. Every advance is bounded by `end - at`; no recursion, no allocation. */
#include "ir/onnx/wire.h"

#include <string.h>

rlx_wire_reader_t rlx_wire_reader_open(rlx_onnx_bytes_t bytes)
{
    return (rlx_wire_reader_t){.at = bytes.data, .end = bytes.data != NULL ? bytes.data + bytes.size : NULL};
}

static bool reader_fail(rlx_wire_reader_t *reader)
{
    reader->bad = true;
    reader->at = reader->end;
    return false;
}

bool rlx_wire_varint(rlx_wire_reader_t *reader, uint64_t *out_value)
{
    uint64_t value = 0;

    for (int shift = 0; shift < 70 && reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;

        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            *out_value = value;
            return true;
        }
    }
    return reader_fail(reader);
}

static bool reader_fixed(rlx_wire_reader_t *reader, size_t size, uint64_t *out_value)
{
    uint64_t value = 0;

    if ((size_t)(reader->end - reader->at) < size)
        return reader_fail(reader);
    memcpy(&value, reader->at, size); /* little-endian wire, little-endian hosts only (base/tensor.h) */
    reader->at += size;
    *out_value = value;
    return true;
}

bool rlx_wire_element(rlx_wire_reader_t *reader, int type, uint64_t *out_value)
{
    if (type == RLX_WIRE_VARINT)
        return rlx_wire_varint(reader, out_value);
    return reader_fixed(reader, type == RLX_WIRE_I64 ? 8 : 4, out_value);
}

static bool reader_bytes(rlx_wire_reader_t *reader, rlx_onnx_bytes_t *out_bytes)
{
    uint64_t size;

    if (!rlx_wire_varint(reader, &size))
        return false;
    if (size > (uint64_t)(reader->end - reader->at))
        return reader_fail(reader);
    *out_bytes = (rlx_onnx_bytes_t){reader->at, (size_t)size};
    reader->at += size;
    return true;
}

bool rlx_wire_next(rlx_wire_reader_t *reader, rlx_wire_field_t *out_field)
{
    uint64_t tag;

    if (reader->at >= reader->end || !rlx_wire_varint(reader, &tag))
        return false;
    if (tag > UINT32_MAX || tag >> 3 == 0)
        return reader_fail(reader);
    memset(out_field, 0, sizeof *out_field);
    out_field->number = (uint32_t)(tag >> 3);
    out_field->type = (int)(tag & 7);
    switch (out_field->type) {
    case RLX_WIRE_VARINT:
    case RLX_WIRE_I64:
    case RLX_WIRE_I32:
        return rlx_wire_element(reader, out_field->type, &out_field->value);
    case RLX_WIRE_LEN:
        return reader_bytes(reader, &out_field->bytes);
    default:
        return reader_fail(reader);
    }
}
