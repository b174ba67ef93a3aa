/* What all TLS connections of a server share. */
#include <stdlib.h>

#include "base/assert.h"
#include "rpc/server/tls_inside.h"
#include "rpc/tls/context.h"

rlx_status_t rlx_rpc_tls_create(const rlx_rpc_tls_t *options, rlx_rpc_tls_context_t **out_context, rlx_diag_t *diag)
{
    rlx_rpc_tls_context_t *context = calloc(1, sizeof *context);
    rlx_status_t status;

    if (context == NULL || (context->bio = rlx_rpc_tls_bio_method()) == NULL) {
        free(context);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for TLS");
    }
    status = rlx_rpc_tls_server_context(options, &context->ssl, diag);
    if (status != RLX_OK)
        rlx_rpc_tls_destroy(context);
    else
        *out_context = context;
    return status;
}

rlx_status_t rlx_rpc_server_tls_reload(rlx_rpc_server_t *server, const rlx_rpc_tls_t *tls, rlx_diag_t *diag)
{
    SSL_CTX *fresh = NULL;
    rlx_status_t status;

    RLX_ASSERT(server->tls != NULL);
    status = rlx_rpc_tls_server_context(tls, &fresh, diag);
    if (status != RLX_OK) {
        server->counters.tls_reload_failures++;
        return status;
    }
    server->counters.tls_reloads++;
    SSL_CTX_free(server->tls->ssl); /* connections hold their own references */
    server->tls->ssl = fresh;
    return RLX_OK;
}

void rlx_rpc_tls_destroy(rlx_rpc_tls_context_t *context)
{
    SSL_CTX_free(context->ssl);
    BIO_meth_free(context->bio);
    free(context);
}
