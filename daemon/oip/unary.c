/* A call is held by the connection until `closed`, and by a handler that answers later; the last of both frees it. What is sent has been
 * moved out before. */
#include "daemon/oip/unary.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/node/error_text.h"

static const rlx_guard_limits_t limits = {
    .depth_max = 6, .fields_max = 65536, .broken = RLX_E_REQUEST_MALFORMED, .above = RLX_E_REQUEST_MALFORMED};

static void unary_free(rlx_oip_unary_t *unary)
{
    rlx_oip_stage_clear(&unary->message, false);
    rlx_text_fini(&unary->out);
    free(unary);
}

void rlx_oip_unary_open(rlx_rpc_call_t *call, void *service, const rlx_oip_unary_ops_t *ops)
{
    rlx_oip_unary_t *unary = calloc(1, sizeof *unary);

    rlx_rpc_call_set_context(call, unary);
    if (unary == NULL) {
        rlx_rpc_call_finish(call, RLX_RESOURCE_EXHAUSTED, "RLX-1004: no memory for a call.");
        return;
    }
    unary->call = call;
    unary->oip = service;
    unary->node = unary->oip->node;
    unary->ops = ops;
    rlx_oip_stage_init(&unary->message, &unary->oip->staged);
    rlx_text_init(&unary->out, RLX_OIP_REPLY_MAX);
}

/* Ends the call; a handler that still works finds nobody to answer. May free `unary`. */
static void call_fail(rlx_oip_unary_t *unary, const rlx_diag_t *diag)
{
    char text[RLX_ERROR_TEXT_MAX];

    RLX_ASSERT(!unary->answered);
    unary->answered = true;
    rlx_error_text(diag, text, sizeof text);
    rlx_rpc_call_finish(unary->call, diag->status, text);
}

static void refuse(rlx_oip_unary_t *unary, rlx_error_code_t code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void refuse(rlx_oip_unary_t *unary, rlx_error_code_t code, const char *hint, const char *format, ...)
{
    rlx_diag_t diag = {0};
    char what[256];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    rlx_fail(&diag, code, "%s: %s", unary->ops->name, what);
    rlx_diag_hint(&diag, "%s", hint);
    call_fail(unary, &diag);
}

bool rlx_oip_unary_message(rlx_rpc_call_t *call, uint64_t bytes)
{
    rlx_oip_unary_t *unary = rlx_rpc_call_context(call);

    if (unary == NULL || (unary->answered && !unary->ops->streams))
        return false;
    if (unary->got_message && !unary->ops->streams) {
        refuse(unary, RLX_E_REQUEST_MALFORMED, "Open a call for each request.", "a second message came, the call takes one");
        return false;
    }
    if (bytes > RLX_OIP_SMALL_MAX) {
        refuse(unary, RLX_E_REQUEST_LARGE, "This call takes names and numbers only; model files go into the repository folder.",
               "the message has %" PRIu64 " bytes, the call takes %zu", bytes, RLX_OIP_SMALL_MAX);
        return false;
    }
    unary->got_message = true;
    rlx_oip_stage_clear(&unary->message, true);
    return true;
}

void rlx_oip_unary_data(rlx_rpc_call_t *call, const void *data, size_t bytes)
{
    rlx_oip_unary_t *unary = rlx_rpc_call_context(call);
    rlx_diag_t diag = {0};

    if (unary != NULL && !unary->answered && rlx_oip_stage_add(&unary->message, data, bytes, &diag) != RLX_OK)
        rlx_oip_unary_fail(unary, &diag);
}

void rlx_oip_unary_message_end(rlx_rpc_call_t *call)
{
    rlx_oip_unary_t *unary = rlx_rpc_call_context(call);
    ProtobufCMessage *message = NULL;
    rlx_diag_t diag = {0};

    if (unary == NULL || unary->answered)
        return;
    if (rlx_unpack(unary->ops->request, unary->ops->schema, &limits, unary->message.bytes.data, unary->message.bytes.bytes, &message,
                   &diag) != RLX_OK) {
        rlx_oip_unary_fail(unary, &diag);
        return;
    }
    unary->ops->handle(unary, message); /* may free `unary` */
    rlx_unpack_free(message);
}

void rlx_oip_unary_half_close(rlx_rpc_call_t *call)
{
    rlx_oip_unary_t *unary = rlx_rpc_call_context(call);

    if (unary == NULL || unary->answered)
        return;
    if (unary->ops->streams) {
        unary->answered = true;
        rlx_rpc_call_finish(call, RLX_OK, NULL);
    } else if (!unary->got_message) {
        refuse(unary, RLX_E_REQUEST_MALFORMED, "Send one request message.", "the call ended without a message");
    }
}

void rlx_oip_unary_closed(rlx_rpc_call_t *call)
{
    rlx_oip_unary_t *unary = rlx_rpc_call_context(call);

    if (unary == NULL)
        return;
    unary->call = NULL;
    if (unary->closed != NULL)
        unary->closed(unary);
    if (!unary->waiting)
        unary_free(unary);
}

void rlx_oip_unary_wait(rlx_oip_unary_t *unary)
{
    RLX_ASSERT(!unary->answered);
    unary->waiting = true;
}

/* An answer has come, maybe one that was waited for. False: nobody wants it any more; `unary` may be gone. */
static bool answer_wanted(rlx_oip_unary_t *unary)
{
    unary->waiting = false;
    if (unary->call != NULL)
        return !unary->answered;
    unary_free(unary);
    return false;
}

void rlx_oip_unary_fail(rlx_oip_unary_t *unary, const rlx_diag_t *diag)
{
    if (answer_wanted(unary))
        call_fail(unary, diag);
}

/* Moves the answer's memory to the call. */
static void out_send(rlx_oip_unary_t *unary)
{
    rlx_rpc_slice_t slice = {unary->out.data, unary->out.bytes};
    char *data = unary->out.data;

    rlx_text_init(&unary->out, RLX_OIP_REPLY_MAX);
    rlx_rpc_call_send(unary->call, &slice, slice.bytes > 0 ? 1 : 0, free, data);
}

static bool out_fits(rlx_oip_unary_t *unary)
{
    if (!unary->out.full)
        return true;
    refuse(unary, RLX_E_NO_MEMORY, "Ask for one model at a time.", "the answer needs more memory than there is, or more than %zu bytes",
           RLX_OIP_REPLY_MAX);
    return false;
}

void rlx_oip_unary_send(rlx_oip_unary_t *unary)
{
    RLX_ASSERT(!unary->answered);
    if (out_fits(unary))
        out_send(unary);
}

void rlx_oip_unary_reply(rlx_oip_unary_t *unary)
{
    rlx_rpc_call_t *call;

    if (!answer_wanted(unary) || !out_fits(unary))
        return;
    call = unary->call;
    unary->answered = true;
    out_send(unary);
    rlx_rpc_call_finish(call, RLX_OK, NULL);
}
