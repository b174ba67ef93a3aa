/* Connections of a load, and single calls over them that wait for their answer. One thread, one loop. */
#ifndef RLX_CLI_LOAD_CLIENT_H
#define RLX_CLI_LOAD_CLIENT_H

#include "base/text.h"
#include "rpc/client/client.h"

typedef struct rlx_load_client {
    uv_loop_t loop;
    rlx_rpc_channel_t **channels;
    int n_channels, n_ready;
    bool failed;     /* a connection broke; `diag` says why */
    rlx_diag_t diag;
} rlx_load_client_t;

/* Opens `n` connections and waits until all are ready. On failure there is nothing to undo. `requests_max`: per connection. */
rlx_status_t rlx_load_client_open(rlx_load_client_t *client, const char *url, int n, uint32_t requests_max, rlx_diag_t *diag);
void rlx_load_client_close(rlx_load_client_t *client);
/* One call on the first connection. `answer` receives the message's bytes. */
rlx_status_t rlx_load_client_call(rlx_load_client_t *client, const char *path, const rlx_rpc_slice_t *slices, int n_slices,
                                  rlx_text_t *answer, rlx_diag_t *diag);
/* A failed call's message, "RLX-1402: ...", as a diagnosis. */
rlx_status_t rlx_load_client_fail(rlx_status_t status, const char *message, rlx_diag_t *diag);

#endif
