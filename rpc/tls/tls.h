/* Which files TLS takes, on either side. Nothing here needs OpenSSL; rpc/tls/context.h makes contexts of it. */
#ifndef RLX_RPC_TLS_TLS_H
#define RLX_RPC_TLS_TLS_H

#include <stdbool.h>

#include "base/diag.h"

typedef struct rlx_rpc_tls {
    const char *certificate, *key;  /* PEM files */
    const char *client_ca;          /* PEM file: clients must present a certificate that it signed; NULL: no client certificates */
} rlx_rpc_tls_t;

typedef struct rlx_rpc_client_tls {
    const char *ca;                /* PEM file; NULL: the system's */
    const char *certificate, *key; /* PEM files for mutual TLS, or NULL */
    const char *server_name;       /* that the certificate must carry; NULL: the endpoint's host */
    bool insecure;                 /* any certificate will do */
} rlx_rpc_client_tls_t;

/* Reads a server's files as it would at its start. RLX_E_TLS names the file and what is wrong with it. */
rlx_status_t rlx_rpc_tls_check(const rlx_rpc_tls_t *options, rlx_diag_t *diag);

#endif
