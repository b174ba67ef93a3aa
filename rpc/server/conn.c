/* The life of a connection: opened after accept, polled, read, closed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "rpc/server/inside.h"

static void on_events(uv_poll_t *poll, int status, int events);

static void conn_free(rlx_rpc_conn_t *conn)
{
    rlx_rpc_server_t *server = conn->server;

    conn->next = server->free_conns;
    server->free_conns = conn;
}

/* Two handles; both return through here. */
static void on_handle_closed(uv_handle_t *handle)
{
    rlx_rpc_conn_t *conn = handle->data, **link;
    rlx_rpc_server_t *server = conn->server;

    if (--conn->handles == 0) {
        if (conn->dirty) {
            for (link = &server->dirty; *link != conn; link = &(*link)->dirty_next)
                ;
            *link = conn->dirty_next;
        }
        conn_free(conn);
    }
    rlx_rpc_server_handle_closed(server);
}

void rlx_rpc_conn_open(rlx_rpc_server_t *server, int fd, const char peer[PEER_BYTES], bool unix_socket, bool local)
{
    rlx_rpc_conn_t *conn = server->free_conns;

    if (conn != NULL)
        server->free_conns = conn->next;
    else
        conn = malloc(sizeof *conn);
    if (conn == NULL) {
        close(fd);
        return;
    }
    memset(conn, 0, sizeof *conn);
    conn->server = server;
    if (uv_poll_init(server->options.loop, &conn->poll, fd) != 0) {
        conn_free(conn);
        close(fd);
        return;
    }
    uv_timer_init(server->options.loop, &conn->timer);
    conn->poll.data = conn->timer.data = conn;
    conn->handles = 2;
    server->handles += 2;
    conn->fd = fd;
    conn->unix_socket = unix_socket;
    conn->local = local;
    conn->born_ns = conn->read_ns = conn->idle_ns = rlx_clock_ns();
    memcpy(conn->peer, peer, sizeof conn->peer);
    conn->next = server->conns;
    if (server->conns != NULL)
        server->conns->prev = conn;
    server->conns = conn;
    server->n_conns++;
    conn->state = server->tls != NULL && !unix_socket ? CONN_TLS : CONN_PEEK;
    rlx_rpc_conn_timer_start(conn);
    if (conn->state == CONN_TLS && !rlx_rpc_tls_begin(conn))
        rlx_rpc_conn_close(conn);
    rlx_rpc_conn_interest(conn);
}

static void conn_remove(rlx_rpc_conn_t *conn)
{
    rlx_rpc_server_t *server = conn->server;

    if (conn->prev != NULL)
        conn->prev->next = conn->next;
    else
        server->conns = conn->next;
    if (conn->next != NULL)
        conn->next->prev = conn->prev;
    server->n_conns--;
    conn->state = CONN_CLOSED;
    uv_close((uv_handle_t *)&conn->poll, on_handle_closed);
    uv_close((uv_handle_t *)&conn->timer, on_handle_closed);
}

void rlx_rpc_conn_close(rlx_rpc_conn_t *conn)
{
    if (conn->state == CONN_CLOSED)
        return;
    if (conn->busy > 0) {
        conn->doomed = true;
        return;
    }
    conn_remove(conn);
    while (conn->calls != NULL)
        rlx_rpc_call_gone(conn->calls);
    rlx_rpc_conn_output_drop(conn);
    if (conn->session != NULL)
        nghttp2_session_del(conn->session);
    conn->session = NULL;
    if (conn->tls != NULL)
        rlx_rpc_tls_end(conn);
    RLX_ASSERT(conn->unsent == 0);
    close(conn->fd);
    rlx_rpc_server_tail(conn->server);
}

void rlx_rpc_conn_detach(rlx_rpc_conn_t *conn)
{
    rlx_rpc_server_t *server = conn->server;
    int fd = conn->fd;

    conn_remove(conn); /* takes the descriptor out of the loop; it stays open */
    server->counters.http_connections++;
    server->options.http(server->options.http_context, fd, conn->local);
    rlx_rpc_server_tail(server);
}

void rlx_rpc_conn_begin(rlx_rpc_conn_t *conn)
{
    conn->state = CONN_H2;
    if (!rlx_rpc_h2_begin(conn)) {
        rlx_rpc_conn_close(conn);
        return;
    }
    if (conn->server->draining)
        rlx_rpc_conn_drain(conn);
    rlx_rpc_conn_dirty(conn);
}

/* A plain close would answer what the peer still sends (window updates, say) with a reset, which may cost it the last answer. */
void rlx_rpc_conn_linger(rlx_rpc_conn_t *conn)
{
    conn->state = CONN_LINGER;
    conn->paused = false;
    conn->drain_ns = rlx_clock_ns();
    if (conn->tls != NULL)
        rlx_rpc_tls_shutdown(conn);
    shutdown(conn->fd, SHUT_WR);
    rlx_rpc_conn_interest(conn);
    rlx_rpc_conn_timer_start(conn);
}

void rlx_rpc_conn_interest(rlx_rpc_conn_t *conn)
{
    /* While reads pause, a peer that goes away must still be noticed; and one that goes before it has said enough would keep the socket
     * readable for ever. */
    int events = (conn->paused ? 0 : UV_READABLE) | (conn->paused || conn->state == CONN_PEEK ? UV_DISCONNECT : 0) |
                 (rlx_rpc_conn_blocked(conn) ? UV_WRITABLE : 0);

    if (events == conn->events || conn->state == CONN_CLOSED)
        return;
    conn->events = events;
    uv_poll_start(&conn->poll, events, on_events);
}

void rlx_rpc_conn_dirty(rlx_rpc_conn_t *conn)
{
    if (conn->dirty || conn->state != CONN_H2)
        return;
    conn->dirty = true;
    conn->dirty_next = conn->server->dirty;
    conn->server->dirty = conn;
}

void rlx_rpc_conn_input(rlx_rpc_conn_t *conn, const uint8_t *data, size_t bytes)
{
    ssize_t n;

    conn->busy++;
    n = nghttp2_session_mem_recv(conn->session, data, bytes);
    conn->busy--;
    if (n >= 0)
        return;
    if (n == NGHTTP2_ERR_BAD_CLIENT_MAGIC)
        conn->server->counters.preface_bad++;
    else if (n == NGHTTP2_ERR_FLOODED || n == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS || n == NGHTTP2_ERR_TOO_MANY_SETTINGS)
        conn->server->counters.flood_control++;
    else
        conn->server->counters.h2_errors++;
    conn->doomed = true;
}

/* One read and what follows from it. False: nothing more to read now. */
static bool conn_read(rlx_rpc_conn_t *conn)
{
    rlx_rpc_server_t *server = conn->server;
    ssize_t n = recv(conn->fd, server->buffer, READ_BYTES, MSG_DONTWAIT);

    server->counters.reads++;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        rlx_rpc_conn_close(conn);
        return false;
    }
    server->counters.read_bytes += (uint64_t)n;
    if (conn->state == CONN_LINGER)
        return n == READ_BYTES;
    conn->read_ns = rlx_clock_ns();
    conn->ping_out = false;
    if (conn->tls != NULL)
        rlx_rpc_tls_input(conn, server->buffer, (size_t)n);
    else
        rlx_rpc_conn_input(conn, server->buffer, (size_t)n);
    return n == READ_BYTES && !conn->paused && !rlx_rpc_conn_gone(conn);
}

static void conn_readable(rlx_rpc_conn_t *conn)
{
    rlx_rpc_server_t *server = conn->server;

    /* A release that runs while this loop is in a method's callback must not flush: nghttp2 is entered. */
    server->receiving = true;
    for (int i = 0; i < READS_PER_TURN && conn_read(conn); i++)
        ;
    server->receiving = false;
    if (conn->doomed)
        rlx_rpc_conn_close(conn);
    rlx_rpc_conn_dirty(conn);
    rlx_rpc_server_flush(server);
}

static void on_events(uv_poll_t *poll, int status, int events)
{
    rlx_rpc_conn_t *conn = poll->data;

    if (conn->state == CONN_PEEK && status == 0)
        rlx_rpc_conn_peek(conn);
    if (conn->state == CONN_CLOSED)
        return;
    if (status < 0 || ((events & UV_DISCONNECT) != 0 && (conn->paused || conn->state == CONN_PEEK))) {
        rlx_rpc_conn_close(conn);
        return;
    }
    if ((events & UV_WRITABLE) != 0)
        rlx_rpc_conn_writable(conn);
    if (conn->dirty)
        rlx_rpc_server_flush(conn->server);
    /* Peeked bytes are read at once. */
    if ((events & UV_READABLE) != 0 && conn->state != CONN_CLOSED && conn->state != CONN_PEEK)
        conn_readable(conn);
    if (conn->state != CONN_CLOSED)
        rlx_rpc_conn_interest(conn);
}
