/* Parameters that the server acts on; all others are ignored, as the protocol wants. An entry is judged when it ends, since key and value
 * may come in either order. */
#include <inttypes.h>
#include <string.h>

#include "daemon/oip/decode_parts.h"

void rlx_oip_parameter_enter(rlx_oip_decoder_t *decoder)
{
    decoder->parameter = (rlx_oip_parameter_t){.text_before = decoder->text.bytes};
}

static void key_add(rlx_oip_parameter_t *parameter, const rlx_guard_item_t *item)
{
    if (item->done == 0)
        parameter->key_bytes = 0;
    for (size_t i = 0; i < item->bytes && parameter->key_bytes < sizeof parameter->key; i++)
        parameter->key[parameter->key_bytes++] = (char)item->data[i];
}

rlx_status_t rlx_oip_parameter_item(rlx_oip_decoder_t *decoder, rlx_guard_event_t event, const rlx_guard_item_t *item, rlx_diag_t *diag)
{
    rlx_oip_parameter_t *parameter = &decoder->parameter;

    if (item->field->tag == RLX_OIP_TAG_KEY) {
        key_add(parameter, item);
        return RLX_OK;
    }
    parameter->type = item->field->tag;
    parameter->value = item->value;
    if (event == RLX_GUARD_BYTES && item->total < RLX_INFER_NAME_MAX)
        return rlx_oip_text_add(decoder, item, &parameter->text, diag);
    if (event == RLX_GUARD_BYTES)
        parameter->text = 0; /* too long for any that is known */
    return RLX_OK;
}

static bool key_is(const rlx_oip_parameter_t *parameter, const char *key)
{
    return strlen(key) == parameter->key_bytes && memcmp(parameter->key, key, parameter->key_bytes) == 0;
}

/* A number that is not negative, in any of the forms that clients use. */
static rlx_status_t number_take(rlx_oip_decoder_t *decoder, uint64_t *out_value, rlx_diag_t *diag)
{
    const rlx_oip_parameter_t *parameter = &decoder->parameter;
    bool whole = parameter->type == RLX_OIP_TAG_UINT64 || (parameter->type == RLX_OIP_TAG_INT64 && (int64_t)parameter->value >= 0);

    if (!whole)
        return RLX_OIP_REFUSE(decoder, diag, "parameter '%.*s' is no int64_param or uint64_param of 0 or more", (int)parameter->key_bytes,
                              parameter->key);
    *out_value = parameter->value;
    return RLX_OK;
}

static rlx_status_t string_take(rlx_oip_decoder_t *decoder, rlx_oip_text_t *out_text, rlx_diag_t *diag)
{
    const rlx_oip_parameter_t *parameter = &decoder->parameter;

    if (parameter->type != RLX_OIP_TAG_STRING || parameter->text == 0 || *rlx_oip_text(decoder, parameter->text) == '\0')
        return RLX_OIP_REFUSE(decoder, diag, "parameter '%.*s' is no string_param of 1 to %d bytes", (int)parameter->key_bytes,
                              parameter->key, RLX_INFER_NAME_MAX - 1);
    *out_text = parameter->text;
    return RLX_OK;
}

static rlx_status_t request_take(rlx_oip_decoder_t *decoder, bool *out_known, rlx_diag_t *diag)
{
    const rlx_oip_parameter_t *parameter = &decoder->parameter;

    *out_known = true;
    if (key_is(parameter, "timeout"))
        return number_take(decoder, &decoder->timeout_us, diag);
    if (key_is(parameter, "priority"))
        return number_take(decoder, &decoder->priority, diag);
    if (key_is(parameter, "rlx_preferred_devices"))
        return string_take(decoder, &decoder->devices, diag);
    if (key_is(parameter, "rlx_output_location"))
        return string_take(decoder, &decoder->location, diag);
    *out_known = false;
    return RLX_OK;
}

static rlx_status_t port_take(rlx_oip_decoder_t *decoder, bool *out_known, rlx_diag_t *diag)
{
    const rlx_oip_parameter_t *parameter = &decoder->parameter;
    rlx_oip_port_t *port = rlx_oip_port(decoder);

    *out_known = true;
    if (key_is(parameter, "shared_memory_region"))
        return string_take(decoder, &port->region, diag);
    if (key_is(parameter, "shared_memory_offset"))
        return number_take(decoder, &port->region_offset, diag);
    if (key_is(parameter, "shared_memory_byte_size")) {
        port->region_sized = true;
        return number_take(decoder, &port->region_bytes, diag);
    }
    *out_known = false;
    if (decoder->scope == RLX_OIP_TAG_OUTPUT && key_is(parameter, "classification")) {
        decoder->malformed = true;
        rlx_fail(diag, RLX_E_PROTOCOL_PART, "output '%s' asks for a classification", rlx_oip_text(decoder, port->name));
        return rlx_diag_hint(diag, "Ask for the scores themselves and sort them.");
    }
    return RLX_OK;
}

rlx_status_t rlx_oip_parameter_leave(rlx_oip_decoder_t *decoder, rlx_diag_t *diag)
{
    bool known;

    RLX_TRY(decoder->scope == RLX_OIP_TAG_NONE ? request_take(decoder, &known, diag) : port_take(decoder, &known, diag));
    if (!known)
        decoder->text.bytes = decoder->parameter.text_before;
    return RLX_OK;
}
