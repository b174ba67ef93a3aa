/* One HTTP/1.1 exchange with a daemon, blocking: connect, ask, read the whole answer, close. For rlxctl. One thread. */
#ifndef RLX_CLI_CTL_HTTP_H
#define RLX_CLI_CTL_HTTP_H

#include <stddef.h>

#include "base/diag.h"
#include "cli/ctl/link.h"

#define RLX_CTL_ANSWER_MAX ((size_t)64 << 20)

typedef struct rlx_ctl_reply {
    int code;
    char *body; /* owned, NUL behind its last byte; may be empty */
    size_t bytes;
} rlx_ctl_reply_t;

/* `body` NULL: none. Errors are the link's, and RLX_E_ANSWER_MALFORMED for what is no HTTP. */
rlx_status_t rlx_ctl_call(const rlx_ctl_server_t *server, const char *method, const char *path, const char *body,
                          rlx_ctl_reply_t *out_reply, rlx_diag_t *diag);
void rlx_ctl_reply_fini(rlx_ctl_reply_t *reply);

#endif
