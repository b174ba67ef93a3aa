/* The walk over ModelInferRequest: what each field of the schema does. Invariant: `text` starts with an empty string, and offsets into it
 * stay valid until the next start; ports are addressed by number, since their arrays move when they grow. */
#include "daemon/oip/decode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/utf8.h"
#include "daemon/oip/decode_parts.h"

#define PORTS_FIRST 8

void rlx_oip_decoder_init(rlx_oip_decoder_t *decoder, size_t *staged)
{
    memset(decoder, 0, sizeof *decoder);
    rlx_text_init(&decoder->text, RLX_OIP_TEXT_MAX);
    rlx_oip_stage_init(&decoder->stage, staged);
}

void rlx_oip_decoder_fini(rlx_oip_decoder_t *decoder)
{
    RLX_ASSERT(decoder->infer == NULL);
    rlx_text_fini(&decoder->text);
    rlx_oip_stage_clear(&decoder->stage, false);
    free(decoder->inputs.ports);
    free(decoder->outputs.ports);
    free(decoder->head_inputs);
    free(decoder->head_outputs);
}

void rlx_oip_decoder_start(rlx_oip_decoder_t *decoder, const rlx_oip_origin_t *origin, uint64_t bytes)
{
    RLX_ASSERT(decoder->infer == NULL);
    rlx_guard_init(&decoder->guard, &rlx_oip_request_schema, &rlx_oip_request_limits, bytes);
    decoder->origin = *origin;
    rlx_text_clear(&decoder->text);
    rlx_text_add(&decoder->text, "", 1);
    decoder->model = decoder->version = decoder->id = decoder->devices = decoder->location = 0;
    decoder->timeout_us = decoder->priority = 0;
    decoder->inputs.n = decoder->outputs.n = decoder->n_raw = 0;
    decoder->scope = RLX_OIP_TAG_NONE;
    decoder->carry.n = 0;
    rlx_oip_stage_clear(&decoder->stage, true);
    decoder->input = -1;
    decoder->malformed = false;
}

rlx_status_t rlx_oip_text_add(rlx_oip_decoder_t *decoder, const rlx_guard_item_t *item, rlx_oip_text_t *out_text, rlx_diag_t *diag)
{
    rlx_text_t *text = &decoder->text;
    size_t at;

    rlx_text_add(text, item->data, item->bytes);
    if (item->done + item->bytes < item->total)
        return RLX_OK;
    rlx_text_add(text, "", 1);
    if (text->full)
        return RLX_OIP_REFUSE(decoder, diag, "names and parameters take more than %zu bytes", RLX_OIP_TEXT_MAX);
    at = text->bytes - 1 - item->total;
    if (!rlx_utf8_is_text(text->data + at, item->total))
        return RLX_OIP_REFUSE(decoder, diag, "%s of %s is no UTF-8 text", item->field->name, item->message->name);
    *out_text = (rlx_oip_text_t)at;
    return RLX_OK;
}

/* Room for one port more, here and in the head's array. */
static rlx_status_t ports_grow(rlx_oip_ports_t *ports, void **head, size_t head_size, rlx_diag_t *diag)
{
    int capacity = ports->capacity == 0 ? PORTS_FIRST : 2 * ports->capacity;
    void *grown;

    if (ports->n < ports->capacity)
        return RLX_OK;
    if ((grown = realloc(ports->ports, (size_t)capacity * sizeof *ports->ports)) == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for %d tensors of a request", capacity);
    ports->ports = grown;
    if ((grown = realloc(*head, (size_t)capacity * head_size)) == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for %d tensors of a request", capacity);
    *head = grown;
    ports->capacity = capacity;
    return RLX_OK;
}

static rlx_status_t port_enter(rlx_oip_decoder_t *decoder, int tag, rlx_diag_t *diag)
{
    bool input = tag == RLX_OIP_TAG_INPUT;
    rlx_oip_ports_t *ports = input ? &decoder->inputs : &decoder->outputs;
    void *head = input ? (void *)decoder->head_inputs : (void *)decoder->head_outputs;
    rlx_status_t status;

    if (ports->n == RLX_INFER_PORTS_MAX)
        return RLX_OIP_REFUSE(decoder, diag, "more than %d %s", RLX_INFER_PORTS_MAX, input ? "inputs" : "outputs");
    status = ports_grow(ports, &head, input ? sizeof *decoder->head_inputs : sizeof *decoder->head_outputs, diag);
    if (input)
        decoder->head_inputs = head;
    else
        decoder->head_outputs = head;
    RLX_TRY(status);
    ports->ports[ports->n++] = (rlx_oip_port_t){0};
    decoder->scope = tag;
    decoder->carry.n = 0;
    return RLX_OK;
}

/* Extents, one by one or packed. Their number is judged when the inference begins; beyond the maximum only it is kept. */
static rlx_status_t shape_item(rlx_oip_decoder_t *decoder, rlx_guard_event_t event, const rlx_guard_item_t *item, rlx_diag_t *diag)
{
    rlx_oip_port_t *port = rlx_oip_port(decoder);
    size_t n = event == RLX_GUARD_BYTES ? item->bytes : 1;
    bool last = event != RLX_GUARD_BYTES || item->done + item->bytes == item->total;
    uint64_t value = item->value;
    int got = 1;

    for (size_t i = 0; i < n; i++) {
        if (event == RLX_GUARD_BYTES)
            got = rlx_oip_carry_push(&decoder->carry, item->data[i], &value);
        if (got < 0)
            break;
        if (got > 0 && port->rank < RLX_RANK_MAX)
            port->dims[port->rank] = (int64_t)value;
        if (got > 0 && port->rank <= RLX_RANK_MAX)
            port->rank++;
    }
    if (got < 0 || (last && decoder->carry.n > 0))
        return RLX_OIP_REFUSE(decoder, diag, "input '%s': its shape is no list of int64", rlx_oip_text(decoder, port->name));
    return RLX_OK;
}

static rlx_status_t values_item(rlx_oip_decoder_t *decoder, rlx_guard_event_t event, const rlx_guard_item_t *item, rlx_diag_t *diag)
{
    rlx_oip_port_t *port = rlx_oip_port(decoder);
    rlx_status_t status = rlx_oip_contents_add(&port->contents, &decoder->stage, (rlx_oip_kind_t)item->number, event, item,
                                               rlx_oip_text(decoder, port->name), diag);

    decoder->malformed |= status != RLX_OK;
    return status;
}

/* A scalar, or a part of a string. */
static rlx_status_t item_take(rlx_oip_decoder_t *decoder, rlx_guard_event_t event, const rlx_guard_item_t *item, rlx_diag_t *diag)
{
    switch (item->field->tag) {
    case RLX_OIP_TAG_MODEL: return rlx_oip_text_add(decoder, item, &decoder->model, diag);
    case RLX_OIP_TAG_VERSION: return rlx_oip_text_add(decoder, item, &decoder->version, diag);
    case RLX_OIP_TAG_ID: return rlx_oip_text_add(decoder, item, &decoder->id, diag);
    case RLX_OIP_TAG_NAME: return rlx_oip_text_add(decoder, item, &rlx_oip_port(decoder)->name, diag);
    case RLX_OIP_TAG_DATATYPE: return rlx_oip_text_add(decoder, item, &rlx_oip_port(decoder)->datatype, diag);
    case RLX_OIP_TAG_SHAPE: return shape_item(decoder, event, item, diag);
    case RLX_OIP_TAG_VALUES: return values_item(decoder, event, item, diag);
    case RLX_OIP_TAG_RAW: return rlx_oip_raw_part(decoder, item, diag);
    default: return rlx_oip_parameter_item(decoder, event, item, diag);
    }
}

static rlx_status_t message_enter(rlx_oip_decoder_t *decoder, int tag, rlx_diag_t *diag)
{
    if (tag == RLX_OIP_TAG_INPUT || tag == RLX_OIP_TAG_OUTPUT)
        return port_enter(decoder, tag, diag);
    if (tag == RLX_OIP_TAG_PARAMETER)
        rlx_oip_parameter_enter(decoder);
    return RLX_OK;
}

static rlx_status_t message_leave(rlx_oip_decoder_t *decoder, int tag, rlx_diag_t *diag)
{
    if (tag == RLX_OIP_TAG_PARAMETER)
        return rlx_oip_parameter_leave(decoder, diag);
    if (tag == RLX_OIP_TAG_INPUT || tag == RLX_OIP_TAG_OUTPUT)
        decoder->scope = RLX_OIP_TAG_NONE;
    return RLX_OK;
}

static rlx_status_t event_take(rlx_oip_decoder_t *decoder, rlx_guard_event_t event, const rlx_guard_item_t *item, rlx_diag_t *diag)
{
    if (item->field == NULL)
        return RLX_OK;
    if (decoder->infer != NULL && item->depth == 1 && item->field->tag != RLX_OIP_TAG_RAW)
        RLX_TRY(rlx_oip_unbegin(decoder, diag));
    if (event == RLX_GUARD_ENTER)
        return message_enter(decoder, item->field->tag, diag);
    if (event == RLX_GUARD_LEAVE)
        return message_leave(decoder, item->field->tag, diag);
    return item_take(decoder, event, item, diag);
}

/* Takes events until the piece is used up, or to the end. */
static rlx_status_t walk(rlx_oip_decoder_t *decoder, rlx_guard_event_t *out_last, rlx_diag_t *diag)
{
    rlx_guard_item_t item;

    for (;;) {
        rlx_guard_event_t event = rlx_guard_next(&decoder->guard, &item, diag);

        *out_last = event;
        if (event == RLX_GUARD_MORE || event == RLX_GUARD_END)
            return RLX_OK;
        if (event == RLX_GUARD_BAD) {
            decoder->malformed = true;
            return diag->status;
        }
        RLX_TRY(event_take(decoder, event, &item, diag));
    }
}

rlx_status_t rlx_oip_decoder_feed(rlx_oip_decoder_t *decoder, const void *data, size_t bytes, rlx_diag_t *diag)
{
    rlx_guard_event_t last;

    rlx_guard_feed(&decoder->guard, data, bytes);
    return walk(decoder, &last, diag);
}

rlx_status_t rlx_oip_decoder_finish(rlx_oip_decoder_t *decoder, rlx_infer_t **out_infer, rlx_diag_t *diag)
{
    rlx_guard_event_t last;

    RLX_TRY(walk(decoder, &last, diag));
    if (last != RLX_GUARD_END)
        return RLX_OIP_REFUSE(decoder, diag, "ModelInferRequest is cut off at byte %" PRIu64, decoder->guard.offset);
    RLX_TRY(rlx_oip_complete(decoder, diag));
    *out_infer = decoder->infer;
    decoder->infer = NULL;
    return RLX_OK;
}

void rlx_oip_decoder_drop(rlx_oip_decoder_t *decoder)
{
    if (decoder->infer != NULL)
        rlx_infer_abandon(decoder->infer, decoder->malformed ? RLX_ABANDON_MALFORMED : RLX_ABANDON_GONE);
    else if (decoder->malformed)
        rlx_infer_count_malformed(decoder->origin.node);
    decoder->infer = NULL;
    decoder->malformed = false;
}

const char *rlx_oip_decoder_id(const rlx_oip_decoder_t *decoder) { return rlx_oip_text(decoder, decoder->id); }
const char *rlx_oip_decoder_model(const rlx_oip_decoder_t *decoder) { return rlx_oip_text(decoder, decoder->model); }
