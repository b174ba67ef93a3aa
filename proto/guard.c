/* The guard's state machine. Invariants: offset <= end of the innermost frame <= end of every outer frame; a word never crosses its
 * frame's end; `left` bytes of a slice always lie inside the frame. Each byte is looked at once, slices not at all. */
#include "proto/guard.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"

enum { AT_TAG, AT_SCALAR, AT_LENGTH, AT_SLICE, AT_END, AT_BAD };
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

void rlx_guard_init(rlx_guard_t *guard, const rlx_guard_message_t *root, const rlx_guard_limits_t *limits, uint64_t total)
{
    RLX_ASSERT(limits->depth_max >= 1);
    RLX_ASSERT(limits->depth_max <= RLX_GUARD_DEPTH_MAX);
    memset(guard, 0, sizeof *guard);
    guard->limits = *limits;
    guard->depth = 1;
    guard->frames[0] = (rlx_guard_frame_t){.message = root, .end = total};
}

void rlx_guard_feed(rlx_guard_t *guard, const void *data, size_t bytes)
{
    RLX_ASSERT(guard->piece_at == guard->piece_bytes);
    guard->piece = data;
    guard->piece_bytes = bytes;
    guard->piece_at = 0;
}

static rlx_guard_frame_t *guard_frame(rlx_guard_t *guard) { return &guard->frames[guard->depth - 1]; }

static rlx_guard_event_t guard_refuse(rlx_guard_t *guard, rlx_diag_t *diag, rlx_error_code_t code, const char *what)
{
    guard->state = AT_BAD;
    rlx_fail(diag, code, "%s in message %s, field %" PRIu32 ", at byte %" PRIu64, what, guard_frame(guard)->message->name, guard->number,
             guard->offset);
    return RLX_GUARD_BAD;
}

static rlx_guard_event_t guard_broken(rlx_guard_t *guard, rlx_diag_t *diag, const char *what)
{
    return guard_refuse(guard, diag, guard->limits.broken, what);
}

static const rlx_guard_field_t *field_find(const rlx_guard_message_t *message, uint32_t number)
{
    for (int i = 0; i < message->n_fields; i++)
        if (message->fields[i].number == number)
            return &message->fields[i];
    return NULL;
}

/* Reads the varint under way. 1: complete, 0: the piece ended, -1: longer than ten bytes, above 64 bits or past the frame. */
static int word_read_varint(rlx_guard_t *guard)
{
    uint64_t end = guard_frame(guard)->end;

    while (guard->piece_at < guard->piece_bytes) {
        uint8_t byte;

        if (guard->offset == end)
            return -1;
        byte = guard->piece[guard->piece_at++];
        guard->offset++;
        if (guard->word_bytes == 9 && byte > 1)
            return -1;
        guard->word |= (uint64_t)(byte & 0x7f) << (7 * guard->word_bytes++);
        if (byte < 0x80)
            return 1;
    }
    return guard->offset == end ? -1 : 0;
}

static int word_read_fixed(rlx_guard_t *guard, int size)
{
    uint64_t end = guard_frame(guard)->end;

    if (end - guard->offset < (uint64_t)(size - guard->word_bytes))
        return -1;
    while (guard->word_bytes < size) {
        if (guard->piece_at == guard->piece_bytes)
            return 0;
        guard->word |= (uint64_t)guard->piece[guard->piece_at++] << (8 * guard->word_bytes++);
        guard->offset++;
    }
    return 1;
}

static uint64_t word_take(rlx_guard_t *guard)
{
    uint64_t word = guard->word;

    guard->word = 0;
    guard->word_bytes = 0;
    return word;
}

static void item_fill(const rlx_guard_t *guard, rlx_guard_item_t *item)
{
    *item = (rlx_guard_item_t){
        .message = guard->frames[guard->depth - 1].message,
        .field = guard->field,
        .number = guard->number,
        .wire = guard->wire,
        .depth = guard->depth,
        .total = guard->total,
        .offset = guard->offset,
    };
}

/* A tag is complete: which state reads the field? NULL, or what is wrong. */
static const char *tag_open(rlx_guard_t *guard, uint64_t tag)
{
    const rlx_guard_field_t *field;

    if (tag >> 32 != 0 || tag >> 3 == 0)
        return "field number out of range";
    guard->number = (uint32_t)(tag >> 3);
    guard->wire = (uint32_t)(tag & 7);
    field = guard->field = field_find(guard_frame(guard)->message, guard->number);
    if (guard->wire != WIRE_VARINT && guard->wire != WIRE_FIXED64 && guard->wire != WIRE_BYTES && guard->wire != WIRE_FIXED32)
        return "group or unknown wire type";
    if (field && field->kind == RLX_GUARD_KIND_SCALAR && guard->wire == WIRE_BYTES)
        return "bytes where a number is expected";
    if (field && (field->kind == RLX_GUARD_KIND_BYTES || field->kind == RLX_GUARD_KIND_MESSAGE) && guard->wire != WIRE_BYTES)
        return "a number where bytes are expected";
    guard->state = guard->wire == WIRE_BYTES ? AT_LENGTH : AT_SCALAR;
    return NULL;
}

static rlx_guard_event_t tag_step(rlx_guard_t *guard, rlx_diag_t *diag)
{
    int got = word_read_varint(guard);
    const char *what;

    if (got == 0)
        return RLX_GUARD_MORE;
    if (got < 0)
        return guard_broken(guard, diag, "broken field tag");
    if (++guard->fields > guard->limits.fields_max)
        return guard_refuse(guard, diag, guard->limits.above, "too many fields");
    what = tag_open(guard, word_take(guard));
    return what ? guard_broken(guard, diag, what) : RLX_GUARD_END; /* END here: go on */
}

static rlx_guard_event_t scalar_step(rlx_guard_t *guard, rlx_guard_item_t *item, rlx_diag_t *diag)
{
    int got = guard->wire == WIRE_VARINT ? word_read_varint(guard) : word_read_fixed(guard, guard->wire == WIRE_FIXED64 ? 8 : 4);

    if (got == 0)
        return RLX_GUARD_MORE;
    if (got < 0)
        return guard_broken(guard, diag, "broken number");
    guard->total = 0;
    item_fill(guard, item);
    item->value = word_take(guard);
    guard->state = AT_TAG;
    return RLX_GUARD_SCALAR;
}

static rlx_guard_event_t message_enter(rlx_guard_t *guard, rlx_guard_item_t *item, rlx_diag_t *diag)
{
    if (guard->depth >= guard->limits.depth_max)
        return guard_refuse(guard, diag, guard->limits.above, "messages nest too deeply");
    item_fill(guard, item);
    guard->frames[guard->depth++] =
        (rlx_guard_frame_t){.message = guard->field->message, .field = guard->field, .end = guard->offset + guard->total};
    guard->state = AT_TAG;
    return RLX_GUARD_ENTER;
}

static rlx_guard_event_t length_step(rlx_guard_t *guard, rlx_guard_item_t *item, rlx_diag_t *diag)
{
    int got = word_read_varint(guard);

    if (got == 0)
        return RLX_GUARD_MORE;
    if (got < 0)
        return guard_broken(guard, diag, "broken length");
    guard->total = guard->left = word_take(guard);
    if (guard->total > guard_frame(guard)->end - guard->offset)
        return guard_broken(guard, diag, "field runs past the end of its message");
    if (guard->field && guard->field->bytes_max && guard->total > guard->field->bytes_max)
        return guard_refuse(guard, diag, guard->limits.above, "field is too large");
    if (guard->field && guard->field->kind == RLX_GUARD_KIND_MESSAGE)
        return message_enter(guard, item, diag);
    guard->state = AT_SLICE;
    return RLX_GUARD_END;
}

static rlx_guard_event_t slice_step(rlx_guard_t *guard, rlx_guard_item_t *item)
{
    size_t have = guard->piece_bytes - guard->piece_at;
    size_t take = guard->left < have ? (size_t)guard->left : have;

    if (take == 0 && guard->left > 0)
        return RLX_GUARD_MORE;
    item_fill(guard, item);
    item->data = guard->piece ? guard->piece + guard->piece_at : NULL;
    item->bytes = take;
    item->done = guard->total - guard->left;
    guard->piece_at += take;
    guard->offset += take;
    guard->left -= take;
    if (guard->left == 0)
        guard->state = AT_TAG;
    return RLX_GUARD_BYTES;
}

static rlx_guard_event_t message_leave(rlx_guard_t *guard, rlx_guard_item_t *item)
{
    guard->field = guard_frame(guard)->field;
    guard->depth--;
    guard->number = guard->field->number;
    guard->wire = WIRE_BYTES;
    guard->total = 0;
    item_fill(guard, item);
    return RLX_GUARD_LEAVE;
}

rlx_guard_event_t rlx_guard_next(rlx_guard_t *guard, rlx_guard_item_t *out_item, rlx_diag_t *diag)
{
    rlx_guard_event_t event = RLX_GUARD_END;

    while (event == RLX_GUARD_END) {
        switch (guard->state) {
        case AT_TAG:
            if (guard->word_bytes == 0 && guard->offset == guard_frame(guard)->end) {
                if (guard->depth > 1)
                    return message_leave(guard, out_item);
                guard->state = AT_END;
                break;
            }
            event = tag_step(guard, diag);
            break;
        case AT_SCALAR: event = scalar_step(guard, out_item, diag); break;
        case AT_LENGTH: event = length_step(guard, out_item, diag); break;
        case AT_SLICE: event = slice_step(guard, out_item); break;
        case AT_END:
            if (guard->piece_at < guard->piece_bytes)
                return guard_broken(guard, diag, "bytes past the announced end");
            return RLX_GUARD_END;
        default: return RLX_GUARD_BAD;
        }
    }
    return event;
}

rlx_status_t rlx_guard_check(const rlx_guard_message_t *root, const rlx_guard_limits_t *limits, const void *data, size_t bytes,
                             rlx_diag_t *diag)
{
    rlx_guard_t guard;
    rlx_guard_item_t item;

    rlx_guard_init(&guard, root, limits, bytes);
    rlx_guard_feed(&guard, data, bytes);
    for (;;) {
        switch (rlx_guard_next(&guard, &item, diag)) {
        case RLX_GUARD_END: return RLX_OK;
        case RLX_GUARD_BAD: return diag ? diag->status : RLX_INVALID_ARGUMENT;
        case RLX_GUARD_MORE: return rlx_fail(diag, limits->broken, "message %s is cut off", root->name);
        default: break;
        }
    }
}

size_t rlx_guard_varint(const uint8_t *data, size_t bytes, uint64_t *out_value)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes && i < 10; i++) {
        if (i == 9 && data[i] > 1)
            return 0;
        value |= (uint64_t)(data[i] & 0x7f) << (7 * i);
        if (data[i] < 0x80) {
            *out_value = value;
            return i + 1;
        }
    }
    return 0;
}
