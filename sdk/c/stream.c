/* Streams: many calls on one ModelStreamInfer. A call on a stream lives as any call does (dispatch.c); only its attempt is a message among
 * others instead of a request of its own, and the answer finds it by its number, which is the id on the wire.
 *
 * The request behind a stream opens with the first call that is sent and at the endpoint that this call would go to; when it breaks, its
 * calls are tried again as those of a broken connection are, and the first of them opens the next one. Messages are copied when they are
 * sent, since a call that its user frees must not wait for the socket. Everything but submit and close runs on the driver. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "sdk/c/client.h"

#define NS_PER_MS 1000000ull

/* ---- lifetime ---- */

static void stream_retain(rlx_client_stream_t *stream) { atomic_fetch_add(&stream->references, 1); }

static void stream_release(rlx_client_stream_t *stream)
{
    rlx_client_t *client = stream->client;

    if (atomic_fetch_sub(&stream->references, 1) != 1)
        return;
    RLX_ASSERT(stream->calls == NULL);
    rlx_text_fini(&stream->message);
    free(stream);
    rlx_sdk_client_release(client);
}

int rlx_client_stream_open(rlx_client_t *client, rlx_client_stream_t **out_stream, rlx_client_error_t *error)
{
    rlx_client_stream_t *stream = calloc(1, sizeof *stream);
    rlx_diag_t diag = {0};

    if (stream == NULL)
        return rlx_sdk_error(error, rlx_fail(&diag, RLX_E_NO_MEMORY, "out of memory"), &diag);
    stream->client = client;
    atomic_init(&stream->references, 1);
    atomic_init(&stream->n_calls, 0);
    atomic_init(&stream->last_number, 0);
    stream->endpoint = -1;
    rlx_text_init(&stream->message, client->answer_bytes_max);
    atomic_fetch_add(&client->references, 1);
    *out_stream = stream;
    return 0;
}

void rlx_client_stream_close(rlx_client_stream_t *stream)
{
    rlx_client_t *client;

    if (stream == NULL)
        return;
    client = stream->client;
    pthread_mutex_lock(&client->mutex);
    stream->closed_next = client->closed_streams; /* the user's reference goes with it */
    client->closed_streams = stream;
    rlx_sdk_nudge(client, true);
    pthread_mutex_unlock(&client->mutex);
}

/* ---- the list of calls that wait for an answer ---- */

static void calls_add(rlx_client_stream_t *stream, rlx_client_call_t *call)
{
    rlx_client_call_t **end = &stream->calls;

    while (*end != NULL)
        end = &(*end)->stream_next;
    call->stream_next = NULL;
    *end = call;
}

static void calls_remove(rlx_client_stream_t *stream, const rlx_client_call_t *call)
{
    rlx_client_call_t **at = &stream->calls;

    while (*at != NULL && *at != call)
        at = &(*at)->stream_next;
    if (*at != NULL)
        *at = call->stream_next;
}

static rlx_client_call_t *calls_find(const rlx_client_stream_t *stream, uint64_t number)
{
    rlx_client_call_t *call = stream->calls;

    while (call != NULL && call->number != number)
        call = call->stream_next;
    return call;
}

/* ---- the request behind it ---- */

static void half_close(rlx_client_stream_t *stream)
{
    if (stream->closed && stream->rpc != NULL && atomic_load(&stream->n_calls) == 0 && !stream->half_closed) {
        stream->half_closed = true;
        rlx_rpc_request_half_close(stream->rpc);
    }
}

static bool answer_begin(void *context, uint64_t bytes)
{
    rlx_client_stream_t *stream = context;

    (void)bytes; /* bounded by the channel */
    rlx_text_clear(&stream->message);
    return true;
}

static void answer_data(void *context, const void *data, size_t bytes) { rlx_text_add(&((rlx_client_stream_t *)context)->message, data, bytes); }

/* One call's answer. */
static void answer_give(rlx_client_stream_t *stream, rlx_client_call_t *call, const rlx_stream_answer_t *answer)
{
    const rlx_error_info_t *info = NULL;
    rlx_rpc_end_t end = {.status = RLX_OK, .message = ""};
    char text[RLX_STREAM_ERROR_MAX];

    calls_remove(stream, call);
    call->repeatable = false; /* the stream has one endpoint */
    if (answer->error_bytes > 0) {
        snprintf(text, sizeof text, "%.*s", (int)(answer->error_bytes < sizeof text ? answer->error_bytes : sizeof text - 1), answer->error);
        if (strncmp(text, "RLX-", 4) == 0)
            info = rlx_error_find((int)strtol(text + 4, NULL, 10));
        end.status = info != NULL ? info->status : RLX_INTERNAL;
        end.message = text;
    } else {
        rlx_sdk_infer_ops.message(call, answer->bytes);
        rlx_sdk_infer_ops.data(call, answer->data, answer->bytes);
        rlx_sdk_infer_ops.message_end(call);
    }
    rlx_sdk_call_ended(call, &end);
}

static void answer_end(void *context)
{
    rlx_client_stream_t *stream = context;
    rlx_client_call_t *call = NULL;
    rlx_stream_answer_t answer;

    if (stream->message.full || !rlx_stream_answer_read(stream->message.data, stream->message.bytes, &answer)) {
        stream->broken = true;
        rlx_rpc_request_cancel(stream->rpc); /* comes back as its end */
        return;
    }
    if (answer.has_number)
        call = calls_find(stream, answer.number);
    stream_retain(stream);
    if (call != NULL) /* else it was cancelled meanwhile */
        answer_give(stream, call, &answer);
    half_close(stream);
    stream_release(stream);
}

static void list_leave(rlx_client_stream_t *stream)
{
    rlx_client_stream_t **at = &stream->client->streams;

    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
}

/* The stream is over: nobody gets an answer any more. */
static void stream_done(void *context, const rlx_rpc_end_t *end)
{
    static const rlx_rpc_end_t malformed = {.status = RLX_INTERNAL, .message = "RLX-1703: a message of the stream is no ModelStreamInferResponse"};
    static const rlx_rpc_end_t early = {.status = RLX_UNAVAILABLE, .message = "the server ended the stream before its answer", .lost = true};
    rlx_client_stream_t *stream = context;
    const rlx_rpc_end_t *why = stream->broken ? &malformed : end->status == RLX_OK ? &early : end;
    rlx_client_call_t *last;

    list_leave(stream);
    stream->rpc = NULL;
    stream->broken = stream->half_closed = false;
    for (last = stream->calls; last != NULL; last = last->stream_next)
        last->orphaned = true;
    /* From the front after each: callbacks may free others, and calls that are tried again open the next request. */
    for (;;) {
        rlx_client_call_t *call = stream->calls;

        while (call != NULL && !call->orphaned)
            call = call->stream_next;
        if (call == NULL)
            break;
        calls_remove(stream, call);
        call->orphaned = false;
        call->repeatable = why->lost || why->untouched;
        rlx_sdk_call_ended(call, why);
    }
    stream_release(stream);
}

static const rlx_rpc_request_ops_t stream_ops = {
    .message = answer_begin, .data = answer_data, .message_end = answer_end, .done = stream_done};

/* ---- sending ---- */

typedef struct sent {
    rlx_rpc_message_t message;
    rlx_rpc_slice_t slice;
    char bytes[];
} sent_t;

static void sent_free(void *context) { free(context); }

static rlx_status_t message_send(rlx_client_stream_t *stream, const rlx_infer_request_t *request, rlx_diag_t *diag)
{
    sent_t *sent = malloc(sizeof *sent + request->bytes);
    size_t at = 0;

    if (sent == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a message of %" PRIu64 " bytes", request->bytes);
    for (int i = 0; i < request->n_slices; at += request->slices[i].bytes, i++)
        memcpy(sent->bytes + at, request->slices[i].data, request->slices[i].bytes);
    sent->slice = (rlx_rpc_slice_t){sent->bytes, at};
    sent->message = (rlx_rpc_message_t){.slices = &sent->slice, .n_slices = 1, .released = sent_free, .context = sent};
    rlx_rpc_request_send(stream->rpc, &sent->message);
    return RLX_OK;
}

static rlx_status_t rpc_open(rlx_client_stream_t *stream, int index, rlx_diag_t *diag)
{
    static const rlx_rpc_timeouts_t none = {0}; /* each call has its own */

    RLX_TRY(rlx_rpc_request_begin(stream->client->endpoints[index].channel, "/inference.GRPCInferenceService/ModelStreamInfer", &none,
                                  &stream_ops, stream, &stream->rpc, diag));
    stream_retain(stream); /* until stream_done */
    stream->endpoint = index;
    stream->next = stream->client->streams;
    stream->client->streams = stream;
    return RLX_OK;
}

rlx_status_t rlx_sdk_stream_send(rlx_client_call_t *call, int index, rlx_diag_t *diag)
{
    rlx_client_stream_t *stream = call->stream;

    if (stream->rpc == NULL)
        RLX_TRY(rpc_open(stream, index, diag));
    RLX_ASSERT(stream->endpoint == index);
    RLX_TRY(message_send(stream, &call->request, diag));
    calls_add(stream, call);
    return RLX_OK;
}

void rlx_sdk_stream_cancel(rlx_client_call_t *call)
{
    rlx_client_stream_t *stream = call->stream;
    const rlx_rpc_end_t end = {.status = RLX_CANCELLED, .message = "RLX-1408: cancelled by the caller"};

    call->orphaned = false;
    calls_remove(stream, call);
    rlx_sdk_call_ended(call, &end);
}

uint64_t rlx_sdk_streams_due(const rlx_client_t *client)
{
    uint64_t first_ns = UINT64_MAX;

    for (const rlx_client_stream_t *stream = client->streams; stream != NULL; stream = stream->next)
        for (const rlx_client_call_t *call = stream->calls; call != NULL; call = call->stream_next)
            first_ns = call->deadline_ns < first_ns ? call->deadline_ns : first_ns;
    return first_ns;
}

static rlx_client_call_t *overdue_find(const rlx_client_t *client, uint64_t now_ns)
{
    for (const rlx_client_stream_t *stream = client->streams; stream != NULL; stream = stream->next)
        for (rlx_client_call_t *call = stream->calls; call != NULL; call = call->stream_next)
            if (call->deadline_ns <= now_ns)
                return call;
    return NULL;
}

void rlx_sdk_streams_expire(rlx_client_t *client, uint64_t now_ns)
{
    /* From the front after each: callbacks may change every list. */
    for (rlx_client_call_t *call; (call = overdue_find(client, now_ns)) != NULL;) {
        char text[128];
        const rlx_rpc_end_t end = {.status = RLX_DEADLINE_EXCEEDED, .message = text};

        snprintf(text, sizeof text, "RLX-%04d: the timeout of %u ms ran out before the answer on the stream", (int)RLX_E_CLIENT_TIMEOUT,
                 call->timeouts.total_ms);
        calls_remove(call->stream, call);
        rlx_sdk_call_ended(call, &end);
    }
}

void rlx_sdk_stream_left(rlx_client_stream_t *stream)
{
    atomic_fetch_sub(&stream->n_calls, 1);
    half_close(stream);
    stream_release(stream);
}

void rlx_sdk_streams_close(rlx_client_t *client)
{
    for (;;) {
        rlx_client_stream_t *stream;

        pthread_mutex_lock(&client->mutex);
        stream = client->closed_streams;
        if (stream != NULL)
            client->closed_streams = stream->closed_next;
        pthread_mutex_unlock(&client->mutex);
        if (stream == NULL)
            return;
        stream->closed = true;
        half_close(stream);
        stream_release(stream);
    }
}

/* ---- submitting ---- */

int rlx_client_stream_submit(rlx_client_stream_t *stream, const rlx_client_request_t *request, rlx_client_done_fn_t *done, void *context,
                             rlx_client_call_t **out_call, rlx_client_error_t *error)
{
    rlx_diag_t diag = {0};

    return rlx_sdk_error(error, rlx_sdk_infer_submit(stream->client, stream, request, done, context, out_call, &diag), &diag);
}

void rlx_sdk_stream_unjoin(rlx_client_call_t *call)
{
    rlx_client_stream_t *stream = call->stream;

    call->stream = NULL;
    if (stream == NULL)
        return;
    atomic_fetch_sub(&stream->n_calls, 1);
    stream_release(stream);
}

void rlx_sdk_stream_join(rlx_client_stream_t *stream, rlx_client_call_t *call)
{
    stream_retain(stream); /* until rlx_sdk_stream_left */
    atomic_fetch_add(&stream->n_calls, 1);
    call->stream = stream;
    call->number = atomic_fetch_add(&stream->last_number, 1) + 1;
    snprintf(call->wire_id, sizeof call->wire_id, "%" PRIu64, call->number);
}
