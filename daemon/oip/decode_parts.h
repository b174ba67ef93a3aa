/* The decoder's parts: the walk (decode.c), parameters (parameters.c), and where tensors go (place.c). */
#ifndef RLX_DAEMON_OIP_DECODE_PARTS_H
#define RLX_DAEMON_OIP_DECODE_PARTS_H

#include "daemon/oip/decode.h"
#include "daemon/oip/schema.h"

/* Refuses the request as malformed, and remembers that it was refused here: what rlx_infer_begin refuses it has counted itself. */
#define RLX_OIP_REFUSE(decoder, diag, ...) ((decoder)->malformed = true, rlx_fail(diag, RLX_E_REQUEST_MALFORMED, __VA_ARGS__))

/* "" also where there was no memory for any text. */
static inline const char *rlx_oip_text(const rlx_oip_decoder_t *decoder, rlx_oip_text_t text)
{
    return decoder->text.data != NULL ? decoder->text.data + text : "";
}
/* The input or output that is being read. */
static inline rlx_oip_port_t *rlx_oip_port(rlx_oip_decoder_t *decoder)
{
    rlx_oip_ports_t *ports = decoder->scope == RLX_OIP_TAG_INPUT ? &decoder->inputs : &decoder->outputs;

    return &ports->ports[ports->n - 1];
}
/* Appends a part of a string; at its last part it is closed, checked (UTF-8, no NUL) and `*out_text` is set. */
rlx_status_t rlx_oip_text_add(rlx_oip_decoder_t *decoder, const rlx_guard_item_t *item, rlx_oip_text_t *out_text, rlx_diag_t *diag);

void rlx_oip_parameter_enter(rlx_oip_decoder_t *decoder);
rlx_status_t rlx_oip_parameter_item(rlx_oip_decoder_t *decoder, rlx_guard_event_t event, const rlx_guard_item_t *item, rlx_diag_t *diag);
rlx_status_t rlx_oip_parameter_leave(rlx_oip_decoder_t *decoder, rlx_diag_t *diag);

/* A part of a raw entry. */
rlx_status_t rlx_oip_raw_part(rlx_oip_decoder_t *decoder, const rlx_guard_item_t *item, rlx_diag_t *diag);
/* Metadata follow raw contents: what came goes back into the stage. */
rlx_status_t rlx_oip_unbegin(rlx_oip_decoder_t *decoder, rlx_diag_t *diag);
/* At the end: every input has its bytes. */
rlx_status_t rlx_oip_complete(rlx_oip_decoder_t *decoder, rlx_diag_t *diag);

#endif
