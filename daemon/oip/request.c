/* Whoever has to do with an object last puts it back: its owner, or `sent` where the owner left while bytes were still leaving. */
#include "daemon/oip/request.h"

#include <stdlib.h>

#include "base/assert.h"
#include "daemon/node/error_text.h"

rlx_oip_request_t *rlx_oip_request_get(rlx_oip_t *oip, const rlx_oip_owner_ops_t *ops, void *owner)
{
    rlx_oip_request_t *request = oip->free_requests;

    if (request != NULL) {
        oip->free_requests = request->next;
        oip->n_free_requests--;
    } else {
        if ((request = malloc(sizeof *request)) == NULL)
            return NULL;
        request->oip = oip;
        rlx_oip_decoder_init(&request->decoder, &oip->staged);
        rlx_text_init(&request->head, RLX_OIP_HEAD_MAX);
    }
    request->state = RLX_OIP_RECEIVING;
    request->infer = NULL;
    request->ops = ops;
    request->owner = owner;
    request->next = request->previous = NULL;
    return request;
}

static void request_free(rlx_oip_request_t *request)
{
    rlx_oip_decoder_fini(&request->decoder);
    rlx_text_fini(&request->head);
    free(request);
}

static void request_put(rlx_oip_request_t *request)
{
    rlx_oip_t *oip = request->oip;

    rlx_oip_stage_clear(&request->decoder.stage, true);
    if (oip->n_free_requests == RLX_OIP_REQUESTS_KEPT || request->head.capacity > RLX_OIP_STAGE_KEEP_MAX) {
        request_free(request);
        return;
    }
    request->next = oip->free_requests;
    oip->free_requests = request;
    oip->n_free_requests++;
}

void rlx_oip_requests_free(rlx_oip_t *oip)
{
    while (oip->free_requests != NULL) {
        rlx_oip_request_t *request = oip->free_requests;

        oip->free_requests = request->next;
        request_free(request);
    }
    oip->n_free_requests = 0;
}

static void answer_take(void *context, rlx_infer_t *infer, const rlx_infer_answer_t *answer)
{
    rlx_oip_request_t *request = context;

    RLX_ASSERT(request->state == RLX_OIP_SUBMITTED);
    RLX_ASSERT(request->owner != NULL);
    request->state = RLX_OIP_ANSWERED;
    request->infer = infer;
    request->ops->answered(request, answer);
}

void rlx_oip_request_start(rlx_oip_request_t *request, rlx_rpc_call_t *call, uint64_t bytes)
{
    rlx_oip_origin_t origin = {
        .node = request->oip->node,
        .answer = answer_take,
        .context = request,
        .deadline_ns = rlx_rpc_call_deadline_ns(call),
        .read_ns = rlx_rpc_call_read_ns(call),
        .trace = rlx_rpc_call_header(call, "traceparent"),
    };

    RLX_ASSERT(request->state == RLX_OIP_RECEIVING);
    rlx_oip_decoder_start(&request->decoder, &origin, bytes);
}

rlx_status_t rlx_oip_request_submit(rlx_oip_request_t *request, rlx_diag_t *diag)
{
    RLX_ASSERT(request->state == RLX_OIP_RECEIVING);
    RLX_TRY(rlx_oip_decoder_finish(&request->decoder, &request->infer, diag));
    request->state = RLX_OIP_SUBMITTED;
    rlx_infer_submit(request->infer);
    return RLX_OK;
}

static void infer_end(rlx_oip_request_t *request)
{
    rlx_infer_t *infer = request->infer;

    request->infer = NULL;
    if (infer != NULL)
        rlx_infer_release(infer);
}

static void sent(void *context)
{
    rlx_oip_request_t *request = context;

    RLX_ASSERT(request->state == RLX_OIP_SENDING);
    request->state = RLX_OIP_ENDED;
    infer_end(request);
    if (request->owner == NULL)
        request_put(request);
    else
        request->ops->ended(request);
}

bool rlx_oip_request_send(rlx_oip_request_t *request, rlx_rpc_call_t *call, const rlx_infer_answer_t *answer, bool streamed)
{
    rlx_oip_message_t message;

    RLX_ASSERT(request->state == RLX_OIP_ANSWERED);
    if (!rlx_oip_encode(&request->head, answer, streamed, &message))
        return false;
    request->state = RLX_OIP_SENDING;
    rlx_rpc_call_send(call, message.slices, message.n_slices, sent, request);
    return true;
}

bool rlx_oip_request_send_error(rlx_oip_request_t *request, rlx_rpc_call_t *call, const rlx_diag_t *diag)
{
    rlx_oip_message_t message;
    char text[RLX_ERROR_TEXT_MAX];

    RLX_ASSERT(request->state == RLX_OIP_RECEIVING || request->state == RLX_OIP_ANSWERED);
    rlx_error_text(diag, text, sizeof text);
    if (!rlx_oip_encode_error(&request->head, text, rlx_oip_decoder_model(&request->decoder), rlx_oip_decoder_id(&request->decoder),
                              &message))
        return false;
    if (request->state == RLX_OIP_RECEIVING)
        rlx_oip_decoder_drop(&request->decoder);
    infer_end(request); /* the diagnosis may be its: not used from here on */
    request->state = RLX_OIP_SENDING;
    rlx_rpc_call_send(call, message.slices, message.n_slices, sent, request);
    return true;
}

void rlx_oip_request_leave(rlx_oip_request_t *request)
{
    request->owner = NULL;
    switch (request->state) {
    case RLX_OIP_RECEIVING: rlx_oip_decoder_drop(&request->decoder); break;
    case RLX_OIP_SUBMITTED: rlx_infer_cancel(request->infer); break;
    case RLX_OIP_ANSWERED: infer_end(request); break;
    case RLX_OIP_SENDING: return; /* `sent` puts it */
    case RLX_OIP_ENDED: break;
    }
    request_put(request);
}
