/* The hand-over of client memory (docs/PROTOCOL.md): a Unix stream socket on which clients of this machine register sealed memfds as
 * regions. A connection's regions go when it closes, those in use when their last request ends.
 *
 * Bounds: RLX_HANDOVER_CONNECTIONS_MAX connections (more: closed at once, counted), RLX_REGIONS_MAX regions over all, half of them per
 * connection at most; a connection that hands nothing over for RLX_HANDOVER_IDLE_MS, or stops in mid-request, is closed; one that does not
 * read its answers too. Loop thread only. */
#ifndef RLX_DAEMON_MEMORY_HANDOVER_H
#define RLX_DAEMON_MEMORY_HANDOVER_H

#include <uv.h>

#include "base/diag.h"
#include "daemon/memory/regions.h"

#define RLX_HANDOVER_CONNECTIONS_MAX 256
#define RLX_HANDOVER_IDLE_MS 10000

typedef struct rlx_handover rlx_handover_t;

/* RLX_HANDOVER_COUNTER(id, help) */
#define RLX_HANDOVER_COUNTERS(X) \
    X(accepted, "hand-over connections accepted") X(refused, "hand-over connections closed at once: too many") \
    X(handed_over, "memfds handed over") X(released, "memfds released") X(denied, "hand-over requests refused by status") \
    X(malformed, "hand-over connections closed for malformed requests") X(idle, "hand-over connections closed for idleness") \
    X(unread, "hand-over connections closed since their answers were not read")
typedef struct rlx_handover_counters {
#define RLX_HANDOVER_COUNTER(id, help) uint64_t id;
    RLX_HANDOVER_COUNTERS(RLX_HANDOVER_COUNTER)
#undef RLX_HANDOVER_COUNTER
} rlx_handover_counters_t;

/* Listens at `path`; a stale socket file is replaced, one that answers is an error. */
rlx_status_t rlx_handover_create(uv_loop_t *loop, rlx_regions_t *regions, const char *path, rlx_handover_t **out_handover,
                                 rlx_diag_t *diag);
const rlx_handover_counters_t *rlx_handover_counters(const rlx_handover_t *handover);
/* Closes all, drops the regions, removes the socket file; `done` on the loop when every handle is closed, and it is freed. Before
 * rlx_regions_destroy. */
void rlx_handover_close(rlx_handover_t *handover, void (*done)(void *context), void *context);

#endif
