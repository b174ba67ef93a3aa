/* Flow control of what peers send, and the bound on what they do not read.
 *
 * Received bytes go back to both windows at once, in every path: also those of finished and unknown streams, or the connection's window
 * would shrink for good. Two exceptions: a method that holds its call keeps that stream's bytes (others flow on), and a connection with
 * more than output_bytes_max unsent keeps all, so that a peer that does not read its answers can send at most one window more; its new
 * calls are refused meanwhile. Reads themselves stop only while the socket is full: window updates of a peer must always be heard. */
#include "rpc/server/inside.h"

#define QUEUE_FRAMES_MAX(limits) ((size_t)(limits)->streams_max * 2 + 256) /* control frames that wait in nghttp2 */

void rlx_rpc_window_received(rlx_rpc_conn_t *conn, rlx_rpc_call_t *call, int32_t stream, size_t bytes)
{
    if (conn->choked)
        conn->withheld += bytes;
    else
        nghttp2_session_consume_connection(conn->session, bytes);
    if (call != NULL && (call->held || conn->choked))
        call->withheld += bytes;
    else
        nghttp2_session_consume_stream(conn->session, stream, bytes);
}

static void stream_give_back(rlx_rpc_call_t *call)
{
    if (call->withheld > 0)
        nghttp2_session_consume_stream(call->conn->session, call->stream, call->withheld);
    call->withheld = 0;
}

void rlx_rpc_call_hold(rlx_rpc_call_t *call, bool hold)
{
    if (call->held && !hold) {
        call->heard_ns = rlx_clock_ns();
        if (!call->conn->choked)
            stream_give_back(call);
        rlx_rpc_conn_timer_touch(call->conn, call->heard_ns);
        rlx_rpc_conn_dirty(call->conn);
    }
    call->held = hold;
}

static void unchoke(rlx_rpc_conn_t *conn)
{
    conn->choked = false;
    if (conn->withheld > 0)
        nghttp2_session_consume_connection(conn->session, conn->withheld);
    conn->withheld = 0;
    for (rlx_rpc_call_t *call = conn->calls; call != NULL; call = call->next) {
        call->heard_ns = rlx_clock_ns();
        if (!call->held)
            stream_give_back(call);
    }
    rlx_rpc_conn_timer_touch(conn, rlx_clock_ns());
    rlx_rpc_conn_dirty(conn);
}

void rlx_rpc_window_choke(rlx_rpc_conn_t *conn)
{
    const rlx_rpc_limits_t *limits = &conn->server->options.limits;

    if (!conn->choked && conn->unsent > limits->output_bytes_max)
        conn->choked = true;
    else if (conn->choked && conn->unsent <= limits->output_bytes_max / 2)
        unchoke(conn);
    conn->paused = rlx_rpc_conn_blocked(conn) &&
                   (conn->choked || nghttp2_session_get_outbound_queue_size(conn->session) > QUEUE_FRAMES_MAX(limits));
}

/* The peer sends messages larger than the window: four of those should fit, or every message costs several round trips. */
void rlx_rpc_window_grow(rlx_rpc_conn_t *conn)
{
    nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, (uint32_t)conn->server->window_large};

    if (conn->window >= conn->server->window_large)
        return;
    conn->window = (uint32_t)conn->server->window_large;
    nghttp2_session_set_local_window_size(conn->session, NGHTTP2_FLAG_NONE, 0, (int32_t)conn->window);
    nghttp2_submit_settings(conn->session, NGHTTP2_FLAG_NONE, &entry, 1);
}
