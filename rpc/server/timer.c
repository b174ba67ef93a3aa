/* Time bounds of a connection: handshake, idleness, stalls, keepalive, the two phases of a drain.
 *
 * One timer per connection, set lazily: the hot path only writes down when something happened. When the timer fires, everything is looked
 * at and the timer set for the earliest bound that can be reached next. It is moved nearer only when something begins that has a nearer
 * bound. */
#include <string.h>
#include <sys/socket.h>

#include "rpc/server/inside.h"

#define LINGER_MS 1000
#define DRAIN_ROUND_TRIP_MS 1000 /* a peer that does not answer the PING of the drain within it is not waited for */
#define NS_PER_MS 1000000u

static const uint8_t drain_ping[8] = "rlxdrain";

typedef struct conn_check {
    uint64_t now_ns, next_ns;
} conn_check_t;

/* True when `ms` have passed since `since_ns`; else notes when they will have. 0 is never. */
static bool due(conn_check_t *check, uint64_t since_ns, uint32_t ms)
{
    uint64_t at = since_ns + (uint64_t)ms * NS_PER_MS;

    if (ms == 0)
        return false;
    if (at <= check->now_ns)
        return true;
    if (at < check->next_ns)
        check->next_ns = at;
    return false;
}

uint64_t rlx_rpc_timer_ms(const rlx_rpc_server_t *server, uint64_t at_ns)
{
    uint64_t at_ms = at_ns / NS_PER_MS + (at_ns % NS_PER_MS != 0), now_ms = uv_now(server->options.loop);

    return at_ms > now_ms ? at_ms - now_ms : 0;
}

static void on_timer(uv_timer_t *timer);

static void timer_set(rlx_rpc_conn_t *conn, uint64_t at_ns)
{
    conn->timer_ns = at_ns;
    if (at_ns == UINT64_MAX)
        uv_timer_stop(&conn->timer);
    else
        uv_timer_start(&conn->timer, on_timer, rlx_rpc_timer_ms(conn->server, at_ns), 0);
}

static uint32_t nearer(uint32_t a, uint32_t b) { return a == 0 || (b != 0 && b < a) ? b : a; }

/* Sooner than needed is harmless: the check that follows sets the right time. */
void rlx_rpc_conn_timer_start(rlx_rpc_conn_t *conn)
{
    const rlx_rpc_limits_t *limits = &conn->server->options.limits;
    uint32_t ms = nearer(nearer(limits->handshake_ms, limits->stall_ms), nearer(limits->keepalive_ms, LINGER_MS));

    timer_set(conn, rlx_clock_ns() + (uint64_t)nearer(ms, limits->idle_ms) * NS_PER_MS);
}

void rlx_rpc_conn_timer_touch(rlx_rpc_conn_t *conn, uint64_t now_ns)
{
    const rlx_rpc_limits_t *limits = &conn->server->options.limits;
    uint32_t ms = nearer(nearer(limits->stall_ms, limits->keepalive_ms), limits->idle_ms);

    if (ms != 0 && conn->timer_ns > now_ns + (uint64_t)ms * NS_PER_MS)
        timer_set(conn, now_ns + (uint64_t)ms * NS_PER_MS);
}

/* Messages that stopped in the middle: theirs on the way in, ours on the way out. For what we hold back ourselves they do not answer. */
static void calls_check(rlx_rpc_conn_t *conn, conn_check_t *check)
{
    uint32_t stall_ms = conn->server->options.limits.stall_ms;
    rlx_rpc_call_t *next;

    for (rlx_rpc_call_t *call = conn->calls; call != NULL; call = next) {
        bool arriving = (call->in_message || call->prefix_got > 0) && !call->finished && !call->held && !conn->choked && !conn->paused;

        next = call->next;
        if (call->aborted)
            continue;
        if ((arriving && due(check, call->heard_ns, stall_ms)) || (call->queued > 0 && due(check, call->sent_ns, stall_ms))) {
            conn->server->counters.stalls++;
            rlx_rpc_call_abort(call, RLX_E_STALLED, arriving ? "no byte of an unfinished request message came in time"
                                                             : "the answer was not read in time");
        }
    }
}

static void keepalive_check(rlx_rpc_conn_t *conn, conn_check_t *check)
{
    uint32_t ms = conn->server->options.limits.keepalive_ms;

    if (conn->n_calls == 0 || conn->paused)
        return;
    if (conn->ping_out) {
        if (due(check, conn->ping_ns, ms))
            conn->doomed = true;
    } else if (due(check, conn->read_ns, ms)) {
        conn->ping_out = true;
        conn->ping_ns = check->now_ns;
        nghttp2_submit_ping(conn->session, NGHTTP2_FLAG_NONE, NULL);
        (void)due(check, conn->ping_ns, ms);
    }
}

static void drain_last(rlx_rpc_conn_t *conn)
{
    int32_t last = nghttp2_session_get_last_proc_stream_id(conn->session);

    conn->drain = DRAIN_LAST;
    nghttp2_submit_goaway(conn->session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
    rlx_rpc_conn_dirty(conn);
}

static void h2_check(rlx_rpc_conn_t *conn, conn_check_t *check)
{
    const rlx_rpc_limits_t *limits = &conn->server->options.limits;

    if (!conn->shaken && due(check, conn->born_ns, limits->handshake_ms)) {
        conn->server->counters.handshake_timeouts++;
        conn->doomed = true;
    }
    if ((conn->headers_open && due(check, conn->headers_ns, limits->stall_ms)) ||
        (rlx_rpc_conn_blocked(conn) && due(check, conn->blocked_ns, limits->stall_ms))) {
        conn->server->counters.stalls++;
        conn->doomed = true;
    }
    calls_check(conn, check);
    keepalive_check(conn, check);
    if (conn->n_calls == 0 && conn->drain == DRAIN_NO && due(check, conn->idle_ns, limits->idle_ms))
        rlx_rpc_conn_drain(conn);
    if (conn->drain == DRAIN_NOTICE && due(check, conn->drain_ns, DRAIN_ROUND_TRIP_MS))
        drain_last(conn);
}

static void on_timer(uv_timer_t *timer)
{
    rlx_rpc_conn_t *conn = timer->data;
    conn_check_t check = {.now_ns = rlx_clock_ns(), .next_ns = UINT64_MAX};

    conn->timer_ns = UINT64_MAX;
    conn->busy++; /* methods are told of ends, and may close the server */
    switch (conn->state) {
    case CONN_PEEK:
    case CONN_TLS:
        if (due(&check, conn->born_ns, conn->server->options.limits.handshake_ms)) {
            conn->server->counters.handshake_timeouts++;
            conn->doomed = true;
        }
        break;
    case CONN_H2: h2_check(conn, &check); break;
    case CONN_PUMP:
        if (rlx_rpc_conn_blocked(conn) && due(&check, conn->blocked_ns, conn->server->options.limits.stall_ms)) {
            conn->server->counters.stalls++;
            conn->doomed = true;
        }
        break;
    case CONN_LINGER: conn->doomed = conn->doomed || due(&check, conn->drain_ns, LINGER_MS); break;
    case CONN_CLOSED: break;
    }
    conn->busy--;
    if (conn->doomed) {
        rlx_rpc_conn_close(conn);
    } else {
        if (check.next_ns < conn->timer_ns)
            timer_set(conn, check.next_ns);
        rlx_rpc_conn_dirty(conn);
    }
}

void rlx_rpc_conn_drain(rlx_rpc_conn_t *conn)
{
    uint8_t first;

    /* A peer that has not said anything loses nothing; one that has is served. */
    if (conn->state == CONN_PEEK && recv(conn->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) <= 0)
        rlx_rpc_conn_close(conn);
    if (conn->state != CONN_H2 || conn->drain != DRAIN_NO)
        return;
    conn->drain = DRAIN_NOTICE;
    conn->drain_ns = rlx_clock_ns();
    nghttp2_submit_shutdown_notice(conn->session);
    rlx_rpc_conn_timer_start(conn);
    rlx_rpc_conn_dirty(conn);
}

/* Not earlier: nghttp2 sends PING before everything else that waits. */
void rlx_rpc_conn_goaway_sent(rlx_rpc_conn_t *conn)
{
    if (conn->drain == DRAIN_NOTICE)
        nghttp2_submit_ping(conn->session, NGHTTP2_FLAG_NONE, drain_ping);
}

/* One round trip after the notice: no request can be under way that has not seen it. */
void rlx_rpc_conn_ping_acked(rlx_rpc_conn_t *conn, const uint8_t opaque[8])
{
    if (conn->drain == DRAIN_NOTICE && memcmp(opaque, drain_ping, sizeof drain_ping) == 0)
        drain_last(conn);
}
