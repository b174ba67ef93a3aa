/* One frame for each open message: whether a comma is due, and which repeated field's array is open. */
#include "rpc/message/json.h"

#include <inttypes.h>

#include "base/json_quote.h"

#define DEPTH_MAX 8

static const rlx_guard_limits_t limits = {
    .depth_max = DEPTH_MAX, .fields_max = 1000000, .broken = RLX_E_ANSWER_MALFORMED, .above = RLX_E_ANSWER_MALFORMED};

/* Of an open message: whether a field was written, and whose array is open. */
typedef struct json_frame {
    bool begun;
    uint32_t list;
} json_frame_t;

static void number_print(uint64_t value, int tag, rlx_text_t *out)
{
    switch (tag & ~RLX_JSON_LIST) {
    case RLX_JSON_BOOL: rlx_text_puts(out, value != 0 ? "true" : "false"); break;
    case RLX_JSON_INT: rlx_text_printf(out, "%" PRId64, (int64_t)value); break;
    default: rlx_text_printf(out, "%" PRIu64, value); break;
    }
}

static void list_close(json_frame_t *frame, rlx_text_t *out)
{
    if (frame->list != 0)
        rlx_text_puts(out, "]");
    frame->list = 0;
}

/* What stands before a value: comma, name, bracket. */
static void field_open(json_frame_t *frame, const rlx_guard_field_t *field, rlx_text_t *out)
{
    if (frame->list == field->number) {
        rlx_text_puts(out, ",");
        return;
    }
    list_close(frame, out);
    rlx_text_printf(out, "%s\"%s\":", frame->begun ? "," : "", field->name);
    frame->begun = true;
    if (field->tag & RLX_JSON_LIST) {
        rlx_text_puts(out, "[");
        frame->list = field->number;
    }
}

static rlx_status_t bytes_print(json_frame_t *frame, const rlx_guard_item_t *item, rlx_text_t *out, rlx_diag_t *diag)
{
    size_t at = 0, used;
    uint64_t value;

    if (item->field->kind != RLX_GUARD_KIND_PACKED) {
        field_open(frame, item->field, out);
        rlx_json_quote_n(out, (const char *)item->data, item->bytes);
        return RLX_OK;
    }
    for (; at < item->bytes; at += used) {
        used = rlx_guard_varint(item->data + at, item->bytes - at, &value);
        if (used == 0)
            return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "broken number in field %s of the answer", item->field->name);
        field_open(frame, item->field, out);
        number_print(value, item->field->tag, out);
    }
    return RLX_OK;
}

static rlx_status_t item_print(json_frame_t *frames, rlx_guard_event_t event, const rlx_guard_item_t *item, rlx_text_t *out,
                               rlx_diag_t *diag)
{
    json_frame_t *frame = &frames[item->depth];

    if (item->field == NULL)
        return RLX_OK;
    if (event == RLX_GUARD_BYTES)
        return bytes_print(frame, item, out, diag);
    if (event == RLX_GUARD_LEAVE) {
        list_close(&frames[item->depth + 1], out);
        rlx_text_puts(out, "}");
        return RLX_OK;
    }
    field_open(frame, item->field, out);
    if (event == RLX_GUARD_SCALAR)
        number_print(item->value, item->field->tag, out);
    else {
        rlx_text_puts(out, "{");
        frames[item->depth + 1] = (json_frame_t){0};
    }
    return RLX_OK;
}

rlx_status_t rlx_message_json(const rlx_guard_message_t *schema, const void *data, size_t bytes, rlx_text_t *out, rlx_diag_t *diag)
{
    json_frame_t frames[DEPTH_MAX + 2] = {0};
    rlx_guard_t guard;
    rlx_guard_item_t item;

    rlx_guard_init(&guard, schema, &limits, bytes);
    rlx_guard_feed(&guard, data, bytes);
    rlx_text_puts(out, "{");
    for (;;) {
        rlx_guard_event_t event = rlx_guard_next(&guard, &item, diag);

        if (event == RLX_GUARD_END)
            break;
        if (event == RLX_GUARD_BAD)
            return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the answer is no %s", schema->name);
        if (event == RLX_GUARD_MORE)
            return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the answer is cut off");
        RLX_TRY(item_print(frames, event, &item, out, diag));
    }
    list_close(&frames[1], out);
    rlx_text_puts(out, "}");
    return out->full ? rlx_fail(diag, RLX_E_NO_MEMORY, "the answer is too large as JSON") : RLX_OK;
}
