/* A replica of the state service, as a pure state machine: events in, effects out. No I/O, no clock (time is an argument: milliseconds of
 * this machine's monotonic clock, from any origin), no randomness (`boot` is given, and seeds what is drawn), no thread. Memory: tables at
 * create, bodies of cells as they change, both bounded (options.h). The driver (gss/driver) and the simulator (sim/) drive the same object.
 *
 * A replica joins what nodes say of themselves, what the other replicas have, and what operators want; it watches the nodes' heartbeats on
 * its own clock; it tells nodes and replicas what changed. It owns nothing and hands out no work. There is no leader: any replica serves. */
#ifndef RLX_GSS_CORE_REPLICA_H
#define RLX_GSS_CORE_REPLICA_H

#include "base/diag.h"
#include "gss/core/state.h"
#include "gss/core/step.h"

typedef struct rlx_gss_replica rlx_gss_replica_t;

typedef struct rlx_gss_replica_settings {
    rlx_gss_options_t options;
    uint64_t replicas[RLX_GSS_REPLICAS_MAX]; /* ids (rlx_gss_id of their names), in the same order everywhere */
    uint32_t n_replicas, self;               /* how many; which of them this is */
    uint64_t boot;                           /* random, never 0, never used before: names this start's serials and dots */
    const void *snapshot;                    /* borrowed during create: the newest good one (snapshot.h); NULL: none */
    size_t snapshot_bytes;
} rlx_gss_replica_settings_t;

typedef struct rlx_gss_replica_look {
    bool ready;                    /* it has what it needs to speak for the cluster */
    bool persisted;                /* all it has is on its disk */
    bool disk_failed;              /* the last attempt to write failed */
    uint32_t reachable;            /* other replicas that hear it and are heard */
    uint32_t score;                /* its own health: 0 well .. 7 */
    uint32_t nodes, members, tombstones_and_rows, links;
    uint64_t digest, serial, bytes; /* of the state; bytes: of its bodies */
    uint64_t refused_full, refused_bad, refused_link, clashes, suspicions, evictions, evictions_held, discards, resent, gaps;
    uint64_t lag_ms[RLX_GSS_REPLICAS_MAX]; /* since this replica last knew that the other has all it has */
} rlx_gss_replica_look_t;

/* NULL: no memory, or a snapshot that cannot be read: diag. */
rlx_gss_replica_t *rlx_gss_replica_create(const rlx_gss_replica_settings_t *settings, uint64_t now_ms, rlx_diag_t *diag);
void rlx_gss_replica_destroy(rlx_gss_replica_t *replica);

/* `effects` was made by rlx_gss_effects_init; what was in it is replaced. `now_ms` never goes back. */
void rlx_gss_replica_step(rlx_gss_replica_t *replica, const rlx_gss_event_t *event, uint64_t now_ms, rlx_gss_effects_t *effects);
/* A TIMER is due then. */
uint64_t rlx_gss_replica_due_ms(const rlx_gss_replica_t *replica);
/* Appends the snapshot that the last PERSIST effect asked for. False when out->full. */
bool rlx_gss_replica_snapshot(rlx_gss_replica_t *replica, rlx_text_t *out);

const rlx_gss_state_t *rlx_gss_replica_state(const rlx_gss_replica_t *replica);
void rlx_gss_replica_look(const rlx_gss_replica_t *replica, rlx_gss_replica_look_t *out_look);
/* The watermarks of a node's last heartbeat; 0 bytes: none known. */
uint32_t rlx_gss_replica_load(const rlx_gss_replica_t *replica, uint64_t node, uint8_t out_load[RLX_GSS_LOAD_MAX]);

#endif
