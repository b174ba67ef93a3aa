/* nghttp2's callbacks: which call a frame belongs to, and what it costs. */
#include "rpc/server/inside.h"

/* nghttp2 ends the connection over one stream too many, where RFC 9113 (5.1.2) asks for the stream's refusal, so that clients retry. So it
 * gets a larger limit than the one that is advertised, and the refusal is ours; past the larger one the peer is no longer mistaken. */
#define STREAMS_HARD_MAX(limits) ((limits)->streams_max * 2 + 100)

static rlx_rpc_call_t *call_of(nghttp2_session *session, int32_t stream) { return nghttp2_session_get_stream_user_data(session, stream); }

static int on_frame_begins(nghttp2_session *session, const nghttp2_frame_hd *head, void *user)
{
    (void)session;
    rlx_rpc_budget_frame(user, head);
    return 0;
}

static int on_headers_begin(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    rlx_rpc_conn_t *conn = user;
    rlx_rpc_call_t *call;

    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    conn->headers_open = true;
    conn->headers_ns = conn->read_ns;
    rlx_rpc_conn_timer_touch(conn, conn->read_ns);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    if (conn->n_calls >= conn->server->options.limits.streams_max) {
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
        return 0;
    }
    call = rlx_rpc_call_get(conn, frame->hd.stream_id);
    if (call == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags,
                     void *user)
{
    rlx_rpc_call_t *call = call_of(session, frame->hd.stream_id);

    (void)flags;
    (void)user;
    if (call != NULL)
        rlx_rpc_call_header_in(call, name, value);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t bytes, void *user)
{
    rlx_rpc_conn_t *conn = user;
    rlx_rpc_call_t *call = call_of(session, stream);

    (void)flags;
    rlx_rpc_window_received(conn, call, stream, bytes);
    if (call != NULL)
        rlx_rpc_call_data_in(call, data, bytes);
    return 0;
}

static void headers_end(rlx_rpc_conn_t *conn, const nghttp2_frame *frame, rlx_rpc_call_t *call)
{
    conn->headers_open = false;
    if (call != NULL && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        rlx_rpc_call_begin(call);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    rlx_rpc_conn_t *conn = user;
    rlx_rpc_call_t *call = frame->hd.stream_id != 0 ? call_of(session, frame->hd.stream_id) : NULL;

    switch (frame->hd.type) {
    case NGHTTP2_HEADERS: headers_end(conn, frame, call); break;
    case NGHTTP2_DATA: break;
    case NGHTTP2_RST_STREAM:
        if (call != NULL && !call->finished)
            rlx_rpc_budget_reset(conn);
        return 0;
    case NGHTTP2_SETTINGS: conn->shaken = true; return 0;
    case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0)
            rlx_rpc_conn_ping_acked(conn, frame->ping.opaque_data);
        return 0;
    default: return 0;
    }
    if (call != NULL && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
        rlx_rpc_call_half_close(call);
    return 0;
}

/* Server time is measured for unary calls: one whole message in, and the answer begins. */
static void stamp(rlx_rpc_conn_t *conn, const rlx_rpc_call_t *call)
{
    rlx_rpc_batch_t *batch = conn->server->batch;

    if (call->messages_in == 1 && call->remote_closed && batch->n_stamps < BATCH_STAMPS)
        batch->stamps[batch->n_stamps++] = call->read_ns + call->kernel_ns;
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    rlx_rpc_conn_t *conn = user;
    rlx_rpc_call_t *call;

    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        call = call_of(session, frame->hd.stream_id);
        if (call == NULL)
            break;
        if (frame->headers.cat == NGHTTP2_HCAT_RESPONSE)
            stamp(conn, call);
        /* An answer before the end of the request: the rest is not wanted. */
        if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 && !call->remote_closed)
            nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
        break;
    case NGHTTP2_RST_STREAM:
        /* Peers can make us reset streams as fast as they reset their own. Ours after an early answer is not of that kind. */
        if (frame->rst_stream.error_code != NGHTTP2_NO_ERROR)
            rlx_rpc_budget_reset(conn);
        break;
    case NGHTTP2_GOAWAY:
        rlx_rpc_conn_goaway_sent(conn);
        if (frame->goaway.error_code != NGHTTP2_NO_ERROR && frame->goaway.error_code != NGHTTP2_ENHANCE_YOUR_CALM)
            conn->server->counters.h2_errors++;
        break;
    default: break;
    }
    return 0;
}

static int on_stream_closed(nghttp2_session *session, int32_t stream, uint32_t error, void *user)
{
    rlx_rpc_conn_t *conn = user;
    rlx_rpc_call_t *call = call_of(session, stream);

    if (call == NULL)
        return 0;
    if (error == NGHTTP2_NO_ERROR && call->finished)
        rlx_rpc_budget_earn(conn, 0, 1);
    nghttp2_session_set_stream_user_data(session, stream, NULL);
    rlx_rpc_call_gone(call);
    return 0;
}

rlx_status_t rlx_rpc_h2_create(rlx_rpc_server_t *server, rlx_diag_t *diag)
{
    nghttp2_session_callbacks *callbacks;

    if (nghttp2_session_callbacks_new(&server->callbacks) != 0 || nghttp2_option_new(&server->option) != 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the HTTP/2 session options");
    callbacks = server->callbacks;
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_frame_begins);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_headers_begin);
    nghttp2_session_callbacks_set_on_header_callback2(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_closed);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, rlx_rpc_call_data_out);
    nghttp2_option_set_no_auto_window_update(server->option, 1);
    nghttp2_option_set_no_closed_streams(server->option, 1);
    /* Ours (h2_budget.c) knows which resets are honest. */
    nghttp2_option_set_stream_reset_rate_limit(server->option, UINT32_MAX, UINT32_MAX);
    return RLX_OK;
}

/* False: no memory. */
bool rlx_rpc_h2_begin(rlx_rpc_conn_t *conn)
{
    const rlx_rpc_server_t *server = conn->server;
    const rlx_rpc_limits_t *limits = &server->options.limits;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_HARD_MAX(limits)},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits->window_bytes},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, FRAME_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits->header_bytes_max},
    };

    rlx_rpc_budget_init(&conn->budget, conn->read_ns);
    conn->window = limits->window_bytes;
    return nghttp2_session_server_new2(&conn->session, server->callbacks, conn, server->option) == 0 &&
           nghttp2_submit_settings(conn->session, NGHTTP2_FLAG_NONE, settings, sizeof settings / sizeof *settings) == 0 &&
           nghttp2_session_set_local_window_size(conn->session, NGHTTP2_FLAG_NONE, 0, (int32_t)limits->window_bytes) == 0;
}

void rlx_rpc_h2_advertise(const rlx_rpc_conn_t *conn, uint8_t *frame, size_t bytes)
{
    uint32_t streams = conn->server->options.limits.streams_max;

    if (frame[3] != NGHTTP2_SETTINGS)
        return;
    for (uint8_t *entry = frame + 9; entry + 6 <= frame + bytes; entry += 6)
        if (entry[0] == 0 && entry[1] == NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
            for (int i = 0; i < 4; i++)
                entry[2 + i] = (uint8_t)(streams >> (24 - 8 * i));
}

/* What it still sends is ignored; the connection ends when GOAWAY has left, or with the stall timer when it does not read that either. */
void rlx_rpc_h2_fail(rlx_rpc_conn_t *conn)
{
    nghttp2_session_terminate_session(conn->session, NGHTTP2_ENHANCE_YOUR_CALM);
    rlx_rpc_conn_dirty(conn);
}
