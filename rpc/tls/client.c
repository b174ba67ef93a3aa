/* A client's side: whom it trusts, whom it expects, who it is. */
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/assert.h"
#include "rpc/tls/context.h"

#define PROTOCOL_BYTES_MAX 16

static rlx_status_t refuse(rlx_diag_t *diag, const char *what, const char *file)
{
    char reason[160] = "";
    unsigned long code = ERR_get_error();

    ERR_error_string_n(code, reason, sizeof reason);
    ERR_clear_error();
    return rlx_fail(diag, RLX_E_TLS, "%s%s%s: %s", what, *file != '\0' ? " " : "", file, code != 0 ? reason : "refused");
}

static rlx_status_t protocol_offer(SSL_CTX *context, const char *protocol, rlx_diag_t *diag)
{
    unsigned char wire[1 + PROTOCOL_BYTES_MAX];
    size_t bytes = strlen(protocol);

    RLX_ASSERT(bytes <= PROTOCOL_BYTES_MAX);
    wire[0] = (unsigned char)bytes;
    memcpy(wire + 1, protocol, bytes);
    return SSL_CTX_set_alpn_protos(context, wire, (unsigned)bytes + 1) == 0 ? RLX_OK : refuse(diag, "ALPN", "");
}

static rlx_status_t files_load(SSL_CTX *context, const rlx_rpc_client_tls_t *options, rlx_diag_t *diag)
{
    if (options->ca != NULL && SSL_CTX_load_verify_locations(context, options->ca, NULL) != 1)
        return refuse(diag, "cannot read the authorities of", options->ca);
    if (options->ca == NULL && SSL_CTX_set_default_verify_paths(context) != 1)
        return refuse(diag, "cannot read the system's authorities", "");
    if (options->certificate != NULL && SSL_CTX_use_certificate_chain_file(context, options->certificate) != 1)
        return refuse(diag, "cannot read the certificate", options->certificate);
    if (options->key != NULL && SSL_CTX_use_PrivateKey_file(context, options->key, SSL_FILETYPE_PEM) != 1)
        return refuse(diag, "cannot use the key", options->key);
    return RLX_OK;
}

rlx_status_t rlx_rpc_tls_client_context(const rlx_rpc_client_tls_t *options, const char *protocol, SSL_CTX **out_context, rlx_diag_t *diag)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    rlx_status_t status;

    if (context == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(context, options->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    ERR_clear_error();
    status = protocol_offer(context, protocol, diag);
    if (status == RLX_OK)
        status = files_load(context, options, diag);
    if (status != RLX_OK)
        SSL_CTX_free(context);
    else
        *out_context = context;
    return status;
}

bool rlx_rpc_tls_client_expect(SSL *ssl, const char *server_name)
{
    unsigned char address[16];

    if (server_name == NULL)
        return true;
    if (inet_pton(AF_INET, server_name, address) == 1 || inet_pton(AF_INET6, server_name, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), server_name) == 1;
    return SSL_set1_host(ssl, server_name) == 1 && SSL_set_tlsext_host_name(ssl, server_name) == 1;
}

rlx_status_t rlx_rpc_tls_client_refused(SSL *ssl, rlx_diag_t *diag)
{
    long verdict = SSL_get_verify_result(ssl);

    if (verdict != X509_V_OK)
        return rlx_fail(diag, RLX_E_TLS, "the server's certificate is refused: %s", X509_verify_cert_error_string(verdict));
    if (ERR_peek_error() == 0)
        return rlx_fail(diag, RLX_E_TLS, "the server ended the TLS handshake: it may not speak TLS");
    return refuse(diag, "TLS handshake", "");
}
