/* The TLS side of a connection, between its socket and nghttp2 (or the pump to HTTP/1.1). Only tls_*.c include this.
 *
 * OpenSSL reads from the server's read buffer and writes to the server's cipher buffer, through a BIO of our own: no BIO memory that
 * grows, no copy besides the cipher's. What the socket does not take is copied to `rest` until it is writable again; meanwhile nothing is
 * encrypted. */
#ifndef RLX_RPC_SERVER_TLS_INSIDE_H
#define RLX_RPC_SERVER_TLS_INSIDE_H

#include <openssl/ssl.h>

#include "rpc/server/inside.h"

#define PUMP_BYTES (64 * 1024)
#define SUBJECT_BYTES 256

struct rlx_rpc_tls_context {
    SSL_CTX *ssl;
    BIO_METHOD *bio;
};

struct rlx_rpc_tls_conn {
    rlx_rpc_conn_t *conn;
    SSL *ssl;
    const uint8_t *in; /* ciphertext that was read and not yet consumed */
    size_t in_bytes;
    uint8_t *rest;     /* owned: ciphertext that the socket did not take */
    size_t rest_at, rest_bytes;
    rlx_rpc_pump_t *pump; /* HTTP/1.1 */
    char subject[SUBJECT_BYTES];
};

BIO_METHOD *rlx_rpc_tls_bio_method(void);
/* Decrypts into server->plain. Bytes, 0 when all ciphertext is used up, -1 when the peer ended the stream or broke the protocol. */
int rlx_rpc_tls_decrypt(rlx_rpc_tls_conn_t *tls);
void rlx_rpc_pump_end(rlx_rpc_pump_t *pump);

#endif
