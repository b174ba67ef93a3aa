/* Requests: from begin to `done`, and their deadlines.
 *
 * A request ends in one place, rlx_rpc_request_end: its stream forgets it, its memory goes back, `done` runs. Everything else only finds
 * out that it is over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "rpc/client/channel.h"

#define NS_PER_MS 1000000ull

uint64_t rlx_rpc_deadline_ns(uint32_t ms) { return ms == 0 ? UINT64_MAX : uv_hrtime() + ms * NS_PER_MS; }

/* ---- the end of a request ---- */

/* From the open ones to the free ones. */
static void slot_close(rlx_rpc_request_t *request)
{
    rlx_rpc_channel_t *channel = request->channel;

    request->open = false;
    *request->link = request->next;
    if (request->next != NULL)
        request->next->link = request->link;
    channel->n_open--;
    request->next = channel->free_slots;
    channel->free_slots = request;
}

void rlx_rpc_request_end(rlx_rpc_request_t *request, rlx_status_t status, const char *text, bool untouched)
{
    rlx_rpc_channel_t *channel = request->channel;
    char message[RLX_RPC_END_TEXT];
    rlx_rpc_end_t end = {
        .status = status, .message = message, .untouched = untouched, .lost = channel->session == NULL && !channel->closing};

    RLX_ASSERT(request->open);
    snprintf(message, sizeof message, "%s", text);
    if (channel->session != NULL && request->stream >= 0)
        nghttp2_session_set_stream_user_data(channel->session, request->stream, NULL);
    rlx_rpc_output_detach(channel, request);
    slot_close(request);
    request->ops->done(request->context, &end);
}

void rlx_rpc_request_reset(rlx_rpc_request_t *request, rlx_status_t status, const char *text)
{
    rlx_rpc_channel_t *channel = request->channel;

    nghttp2_submit_rst_stream(channel->session, NGHTTP2_FLAG_NONE, request->stream, NGHTTP2_CANCEL);
    rlx_rpc_channel_schedule(channel);
    rlx_rpc_request_end(request, status, text, !request->left);
}

void rlx_rpc_request_cancel(rlx_rpc_request_t *request)
{
    rlx_rpc_channel_t *channel = request->channel;

    rlx_rpc_request_reset(request, RLX_CANCELLED, "cancelled by the caller");
    if (!channel->in_session)
        rlx_rpc_channel_settle(channel);
}

/* ---- deadlines ---- */

static void request_expire(rlx_rpc_request_t *request, uint64_t now_ns)
{
    static const char *const phases[] = {"sending the request", "computing", "receiving the answer"};
    char text[160];
    bool total = now_ns >= request->deadline_ns;

    snprintf(text, sizeof text, "RLX-1702: no answer in time: %s of %u ms ran out while %s", total ? "the timeout" : "the limit",
             total                                  ? request->timeouts.total_ms
             : request->phase == RLX_RPC_COMPUTING ? request->timeouts.compute_ms
                                                    : request->timeouts.transfer_ms,
             phases[request->phase]);
    rlx_rpc_request_reset(request, RLX_DEADLINE_EXCEEDED, text);
}

static void keepalive_check(rlx_rpc_channel_t *channel)
{
    uint64_t limit_ns = channel->options.keepalive_ms * NS_PER_MS, now_ns = uv_hrtime(); /* not before heard_ns */

    if (limit_ns == 0 || channel->n_open == 0)
        return;
    if (now_ns - channel->heard_ns >= 2 * limit_ns && channel->pinged) {
        rlx_rpc_channel_break(channel, RLX_E_CONNECT, "the server does not answer a PING");
        return;
    }
    if (now_ns - channel->heard_ns >= limit_ns && !channel->pinged) {
        channel->pinged = true;
        nghttp2_submit_ping(channel->session, NGHTTP2_FLAG_NONE, NULL);
        rlx_rpc_channel_schedule(channel);
    }
    rlx_rpc_request_watch(channel, channel->heard_ns + (channel->pinged ? 2 : 1) * limit_ns);
}

static void watch_fired(uv_timer_t *timer)
{
    rlx_rpc_channel_t *channel = timer->data;
    uint64_t now_ns = uv_hrtime(), next_ns = UINT64_MAX;
    rlx_rpc_request_t *request = channel->open;

    channel->watch_ns = UINT64_MAX;
    while (request != NULL) {
        uint64_t at_ns = request->deadline_ns < request->phase_ns ? request->deadline_ns : request->phase_ns;

        if (at_ns <= now_ns) {
            request_expire(request, now_ns);
            if (channel->closing || channel->session == NULL || !rlx_rpc_channel_settle(channel))
                return;
            request = channel->open; /* the list may be another one now */
            next_ns = UINT64_MAX;
            continue;
        }
        next_ns = at_ns < next_ns ? at_ns : next_ns;
        request = request->next;
    }
    rlx_rpc_request_watch(channel, next_ns);
    keepalive_check(channel);
}

void rlx_rpc_request_watch(rlx_rpc_channel_t *channel, uint64_t at_ns)
{
    uint64_t now_ns;

    if (at_ns >= channel->watch_ns)
        return;
    now_ns = uv_hrtime();
    channel->watch_ns = at_ns;
    uv_update_time(channel->options.loop);
    uv_timer_start(&channel->watch, watch_fired, at_ns <= now_ns ? 0 : (at_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS, 0);
}

/* ---- begin, send ---- */

static rlx_rpc_request_t *slot_take(rlx_rpc_channel_t *channel)
{
    rlx_rpc_request_t *request = channel->free_slots;

    if (request != NULL) {
        channel->free_slots = request->next;
        return request;
    }
    if (channel->n_slots >= channel->options.requests_max)
        return NULL;
    request = malloc(sizeof *request);
    if (request != NULL)
        channel->n_slots++;
    return request;
}

static void slot_open(rlx_rpc_channel_t *channel, rlx_rpc_request_t *request, const rlx_rpc_timeouts_t *timeouts,
                      const rlx_rpc_request_ops_t *ops, void *context)
{
    request->channel = channel;
    request->ops = ops;
    request->context = context;
    request->open = true;
    request->half_closed = request->deferred = request->left = request->in_message = false;
    request->first = request->last = NULL;
    request->phase = RLX_RPC_SENDING;
    request->timeouts = *timeouts;
    request->deadline_ns = rlx_rpc_deadline_ns(timeouts->total_ms);
    request->phase_ns = rlx_rpc_deadline_ns(timeouts->transfer_ms);
    request->prefix_bytes = 0;
    request->message_left = 0;
    request->http_status = request->grpc_status = -1;
    request->text[0] = '\0';
    request->stream = -1;
    request->next = channel->open;
    request->link = &channel->open;
    if (request->next != NULL)
        request->next->link = &request->next;
    channel->open = request;
    channel->n_open++;
}

static nghttp2_nv header(const char *name, const char *value, uint8_t flags)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), flags};
}

static int32_t request_submit(rlx_rpc_channel_t *channel, rlx_rpc_request_t *request, const char *path)
{
    const nghttp2_data_provider body = {.read_callback = rlx_rpc_output_ask};
    uint32_t ms = request->timeouts.total_ms;
    char timeout[16];

    /* At most eight digits: above a day, seconds. */
    snprintf(timeout, sizeof timeout, ms < 100000000 ? "%um" : "%uS", ms < 100000000 ? ms : ms / 1000);
    const nghttp2_nv headers[] = {
        header(":method", "POST", 0),
        header(":scheme", channel->tls != NULL ? "https" : "http", 0),
        header(":path", path, 0),
        header(":authority", channel->authority, 0),
        header("te", "trailers", 0),
        header("content-type", "application/grpc", 0),
        header("user-agent", "grpc-c-rlx/0.1", 0),
        header("grpc-timeout", timeout, NGHTTP2_NV_FLAG_NO_INDEX),
    };
    return nghttp2_submit_request(channel->session, NULL, headers, ms > 0 ? 8 : 7, &body, request);
}

rlx_status_t rlx_rpc_request_begin(rlx_rpc_channel_t *channel, const char *path, const rlx_rpc_timeouts_t *timeouts,
                                   const rlx_rpc_request_ops_t *ops, void *context, rlx_rpc_request_t **out_request, rlx_diag_t *diag)
{
    rlx_rpc_request_t *request;

    if (channel->state != RLX_RPC_READY)
        return rlx_fail(diag, RLX_E_CONNECT, "the connection is not ready: %s",
                        channel->diag.message[0] != '\0' ? channel->diag.message : "it is being made");
    request = slot_take(channel);
    if (request == NULL)
        return rlx_fail(diag, RLX_E_QUEUE_FULL, "%u requests are open on this connection, its limit is %u", channel->n_open,
                        channel->options.requests_max);
    slot_open(channel, request, timeouts, ops, context);
    request->stream = request_submit(channel, request, path);
    if (request->stream < 0) {
        int failed = request->stream;

        slot_close(request);
        if (failed == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE)
            rlx_rpc_channel_refuse_new(channel); /* 2^30 requests: the next connection counts anew */
        return rlx_fail(diag, RLX_E_CONNECT, "the request cannot begin: %s", nghttp2_strerror(failed));
    }
    rlx_rpc_request_watch(channel, request->deadline_ns < request->phase_ns ? request->deadline_ns : request->phase_ns);
    if (channel->options.keepalive_ms > 0) {
        if (channel->n_open == 1)
            channel->heard_ns = uv_hrtime();
        rlx_rpc_request_watch(channel, channel->heard_ns + channel->options.keepalive_ms * NS_PER_MS);
    }
    rlx_rpc_channel_schedule(channel);
    *out_request = request;
    return RLX_OK;
}

static void request_resume(rlx_rpc_request_t *request)
{
    if (request->deferred) {
        request->deferred = false;
        nghttp2_session_resume_data(request->channel->session, request->stream);
    }
    rlx_rpc_channel_schedule(request->channel);
}

void rlx_rpc_request_send(rlx_rpc_request_t *request, rlx_rpc_message_t *message)
{
    uint64_t bytes = 0;

    RLX_ASSERT(request->open);
    RLX_ASSERT(!request->half_closed);
    for (int i = 0; i < message->n_slices; i++)
        bytes += message->slices[i].bytes;
    RLX_ASSERT(bytes <= UINT32_MAX);
    message->prefix[0] = 0;
    for (int i = 0; i < 4; i++)
        message->prefix[1 + i] = (uint8_t)(bytes >> (24 - 8 * i));
    message->slice = -1;
    message->offset = 0;
    message->next = NULL;
    if (request->last != NULL)
        request->last->next = message;
    else
        request->first = message;
    request->last = message;
    request_resume(request);
}

void rlx_rpc_request_half_close(rlx_rpc_request_t *request)
{
    RLX_ASSERT(request->open);
    request->half_closed = true;
    request_resume(request);
}
