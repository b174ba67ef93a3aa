/* A connection to a daemon, blocking with a bound: TCP, TLS over it, or a Unix socket. For rlxctl. One thread. */
#ifndef RLX_CLI_CTL_LINK_H
#define RLX_CLI_CTL_LINK_H

#include <openssl/ssl.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/diag.h"
#include "rpc/client/client.h"

typedef struct rlx_ctl_server {
    rlx_rpc_endpoint_t endpoint;
    rlx_rpc_client_tls_t tls; /* https:// only */
    const char *text;         /* the endpoint as it was given */
    int timeout_ms;           /* for each of connect, handshake, send and every read */
} rlx_ctl_server_t;

typedef struct rlx_ctl_link {
    const rlx_ctl_server_t *server; /* borrowed */
    int fd;
    SSL *ssl; /* NULL: plain */
} rlx_ctl_link_t;

/* Unreachable: RLX_E_CONNECT; too slow: RLX_E_CLIENT_TIMEOUT; no TLS, or not trusted: RLX_E_TLS. */
rlx_status_t rlx_ctl_link_open(const rlx_ctl_server_t *server, rlx_ctl_link_t *out_link, rlx_diag_t *diag);
rlx_status_t rlx_ctl_link_send(rlx_ctl_link_t *link, const char *data, size_t bytes, rlx_diag_t *diag);
/* Some bytes; 0 when the daemon has said everything. */
rlx_status_t rlx_ctl_link_receive(rlx_ctl_link_t *link, char *to, size_t room, size_t *out_bytes, rlx_diag_t *diag);
void rlx_ctl_link_close(rlx_ctl_link_t *link);

#endif
