/* Listening sockets. Accepted connections are non-blocking and go to conn.c.
 *
 * Out of descriptors: accept would fail and the listener stay readable for ever. The server keeps one descriptor in reserve; it gives it
 * up, accepts, closes that connection at once and takes the reserve back, so that the queue empties and peers learn of it. When even that
 * fails listening pauses for a moment. Existing connections are not touched; one line a minute tells how many were refused. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/server/inside.h"
#include "rpc/local/unix_socket.h"

#define ACCEPTS_PER_TURN 64
#define BACKLOG 1024
#define PAUSE_MS 100
#define LOG_INTERVAL_NS 60000000000u

static void on_connections(uv_poll_t *poll, int status, int events);

static void refusal_log(rlx_rpc_server_t *server)
{
    uint64_t now = rlx_clock_ns();

    server->log_silent++;
    if (server->log_ns != 0 && now - server->log_ns < LOG_INTERVAL_NS)
        return;
    fprintf(stderr, "rlx: out of file descriptors: %llu connection(s) refused since the last such line; %u are open and keep working. "
            "Raise LimitNOFILE or lower the connection maximum.\n", (unsigned long long)server->log_silent, server->n_conns);
    server->log_ns = now;
    server->log_silent = 0;
}

void rlx_rpc_listen_again(uv_timer_t *timer)
{
    rlx_rpc_server_t *server = timer->data;

    if (server->reserve_fd < 0)
        server->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (rlx_rpc_listener_t *listener = server->listeners; listener != NULL; listener = listener->next)
        if (!listener->closing)
            uv_poll_start(&listener->poll, UV_READABLE, on_connections);
}

/* No descriptor for the connection at the head of the queue. False: stop for now. */
static bool reserve_refuse(rlx_rpc_listener_t *listener)
{
    rlx_rpc_server_t *server = listener->server;
    int fd = -1;

    if (server->reserve_fd >= 0) {
        close(server->reserve_fd);
        fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            close(fd);
        server->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    if (fd >= 0) {
        server->counters.connections_accepted++;
        server->counters.connections_refused++;
        refusal_log(server);
    }
    if (fd >= 0 && server->reserve_fd >= 0)
        return true;
    for (rlx_rpc_listener_t *each = server->listeners; each != NULL; each = each->next)
        if (!each->closing)
            uv_poll_stop(&each->poll);
    uv_timer_start(&server->listen_again, rlx_rpc_listen_again, PAUSE_MS, 0);
    return false;
}

static void peer_print(const struct sockaddr_storage *address, char out[PEER_BYTES])
{
    char host[INET6_ADDRSTRLEN] = "?";

    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
        snprintf(out, PEER_BYTES, "%s:%u", host, ntohs(v4->sin_port));
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        snprintf(out, PEER_BYTES, "[%s]:%u", host, ntohs(v6->sin6_port));
    } else {
        snprintf(out, PEER_BYTES, "unix");
    }
}

static bool peer_is_local(const struct sockaddr_storage *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

    if (address->ss_family == AF_INET)
        return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
    if (address->ss_family != AF_INET6)
        return address->ss_family == AF_UNIX;
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) || (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) && v6->sin6_addr.s6_addr[12] == 127);
}

static void accepted(rlx_rpc_listener_t *listener, int fd, const struct sockaddr_storage *address)
{
    rlx_rpc_server_t *server = listener->server;
    bool unix_socket = listener->unix_path != NULL;
    char peer[PEER_BYTES];
    int on = 1;

    server->counters.connections_accepted++;
    if (server->n_conns >= server->options.limits.connections_max) {
        server->counters.connections_refused++;
        close(fd);
        return;
    }
    if (!unix_socket) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    }
    peer_print(address, peer);
    rlx_rpc_conn_open(server, fd, peer, unix_socket, unix_socket || peer_is_local(address));
}

static void on_connections(uv_poll_t *poll, int status, int events)
{
    rlx_rpc_listener_t *listener = poll->data;

    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN && !listener->closing; i++) {
        struct sockaddr_storage address;
        socklen_t bytes = sizeof address;
        int fd;

        memset(&address, 0, sizeof address);
        fd = accept4(listener->fd, (struct sockaddr *)&address, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            accepted(listener, fd, &address);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            if (!reserve_refuse(listener))
                return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return; /* EAGAIN: the queue is empty. Others concern one connection that is gone. */
        }
    }
}

static void on_closed(uv_handle_t *handle)
{
    rlx_rpc_listener_t *listener = handle->data, **link;
    rlx_rpc_server_t *server = listener->server;

    for (link = &server->listeners; *link != listener; link = &(*link)->next)
        ;
    *link = listener->next;
    free(listener->unix_path);
    free(listener);
    rlx_rpc_server_handle_closed(server);
}

void rlx_rpc_listeners_close(rlx_rpc_server_t *server)
{
    for (rlx_rpc_listener_t *listener = server->listeners; listener != NULL; listener = listener->next) {
        if (listener->closing)
            continue;
        listener->closing = true;
        uv_close((uv_handle_t *)&listener->poll, on_closed);
        close(listener->fd);
        if (listener->unix_path != NULL)
            unlink(listener->unix_path);
    }
    uv_timer_stop(&server->listen_again);
}

/* Moves `fd` and `unix_path`. */
static rlx_status_t listener_start(rlx_rpc_server_t *server, int fd, char *unix_path, rlx_diag_t *diag)
{
    rlx_rpc_listener_t *listener = calloc(1, sizeof *listener);

    if (listener == NULL || uv_poll_init(server->options.loop, &listener->poll, fd) != 0) {
        free(listener);
        free(unix_path);
        close(fd);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a listener");
    }
    listener->server = server;
    listener->fd = fd;
    listener->unix_path = unix_path;
    listener->poll.data = listener;
    listener->next = server->listeners;
    server->listeners = listener;
    server->handles++;
    uv_poll_start(&listener->poll, UV_READABLE, on_connections);
    return RLX_OK;
}

static int socket_listen(const struct sockaddr *address, socklen_t bytes)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, error;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address, bytes) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

static int socket_port(int fd)
{
    struct sockaddr_storage address;
    socklen_t bytes = sizeof address;

    if (getsockname(fd, (struct sockaddr *)&address, &bytes) != 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port : ((struct sockaddr_in *)&address)->sin_port);
}

static rlx_status_t listen_fail(const char *host, int port, int error, rlx_diag_t *diag)
{
    rlx_fail(diag, RLX_E_LISTEN, "cannot listen on %s port %d: %s", host, port, strerror(error));
    if (error == EADDRINUSE)
        return rlx_diag_hint(diag, "Stop the program that listens there (`ss -ltnp` tells which), or configure another port.");
    if (error == EADDRNOTAVAIL)
        return rlx_diag_hint(diag,
                             "It is no address of this machine (`ip address` lists them): correct the host; 0.0.0.0 means all of them.");
    if (error == EACCES)
        return rlx_diag_hint(diag, "Ports below 1024 need the capability CAP_NET_BIND_SERVICE: configure another port, or grant it.");
    return diag->status;
}

rlx_status_t rlx_rpc_server_listen(rlx_rpc_server_t *server, const char *host, int port, int *out_port, rlx_diag_t *diag)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found;
    char service[16];
    int error, fd;

    snprintf(service, sizeof service, "%d", port);
    error = port < 0 || port > 65535 ? EAI_SERVICE : getaddrinfo(host, service, &hints, &found);
    if (error != 0)
        return rlx_fail(diag, RLX_E_LISTEN, "cannot listen on %s port %d: %s", host, port, gai_strerror(error));
    fd = socket_listen(found->ai_addr, found->ai_addrlen);
    error = errno;
    freeaddrinfo(found);
    if (fd < 0)
        return listen_fail(host, port, error, diag);
    port = socket_port(fd);
    RLX_TRY(listener_start(server, fd, NULL, diag));
    if (out_port != NULL)
        *out_port = port;
    return RLX_OK;
}

rlx_status_t rlx_rpc_server_listen_unix(rlx_rpc_server_t *server, const char *path, rlx_diag_t *diag)
{
    char *copy;
    int fd;

    RLX_TRY(rlx_unix_listen(path, &fd, diag));
    copy = strdup(path);
    if (copy == NULL) {
        close(fd);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a listener");
    }
    return listener_start(server, fd, copy, diag);
}
