/* Where tensors go. The k-th raw entry belongs to the k-th input that carries data: inputs in shared memory have none. */
#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/node/node.h"
#include "daemon/oip/decode_parts.h"
#include "rpc/message/datatype.h"

static const char *input_name(const rlx_oip_decoder_t *decoder, int input)
{
    return rlx_oip_text(decoder, decoder->inputs.ports[input].name);
}

/* The next input after `input` that carries data; inputs.n: none. */
static int data_input_next(const rlx_oip_decoder_t *decoder, int input)
{
    do
        input++;
    while (input < decoder->inputs.n && decoder->inputs.ports[input].region != 0);
    return input;
}

static rlx_status_t place_fill(rlx_oip_decoder_t *decoder, const rlx_oip_port_t *port, rlx_infer_place_t *place, rlx_diag_t *diag)
{
    *place = (rlx_infer_place_t){0};
    if (port->region == 0)
        return RLX_OK;
    if (!port->region_sized)
        return RLX_OIP_REFUSE(decoder, diag, "tensor '%s' names region '%s' without shared_memory_byte_size",
                              rlx_oip_text(decoder, port->name), rlx_oip_text(decoder, port->region));
    *place = (rlx_infer_place_t){rlx_oip_text(decoder, port->region), port->region_offset, port->region_bytes};
    return RLX_OK;
}

static rlx_status_t inputs_fill(rlx_oip_decoder_t *decoder, rlx_diag_t *diag)
{
    int raw = 0;

    for (int i = 0; i < decoder->inputs.n; i++) {
        const rlx_oip_port_t *port = &decoder->inputs.ports[i];
        rlx_infer_input_t *input = &decoder->head_inputs[i];

        if (port->rank > RLX_RANK_MAX)
            return RLX_OIP_REFUSE(decoder, diag, "input '%s' has more than %d dimensions", input_name(decoder, i), RLX_RANK_MAX);
        if (port->contents.kind != RLX_OIP_NOTHING && (decoder->n_raw > 0 || port->region != 0))
            return RLX_OIP_REFUSE(decoder, diag,
                                  "input '%s' has contents, and %s; a tensor is sent in one form, and all of a request in the same",
                                  input_name(decoder, i),
                                  port->region != 0 ? "lies in shared memory" : "the request has raw_input_contents");
        *input = (rlx_infer_input_t){.name = rlx_oip_text(decoder, port->name),
                                     .datatype = rlx_oip_text(decoder, port->datatype),
                                     .rank = port->rank,
                                     .bytes_given = UINT64_MAX};
        memcpy(input->dims, port->dims, sizeof input->dims);
        RLX_TRY(place_fill(decoder, port, &input->place, diag));
        if (port->region == 0 && raw < decoder->n_raw)
            input->bytes_given = decoder->raw_bytes[raw++];
    }
    return RLX_OK;
}

static rlx_status_t outputs_fill(rlx_oip_decoder_t *decoder, rlx_diag_t *diag)
{
    for (int i = 0; i < decoder->outputs.n; i++) {
        decoder->head_outputs[i].name = rlx_oip_text(decoder, decoder->outputs.ports[i].name);
        RLX_TRY(place_fill(decoder, &decoder->outputs.ports[i], &decoder->head_outputs[i].place, diag));
    }
    return RLX_OK;
}

static const char *text_or_null(const rlx_oip_decoder_t *decoder, rlx_oip_text_t text)
{
    return text != 0 ? rlx_oip_text(decoder, text) : NULL;
}

static rlx_status_t begin(rlx_oip_decoder_t *decoder, rlx_diag_t *diag)
{
    rlx_infer_head_t head;

    RLX_TRY(inputs_fill(decoder, diag));
    RLX_TRY(outputs_fill(decoder, diag));
    head = (rlx_infer_head_t){
        .model = rlx_oip_text(decoder, decoder->model),
        .version = rlx_oip_text(decoder, decoder->version),
        .id = rlx_oip_text(decoder, decoder->id),
        .inputs = decoder->head_inputs,
        .n_inputs = decoder->inputs.n,
        .outputs = decoder->head_outputs,
        .n_outputs = decoder->outputs.n,
        .deadline_ns = decoder->origin.deadline_ns,
        .timeout_us = decoder->timeout_us,
        .priority = decoder->priority < UINT32_MAX ? (uint32_t)decoder->priority : UINT32_MAX,
        .read_ns = decoder->origin.read_ns,
        .trace = decoder->origin.trace,
        .preferred_devices = text_or_null(decoder, decoder->devices),
        .output_location = text_or_null(decoder, decoder->location),
    };
    return rlx_infer_begin(decoder->origin.node, &head, decoder->origin.answer, decoder->origin.context, &decoder->infer, diag);
}

/* The next raw entry of `bytes` bytes: which input takes it, and where. */
static rlx_status_t entry_place(rlx_oip_decoder_t *decoder, uint64_t bytes, rlx_diag_t *diag)
{
    uint64_t room;

    decoder->input = data_input_next(decoder, decoder->input);
    if (decoder->input == decoder->inputs.n)
        return RLX_OIP_REFUSE(decoder, diag, "raw_input_contents has %d entries or more, fewer inputs carry data; the last is '%s'",
                              decoder->n_raw, decoder->inputs.n > 0 ? input_name(decoder, decoder->inputs.n - 1) : "");
    decoder->to = rlx_infer_input(decoder->infer, decoder->input, &room);
    decoder->malformed = bytes != room;
    if (bytes != room)
        return rlx_fail(diag, RLX_E_INPUT_SHAPE,
                        "input '%s' has %" PRIu64 " bytes in raw_input_contents, its type and shape need %" PRIu64,
                        input_name(decoder, decoder->input), bytes, room);
    return RLX_OK;
}

static rlx_status_t entry_open(rlx_oip_decoder_t *decoder, uint64_t bytes, rlx_diag_t *diag)
{
    if (decoder->n_raw == RLX_INFER_PORTS_MAX)
        return RLX_OIP_REFUSE(decoder, diag, "raw_input_contents has more than %d entries", RLX_INFER_PORTS_MAX);
    decoder->raw_at[decoder->n_raw] = decoder->stage.bytes.bytes;
    decoder->raw_bytes[decoder->n_raw++] = bytes;
    if (decoder->n_raw == 1 && decoder->model != 0 && decoder->inputs.n > 0)
        RLX_TRY(begin(decoder, diag));
    return decoder->infer != NULL ? entry_place(decoder, bytes, diag) : RLX_OK;
}

rlx_status_t rlx_oip_raw_part(rlx_oip_decoder_t *decoder, const rlx_guard_item_t *item, rlx_diag_t *diag)
{
    if (item->done == 0)
        RLX_TRY(entry_open(decoder, item->total, diag));
    if (decoder->infer == NULL) {
        rlx_status_t status = rlx_oip_stage_add(&decoder->stage, item->data, item->bytes, diag);

        decoder->malformed |= status != RLX_OK;
        return status;
    }
    if (item->bytes > 0)
        memcpy(decoder->to + item->done, item->data, item->bytes);
    rlx_node_copies(decoder->origin.node)->socket_to_slot += item->bytes;
    return RLX_OK;
}

rlx_status_t rlx_oip_unbegin(rlx_oip_decoder_t *decoder, rlx_diag_t *diag)
{
    rlx_infer_t *infer = decoder->infer;
    rlx_status_t status = RLX_OK;
    int input = -1;

    for (int k = 0; k < decoder->n_raw && status == RLX_OK; k++) {
        uint64_t bytes;
        const void *from;

        input = data_input_next(decoder, input);
        from = rlx_infer_input(infer, input, &bytes);
        RLX_ASSERT(bytes == decoder->raw_bytes[k]);
        decoder->raw_at[k] = decoder->stage.bytes.bytes;
        status = rlx_oip_stage_add(&decoder->stage, from, bytes, diag);
    }
    if (status != RLX_OK)
        return status;
    decoder->infer = NULL;
    decoder->input = -1;
    rlx_infer_abandon(infer, RLX_ABANDON_UNCOUNTED);
    return RLX_OK;
}

static rlx_status_t raw_unstage(rlx_oip_decoder_t *decoder, rlx_diag_t *diag)
{
    for (int k = 0; k < decoder->n_raw; k++) {
        RLX_TRY(entry_place(decoder, decoder->raw_bytes[k], diag));
        if (decoder->raw_bytes[k] > 0)
            memcpy(decoder->to, decoder->stage.bytes.data + decoder->raw_at[k], decoder->raw_bytes[k]);
    }
    return RLX_OK;
}

static rlx_status_t data_missing(rlx_oip_decoder_t *decoder, int input, rlx_diag_t *diag)
{
    if (decoder->n_raw > 0)
        return RLX_OIP_REFUSE(decoder, diag, "input '%s' has no data: raw_input_contents has %d entries, more inputs carry data",
                              input_name(decoder, input), decoder->n_raw);
    return RLX_OIP_REFUSE(decoder, diag, "input '%s' has no data: neither raw_input_contents, nor contents, nor shared memory",
                          input_name(decoder, input));
}

static rlx_status_t typed_convert(rlx_oip_decoder_t *decoder, rlx_diag_t *diag)
{
    for (int i = data_input_next(decoder, -1); i < decoder->inputs.n; i = data_input_next(decoder, i)) {
        const rlx_oip_port_t *port = &decoder->inputs.ports[i];
        rlx_status_t status;
        uint64_t bytes;
        void *to = rlx_infer_input(decoder->infer, i, &bytes);

        if (port->contents.kind == RLX_OIP_NOTHING && bytes == 0)
            continue;
        if (port->contents.kind == RLX_OIP_NOTHING)
            return data_missing(decoder, i, diag);
        status = rlx_oip_contents_convert(&port->contents, &decoder->stage, rlx_datatype_parse(decoder->head_inputs[i].datatype), to,
                                          bytes, input_name(decoder, i), diag);
        decoder->malformed |= status != RLX_OK;
        RLX_TRY(status);
        rlx_node_copies(decoder->origin.node)->typed += bytes;
    }
    return RLX_OK;
}

rlx_status_t rlx_oip_complete(rlx_oip_decoder_t *decoder, rlx_diag_t *diag)
{
    bool staged = decoder->infer == NULL;
    int next;

    if (staged)
        RLX_TRY(begin(decoder, diag));
    if (decoder->n_raw == 0)
        return typed_convert(decoder, diag);
    if (staged)
        RLX_TRY(raw_unstage(decoder, diag));
    next = data_input_next(decoder, decoder->input);
    return next < decoder->inputs.n ? data_missing(decoder, next, diag) : RLX_OK;
}
