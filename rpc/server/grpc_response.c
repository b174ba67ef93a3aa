/* The response as nghttp2 asks for it: how much DATA there is, then, for each frame, the bytes themselves into the server's batch. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "rpc/server/inside.h"

static void trailers_submit(nghttp2_session *session, rlx_rpc_call_t *call)
{
    static const nghttp2_nv ok[] = {
        {(uint8_t *)"grpc-status", (uint8_t *)"0", 11, 1, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE}};
    char status[12], encoded[STATUS_TEXT_MAX * 3 + 1];
    nghttp2_nv trailers[2];

    call->ended = true;
    if (call->status == RLX_OK && call->status_text == NULL) {
        nghttp2_submit_trailer(session, call->stream, ok, 1);
        return;
    }
    snprintf(status, sizeof status, "%d", (int)call->status);
    encoded[0] = '\0';
    if (call->status_text != NULL)
        rlx_grpc_message_encode(call->status_text, encoded, sizeof encoded);
    trailers[0] = (nghttp2_nv){(uint8_t *)"grpc-status", (uint8_t *)status, 11, strlen(status), NGHTTP2_NV_FLAG_NO_COPY_NAME};
    trailers[1] = (nghttp2_nv){(uint8_t *)"grpc-message", (uint8_t *)encoded, 12, strlen(encoded), NGHTTP2_NV_FLAG_NO_COPY_NAME};
    nghttp2_submit_trailer(session, call->stream, trailers, encoded[0] != '\0' ? 2 : 1);
}

ssize_t rlx_rpc_call_read(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t length, uint32_t *flags,
                          nghttp2_data_source *source, void *user)
{
    rlx_rpc_call_t *call = source->ptr;
    size_t n = call->queued < length ? (size_t)call->queued : length;

    (void)stream;
    (void)buffer;
    (void)user;
    if (n == 0 && !call->finished) {
        call->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (call->finished && n == call->queued) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        trailers_submit(session, call);
    }
    return (ssize_t)n;
}

int rlx_rpc_call_data_out(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t length, nghttp2_data_source *source,
                          void *user)
{
    rlx_rpc_conn_t *conn = user;
    rlx_rpc_batch_t *batch = conn->server->batch;
    rlx_rpc_call_t *call = source->ptr;

    (void)session;
    (void)frame;
    if (rlx_rpc_batch_full(conn, batch))
        return NGHTTP2_ERR_WOULDBLOCK;
    rlx_rpc_batch_bytes(batch, head, 9);
    RLX_ASSERT(length <= call->queued);
    call->queued -= length;
    rlx_rpc_budget_earn(conn, 2, 0);
    while (length > 0) {
        rlx_rpc_reply_t *message = call->queue;
        size_t n = message->left < length ? (size_t)message->left : length;

        rlx_rpc_batch_reply(batch, message, n);
        length -= n;
        if (message->left > 0)
            break;
        call->queue = message->next;
        rlx_rpc_reply_unref(message);
    }
    if (call->queued > 0)
        call->sent_ns = rlx_clock_ns();
    return 0;
}
