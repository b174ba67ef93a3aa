/* What a cluster agrees on: intervals and bounds of the state service. The same values at every replica and node. Milliseconds are of the
 * observer's own monotonic clock; no time of one machine is ever compared with another's. */
#ifndef RLX_GSS_CORE_OPTIONS_H
#define RLX_GSS_CORE_OPTIONS_H

#include <stdint.h>

#define RLX_GSS_REPLICAS_MAX 8
#define RLX_GSS_NAME_MAX 63        /* bytes of a node's name, a label's key, a bundle's name */
#define RLX_GSS_BODY_MAX 4096      /* bytes of one record; above: refused, counted */
#define RLX_GSS_CELLS_MAX 512      /* cells of one message; above: refused, counted */
#define RLX_GSS_MESSAGE_MAX 65536  /* bytes of one message; above: refused, counted */
#define RLX_GSS_LOAD_MAX 64        /* bytes of a heartbeat's watermarks */
#define RLX_GSS_INCARNATION_JUMP (1ull << 20) /* a node that claims more above what is known of it is refused */
#define RLX_GSS_PROTOCOL 1         /* version of messages that this code speaks; it reads RLX_GSS_PROTOCOL_MIN and up */
#define RLX_GSS_PROTOCOL_MIN 1
#define RLX_GSS_NONE UINT32_MAX

typedef struct rlx_gss_options {
    uint32_t heartbeat_ms;     /* 500; 2000 beyond a thousand nodes */
    uint32_t suspect_ms;       /* never suspected before this silence: 2000 */
    uint32_t suspect_beats;    /* nor before so many heartbeats: 4 */
    uint32_t evict_ms;         /* the shortest silence of a node that may be an eviction: 6000 (12000 at 2 s heartbeats) */
    uint32_t evict_share;      /* max(1, members / evict_share) evictions a minute: 8 */
    uint32_t exchange_ms;      /* between replicas while something is new: 200 */
    uint32_t push_ms;          /* changes to nodes are gathered for so long: 20 */
    uint32_t refill_ms;        /* a replica that starts waits so long for its peers before it serves what it has: 3000 */
    uint32_t answer_ms;        /* an operator is answered after this, on however many replicas the intent is durable by then: 2000 */
    uint32_t snapshot_ms;      /* a snapshot is due so long after a change: 5000; intents ask for one at once */
    uint64_t tombstone_ms;     /* what left or was removed is remembered so long: 72 h */
    uint32_t tombstones_max;   /* and so many; above, the oldest are forgotten */
    uint32_t nodes_max;        /* nodes known at once; above: refused, counted */
    uint32_t intents_max;      /* live intents; above: refused with both numbers */
} rlx_gss_options_t;

/* The defaults for a heartbeat of `heartbeat_ms`. */
rlx_gss_options_t rlx_gss_options_default(uint32_t heartbeat_ms, uint32_t nodes_max);

/* After this silence, by an observer's clock, it votes for eviction: a beat may have been due just before the silence began, and one may be
 * on its way. */
static inline uint64_t rlx_gss_options_evict_after_ms(const rlx_gss_options_t *options)
{
    return (uint64_t)options->evict_ms + options->heartbeat_ms + 500;
}

#endif
