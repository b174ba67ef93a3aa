/* ModelStreamInfer: many requests on one call, answered in order of completion, each with its id. An error belongs to its request alone:
 * it goes out as error_message, and the stream stays open.
 *
 * Bounds: STREAM_REQUESTS_MAX requests from first byte until their answer left. When reached, the call is held (the peer may send one
 * window more), and what arrives waits in `pending`; above its bound (stage.h) the call ends with RESOURCE_EXHAUSTED. One
 * request is received at a time, so `left` tells where its message ends, whether bytes come from the wire or from `pending`.
 *
 * Anything that sends may end requests, or the call, before it returns: `depth` counts our frames on the stack, and what follows from an
 * end is done by the outermost one (stream_leave). */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/node/error_text.h"
#include "daemon/oip/methods.h"
#include "daemon/oip/request.h"

#define STREAM_REQUESTS_MAX 64

typedef struct rlx_oip_stream {
    rlx_rpc_call_t *call; /* NULL: over */
    rlx_oip_t *oip;
    rlx_oip_request_t *requests; /* list of all that are not over */
    int n_requests;
    rlx_oip_request_t *current;  /* being received; NULL: none, or its rest is skipped */
    uint64_t left;               /* bytes of the message under way that were not taken yet */
    bool open;                   /* a message is under way */
    bool half_closed, held, finished;
    rlx_oip_stage_t pending;     /* messages that wait: 8 bytes of size, then the bytes, as far as they came */
    size_t pending_at;           /* taken out so far */
    int depth;
} rlx_oip_stream_t;

static void stream_finish(rlx_oip_stream_t *stream, const rlx_diag_t *diag)
{
    char text[RLX_ERROR_TEXT_MAX];

    if (stream->finished || stream->call == NULL)
        return;
    stream->finished = true;
    if (diag != NULL)
        rlx_error_text(diag, text, sizeof text);
    rlx_rpc_call_finish(stream->call, diag != NULL ? diag->status : RLX_OK, diag != NULL ? text : NULL);
}

static void list_remove(rlx_oip_stream_t *stream, rlx_oip_request_t *request)
{
    if (request->previous != NULL)
        request->previous->next = request->next;
    else
        stream->requests = request->next;
    if (request->next != NULL)
        request->next->previous = request->previous;
    stream->n_requests--;
}

static void request_fail(rlx_oip_stream_t *stream, rlx_oip_request_t *request, const rlx_diag_t *diag)
{
    if (!rlx_oip_request_send_error(request, stream->call, diag))
        stream_finish(stream, diag); /* no memory even for the message: `closed` clears up */
}

static void stream_enter(rlx_oip_stream_t *stream) { stream->depth++; }
static void stream_leave(rlx_oip_stream_t *stream);

static void stream_answered(rlx_oip_request_t *request, const rlx_infer_answer_t *answer)
{
    rlx_oip_stream_t *stream = request->owner;
    rlx_diag_t diag = {0};

    stream_enter(stream);
    if (answer->status != RLX_OK) {
        request_fail(stream, request, answer->diag);
    } else if (!rlx_oip_request_send(request, stream->call, answer, true)) {
        rlx_fail(&diag, RLX_E_NO_MEMORY, "no memory for the answer's head");
        request_fail(stream, request, &diag);
    }
    stream_leave(stream);
}

static void stream_ended(rlx_oip_request_t *request)
{
    rlx_oip_stream_t *stream = request->owner;

    stream_enter(stream);
    list_remove(stream, request);
    rlx_oip_request_leave(request);
    stream_leave(stream);
}

static const rlx_oip_owner_ops_t stream_ops = {.answered = stream_answered, .ended = stream_ended};

/* The message under way has all its bytes. */
static void message_complete(rlx_oip_stream_t *stream)
{
    rlx_oip_request_t *request = stream->current;
    rlx_diag_t diag;

    diag.code = RLX_E_NONE;
    stream->open = false;
    stream->current = NULL;
    if (request != NULL && rlx_oip_request_submit(request, &diag) != RLX_OK)
        request_fail(stream, request, &diag);
}

static void message_open(rlx_oip_stream_t *stream, uint64_t bytes)
{
    rlx_oip_request_t *request = rlx_oip_request_get(stream->oip, &stream_ops, stream);
    rlx_diag_t diag = {0};

    stream->open = true;
    stream->left = bytes;
    if (request == NULL) {
        rlx_fail(&diag, RLX_E_NO_MEMORY, "no memory for a request");
        stream_finish(stream, &diag);
        return;
    }
    request->next = stream->requests;
    if (request->next != NULL)
        request->next->previous = request;
    stream->requests = stream->current = request;
    stream->n_requests++;
    rlx_oip_request_start(request, stream->call, bytes);
    if (bytes == 0)
        message_complete(stream);
}

static void message_take(rlx_oip_stream_t *stream, const void *data, size_t bytes)
{
    rlx_oip_request_t *request = stream->current;
    rlx_diag_t diag;

    diag.code = RLX_E_NONE;
    RLX_ASSERT(stream->open);
    RLX_ASSERT(bytes <= stream->left);
    stream->left -= bytes;
    if (request != NULL && rlx_oip_decoder_feed(&request->decoder, data, bytes, &diag) != RLX_OK) {
        stream->current = NULL; /* the rest of its message is skipped */
        request_fail(stream, request, &diag);
    }
    if (stream->left == 0)
        message_complete(stream);
}

static size_t pending_bytes(const rlx_oip_stream_t *stream) { return stream->pending.bytes.bytes - stream->pending_at; }

static bool stream_full(const rlx_oip_stream_t *stream) { return stream->n_requests >= STREAM_REQUESTS_MAX; }

/* One step of what waits: a message's begin, or what there is of it. False: nothing can be done now. */
static bool pending_step(rlx_oip_stream_t *stream)
{
    size_t bytes = pending_bytes(stream);
    const char *data;
    uint64_t size;

    if (bytes == 0 || stream->finished || stream->call == NULL)
        return false;
    data = stream->pending.bytes.data + stream->pending_at;
    if (stream->open) {
        bytes = stream->left < bytes ? stream->left : bytes;
        stream->pending_at += bytes;
        message_take(stream, data, bytes);
        return true;
    }
    if (stream_full(stream))
        return false;
    memcpy(&size, data, sizeof size);
    stream->pending_at += sizeof size;
    message_open(stream, size);
    return true;
}

/* Gives back the memory of what was taken out. */
static void pending_trim(rlx_oip_stream_t *stream)
{
    rlx_text_t *text = &stream->pending.bytes;

    if (pending_bytes(stream) == 0) {
        rlx_oip_stage_clear(&stream->pending, true);
        stream->pending_at = 0;
    } else if (stream->pending_at > text->bytes / 2) {
        text->bytes -= stream->pending_at;
        memmove(text->data, text->data + stream->pending_at, text->bytes);
        stream->pending_at = 0;
    }
}

static void stream_free(rlx_oip_stream_t *stream)
{
    while (stream->requests != NULL) {
        rlx_oip_request_t *request = stream->requests;

        list_remove(stream, request);
        rlx_oip_request_leave(request);
    }
    rlx_oip_stage_clear(&stream->pending, false);
    free(stream);
}

/* The client sends nothing more, and nothing waits. */
static void stream_end(rlx_oip_stream_t *stream)
{
    rlx_diag_t diag = {0};

    if (stream->open) {
        rlx_fail(&diag, RLX_E_REQUEST_MALFORMED, "the stream ended %llu bytes before its last message did",
                 (unsigned long long)stream->left);
        stream_finish(stream, &diag);
    } else if (stream->n_requests == 0) {
        stream_finish(stream, NULL);
    }
}

static void stream_leave(rlx_oip_stream_t *stream)
{
    bool hold;

    if (stream->depth > 1) {
        stream->depth--;
        return;
    }
    while (pending_step(stream))
        ;
    pending_trim(stream);
    stream->depth--;
    if (stream->call == NULL) {
        stream_free(stream);
        return;
    }
    if (stream->finished)
        return;
    hold = stream_full(stream) || pending_bytes(stream) > 0;
    if (hold != stream->held) {
        stream->held = hold;
        rlx_rpc_call_hold(stream->call, hold);
    }
    if (stream->half_closed && pending_bytes(stream) == 0)
        stream_end(stream);
}

static void pending_add(rlx_oip_stream_t *stream, const void *data, size_t bytes)
{
    rlx_diag_t diag = {0};

    if (rlx_oip_stage_add(&stream->pending, data, bytes, &diag) == RLX_OK)
        return;
    rlx_diag_hint(&diag, "Read answers while sending: at most %d requests of a stream are worked on at once.", STREAM_REQUESTS_MAX);
    stream_finish(stream, &diag);
}

static void stream_open(rlx_rpc_call_t *call, void *service)
{
    rlx_oip_stream_t *stream = calloc(1, sizeof *stream);

    rlx_rpc_call_set_context(call, stream);
    if (stream == NULL) {
        rlx_rpc_call_finish(call, RLX_RESOURCE_EXHAUSTED, "RLX-1004: no memory for a stream.");
        return;
    }
    stream->call = call;
    stream->oip = service;
    rlx_oip_stage_init(&stream->pending, &stream->oip->staged);
}

static bool stream_message(rlx_rpc_call_t *call, uint64_t bytes)
{
    rlx_oip_stream_t *stream = rlx_rpc_call_context(call);

    if (stream == NULL || stream->finished)
        return false;
    stream_enter(stream);
    if (stream->open || pending_bytes(stream) > 0 || stream_full(stream))
        pending_add(stream, &bytes, sizeof bytes);
    else
        message_open(stream, bytes);
    stream_leave(stream);
    return true;
}

static void stream_data(rlx_rpc_call_t *call, const void *data, size_t bytes)
{
    rlx_oip_stream_t *stream = rlx_rpc_call_context(call);

    if (stream == NULL || stream->finished)
        return;
    stream_enter(stream);
    if (stream->open && pending_bytes(stream) == 0)
        message_take(stream, data, bytes);
    else
        pending_add(stream, data, bytes);
    stream_leave(stream);
}

static void stream_half_close(rlx_rpc_call_t *call)
{
    rlx_oip_stream_t *stream = rlx_rpc_call_context(call);

    if (stream == NULL)
        return;
    stream_enter(stream);
    stream->half_closed = true;
    stream_leave(stream);
}

static void stream_closed(rlx_rpc_call_t *call)
{
    rlx_oip_stream_t *stream = rlx_rpc_call_context(call);

    if (stream == NULL)
        return;
    stream_enter(stream);
    stream->call = NULL;
    stream_leave(stream);
}

const rlx_rpc_method_t rlx_oip_model_stream_infer = {
    .path = "/inference.GRPCInferenceService/ModelStreamInfer",
    .open = stream_open,
    .message = stream_message,
    .data = stream_data,
    .half_close = stream_half_close,
    .closed = stream_closed,
};
