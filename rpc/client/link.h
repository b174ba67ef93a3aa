/* One attempt at a connection, and the connection that it becomes: a socket, plain or under TLS, never blocking.
 *
 * Owner: the channel. Sizes and errors are those of read(2) and writev(2), with -EAGAIN for "later" and other negative errno values for a
 * broken connection; `diag` says why where it is given. */
#ifndef RLX_RPC_CLIENT_LINK_H
#define RLX_RPC_CLIENT_LINK_H

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <uv.h>

#include "rpc/client/client.h"

typedef struct rlx_rpc_link {
    uv_poll_t poll;
    void *owner;
    int fd;
    int events;      /* that the poll handle waits for */
    bool connected;  /* connect(2) has ended; then TLS */
    bool ready;      /* bytes may flow */
    SSL *ssl;        /* NULL: plain */
    uint8_t *gather; /* TLS: small pieces become one record */
    void (*closed)(void *context);
    void *closed_context;
} rlx_rpc_link_t;

/* Begins to connect. `tls` NULL: plain. `server_name` NULL: the certificate's name is not checked. */
rlx_status_t rlx_rpc_link_open(uv_loop_t *loop, const struct sockaddr *address, socklen_t bytes, SSL_CTX *tls, const char *server_name,
                               rlx_rpc_link_t **out_link, rlx_diag_t *diag);
/* The socket is readable or writable: goes on. Sets `ready` when bytes may flow. */
rlx_status_t rlx_rpc_link_step(rlx_rpc_link_t *link, rlx_diag_t *diag);
/* Which events it waits for: UV_READABLE always, UV_WRITABLE when asked. */
void rlx_rpc_link_wait(rlx_rpc_link_t *link, bool writable, uv_poll_cb ready);
ssize_t rlx_rpc_link_read(rlx_rpc_link_t *link, void *to, size_t bytes);
/* Bytes wait inside of OpenSSL: read again, the socket will not tell. */
bool rlx_rpc_link_pending(const rlx_rpc_link_t *link);
ssize_t rlx_rpc_link_write(rlx_rpc_link_t *link, const struct iovec *pieces, int n_pieces);
/* Closes the socket at once; the memory goes when libuv let go of the handle, then `closed(context)`. */
void rlx_rpc_link_close(rlx_rpc_link_t *link, void (*closed)(void *context), void *context);

#endif
