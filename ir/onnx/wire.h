/* A pull reader over protobuf bytes. It copies nothing, allocates nothing and never reads past `end`: a length is compared with what is
 * left before it is used. Nested messages are read by a reader of their own over the field's bytes, so depth is the caller's and fixed by
 * the schema. The first malformed field sets `bad`, after which the reader is at its end. */
#ifndef RLX_IR_ONNX_WIRE_H
#define RLX_IR_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrowed bytes. */
typedef struct rlx_onnx_bytes {
    const uint8_t *data;
    size_t size;
} rlx_onnx_bytes_t;

enum { RLX_WIRE_VARINT = 0, RLX_WIRE_I64 = 1, RLX_WIRE_LEN = 2, RLX_WIRE_I32 = 5 };

typedef struct rlx_wire_reader {
    const uint8_t *at, *end;
    bool bad;
} rlx_wire_reader_t;

typedef struct rlx_wire_field {
    uint32_t number;
    int type;
    uint64_t value;         /* VARINT, I64, I32 */
    rlx_onnx_bytes_t bytes; /* LEN */
} rlx_wire_field_t;

rlx_wire_reader_t rlx_wire_reader_open(rlx_onnx_bytes_t bytes);
/* False at the end or when malformed (then reader->bad). Groups are malformed: ONNX has none. */
bool rlx_wire_next(rlx_wire_reader_t *reader, rlx_wire_field_t *out_field);
/* One varint inside a packed field; false when cut off or longer than ten bytes. */
bool rlx_wire_varint(rlx_wire_reader_t *reader, uint64_t *out_value);
/* One element of a packed field of `type`. */
bool rlx_wire_element(rlx_wire_reader_t *reader, int type, uint64_t *out_value);

#endif
