/* A server's side: certificate, key, client CA, ALPN. TLS 1.2 and 1.3; of 1.2 only what HTTP/2 allows. */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>

#include "rpc/tls/context.h"

/* The oldest entry of OpenSSL's error queue, where it began; the queue is emptied. */
static const char *reason(void)
{
    unsigned long error = ERR_peek_error();
    const char *text = ERR_SYSTEM_ERROR(error) ? strerror(ERR_GET_REASON(error)) : ERR_reason_error_string(error);

    ERR_clear_error();
    return text != NULL ? text : "no reason given";
}

/* h2 where the client offers it, else http/1.1; a client that offers neither, but offers something, is refused. */
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_bytes, const unsigned char *in, unsigned bytes, void *context)
{
    static const unsigned char ours[] = "\x02h2\x08http/1.1";

    (void)ssl;
    (void)context;
    return SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_bytes, ours, sizeof ours - 1, in, bytes) == OPENSSL_NPN_NEGOTIATED
               ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static rlx_status_t client_ca_load(SSL_CTX *context, const char *path, rlx_diag_t *diag)
{
    static const unsigned char session_context[] = "rlx";
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(path);

    if (names == NULL || SSL_CTX_load_verify_locations(context, path, NULL) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return rlx_fail(diag, RLX_E_TLS, "client CA %s: %s", path, reason());
    }
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_session_id_context(context, session_context, sizeof session_context - 1);
    return RLX_OK;
}

/* Nobody is there to type the passphrase of a key that is encrypted. */
static int on_passphrase(char *out, int bytes, int writing, void *asked)
{
    (void)out, (void)bytes, (void)writing;
    *(bool *)asked = true;
    return -1;
}

static rlx_status_t key_load(SSL_CTX *context, const rlx_rpc_tls_t *options, rlx_diag_t *diag)
{
    bool asked = false, loaded;
    int why;

    SSL_CTX_set_default_passwd_cb(context, on_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(context, &asked);
    loaded = SSL_CTX_use_PrivateKey_file(context, options->key, SSL_FILETYPE_PEM) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
    why = ERR_GET_REASON(ERR_peek_error());
    if (loaded)
        return RLX_OK;
    if (asked) {
        ERR_clear_error();
        rlx_fail(diag, RLX_E_TLS, "key %s is encrypted", options->key);
        return rlx_diag_hint(diag, "Write it without a passphrase (`openssl pkey -in KEY -out PLAIN`), readable for rlxd's user only.");
    }
    if (why == X509_R_KEY_VALUES_MISMATCH || why == X509_R_KEY_TYPE_MISMATCH) {
        ERR_clear_error();
        return rlx_fail(diag, RLX_E_TLS, "key %s does not belong to certificate %s", options->key, options->certificate);
    }
    return rlx_fail(diag, RLX_E_TLS, "there is no private key that can be read in %s: %s", options->key, reason());
}

static rlx_status_t context_load(SSL_CTX *context, const rlx_rpc_tls_t *options, rlx_diag_t *diag)
{
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_alpn_select_cb(context, on_alpn, NULL);
    if (SSL_CTX_use_certificate_chain_file(context, options->certificate) != 1)
        return rlx_fail(diag, RLX_E_TLS, "certificate %s: %s", options->certificate, reason());
    RLX_TRY(key_load(context, options, diag)); /* compares it with the certificate, too */
    return options->client_ca == NULL ? RLX_OK : client_ca_load(context, options->client_ca, diag);
}

rlx_status_t rlx_rpc_tls_server_context(const rlx_rpc_tls_t *options, SSL_CTX **out_context, rlx_diag_t *diag)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    rlx_status_t status;

    if (context == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for TLS");
    ERR_clear_error();
    status = context_load(context, options, diag);
    if (status != RLX_OK)
        SSL_CTX_free(context);
    else
        *out_context = context;
    return status;
}

rlx_status_t rlx_rpc_tls_check(const rlx_rpc_tls_t *options, rlx_diag_t *diag)
{
    SSL_CTX *context = NULL;

    RLX_TRY(rlx_rpc_tls_server_context(options, &context, diag));
    SSL_CTX_free(context);
    return RLX_OK;
}
