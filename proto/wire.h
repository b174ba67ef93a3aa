/* Writes protobuf messages, field by field, to the end of a growing buffer. For answers: what is sent needs no objects in between, and the
 * buffer keeps its memory from one to the next. proto3's rule holds: a scalar that is zero and a string that is empty are left out.
 *
 *     at = rlx_wire_open(out, 5);              // a message in field 5
 *     rlx_wire_string(out, 1, "name");
 *     rlx_wire_close(out, at);
 *
 * When the buffer is full (base/text.h) everything after is dropped: look at `out->full` once, at the end. */
#ifndef RLX_PROTO_WIRE_H
#define RLX_PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

void rlx_wire_uint(rlx_text_t *out, uint32_t field, uint64_t value); /* uint32, uint64, enum; int32 and int64 cast to uint64_t */
void rlx_wire_bool(rlx_text_t *out, uint32_t field, bool value);
void rlx_wire_string(rlx_text_t *out, uint32_t field, const char *value); /* NULL: as empty */
/* Written also when empty: entries of repeated fields, members of a oneof. */
void rlx_wire_bytes(rlx_text_t *out, uint32_t field, const void *data, size_t bytes);
void rlx_wire_int64(rlx_text_t *out, uint32_t field, int64_t value);
void rlx_wire_int64s(rlx_text_t *out, uint32_t field, const int64_t *values, int n); /* packed */
/* Tag and length of a field whose `bytes` bytes the caller sends after this buffer. */
void rlx_wire_length(rlx_text_t *out, uint32_t field, uint64_t bytes);

/* A message in a field: everything between open and close. May nest. */
size_t rlx_wire_open(rlx_text_t *out, uint32_t field);
void rlx_wire_close(rlx_text_t *out, size_t at);

#endif
