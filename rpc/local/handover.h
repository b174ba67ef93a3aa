/* The client's side of the memory hand-over (docs/PROTOCOL.md): sealed memfds go to a daemon on this machine, over its Unix socket, and
 * requests then name them as regions.
 *
 * Calls block, at most HANDOVER_TIMEOUT_MS: for any thread but a loop's. One thread at a time per socket. */
#ifndef RLX_RPC_LOCAL_HANDOVER_H
#define RLX_RPC_LOCAL_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

#define RLX_HANDOVER_SOCKET "/run/rlxd/memory.sock"
#define RLX_HANDOVER_NAME_MAX 255
#define RLX_HANDOVER_MAGIC 0x4d584c52u
#define RLX_HANDOVER_VERSION 1
enum { RLX_HANDOVER_GIVE = 1, RLX_HANDOVER_RELEASE = 2 };

/* Little-endian, as are the machines that RLX runs on. */
typedef struct rlx_handover_request {
    uint32_t magic;
    uint16_t version, op;
    uint32_t name_bytes, reserved;
} rlx_handover_request_t;
typedef struct rlx_handover_answer {
    uint32_t magic;
    uint16_t version, status;
    uint32_t message_bytes, reserved;
} rlx_handover_answer_t;
_Static_assert(sizeof(rlx_handover_request_t) == 16, "wire format");
_Static_assert(sizeof(rlx_handover_answer_t) == 16, "wire format");

/* A memfd of `bytes` bytes, sealed against shrinking and growing, and mapped. */
rlx_status_t rlx_handover_memory(const char *name, uint64_t bytes, int *out_fd, void **out_address, rlx_diag_t *diag);
rlx_status_t rlx_handover_connect(const char *path, int *out_socket, rlx_diag_t *diag);
/* GIVE borrows `fd`; RELEASE has none (-1). Waits for the daemon's answer. */
rlx_status_t rlx_handover_call(int socket, int op, const char *name, int fd, rlx_diag_t *diag);
/* False: the daemon has closed the connection, and its regions are gone. */
bool rlx_handover_alive(int socket);

#endif
