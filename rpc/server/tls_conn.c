/* A TLS connection: handshake, decryption into nghttp2, encryption of batches. */
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "rpc/server/tls_inside.h"

#define RECORD_BYTES 16384

static int bio_read(BIO *bio, char *out, int room)
{
    rlx_rpc_tls_conn_t *tls = BIO_get_data(bio);
    size_t n = tls->in_bytes < (size_t)room ? tls->in_bytes : (size_t)room;

    BIO_clear_retry_flags(bio);
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(out, tls->in, n);
    tls->in += n;
    tls->in_bytes -= n;
    return (int)n;
}

/* The callers leave room for what they encrypt; a peer that makes OpenSSL say more than that is cut off. */
static int bio_write(BIO *bio, const char *data, int bytes)
{
    rlx_rpc_tls_conn_t *tls = BIO_get_data(bio);
    rlx_rpc_server_t *server = tls->conn->server;

    BIO_clear_retry_flags(bio);
    if ((size_t)bytes > CIPHER_BYTES - server->cipher_used)
        return -1;
    memcpy(server->cipher + server->cipher_used, data, (size_t)bytes);
    server->cipher_used += (size_t)bytes;
    return bytes;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD *rlx_rpc_tls_bio_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "rlx");

    if (method == NULL)
        return NULL;
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_ctrl(method, bio_control);
    return method;
}

bool rlx_rpc_tls_begin(rlx_rpc_conn_t *conn)
{
    rlx_rpc_tls_conn_t *tls = calloc(1, sizeof *tls);
    BIO *bio;

    if (tls == NULL)
        return false;
    tls->conn = conn;
    tls->ssl = SSL_new(conn->server->tls->ssl);
    bio = tls->ssl != NULL ? BIO_new(conn->server->tls->bio) : NULL;
    if (bio == NULL) {
        SSL_free(tls->ssl);
        free(tls);
        return false;
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_accept_state(tls->ssl);
    conn->tls = tls;
    return true;
}

void rlx_rpc_tls_shutdown(rlx_rpc_conn_t *conn)
{
    SSL_shutdown(conn->tls->ssl);
    ERR_clear_error();
    (void)rlx_rpc_tls_write(conn); /* Whether it arrives or not, the connection ends. */
}

void rlx_rpc_tls_end(rlx_rpc_conn_t *conn)
{
    rlx_rpc_tls_conn_t *tls = conn->tls;

    conn->tls = NULL;
    if (tls->pump != NULL)
        rlx_rpc_pump_end(tls->pump);
    SSL_free(tls->ssl);
    free(tls->rest);
    free(tls);
}

bool rlx_rpc_tls_blocked(const rlx_rpc_conn_t *conn) { return conn->tls->rest_bytes > 0; }
const char *rlx_rpc_tls_subject(const rlx_rpc_conn_t *conn) { return conn->tls->subject[0] != '\0' ? conn->tls->subject : NULL; }

/* Sends what lies at `data`. Returns how much the socket took, or -1. */
static ssize_t cipher_send(rlx_rpc_conn_t *conn, const uint8_t *data, size_t bytes)
{
    ssize_t n;

    do
        n = send(conn->fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    conn->server->counters.writes++;
    if (n < 0)
        return errno == EAGAIN ? 0 : -1;
    conn->server->counters.write_bytes += (uint64_t)n;
    return n;
}

/* Behind a rest nothing is sent; the little that OpenSSL says by itself meanwhile (alerts, key updates) joins it. */
static bool rest_keep(rlx_rpc_tls_conn_t *tls, const uint8_t *data, size_t bytes)
{
    uint8_t *larger;

    if (tls->rest_bytes + bytes > CIPHER_BYTES * 2)
        return false;
    if (tls->rest_at > 0)
        memmove(tls->rest, tls->rest + tls->rest_at, tls->rest_bytes);
    tls->rest_at = 0;
    larger = realloc(tls->rest, tls->rest_bytes + bytes);
    if (larger == NULL)
        return false;
    tls->rest = larger;
    memcpy(tls->rest + tls->rest_bytes, data, bytes);
    if (tls->rest_bytes == 0)
        tls->conn->blocked_ns = rlx_clock_ns();
    tls->rest_bytes += bytes;
    rlx_rpc_conn_timer_touch(tls->conn, tls->conn->blocked_ns);
    return true;
}

bool rlx_rpc_tls_write(rlx_rpc_conn_t *conn)
{
    rlx_rpc_server_t *server = conn->server;
    size_t bytes = server->cipher_used;
    ssize_t n;

    server->cipher_used = 0;
    if (bytes == 0)
        return true;
    n = conn->tls->rest_bytes > 0 ? 0 : cipher_send(conn, server->cipher, bytes);
    if (n < 0)
        return false;
    return (size_t)n == bytes || rest_keep(conn->tls, server->cipher + n, bytes - (size_t)n);
}

bool rlx_rpc_tls_rest(rlx_rpc_conn_t *conn)
{
    rlx_rpc_tls_conn_t *tls = conn->tls;
    ssize_t n;

    if (tls->rest_bytes == 0)
        return true;
    n = cipher_send(conn, tls->rest + tls->rest_at, tls->rest_bytes);
    if (n < 0)
        return false;
    if (n > 0)
        conn->blocked_ns = rlx_clock_ns();
    tls->rest_at += (size_t)n;
    tls->rest_bytes -= (size_t)n;
    if (tls->rest_bytes == 0) {
        free(tls->rest);
        tls->rest = NULL;
        tls->rest_at = 0;
    }
    return true;
}

static bool record_encrypt(rlx_rpc_tls_conn_t *tls, const uint8_t *data, size_t bytes)
{
    int n = SSL_write(tls->ssl, data, (int)bytes);

    ERR_clear_error();
    return n == (int)bytes;
}

/* Into the server's cipher buffer, in whole records where possible. The iovecs hold at most BATCH_MARK_TLS and one frame. */
bool rlx_rpc_tls_encrypt(rlx_rpc_conn_t *conn, const struct iovec *iov, int n)
{
    uint8_t *record = conn->server->plain;
    size_t used = 0;

    for (int i = 0; i < n; i++) {
        const uint8_t *data = iov[i].iov_base;
        size_t bytes = iov[i].iov_len;

        while (bytes > 0) {
            size_t take = RECORD_BYTES - used < bytes ? RECORD_BYTES - used : bytes;

            if (take == RECORD_BYTES) {
                if (!record_encrypt(conn->tls, data, RECORD_BYTES))
                    return false;
            } else {
                memcpy(record + used, data, take);
                used += take;
            }
            if (used == RECORD_BYTES) {
                if (!record_encrypt(conn->tls, record, used))
                    return false;
                used = 0;
            }
            data += take;
            bytes -= take;
        }
    }
    return used == 0 || record_encrypt(conn->tls, record, used);
}

int rlx_rpc_tls_decrypt(rlx_rpc_tls_conn_t *tls)
{
    int n = SSL_read(tls->ssl, tls->conn->server->plain, READ_BYTES), error;

    if (n > 0)
        return n;
    error = SSL_get_error(tls->ssl, n);
    ERR_clear_error();
    return error == SSL_ERROR_WANT_READ ? 0 : -1;
}

static void subject_take(rlx_rpc_tls_conn_t *tls)
{
    X509 *certificate = SSL_get1_peer_certificate(tls->ssl);

    if (certificate == NULL)
        return;
    if (SSL_get_verify_result(tls->ssl) == X509_V_OK)
        X509_NAME_oneline(X509_get_subject_name(certificate), tls->subject, sizeof tls->subject);
    X509_free(certificate);
}

/* True when the handshake is complete and the protocol began. */
static bool handshake(rlx_rpc_conn_t *conn)
{
    rlx_rpc_tls_conn_t *tls = conn->tls;
    const unsigned char *protocol;
    unsigned bytes;
    int result = SSL_do_handshake(tls->ssl), error = result == 1 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, result);

    ERR_clear_error();
    /* An alert is sent too. */
    if (!rlx_rpc_tls_write(conn) || (result != 1 && error != SSL_ERROR_WANT_READ)) {
        conn->server->counters.tls_failures++;
        rlx_rpc_conn_close(conn);
        return false;
    }
    if (result != 1)
        return false;
    subject_take(tls);
    SSL_get0_alpn_selected(tls->ssl, &protocol, &bytes);
    if (bytes == 2 && memcmp(protocol, "h2", 2) == 0) {
        rlx_rpc_conn_begin(conn);
    } else if (conn->server->options.http != NULL && rlx_rpc_pump_begin(conn)) {
        conn->server->counters.http_connections++;
    } else {
        rlx_rpc_conn_close(conn);
    }
    return !rlx_rpc_conn_gone(conn);
}

void rlx_rpc_tls_input(rlx_rpc_conn_t *conn, const uint8_t *data, size_t bytes)
{
    rlx_rpc_tls_conn_t *tls = conn->tls;
    int n = 0;

    tls->in = data;
    tls->in_bytes = bytes;
    if (conn->state == CONN_TLS && !handshake(conn))
        return;
    while (!rlx_rpc_conn_gone(conn) && (n = rlx_rpc_tls_decrypt(tls)) > 0)
        if (conn->state == CONN_H2)
            rlx_rpc_conn_input(conn, conn->server->plain, (size_t)n);
        else
            rlx_rpc_pump_input(conn, conn->server->plain, (size_t)n);
    if (rlx_rpc_conn_gone(conn))
        return;
    /* OpenSSL may have answered a key update. */
    if (!rlx_rpc_tls_write(conn) || n < 0)
        rlx_rpc_conn_close(conn);
}
