/* The socket never blocks; whatever would is waited for with poll(2), each time for the server's timeout at most. */
#include "cli/ctl/link.h"

#include <errno.h>
#include <netdb.h>
#include <openssl/err.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "rpc/tls/context.h"

static rlx_status_t connect_fail(const rlx_ctl_server_t *server, int error, rlx_diag_t *diag)
{
    if (error == ETIMEDOUT)
        return rlx_fail(diag, RLX_E_CLIENT_TIMEOUT, "%s does not accept a connection in %d ms", server->text, server->timeout_ms);
    rlx_fail(diag, RLX_E_CONNECT, "cannot reach %s: %s", server->text, strerror(error));
    return rlx_diag_hint(diag, "Check that rlxd runs, and its address (--url, --unix or RLX_URL).");
}

/* Connects within the time; returns 0 or the error. */
static int connect_wait(int fd, const struct sockaddr *address, socklen_t bytes, int timeout_ms)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    socklen_t size = sizeof(int);
    int error = 0, n;

    if (connect(fd, address, bytes) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    do
        n = poll(&wait, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return ETIMEDOUT;
    return n < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 ? errno : error;
}

/* 0 or the error. */
static int socket_open(const struct sockaddr *address, socklen_t bytes, int timeout_ms, int *out_fd)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = fd < 0 ? errno : connect_wait(fd, address, bytes, timeout_ms);

    if (error == 0)
        *out_fd = fd;
    else if (fd >= 0)
        close(fd);
    return error;
}

static rlx_status_t unix_open(const rlx_ctl_server_t *server, int *out_fd, rlx_diag_t *diag)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int error = ENAMETOOLONG;

    if (strlen(server->endpoint.host) < sizeof address.sun_path) {
        strcpy(address.sun_path, server->endpoint.host);
        error = socket_open((struct sockaddr *)&address, sizeof address, server->timeout_ms, out_fd);
    }
    return error == 0 ? RLX_OK : connect_fail(server, error, diag);
}

static rlx_status_t tcp_open(const rlx_ctl_server_t *server, int *out_fd, rlx_diag_t *diag)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    char port[16];
    int rc, error = EHOSTUNREACH;

    snprintf(port, sizeof port, "%d", server->endpoint.port);
    rc = getaddrinfo(server->endpoint.host, port, &hints, &list);
    if (rc != 0)
        return rlx_fail(diag, RLX_E_CONNECT, "host '%s' has no address: %s", server->endpoint.host, gai_strerror(rc));
    for (struct addrinfo *at = list; at != NULL && error != 0; at = at->ai_next)
        error = socket_open(at->ai_addr, at->ai_addrlen, server->timeout_ms, out_fd);
    freeaddrinfo(list);
    return error == 0 ? RLX_OK : connect_fail(server, error, diag);
}

static rlx_status_t wait_for(const rlx_ctl_link_t *link, short events, rlx_diag_t *diag)
{
    struct pollfd wait = {.fd = link->fd, .events = events};
    int n;

    do
        n = poll(&wait, 1, link->server->timeout_ms);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        return RLX_OK;
    return rlx_fail(diag, RLX_E_CLIENT_TIMEOUT, "%s does not answer in %d ms", link->server->text, link->server->timeout_ms);
}

/* OpenSSL returned `rc`. RLX_OK: wait is over, try again. */
static rlx_status_t tls_wait(const rlx_ctl_link_t *link, int rc, rlx_diag_t *diag)
{
    int error = SSL_get_error(link->ssl, rc);

    if (error == SSL_ERROR_WANT_READ)
        return wait_for(link, POLLIN, diag);
    if (error == SSL_ERROR_WANT_WRITE)
        return wait_for(link, POLLOUT, diag);
    return rlx_rpc_tls_client_refused(link->ssl, diag);
}

static rlx_status_t tls_open(rlx_ctl_link_t *link, SSL_CTX *context, rlx_diag_t *diag)
{
    const rlx_rpc_client_tls_t *tls = &link->server->tls;
    const char *name = tls->server_name != NULL ? tls->server_name : link->server->endpoint.host;
    rlx_status_t status = RLX_OK;
    int rc = 0;

    link->ssl = SSL_new(context); /* holds the context from here on */
    if (link->ssl == NULL || !rlx_rpc_tls_socket(link->ssl, link->fd) ||
        !rlx_rpc_tls_client_expect(link->ssl, tls->insecure ? NULL : name))
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for TLS");
    ERR_clear_error();
    while (status == RLX_OK && (rc = SSL_connect(link->ssl)) != 1)
        status = tls_wait(link, rc, diag);
    return status;
}

rlx_status_t rlx_ctl_link_open(const rlx_ctl_server_t *server, rlx_ctl_link_t *out_link, rlx_diag_t *diag)
{
    rlx_ctl_link_t link = {server, -1, NULL};
    SSL_CTX *context = NULL;
    rlx_status_t status;

    if (server->endpoint.kind == RLX_RPC_TLS)
        RLX_TRY(rlx_rpc_tls_client_context(&server->tls, "http/1.1", &context, diag));
    status = server->endpoint.kind == RLX_RPC_UNIX ? unix_open(server, &link.fd, diag) : tcp_open(server, &link.fd, diag);
    if (status == RLX_OK && context != NULL)
        status = tls_open(&link, context, diag);
    SSL_CTX_free(context);
    if (status != RLX_OK)
        rlx_ctl_link_close(&link);
    else
        *out_link = link;
    return status;
}

static rlx_status_t tls_send(rlx_ctl_link_t *link, const char *data, size_t bytes, rlx_diag_t *diag)
{
    while (bytes > 0) {
        int n;

        ERR_clear_error();
        n = SSL_write(link->ssl, data, bytes < 16384 ? (int)bytes : 16384);
        if (n <= 0)
            RLX_TRY(tls_wait(link, n, diag));
        data += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return RLX_OK;
}

rlx_status_t rlx_ctl_link_send(rlx_ctl_link_t *link, const char *data, size_t bytes, rlx_diag_t *diag)
{
    if (link->ssl != NULL)
        return tls_send(link, data, bytes, diag);
    while (bytes > 0) {
        ssize_t n = send(link->fd, data, bytes, MSG_NOSIGNAL);

        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            RLX_TRY(wait_for(link, POLLOUT, diag));
            continue;
        }
        if (n < 0)
            return connect_fail(link->server, errno, diag);
        data += n;
        bytes -= (size_t)n;
    }
    return RLX_OK;
}

static rlx_status_t tls_receive(rlx_ctl_link_t *link, char *to, size_t room, size_t *out_bytes, rlx_diag_t *diag)
{
    for (;;) {
        int n;

        ERR_clear_error();
        n = SSL_read(link->ssl, to, (int)room);
        if (n > 0 || SSL_get_error(link->ssl, n) == SSL_ERROR_ZERO_RETURN) {
            *out_bytes = n > 0 ? (size_t)n : 0;
            return RLX_OK;
        }
        RLX_TRY(tls_wait(link, n, diag));
    }
}

rlx_status_t rlx_ctl_link_receive(rlx_ctl_link_t *link, char *to, size_t room, size_t *out_bytes, rlx_diag_t *diag)
{
    if (link->ssl != NULL)
        return tls_receive(link, to, room, out_bytes, diag);
    for (;;) {
        ssize_t n = recv(link->fd, to, room, 0);

        if (n >= 0) {
            *out_bytes = (size_t)n;
            return RLX_OK;
        }
        if (errno != EAGAIN && errno != EINTR)
            return connect_fail(link->server, errno, diag);
        RLX_TRY(wait_for(link, POLLIN, diag));
    }
}

void rlx_ctl_link_close(rlx_ctl_link_t *link)
{
    SSL_free(link->ssl);
    if (link->fd >= 0)
        close(link->fd);
    link->ssl = NULL;
    link->fd = -1;
}
