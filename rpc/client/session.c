/* The nghttp2 session of a channel: what the server sends becomes answers, ends of requests and news of the connection. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/client/channel.h"

#define INPUT_BYTES 65536
#define READS_MAX 16 /* in a row, before other channels get their turn */

/* Percent-decoded, cut to the slot's size. */
static void text_decode(char *to, size_t size, const uint8_t *from, size_t bytes)
{
    size_t at = 0;

    for (size_t i = 0; i < bytes && at + 1 < size; i++) {
        unsigned value;
        char digits[3] = {0};

        if (from[i] == '%' && i + 2 < bytes) {
            memcpy(digits, from + i + 1, 2);
            if (sscanf(digits, "%2x", &value) == 1 && value != 0) {
                to[at++] = (char)value;
                i += 2;
                continue;
            }
        }
        to[at++] = (char)from[i];
    }
    to[at] = '\0';
}

static int number_decode(const uint8_t *text, size_t bytes)
{
    int value = 0;

    if (bytes == 0 || bytes > 3)
        return -1;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

static bool name_is(const uint8_t *name, size_t bytes, const char *wanted)
{
    return bytes == strlen(wanted) && memcmp(name, wanted, bytes) == 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_bytes, const uint8_t *value,
                     size_t value_bytes, uint8_t flags, void *user)
{
    rlx_rpc_request_t *request = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

    (void)flags, (void)user;
    if (request == NULL)
        return 0;
    if (name_is(name, name_bytes, ":status"))
        request->http_status = number_decode(value, value_bytes);
    else if (name_is(name, name_bytes, "grpc-status"))
        request->grpc_status = number_decode(value, value_bytes);
    else if (name_is(name, name_bytes, "grpc-message"))
        text_decode(request->text, sizeof request->text, value, value_bytes);
    return 0;
}

static void phase_receive(rlx_rpc_request_t *request)
{
    if (request->phase == RLX_RPC_RECEIVING)
        return;
    request->phase = RLX_RPC_RECEIVING;
    request->phase_ns = rlx_rpc_deadline_ns(request->timeouts.transfer_ms);
    rlx_rpc_request_watch(request->channel, request->phase_ns);
}

/* The five bytes before a message are complete. False: the request ended. */
static bool message_open(rlx_rpc_request_t *request)
{
    const uint8_t *prefix = request->prefix;
    uint64_t bytes = (uint64_t)prefix[1] << 24 | (uint64_t)prefix[2] << 16 | (uint64_t)prefix[3] << 8 | prefix[4];
    char text[160];

    if (prefix[0] != 0) {
        rlx_rpc_request_reset(request, RLX_INTERNAL, "RLX-1703: the answer is compressed, which was not offered");
        return false;
    }
    if (bytes > request->channel->options.message_bytes_max) {
        snprintf(text, sizeof text, "RLX-1610: the answer has %llu bytes, this client takes %llu", (unsigned long long)bytes,
                 (unsigned long long)request->channel->options.message_bytes_max);
        rlx_rpc_request_reset(request, RLX_RESOURCE_EXHAUSTED, text);
        return false;
    }
    request->in_message = true;
    request->message_left = bytes;
    if (request->ops->message == NULL || request->ops->message(request->context, bytes))
        return true;
    if (request->open)
        rlx_rpc_request_reset(request, RLX_CANCELLED, "answer not wanted");
    return false;
}

/* Takes what belongs to the next prefix or message. Returns the bytes used; SIZE_MAX: the request ended. */
static size_t answer_take(rlx_rpc_request_t *request, int32_t stream, const uint8_t *data, size_t bytes)
{
    size_t take;

    if (!request->in_message) {
        take = sizeof request->prefix - (size_t)request->prefix_bytes;
        take = take < bytes ? take : bytes;
        memcpy(request->prefix + request->prefix_bytes, data, take);
        request->prefix_bytes += (int)take;
        if (request->prefix_bytes < (int)sizeof request->prefix)
            return take;
        request->prefix_bytes = 0;
        if (!message_open(request))
            return SIZE_MAX;
    } else {
        take = request->message_left < bytes ? (size_t)request->message_left : bytes;
        request->message_left -= take;
        if (take > 0 && request->ops->data != NULL)
            request->ops->data(request->context, data, take);
    }
    if (!request->open || request->stream != stream)
        return SIZE_MAX;
    if (request->message_left == 0) {
        request->in_message = false;
        if (request->ops->message_end != NULL)
            request->ops->message_end(request->context);
        if (!request->open || request->stream != stream)
            return SIZE_MAX;
    }
    return take;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t bytes, void *user)
{
    rlx_rpc_request_t *request = nghttp2_session_get_stream_user_data(session, stream);

    (void)flags, (void)user;
    if (request == NULL)
        return 0;
    phase_receive(request);
    while (bytes > 0) {
        size_t used = answer_take(request, stream, data, bytes);

        if (used == SIZE_MAX)
            return 0;
        data += used;
        bytes -= used;
    }
    return 0;
}

static rlx_status_t status_of_http(int http)
{
    switch (http) {
    case 404: return RLX_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504: return RLX_UNAVAILABLE;
    default: return RLX_INTERNAL;
    }
}

/* The stream closed without an HTTP/2 error: what do the trailers say? */
static void request_finish(rlx_rpc_request_t *request)
{
    char text[128];

    if (request->grpc_status < 0) {
        snprintf(text, sizeof text, "RLX-1703: the answer has HTTP status %d and no grpc-status: is this a gRPC server?",
                 request->http_status);
        rlx_rpc_request_end(request, status_of_http(request->http_status), text, false);
    } else if (request->grpc_status == 0 && (request->in_message || request->prefix_bytes != 0))
        rlx_rpc_request_end(request, RLX_INTERNAL, "RLX-1703: the answer was cut off", false);
    else
        rlx_rpc_request_end(request, (rlx_status_t)request->grpc_status, request->text, false);
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t error, void *user)
{
    rlx_rpc_channel_t *channel = user;
    rlx_rpc_request_t *request = nghttp2_session_get_stream_user_data(session, stream);
    char text[128];

    if (request != NULL) {
        if (error == NGHTTP2_NO_ERROR || (error == NGHTTP2_CANCEL && request->grpc_status >= 0))
            request_finish(request);
        else if (error == NGHTTP2_REFUSED_STREAM || !request->left)
            rlx_rpc_request_end(request, RLX_UNAVAILABLE, "RLX-1701: the server refused the stream", true);
        else {
            snprintf(text, sizeof text, "RLX-1701: the server reset the stream: %s", nghttp2_http2_strerror(error));
            rlx_rpc_request_end(request, error == NGHTTP2_CANCEL              ? RLX_CANCELLED
                                         : error == NGHTTP2_ENHANCE_YOUR_CALM ? RLX_RESOURCE_EXHAUSTED
                                                                              : RLX_UNAVAILABLE, text, false);
        }
    }
    if (channel->draining && channel->n_open == 0)
        rlx_rpc_channel_drained(channel);
    return 0;
}

/* The server has said everything, before it has heard everything: the rest of the request is of no use to it (RFC 9113, 8.1). */
static void answered_early(rlx_rpc_channel_t *channel, int32_t stream)
{
    rlx_rpc_request_t *request = nghttp2_session_get_stream_user_data(channel->session, stream);

    if (request == NULL || nghttp2_session_get_stream_local_close(channel->session, stream) != 0)
        return; /* the stream closes by itself */
    nghttp2_submit_rst_stream(channel->session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_NO_ERROR);
    rlx_rpc_channel_schedule(channel);
    request_finish(request);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    rlx_rpc_channel_t *channel = user;
    rlx_rpc_request_t *request;

    switch (frame->hd.type) {
    case NGHTTP2_SETTINGS:
        if (channel->state == RLX_RPC_CONNECTING && !(frame->hd.flags & NGHTTP2_FLAG_ACK))
            rlx_rpc_channel_ready(channel);
        break;
    case NGHTTP2_GOAWAY: rlx_rpc_channel_refuse_new(channel); break;
    case NGHTTP2_PING: channel->pinged = false; break;
    case NGHTTP2_HEADERS:
        request = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
        if (request != NULL)
            phase_receive(request);
        break;
    default: break;
    }
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
        answered_early(channel, frame->hd.stream_id);
    return 0;
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    rlx_rpc_request_t *request;

    (void)user;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    request = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (request != NULL)
        request->left = true;
    return 0;
}

/* ---- the session ---- */

static rlx_status_t session_create(rlx_rpc_channel_t *channel)
{
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    int failed = NGHTTP2_ERR_NOMEM;

    if (nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0) {
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
        nghttp2_session_callbacks_set_send_data_callback(callbacks, rlx_rpc_output_data);
        nghttp2_option_set_no_closed_streams(option, 1);
        failed = nghttp2_session_client_new2(&channel->session, callbacks, channel, option);
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return failed == 0 ? RLX_OK : RLX_RESOURCE_EXHAUSTED;
}

rlx_status_t rlx_rpc_session_start(rlx_rpc_channel_t *channel, rlx_diag_t *diag)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, channel->options.window_bytes},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 16384},
    };

    if (channel->input == NULL)
        channel->input = malloc(INPUT_BYTES);
    if (channel->input == NULL || session_create(channel) != RLX_OK ||
        nghttp2_submit_settings(channel->session, NGHTTP2_FLAG_NONE, settings, 3) != 0 ||
        nghttp2_session_set_local_window_size(channel->session, NGHTTP2_FLAG_NONE, 0, (int32_t)channel->options.window_bytes) != 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    channel->heard_ns = uv_hrtime();
    channel->pinged = false;
    return RLX_OK;
}

void rlx_rpc_session_stop(rlx_rpc_channel_t *channel, rlx_status_t status, const char *why)
{
    nghttp2_session *session = channel->session;

    channel->session = NULL;
    uv_prepare_stop(&channel->prepare);
    uv_timer_stop(&channel->watch);
    channel->watch_ns = UINT64_MAX;
    while (channel->open != NULL)
        rlx_rpc_request_end(channel->open, status, why, !channel->open->left);
    rlx_rpc_output_clear(channel);
    nghttp2_session_del(session);
}

/* False: the channel is not what it was. */
static bool session_feed(rlx_rpc_channel_t *channel, size_t bytes)
{
    ssize_t rc;

    channel->heard_ns = uv_hrtime();
    channel->in_session = true;
    rc = nghttp2_session_mem_recv(channel->session, channel->input, bytes);
    channel->in_session = false;
    if (!rlx_rpc_channel_settle(channel))
        return false;
    if (rc >= 0)
        return true;
    rlx_rpc_channel_break(channel, RLX_E_ANSWER_MALFORMED, "the server does not speak HTTP/2: %s", nghttp2_strerror((int)rc));
    return false;
}

void rlx_rpc_session_read(rlx_rpc_channel_t *channel)
{
    for (int i = 0; i < READS_MAX || rlx_rpc_link_pending(channel->wire); i++) {
        ssize_t rc = rlx_rpc_link_read(channel->wire, channel->input, INPUT_BYTES);

        if (rc == -EAGAIN)
            return;
        if (rc <= 0) {
            rlx_rpc_channel_break(channel, RLX_E_CONNECT, "the connection broke: %s",
                                  rc == 0 ? "the server closed it" : strerror((int)-rc));
            return;
        }
        if (!session_feed(channel, (size_t)rc))
            return;
        /* A short read emptied the socket; the next poll would tell otherwise. */
        if (rc < INPUT_BYTES && channel->tls == NULL)
            return;
    }
}
