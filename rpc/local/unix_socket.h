/* Listening on a Unix socket, for the server and for the hand-over of memory. */
#ifndef RLX_RPC_LOCAL_UNIX_SOCKET_H
#define RLX_RPC_LOCAL_UNIX_SOCKET_H

#include "base/diag.h"

/* A non-blocking stream socket that listens at `path`; owned by the caller, who unlinks the path when he closes it. A socket file that a
 * crash left, on which nobody listens, is replaced; anything else at the path is refused. */
rlx_status_t rlx_unix_listen(const char *path, int *out_fd, rlx_diag_t *diag);

#endif
