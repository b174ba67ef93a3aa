/* HTTP/1.1 over TLS: decrypted bytes go through a socketpair to the HTTP/1.1 server, which sees a plain connection.
 *
 * Bounded both ways: while the HTTP server does not read, the TLS socket is not read (at most one read's bytes wait here); while the TLS
 * socket takes nothing, the pair is not read. The HTTP server's own timeouts end idle and slow connections, by closing its end. */
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/server/tls_inside.h"

struct rlx_rpc_pump {
    rlx_rpc_server_t *server;
    rlx_rpc_conn_t *conn; /* NULL when the connection is closed */
    uv_poll_t poll;
    int fd, events;
    bool ended;           /* the HTTP server closed its end */
    uint8_t *waiting;     /* owned: decrypted bytes that the pair did not take */
    size_t waiting_at, waiting_bytes;
};

static void on_events(uv_poll_t *poll, int status, int events);

static void pump_interest(rlx_rpc_pump_t *pump)
{
    int events = (rlx_rpc_conn_blocked(pump->conn) ? 0 : UV_READABLE) | (pump->waiting_bytes > 0 ? UV_WRITABLE : 0);

    if (pump->ended)
        events = 0;
    pump->conn->paused = pump->waiting_bytes > 0 && !pump->ended;
    rlx_rpc_conn_interest(pump->conn);
    if (events == pump->events)
        return;
    pump->events = events;
    if (events == 0)
        uv_poll_stop(&pump->poll);
    else
        uv_poll_start(&pump->poll, events, on_events);
}

bool rlx_rpc_pump_begin(rlx_rpc_conn_t *conn)
{
    rlx_rpc_server_t *server = conn->server;
    rlx_rpc_pump_t *pump = calloc(1, sizeof *pump);
    int pair[2];

    if (pump == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
        free(pump);
        return false;
    }
    if (uv_poll_init(server->options.loop, &pump->poll, pair[0]) != 0) {
        close(pair[0]);
        close(pair[1]);
        free(pump);
        return false;
    }
    pump->poll.data = pump;
    pump->server = server;
    pump->conn = conn;
    pump->fd = pair[0];
    server->handles++;
    conn->tls->pump = pump;
    conn->state = CONN_PUMP;
    pump_interest(pump);
    server->options.http(server->options.http_context, pair[1], conn->local);
    return true;
}

static void on_closed(uv_handle_t *handle)
{
    rlx_rpc_pump_t *pump = handle->data;
    rlx_rpc_server_t *server = pump->server;

    free(pump->waiting);
    free(pump);
    rlx_rpc_server_handle_closed(server);
}

void rlx_rpc_pump_end(rlx_rpc_pump_t *pump)
{
    pump->conn = NULL;
    uv_close((uv_handle_t *)&pump->poll, on_closed);
    close(pump->fd);
}

/* The HTTP server is done: what it said leaves, then the connection ends. */
static void pump_ended(rlx_rpc_pump_t *pump)
{
    pump->ended = true;
    pump_interest(pump);
    if (!rlx_rpc_conn_blocked(pump->conn))
        rlx_rpc_conn_linger(pump->conn);
}

/* Returns how much the pair took. */
static size_t pair_send(rlx_rpc_pump_t *pump, const uint8_t *data, size_t bytes)
{
    ssize_t n = send(pump->fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n >= 0)
        return (size_t)n;
    return errno == EAGAIN || errno == EINTR ? 0 : bytes; /* its reader is gone; the pair will be readable and tell */
}

void rlx_rpc_pump_input(rlx_rpc_conn_t *conn, const uint8_t *data, size_t bytes)
{
    rlx_rpc_pump_t *pump = conn->tls->pump;
    size_t n = pump->waiting_bytes > 0 ? 0 : pair_send(pump, data, bytes);
    uint8_t *larger;

    if (n < bytes && !pump->ended) {
        larger = realloc(pump->waiting, pump->waiting_at + pump->waiting_bytes + bytes - n);
        if (larger == NULL) {
            rlx_rpc_conn_close(conn);
            return;
        }
        pump->waiting = larger;
        memcpy(larger + pump->waiting_at + pump->waiting_bytes, data + n, bytes - n);
        pump->waiting_bytes += bytes - n;
    }
    pump_interest(pump);
}

static void waiting_send(rlx_rpc_pump_t *pump)
{
    size_t n = pair_send(pump, pump->waiting + pump->waiting_at, pump->waiting_bytes);

    pump->waiting_at += n;
    pump->waiting_bytes -= n;
    if (pump->waiting_bytes > 0)
        return;
    free(pump->waiting);
    pump->waiting = NULL;
    pump->waiting_at = 0;
}

/* One read of the pair, encrypted and sent. The read buffer of the server is free: no connection is being read. */
static void pair_receive(rlx_rpc_pump_t *pump)
{
    rlx_rpc_conn_t *conn = pump->conn;
    struct iovec iov = {pump->server->buffer, 0};
    ssize_t n = recv(pump->fd, pump->server->buffer, PUMP_BYTES, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        pump_ended(pump);
        return;
    }
    iov.iov_len = (size_t)n;
    if (!rlx_rpc_tls_encrypt(conn, &iov, 1) || !rlx_rpc_tls_write(conn))
        rlx_rpc_conn_close(conn);
}

static void on_events(uv_poll_t *poll, int status, int events)
{
    rlx_rpc_pump_t *pump = poll->data;

    if (status < 0) {
        pump_ended(pump);
        return;
    }
    if ((events & UV_WRITABLE) != 0 && pump->waiting_bytes > 0)
        waiting_send(pump);
    if ((events & UV_READABLE) != 0)
        pair_receive(pump);
    if (pump->conn != NULL && pump->conn->state == CONN_PUMP)
        pump_interest(pump);
}

void rlx_rpc_pump_writable(rlx_rpc_conn_t *conn)
{
    if (conn->tls->pump->ended)
        rlx_rpc_conn_linger(conn);
    else
        pump_interest(conn->tls->pump);
}
