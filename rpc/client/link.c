/* Sockets, plain or under TLS. */
#include "rpc/client/link.h"

#include "rpc/tls/context.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GATHER_BYTES 16384 /* a TLS record */

static bool link_tls_prepare(rlx_rpc_link_t *link, SSL_CTX *tls, const char *server_name)
{
    link->gather = malloc(GATHER_BYTES);
    link->ssl = SSL_new(tls);
    if (link->ssl == NULL || link->gather == NULL || !rlx_rpc_tls_socket(link->ssl, link->fd))
        return false;
    SSL_set_connect_state(link->ssl);
    return rlx_rpc_tls_client_expect(link->ssl, server_name);
}

static void link_free(rlx_rpc_link_t *link)
{
    SSL_free(link->ssl);
    free(link->gather);
    if (link->fd >= 0)
        close(link->fd);
    link->ssl = NULL;
    link->gather = NULL;
    link->fd = -1;
}

rlx_status_t rlx_rpc_link_open(uv_loop_t *loop, const struct sockaddr *address, socklen_t bytes, SSL_CTX *tls, const char *server_name,
                               rlx_rpc_link_t **out_link, rlx_diag_t *diag)
{
    rlx_rpc_link_t *link = calloc(1, sizeof *link);
    int on = 1, failed;

    if (link == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    link->fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (link->fd < 0) {
        rlx_fail(diag, RLX_E_CONNECT, "no socket: %s", strerror(errno));
        goto free_link;
    }
    if (address->sa_family != AF_UNIX)
        setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(link->fd, address, bytes) != 0 && errno != EINPROGRESS) {
        rlx_fail(diag, RLX_E_CONNECT, "%s", strerror(errno));
        goto free_link;
    }
    if (tls != NULL && !link_tls_prepare(link, tls, server_name)) {
        rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for TLS");
        goto free_link;
    }
    failed = uv_poll_init(loop, &link->poll, link->fd);
    if (failed != 0) {
        rlx_fail(diag, RLX_E_CONNECT, "cannot watch the socket: %s", uv_strerror(failed));
        goto free_link;
    }
    *out_link = link;
    return RLX_OK;
free_link:
    link_free(link);
    free(link);
    return diag->status;
}

/* Under ALPN another answer than h2 is another protocol. */
static rlx_status_t link_shake(rlx_rpc_link_t *link, rlx_diag_t *diag)
{
    const unsigned char *protocol = NULL;
    unsigned bytes = 0;
    int rc, error;

    ERR_clear_error();
    rc = SSL_do_handshake(link->ssl);
    error = SSL_get_error(link->ssl, rc);
    if (rc != 1 && (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE))
        return RLX_OK;
    if (rc != 1)
        return rlx_rpc_tls_client_refused(link->ssl, diag);
    SSL_get0_alpn_selected(link->ssl, &protocol, &bytes);
    if (bytes != 2 || memcmp(protocol, "h2", 2) != 0)
        return rlx_fail(diag, RLX_E_TLS, "the server does not speak HTTP/2 (ALPN h2)");
    link->ready = true;
    return RLX_OK;
}

rlx_status_t rlx_rpc_link_step(rlx_rpc_link_t *link, rlx_diag_t *diag)
{
    int error = 0;
    socklen_t bytes = sizeof error;

    if (!link->connected) {
        if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0)
            error = errno;
        if (error != 0)
            return rlx_fail(diag, RLX_E_CONNECT, "%s", strerror(error));
        link->connected = true;
    }
    if (link->ssl != NULL && !link->ready)
        return link_shake(link, diag);
    link->ready = true;
    return RLX_OK;
}

void rlx_rpc_link_wait(rlx_rpc_link_t *link, bool writable, uv_poll_cb ready)
{
    int events = UV_READABLE | (writable ? UV_WRITABLE : 0);

    if (events == link->events)
        return;
    link->events = events;
    uv_poll_start(&link->poll, events, ready);
}

static ssize_t tls_result(rlx_rpc_link_t *link, int rc)
{
    int error = SSL_get_error(link->ssl, rc);

    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return -EAGAIN;
    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    ERR_clear_error();
    return -ECONNRESET;
}

bool rlx_rpc_link_pending(const rlx_rpc_link_t *link) { return link->ssl != NULL && SSL_pending(link->ssl) > 0; }

ssize_t rlx_rpc_link_read(rlx_rpc_link_t *link, void *to, size_t bytes)
{
    ssize_t rc;

    if (link->ssl != NULL) {
        ERR_clear_error();
        rc = SSL_read(link->ssl, to, (int)bytes);
        return rc > 0 ? rc : tls_result(link, (int)rc);
    }
    do
        rc = read(link->fd, to, bytes);
    while (rc < 0 && errno == EINTR);
    return rc >= 0 ? rc : -errno;
}

/* The front of the queue, up to a record, in one piece. A repeated write after "later" must offer at least the same bytes: it does, since
 * the queue's front stays. */
static ssize_t tls_write(rlx_rpc_link_t *link, const struct iovec *pieces, int n_pieces)
{
    size_t have = 0;
    int rc;

    for (int i = 0; i < n_pieces && have < GATHER_BYTES; i++) {
        size_t take = pieces[i].iov_len < GATHER_BYTES - have ? pieces[i].iov_len : GATHER_BYTES - have;

        memcpy(link->gather + have, pieces[i].iov_base, take);
        have += take;
    }
    ERR_clear_error();
    rc = SSL_write(link->ssl, link->gather, (int)have);
    return rc > 0 ? rc : tls_result(link, rc) == -EAGAIN ? -EAGAIN : -EPIPE;
}

ssize_t rlx_rpc_link_write(rlx_rpc_link_t *link, const struct iovec *pieces, int n_pieces)
{
    struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = (size_t)n_pieces};
    ssize_t rc;

    if (link->ssl != NULL)
        return tls_write(link, pieces, n_pieces);
    do
        rc = sendmsg(link->fd, &message, MSG_NOSIGNAL);
    while (rc < 0 && errno == EINTR);
    return rc >= 0 ? rc : -errno;
}

static void link_closed(uv_handle_t *handle)
{
    rlx_rpc_link_t *link = (rlx_rpc_link_t *)handle;
    void (*closed)(void *context) = link->closed;
    void *context = link->closed_context;

    free(link);
    closed(context);
}

void rlx_rpc_link_close(rlx_rpc_link_t *link, void (*closed)(void *context), void *context)
{
    link->closed = closed;
    link->closed_context = context;
    uv_poll_stop(&link->poll);
    uv_close((uv_handle_t *)&link->poll, link_closed);
    link_free(link);
}
