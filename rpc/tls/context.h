/* Contexts of OpenSSL from files. Blocking: reads the files. The caller owns what comes out (SSL_CTX_free). Errors: RLX_E_TLS, with the
 * file and the reason; RLX_E_NO_MEMORY. */
#ifndef RLX_RPC_TLS_CONTEXT_H
#define RLX_RPC_TLS_CONTEXT_H

#include <openssl/ssl.h>

#include "rpc/tls/tls.h"

/* A server's: TLS 1.2 and 1.3, ALPN h2 and http/1.1. */
rlx_status_t rlx_rpc_tls_server_context(const rlx_rpc_tls_t *options, SSL_CTX **out_context, rlx_diag_t *diag);

/* A client's. `protocol` is all that it offers by ALPN: "h2", "http/1.1". */
rlx_status_t rlx_rpc_tls_client_context(const rlx_rpc_client_tls_t *options, const char *protocol, SSL_CTX **out_context, rlx_diag_t *diag);
/* Whom the server's certificate must name: a host or an address. NULL: anyone. */
bool rlx_rpc_tls_client_expect(SSL *ssl, const char *server_name);
/* Lets OpenSSL read and write the socket `fd` itself; it is borrowed. False: no memory. Any thread. */
bool rlx_rpc_tls_socket(SSL *ssl, int fd);
/* Why the handshake failed; empties OpenSSL's error queue. */
rlx_status_t rlx_rpc_tls_client_refused(SSL *ssl, rlx_diag_t *diag);

#endif
