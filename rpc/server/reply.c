/* Response messages: two free lists, for few slices and for many. Loop thread only. */
#include <stdlib.h>

#include "base/assert.h"
#include "rpc/server/inside.h"

#define FREE_LARGE_MAX 32 /* 4 KiB each; more go back to the heap */

/* NULL when there is no memory. */
rlx_rpc_reply_t *rlx_rpc_reply_get(rlx_rpc_server_t *server, int n_slices)
{
    bool small = n_slices <= MESSAGE_SMALL;
    rlx_rpc_reply_t **list = small ? &server->free_small : &server->free_large;
    rlx_rpc_reply_t *message = *list;

    if (message != NULL) {
        *list = message->next;
        server->n_free_large -= !small;
    } else {
        int capacity = small ? MESSAGE_SMALL : RLX_RPC_SLICES_MAX;

        message = malloc(sizeof *message + (size_t)capacity * sizeof *message->slices);
        if (message == NULL)
            return NULL;
        message->capacity = capacity;
    }
    message->next = NULL;
    message->refs = 1;
    message->index = -1;
    message->at = 0;
    return message;
}

void rlx_rpc_reply_unref(rlx_rpc_reply_t *message)
{
    rlx_rpc_conn_t *conn = message->conn;
    rlx_rpc_server_t *server = conn->server;
    rlx_rpc_release_fn_t *release = message->release;
    void *context = message->context;

    RLX_ASSERT(message->refs > 0);
    if (--message->refs > 0)
        return;
    RLX_ASSERT(conn->unsent >= message->bytes);
    conn->unsent -= message->bytes;
    if (message->capacity == MESSAGE_SMALL) {
        message->next = server->free_small;
        server->free_small = message;
    } else if (server->n_free_large < FREE_LARGE_MAX) {
        message->next = server->free_large;
        server->free_large = message;
        server->n_free_large++;
    } else {
        free(message);
    }
    if (release != NULL)
        release(context); /* last: it may send again */
}
