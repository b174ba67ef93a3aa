/* Two tables say all about types: how a field's values stand on the wire, and in which field a type travels. */
#include "daemon/oip/contents.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/node/infer.h"
#include "rpc/message/datatype.h"

/* By kind: name, bytes of one value in the stage, and whether it is a varint on the wire. */
static const struct {
    const char *name;
    uint8_t width;
    bool varint;
} kinds[RLX_OIP_KINDS] = {
    {"no contents", 0, false},    {"bool_contents", 1, true},    {"int_contents", 4, true},    {"int64_contents", 8, true},
    {"uint_contents", 4, true},   {"uint64_contents", 8, true},  {"fp32_contents", 4, false},  {"fp64_contents", 8, false},
    {"bytes_contents", 0, false},
};

/* Which field carries a type; NOTHING: the type has no typed form. Integers of 8 and 16 bits are checked against their range. */
static const struct {
    rlx_oip_kind_t kind;
    int64_t min, max; /* of narrowed integers; 0, 0: copied as they are */
} types[RLX_DTYPE_COUNT] = {
    [RLX_F32] = {RLX_OIP_FP32, 0, 0},
    [RLX_F64] = {RLX_OIP_FP64, 0, 0},
    [RLX_I8] = {RLX_OIP_INT, INT8_MIN, INT8_MAX},
    [RLX_I16] = {RLX_OIP_INT, INT16_MIN, INT16_MAX},
    [RLX_I32] = {RLX_OIP_INT, 0, 0},
    [RLX_I64] = {RLX_OIP_INT64, 0, 0},
    [RLX_U8] = {RLX_OIP_UINT, 0, UINT8_MAX},
    [RLX_U16] = {RLX_OIP_UINT, 0, UINT16_MAX},
    [RLX_U32] = {RLX_OIP_UINT, 0, 0},
    [RLX_U64] = {RLX_OIP_UINT64, 0, 0},
    [RLX_BOOL] = {RLX_OIP_BOOL, 0, 0},
};

int rlx_oip_carry_push(rlx_oip_carry_t *carry, uint8_t byte, uint64_t *out_value)
{
    if (carry->n == sizeof carry->byte)
        return -1;
    carry->byte[carry->n++] = byte;
    if (byte >= 0x80)
        return 0;
    if (rlx_guard_varint(carry->byte, carry->n, out_value) == 0)
        return -1;
    carry->n = 0;
    return 1;
}

/* One value, as protobuf reads it: int32 and uint32 are the low 32 bits, bool is "not zero". */
static rlx_status_t value_add(rlx_oip_contents_t *contents, rlx_oip_stage_t *stage, uint64_t value, rlx_diag_t *diag)
{
    if (contents->kind == RLX_OIP_BOOL)
        value = value != 0;
    contents->count++;
    return rlx_oip_stage_add(stage, &value, kinds[contents->kind].width, diag);
}

static rlx_status_t packed_broken(const rlx_oip_contents_t *contents, const char *input, rlx_diag_t *diag)
{
    return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "input '%s': packed %s end within a value", input, kinds[contents->kind].name);
}

/* Fixed-width values are what the stage holds: only their number has to come out. */
static rlx_status_t packed_add_fixed(rlx_oip_contents_t *contents, rlx_oip_stage_t *stage, const rlx_guard_item_t *item, const char *input,
                                     rlx_diag_t *diag)
{
    unsigned width = kinds[contents->kind].width;

    if (item->total % width != 0)
        return packed_broken(contents, input, diag);
    if (item->done == 0)
        contents->count += item->total / width;
    return rlx_oip_stage_add(stage, item->data, item->bytes, diag);
}

/* Varints of a part; the last one may be cut off by the part's end and is completed by the next. */
static rlx_status_t packed_add_varints(rlx_oip_contents_t *contents, rlx_oip_stage_t *stage, const rlx_guard_item_t *item,
                                       const char *input, rlx_diag_t *diag)
{
    for (size_t i = 0; i < item->bytes; i++) {
        uint64_t value;
        int got = rlx_oip_carry_push(&contents->carry, item->data[i], &value);

        if (got < 0)
            return packed_broken(contents, input, diag);
        if (got > 0)
            RLX_TRY(value_add(contents, stage, value, diag));
    }
    if (item->done + item->bytes == item->total && contents->carry.n != 0)
        return packed_broken(contents, input, diag);
    return RLX_OK;
}

rlx_status_t rlx_oip_contents_add(rlx_oip_contents_t *contents, rlx_oip_stage_t *stage, rlx_oip_kind_t kind, rlx_guard_event_t event,
                                  const rlx_guard_item_t *item, const char *input, rlx_diag_t *diag)
{
    RLX_ASSERT(kind > RLX_OIP_NOTHING);
    RLX_ASSERT(kind < RLX_OIP_KINDS);
    if (contents->kind == RLX_OIP_NOTHING) {
        contents->kind = kind;
        contents->at = stage->bytes.bytes;
    }
    if (contents->kind != kind)
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "input '%s' has %s and %s, at most one may be there", input,
                        kinds[contents->kind].name, kinds[kind].name);
    if (kind == RLX_OIP_BYTES) {
        contents->count += item->done == 0;
        return RLX_OK;
    }
    if (event == RLX_GUARD_BYTES)
        return kinds[kind].varint ? packed_add_varints(contents, stage, item, input, diag)
                                  : packed_add_fixed(contents, stage, item, input, diag);
    if (item->wire != (kinds[kind].varint ? 0u : kinds[kind].width == 4 ? 5u : 1u))
        return rlx_fail(diag, RLX_E_REQUEST_MALFORMED, "input '%s': %s have wire type %u", input, kinds[kind].name, item->wire);
    return value_add(contents, stage, item->value, diag);
}

/* 32-bit values -> 8 or 16 bits. */
static rlx_status_t narrow(const rlx_oip_contents_t *contents, const char *from, rlx_dtype_t dtype, uint8_t *to, const char *input,
                           rlx_diag_t *diag)
{
    size_t size = rlx_dtype_size(dtype);

    for (uint64_t i = 0; i < contents->count; i++) {
        uint32_t bits;
        int64_t value;

        memcpy(&bits, from + 4 * i, 4);
        value = contents->kind == RLX_OIP_INT ? (int32_t)bits : (int64_t)bits;
        if (value < types[dtype].min || value > types[dtype].max)
            return rlx_fail(diag, RLX_E_INPUT_VALUE, "input '%s': value %" PRId64 " at %" PRIu64 " does not fit %s", input, value, i,
                            rlx_datatype_name(dtype));
        memcpy(to + size * i, &bits, size); /* the low bytes: two's complement, little-endian */
    }
    return RLX_OK;
}

rlx_status_t rlx_oip_contents_convert(const rlx_oip_contents_t *contents, const rlx_oip_stage_t *stage, rlx_dtype_t dtype, void *to,
                                      uint64_t bytes, const char *input, rlx_diag_t *diag)
{
    size_t size = rlx_dtype_size(dtype);
    rlx_oip_kind_t wanted = (unsigned)dtype < RLX_DTYPE_COUNT ? types[dtype].kind : RLX_OIP_NOTHING;

    RLX_ASSERT(size > 0);
    if (wanted == RLX_OIP_NOTHING)
        return rlx_fail(diag, RLX_E_INPUT_DTYPE, "input '%s': %s has no typed contents; send it in raw_input_contents", input,
                        rlx_datatype_name(dtype));
    if (contents->kind != wanted)
        return rlx_fail(diag, RLX_E_INPUT_DTYPE, "input '%s' is %s and has %s, needs %s", input, rlx_datatype_name(dtype),
                        kinds[contents->kind].name, kinds[wanted].name);
    if (contents->count != bytes / size)
        return rlx_fail(diag, RLX_E_INPUT_SHAPE, "input '%s' has %" PRIu64 " values in %s, its shape needs %" PRIu64, input,
                        contents->count, kinds[wanted].name, bytes / size);
    if (types[dtype].max != 0)
        return narrow(contents, stage->bytes.data + contents->at, dtype, to, input, diag);
    if (bytes > 0)
        memcpy(to, stage->bytes.data + contents->at, bytes);
    return RLX_OK;
}
