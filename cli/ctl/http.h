/* One HTTP/1.1 exchange with a daemon, blocking: connect, ask, read the whole answer, close. For rlxctl. One thread. */
#ifndef RLX_CLI_CTL_HTTP_H
#define RLX_CLI_CTL_HTTP_H

#include <stddef.h>

#include "base/diag.h"
#include "rpc/client/client.h"

#define RLX_CTL_ANSWER_MAX ((size_t)64 << 20)

typedef struct rlx_ctl_server {
    rlx_rpc_endpoint_t endpoint; /* TCP or Unix socket */
    const char *text;            /* as it was given */
    int timeout_ms;              /* for each of connect, send and every read */
} rlx_ctl_server_t;

typedef struct rlx_ctl_reply {
    int code;
    char *body; /* owned, NUL behind its last byte; may be empty */
    size_t bytes;
} rlx_ctl_reply_t;

/* `body` NULL: none. Unreachable: RLX_E_CONNECT; too slow: RLX_E_CLIENT_TIMEOUT; no HTTP: RLX_E_ANSWER_MALFORMED. */
rlx_status_t rlx_ctl_call(const rlx_ctl_server_t *server, const char *method, const char *path, const char *body,
                          rlx_ctl_reply_t *out_reply,
                          rlx_diag_t *diag);
void rlx_ctl_reply_fini(rlx_ctl_reply_t *reply);

#endif
