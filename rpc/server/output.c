/* Output of a connection: what nghttp2 and the responses have ready becomes one batch, one batch one write call.
 *
 * The server's batch is filled and written at once. What the socket does not take stays in the batch, which then belongs to the connection
 * until the socket is writable again; meanwhile nothing more is asked of nghttp2. So a connection holds at most BATCH_MARK unsent bytes by
 * reference here; what waits behind is bounded by output_bytes_max (h2_window.c).
 * BATCH_MARK is checked in the data callback: one call of nghttp2_session_mem_send hands over DATA frame after DATA frame. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "rpc/server/inside.h"

#define FREE_BATCHES_MAX 8
/* Room that one step of nghttp2 may need: a frame that is copied whole, and the pieces of one DATA frame. */
#define ARENA_RESERVE (FRAME_BYTES + 64)
#define IOV_RESERVE (FRAME_BYTES / SLICE_COPIED_MAX * 2 + 8) /* large and small slices in turn */

/* NULL when there is no memory. */
rlx_rpc_batch_t *rlx_rpc_batch_get(rlx_rpc_server_t *server)
{
    rlx_rpc_batch_t *batch = server->free_batches;

    if (batch != NULL) {
        server->free_batches = batch->next;
        server->n_free_batches--;
    } else {
        batch = malloc(sizeof *batch);
    }
    if (batch != NULL) {
        batch->n = batch->first = batch->n_stamps = 0;
        batch->bytes = batch->arena_used = 0;
    }
    return batch;
}

static void batch_put(rlx_rpc_server_t *server, rlx_rpc_batch_t *batch)
{
    if (server->n_free_batches >= FREE_BATCHES_MAX) {
        free(batch);
        return;
    }
    batch->next = server->free_batches;
    server->free_batches = batch;
    server->n_free_batches++;
}

/* Runs releases, so anything may be called meanwhile; the batch is not in use by then. */
static void batch_release(rlx_rpc_batch_t *batch)
{
    int n = batch->n;

    for (int i = batch->first; i < n; i++)
        if (batch->owner[i] != NULL)
            rlx_rpc_reply_unref(batch->owner[i]);
    batch->n = batch->first = batch->n_stamps = 0;
    batch->bytes = batch->arena_used = 0;
}

bool rlx_rpc_batch_full(const rlx_rpc_conn_t *conn, const rlx_rpc_batch_t *batch)
{
    return batch->bytes >= (conn->tls != NULL ? BATCH_MARK_TLS : BATCH_MARK) || batch->n > BATCH_IOVS - IOV_RESERVE ||
           batch->arena_used > BATCH_ARENA - ARENA_RESERVE;
}

void rlx_rpc_batch_bytes(rlx_rpc_batch_t *batch, const void *data, size_t bytes)
{
    uint8_t *at = batch->arena + batch->arena_used;
    struct iovec *last = batch->n > 0 ? &batch->iov[batch->n - 1] : NULL;

    RLX_ASSERT(bytes <= BATCH_ARENA - batch->arena_used);
    memcpy(at, data, bytes);
    batch->arena_used += bytes;
    batch->bytes += bytes;
    if (last != NULL && batch->owner[batch->n - 1] == NULL && (uint8_t *)last->iov_base + last->iov_len == at) {
        last->iov_len += bytes;
        return;
    }
    RLX_ASSERT(batch->n < BATCH_IOVS);
    batch->iov[batch->n] = (struct iovec){at, bytes};
    batch->owner[batch->n++] = NULL;
}

/* The next `bytes` of `message`: small pieces are copied, large ones referenced. */
void rlx_rpc_batch_reply(rlx_rpc_batch_t *batch, rlx_rpc_reply_t *message, size_t bytes)
{
    RLX_ASSERT(bytes <= message->left);
    message->left -= bytes;
    while (bytes > 0) {
        const uint8_t *from = message->index < 0 ? message->prefix : message->slices[message->index].data;
        size_t whole = message->index < 0 ? RLX_GRPC_PREFIX : message->slices[message->index].bytes;
        size_t n = whole - message->at < bytes ? whole - message->at : bytes;

        if (n > SLICE_COPIED_MAX) {
            RLX_ASSERT(batch->n < BATCH_IOVS);
            batch->iov[batch->n] = (struct iovec){(void *)(uintptr_t)(from + message->at), n};
            batch->owner[batch->n++] = message;
            message->refs++;
            batch->bytes += n;
        } else if (n > 0) {
            rlx_rpc_batch_bytes(batch, from + message->at, n);
        }
        bytes -= n;
        message->at += n;
        if (message->at == whole) {
            message->index++;
            message->at = 0;
        }
    }
}

bool rlx_rpc_conn_blocked(const rlx_rpc_conn_t *conn)
{
    return conn->pending != NULL || (conn->tls != NULL && rlx_rpc_tls_blocked(conn));
}

/* Asks nghttp2 for frames until it has none or the batch is full. False: it found a fault. */
static bool batch_fill(rlx_rpc_conn_t *conn, rlx_rpc_batch_t *batch)
{
    bool good = true;

    while (!rlx_rpc_batch_full(conn, batch)) {
        const uint8_t *data;
        ssize_t n = nghttp2_session_mem_send(conn->session, &data);

        good = n >= 0;
        if (n <= 0)
            break;
        rlx_rpc_batch_bytes(batch, data, (size_t)n);
        rlx_rpc_h2_advertise(conn, batch->arena + batch->arena_used - n, (size_t)n);
    }
    return good;
}

static void batch_stamp(rlx_rpc_server_t *server, rlx_rpc_batch_t *batch)
{
    uint64_t now;

    if (batch->n_stamps == 0)
        return;
    now = rlx_clock_ns();
    for (int i = 0; i < batch->n_stamps; i++)
        rlx_histogram_add(&server->time, now > batch->stamps[i] ? now - batch->stamps[i] : 0);
    batch->n_stamps = 0;
}

/* Sends iov[first..n). Returns 1 when all went, 0 when the socket is full, -1 when the connection broke. */
static int batch_send(rlx_rpc_conn_t *conn, rlx_rpc_batch_t *batch)
{
    struct msghdr message = {.msg_iov = batch->iov + batch->first, .msg_iovlen = (size_t)(batch->n - batch->first)};
    size_t sent;
    ssize_t n;

    do
        n = sendmsg(conn->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    conn->server->counters.writes++;
    if (n < 0)
        return errno == EAGAIN ? 0 : -1;
    conn->server->counters.write_bytes += (uint64_t)n;
    sent = (size_t)n;
    if (sent == batch->bytes)
        return 1;
    batch->bytes -= sent;
    while (sent >= batch->iov[batch->first].iov_len) {
        sent -= batch->iov[batch->first].iov_len;
        if (batch->owner[batch->first] != NULL)
            rlx_rpc_reply_unref(batch->owner[batch->first]);
        batch->first++;
    }
    batch->iov[batch->first].iov_base = (uint8_t *)batch->iov[batch->first].iov_base + sent;
    batch->iov[batch->first].iov_len -= sent;
    return 0;
}

/* Writes the server's batch. False: the connection broke. */
static bool batch_write(rlx_rpc_conn_t *conn)
{
    rlx_rpc_server_t *server = conn->server;
    rlx_rpc_batch_t *batch = server->batch, *next;
    int result;

    if (conn->tls != NULL) {
        bool good = rlx_rpc_tls_encrypt(conn, batch->iov, batch->n);

        batch_stamp(server, batch);
        good = good && rlx_rpc_tls_write(conn);
        batch_release(batch);
        return good;
    }
    batch_stamp(server, batch);
    result = batch_send(conn, batch);
    if (result == 0 && (next = rlx_rpc_batch_get(server)) != NULL) {
        conn->pending = batch;
        conn->blocked_ns = rlx_clock_ns();
        rlx_rpc_conn_timer_touch(conn, conn->blocked_ns);
        server->batch = next;
        return true;
    }
    batch_release(batch);
    return result > 0;
}

/* Only from rlx_rpc_server_flush, which keeps it from running inside itself. Busy all along: releases may close anything. */
void rlx_rpc_conn_flush(rlx_rpc_conn_t *conn)
{
    bool good = true, any = true;

    if (conn->state != CONN_H2)
        return;
    conn->busy++;
    while (good && any && !conn->doomed && !rlx_rpc_conn_blocked(conn)) {
        good = batch_fill(conn, conn->server->batch);
        any = conn->server->batch->n > 0;
        good = (!any || batch_write(conn)) && good;
    }
    conn->busy--;
    if (!good || conn->doomed) {
        rlx_rpc_conn_close(conn);
        return;
    }
    rlx_rpc_window_choke(conn);
    /* Nothing more to say or to hear: GOAWAY was sent, or came, and the last stream has ended. */
    if (!rlx_rpc_conn_blocked(conn) && !nghttp2_session_want_read(conn->session) && !nghttp2_session_want_write(conn->session))
        rlx_rpc_conn_linger(conn);
    else
        rlx_rpc_conn_interest(conn);
}

/* Sends more of what the socket did not take. False: the connection broke. */
static bool pending_send(rlx_rpc_conn_t *conn)
{
    rlx_rpc_batch_t *batch = conn->pending;
    size_t before;
    int result;

    if (batch == NULL)
        return conn->tls == NULL || rlx_rpc_tls_rest(conn);
    before = batch->bytes;
    result = batch_send(conn, batch);
    if (batch->bytes != before)
        conn->blocked_ns = rlx_clock_ns();
    if (result == 0)
        return true;
    conn->pending = NULL;
    batch_release(batch);
    batch_put(conn->server, batch);
    return result > 0;
}

/* The socket takes bytes again. */
void rlx_rpc_conn_writable(rlx_rpc_conn_t *conn)
{
    bool good;

    conn->busy++;
    good = pending_send(conn);
    conn->busy--;
    if (!good || conn->doomed)
        rlx_rpc_conn_close(conn);
    else if (conn->state == CONN_PUMP)
        rlx_rpc_pump_writable(conn);
    else if (!rlx_rpc_conn_blocked(conn))
        rlx_rpc_conn_dirty(conn);
}

void rlx_rpc_conn_output_drop(rlx_rpc_conn_t *conn)
{
    rlx_rpc_batch_t *batch = conn->pending;

    conn->pending = NULL;
    if (batch == NULL)
        return;
    batch_release(batch);
    batch_put(conn->server, batch);
}
