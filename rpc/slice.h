/* A piece of a message, by reference: what servers and clients send is a list of them. */
#ifndef RLX_RPC_SLICE_H
#define RLX_RPC_SLICE_H

#include <stddef.h>

typedef struct rlx_rpc_slice {
    const void *data;
    size_t bytes;
} rlx_rpc_slice_t;
#define RLX_RPC_SLICES_MAX 256 /* of a message that a server sends */

/* Tells the owner of borrowed bytes that they are not needed any more. */
typedef void rlx_rpc_release_fn_t(void *context);

#endif
