/* ModelInfer: one message, one answer. The call's context is its request; NULL once the call is refused or over. */
#include "daemon/node/error_text.h"
#include "daemon/oip/methods.h"
#include "daemon/oip/request.h"

/* Refuses the call; what was received is dropped. */
static void call_fail(rlx_rpc_call_t *call, const rlx_diag_t *diag)
{
    rlx_oip_request_t *request = rlx_rpc_call_context(call);
    char text[RLX_ERROR_TEXT_MAX];
    rlx_status_t status = diag->status;

    rlx_error_text(diag, text, sizeof text);
    rlx_rpc_call_set_context(call, NULL);
    if (request != NULL)
        rlx_oip_request_leave(request);
    rlx_rpc_call_finish(call, status, text);
}

static void lone_answered(rlx_oip_request_t *request, const rlx_infer_answer_t *answer)
{
    rlx_rpc_call_t *call = request->owner;
    rlx_diag_t diag = {0};

    if (answer->status != RLX_OK) {
        call_fail(call, answer->diag);
        return;
    }
    rlx_rpc_call_kernel_ns(call, answer->kernel_ns);
    if (rlx_oip_request_send(request, call, answer, false)) {
        rlx_rpc_call_finish(call, RLX_OK, NULL);
        return;
    }
    rlx_fail(&diag, RLX_E_NO_MEMORY, "no memory for the answer's head");
    call_fail(call, &diag);
}

static void lone_ended(rlx_oip_request_t *request)
{
    rlx_rpc_call_set_context(request->owner, NULL);
    rlx_oip_request_leave(request);
}

static const rlx_oip_owner_ops_t lone_ops = {.answered = lone_answered, .ended = lone_ended};

static void infer_open(rlx_rpc_call_t *call, void *service)
{
    rlx_oip_request_t *request = rlx_oip_request_get(service, &lone_ops, call);
    rlx_diag_t diag = {0};

    rlx_rpc_call_set_context(call, request);
    if (request == NULL) {
        rlx_fail(&diag, RLX_E_NO_MEMORY, "no memory for a request");
        call_fail(call, &diag);
        return;
    }
    request->decoder.origin.answer = NULL; /* set by the message: there is one */
}

static bool infer_message(rlx_rpc_call_t *call, uint64_t bytes)
{
    rlx_oip_request_t *request = rlx_rpc_call_context(call);
    rlx_diag_t diag = {0};

    if (request == NULL)
        return false;
    if (request->decoder.origin.answer == NULL) {
        rlx_oip_request_start(request, call, bytes);
        return true;
    }
    rlx_fail(&diag, RLX_E_REQUEST_MALFORMED, "ModelInfer got a second message, takes one");
    rlx_diag_hint(&diag, "Use ModelStreamInfer for many requests on one call.");
    call_fail(call, &diag);
    return false;
}

static void infer_data(rlx_rpc_call_t *call, const void *data, size_t bytes)
{
    rlx_oip_request_t *request = rlx_rpc_call_context(call);
    rlx_diag_t diag;

    diag.code = RLX_E_NONE;
    if (request != NULL && rlx_oip_decoder_feed(&request->decoder, data, bytes, &diag) != RLX_OK)
        call_fail(call, &diag);
}

static void infer_message_end(rlx_rpc_call_t *call)
{
    rlx_oip_request_t *request = rlx_rpc_call_context(call);
    rlx_diag_t diag;

    diag.code = RLX_E_NONE;
    if (request != NULL && rlx_oip_request_submit(request, &diag) != RLX_OK)
        call_fail(call, &diag);
}

static void infer_half_close(rlx_rpc_call_t *call)
{
    rlx_oip_request_t *request = rlx_rpc_call_context(call);
    rlx_diag_t diag = {0};

    if (request == NULL || request->decoder.origin.answer != NULL)
        return;
    rlx_fail(&diag, RLX_E_REQUEST_MALFORMED, "ModelInfer got no message, needs one");
    call_fail(call, &diag);
}

static void infer_closed(rlx_rpc_call_t *call)
{
    rlx_oip_request_t *request = rlx_rpc_call_context(call);

    if (request != NULL)
        rlx_oip_request_leave(request);
}

const rlx_rpc_method_t rlx_oip_model_infer = {
    .path = "/inference.GRPCInferenceService/ModelInfer",
    .open = infer_open,
    .message = infer_message,
    .data = infer_data,
    .message_end = infer_message_end,
    .half_close = infer_half_close,
    .closed = infer_closed,
};
