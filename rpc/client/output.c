/* From nghttp2 to the socket: frame heads are copied into a small buffer, payload goes by reference, everything leaves in one write. The
 * bound stands in the data callback, since one mem_send would otherwise hand over frame after frame. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "rpc/client/channel.h"

#define FRAME_HEAD 9
#define FRAME_MAX 16384
#define ASK_PIECES_MAX 200 /* slices in one frame */

static void output_push(rlx_rpc_output_t *output, const void *data, size_t bytes, rlx_rpc_request_t *owner)
{
    if (bytes == 0)
        return;
    output->bytes += bytes;
    if (owner == NULL && output->count > output->first && output->owners[output->count - 1] == NULL) {
        struct iovec *last = &output->pieces[output->count - 1];

        if ((const uint8_t *)last->iov_base + last->iov_len == data) {
            last->iov_len += bytes;
            return;
        }
    }
    RLX_ASSERT(output->count < RLX_RPC_OUTPUT_PIECES);
    output->pieces[output->count] = (struct iovec){(void *)data, bytes};
    output->owners[output->count] = owner;
    output->ends[output->count] = NULL;
    output->copies[output->count] = NULL;
    output->count++;
}

static void output_copy(rlx_rpc_output_t *output, const void *data, size_t bytes)
{
    RLX_ASSERT(output->heads_bytes + bytes <= sizeof output->heads);
    memcpy(output->heads + output->heads_bytes, data, bytes);
    output_push(output, output->heads + output->heads_bytes, bytes, NULL);
    output->heads_bytes += bytes;
}

/* The rest of slice `index` of a message (-1: the prefix). */
static rlx_rpc_slice_t message_rest(const rlx_rpc_message_t *message, int index)
{
    rlx_rpc_slice_t slice = index < 0 ? (rlx_rpc_slice_t){message->prefix, sizeof message->prefix} : message->slices[index];

    if (index == message->slice) {
        slice.data = (const uint8_t *)slice.data + message->offset;
        slice.bytes -= message->offset;
    }
    return slice;
}

/* How much of the first message fits in a frame of `length`; false when that is not all of it. */
static bool message_measure(const rlx_rpc_message_t *message, size_t length, size_t *out_bytes)
{
    size_t bytes = 0;
    int pieces = 0;

    for (int i = message->slice; i < message->n_slices; i++) {
        size_t rest = message_rest(message, i).bytes;

        if (pieces == ASK_PIECES_MAX || rest > length - bytes) {
            *out_bytes = pieces == ASK_PIECES_MAX ? bytes : length;
            return false;
        }
        bytes += rest;
        pieces += rest > 0;
    }
    *out_bytes = bytes;
    return true;
}

ssize_t rlx_rpc_output_ask(nghttp2_session *session, int32_t stream, uint8_t *to, size_t length, uint32_t *flags,
                           nghttp2_data_source *source, void *user)
{
    rlx_rpc_request_t *request = nghttp2_session_get_stream_user_data(session, stream);
    size_t bytes = 0;
    bool whole = true;

    (void)to, (void)source, (void)user;
    if (request == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (request->first == NULL && !request->half_closed) {
        request->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    if (request->first != NULL)
        whole = message_measure(request->first, length < FRAME_MAX ? length : FRAME_MAX, &bytes);
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (whole && request->half_closed && (request->first == NULL || request->first->next == NULL))
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)bytes;
}

static void message_advance(rlx_rpc_request_t *request, size_t bytes, rlx_rpc_output_t *output)
{
    rlx_rpc_message_t *message = request->first;

    while (message->slice < message->n_slices) {
        rlx_rpc_slice_t rest = message_rest(message, message->slice);
        size_t take = rest.bytes < bytes ? rest.bytes : bytes;

        output_push(output, rest.data, take, request);
        bytes -= take;
        if (take < rest.bytes) {
            message->offset += take;
            return;
        }
        message->slice++;
        message->offset = 0;
        if (bytes == 0 && message->slice < message->n_slices && message_rest(message, message->slice).bytes > 0)
            return;
    }
    output->ends[output->count - 1] = message;
    request->first = message->next;
    if (request->first == NULL)
        request->last = NULL;
}

int rlx_rpc_output_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t length, nghttp2_data_source *source,
                        void *user)
{
    rlx_rpc_channel_t *channel = user;
    rlx_rpc_output_t *output = &channel->output;
    rlx_rpc_request_t *request = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

    (void)source;
    if (request == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (output->bytes > 0 &&
        (output->bytes + length > RLX_RPC_OUTPUT_BYTES_MAX || output->count + ASK_PIECES_MAX + 2 > RLX_RPC_OUTPUT_PIECES ||
         output->heads_bytes + FRAME_HEAD > sizeof output->heads))
        return NGHTTP2_ERR_WOULDBLOCK;
    output_copy(output, head, FRAME_HEAD);
    if (length > 0)
        message_advance(request, length, output);
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        request->phase = RLX_RPC_COMPUTING;
        request->phase_ns = rlx_rpc_deadline_ns(request->timeouts.compute_ms);
        rlx_rpc_request_watch(channel, request->phase_ns);
        if (request->ops->sent != NULL)
            request->ops->sent(request->context);
    }
    return 0;
}

static void message_release(rlx_rpc_message_t *message)
{
    if (message->released != NULL)
        message->released(message->context);
}

static void output_reset(rlx_rpc_output_t *output)
{
    output->first = output->count = 0;
    output->bytes = output->heads_bytes = 0;
}

/* `bytes` of the queue were written. */
static void output_advance(rlx_rpc_output_t *output, size_t bytes)
{
    output->bytes -= bytes;
    while (output->first < output->count) {
        struct iovec *piece = &output->pieces[output->first];
        rlx_rpc_message_t *ends = output->ends[output->first];

        if (piece->iov_len > bytes) {
            piece->iov_base = (uint8_t *)piece->iov_base + bytes;
            piece->iov_len -= bytes;
            return;
        }
        bytes -= piece->iov_len;
        free(output->copies[output->first]);
        output->first++;
        if (ends != NULL)
            message_release(ends);
    }
    output_reset(output);
}

void rlx_rpc_output_clear(rlx_rpc_channel_t *channel)
{
    rlx_rpc_output_t *output = &channel->output;

    for (int i = output->first; i < output->count; i++)
        free(output->copies[i]);
    output_reset(output);
}

void rlx_rpc_output_detach(rlx_rpc_channel_t *channel, rlx_rpc_request_t *request)
{
    rlx_rpc_output_t *output = &channel->output;
    size_t bytes = 0, at = 0;
    uint8_t *copy = NULL;

    for (int i = output->first; i < output->count; i++)
        if (output->owners[i] == request)
            bytes += output->pieces[i].iov_len;
    if (bytes > 0)
        copy = malloc(bytes);
    if (bytes > 0 && copy == NULL)
        channel->broken = true; /* the frames can't be finished; settle tears the connection down */
    for (int i = output->first; i < output->count; i++) {
        rlx_rpc_message_t *ends = output->ends[i];

        if (output->owners[i] != request)
            continue;
        if (copy != NULL) {
            memcpy(copy + at, output->pieces[i].iov_base, output->pieces[i].iov_len);
            output->pieces[i].iov_base = copy + at;
            at += output->pieces[i].iov_len;
            if (at == bytes)
                output->copies[i] = copy;
        } else
            output->pieces[i] = (struct iovec){output->heads, 0};
        output->owners[i] = NULL;
        output->ends[i] = NULL;
        if (ends != NULL)
            message_release(ends);
    }
    while (request->first != NULL) {
        rlx_rpc_message_t *message = request->first;

        request->first = message->next;
        message_release(message);
    }
    request->last = NULL;
}

static void output_fill(rlx_rpc_channel_t *channel)
{
    rlx_rpc_output_t *output = &channel->output;
    const uint8_t *data;
    ssize_t bytes;

    while (output->bytes < RLX_RPC_OUTPUT_BYTES_MAX && output->count + 1 < RLX_RPC_OUTPUT_PIECES &&
           output->heads_bytes + FRAME_HEAD + FRAME_MAX + FRAME_HEAD <= sizeof output->heads) {
        bytes = nghttp2_session_mem_send(channel->session, &data);
        if (bytes < 0)
            channel->broken = true;
        if (bytes <= 0 || channel->broken || channel->closing)
            return;
        output_copy(output, data, (size_t)bytes);
    }
}

static void link_ready(uv_poll_t *poll, int status, int events)
{
    rlx_rpc_link_t *link = (rlx_rpc_link_t *)poll;
    rlx_rpc_channel_t *channel = link->owner;

    if (status < 0 || (events & UV_READABLE)) {
        rlx_rpc_session_read(channel);
        if (channel->session == NULL || channel->wire != link)
            return;
    }
    rlx_rpc_channel_flush(channel);
}

void rlx_rpc_channel_flush(rlx_rpc_channel_t *channel)
{
    rlx_rpc_output_t *output = &channel->output;
    bool blocked = false;

    if (channel->session == NULL || channel->in_session)
        return;
    uv_prepare_stop(&channel->prepare);
    while (!blocked) {
        ssize_t rc;

        if (output->count == 0) {
            channel->in_session = true;
            output_fill(channel);
            channel->in_session = false;
            if (!rlx_rpc_channel_settle(channel))
                return;
        }
        if (output->count == 0)
            break;
        rc = rlx_rpc_link_write(channel->wire, output->pieces + output->first, output->count - output->first);
        if (rc < 0 && rc != -EAGAIN) {
            rlx_rpc_channel_break(channel, RLX_E_CONNECT, "the connection broke: %s", strerror((int)-rc));
            return;
        }
        if (rc > 0) {
            channel->in_session = true; /* released() may begin or end requests */
            output_advance(output, (size_t)rc);
            channel->in_session = false;
            if (!rlx_rpc_channel_settle(channel))
                return;
        }
        blocked = rc < 0 || (output->count > 0 && channel->tls == NULL);
    }
    rlx_rpc_link_wait(channel->wire, blocked, link_ready);
    if (!nghttp2_session_want_read(channel->session) && !nghttp2_session_want_write(channel->session) && !blocked)
        rlx_rpc_channel_break(channel, RLX_E_CONNECT,
                              channel->state == RLX_RPC_CONNECTING ? "the server does not speak HTTP/2 here"
                                                                   : "the server broke the rules of HTTP/2");
}
