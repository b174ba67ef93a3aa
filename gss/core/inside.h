/* What the replica's files share, visible inside this folder only. Times are awake milliseconds (pulse.h) from AWAKE_START, so that ages from
 * before the start fit. */
#ifndef RLX_GSS_CORE_INSIDE_H
#define RLX_GSS_CORE_INSIDE_H

#include "base/prng.h"
#include "gss/core/message.h"
#include "gss/core/mutant.h"
#include "gss/core/pulse.h"
#include "gss/core/replica.h"

#define GSS_TICK_MS 50
#define GSS_AWAKE_START (1ull << 42)
#define GSS_PART_BYTES ((size_t)24 << 10) /* of cells in one message: a record of the largest size still fits after it */
#define GSS_WINDOW 4                      /* messages with cells to a peer that it has not acknowledged */
#define GSS_REACHABLE_MS 2000             /* a peer that echoed nothing younger does not hear us, or we do not hear it */
#define GSS_ANSWERS_MAX 256               /* operators waiting; above: refused */

typedef struct gss_link {
    bool up, missed;      /* missed: the full stream under way began with MISSED */
    uint32_t peer;        /* index of the replica; NONE: a node, or not known yet */
    uint64_t node;        /* 0: has not beaten yet */
    uint64_t sent;        /* topology up to this serial was sent on this link */
} gss_link_t;

typedef struct gss_peer {
    uint64_t id, epoch;                    /* epoch: its boot, 0 until it spoke */
    uint32_t link;                         /* NONE: none */
    bool greeted, met, ready, owes, more;  /* greeted: it spoke on this link. met: since our start. owes: it waits for an acknowledgement */
    uint64_t have, have_beats;             /* of its serials we have all up to this */
    uint64_t its_total;                    /* its newest change */
    uint64_t acked, acked_beats, durable;  /* of ours it has; and has on disk */
    uint64_t sent, sent_beats;             /* of ours we sent on this link */
    uint64_t durable_out, persisting;      /* of its serials our snapshot has; the one being written will have */
    uint32_t mismatches;                   /* level messages in a row whose digest was another */
    uint32_t inflight;                     /* messages with cells since the last acknowledgement that rose */
    uint64_t stamp_in, echoed_ms, sent_ms, progress_ms, dial_ms;
    uint32_t dial_wait_ms;
    uint64_t forgot_age, have_ages[RLX_GSS_REPLICAS_MAX], durable_ages[RLX_GSS_REPLICAS_MAX]; /* as it said last */
    uint64_t said_flags, said_group; /* in our first message on this link */
    uint64_t mark_serial, mark_ms, have_ms;          /* it had everything of ours at have_ms */
    uint64_t mark_durable, mark_durable_ms, durable_ms; /* and on disk at durable_ms */
} gss_peer_t;

typedef struct gss_answer {
    uint64_t request, serial, deadline_ms;
} gss_answer_t;

struct rlx_gss_replica {
    rlx_gss_options_t options;
    uint32_t n_replicas, self;
    uint64_t id, boot, next_dot;
    rlx_gss_state_t state;
    rlx_gss_pulses_t pulses;
    rlx_gss_awake_t awake;
    rlx_prng_t prng;
    gss_peer_t peers[RLX_GSS_REPLICAS_MAX];
    gss_link_t *links;
    uint32_t links_max, links_touched, push_next;
    uint64_t pushed, push_ms;  /* serial that every node was told; when the next round may begin */
    uint64_t tick_ms, expire_ms, started_ms;
    bool ready, persisting, disk_failed, persist_now;
    uint64_t durable, persisting_serial, persist_ms; /* topology on our disk up to this serial */
    uint64_t generation;    /* of the last snapshot */
    uint32_t discard_for;   /* index of the peer that said we missed something, + 1; 0: none */
    uint64_t discard_stamp; /* the intents are rescued when it echoes this */
    uint64_t rescued;       /* serial up to which they were sent */
    gss_answer_t answers[GSS_ANSWERS_MAX];
    uint32_t n_answers;
    rlx_gss_effects_t *effects; /* of the step under way */
    rlx_gss_packet_t in;        /* the message under way */
    uint64_t refused_link, suspicions, evictions, evictions_held, discards, resent, gaps;
};

static inline uint64_t gss_now(const rlx_gss_replica_t *replica) { return replica->awake.now_ms; }
static inline uint64_t gss_topology(const rlx_gss_replica_t *replica) { return replica->state.store.last[RLX_GSS_TOPOLOGY]; }

/* replica.c: joins one cell and does what follows from it (pulses, rows, snapshots). `from`: index of the peer, or NONE. */
rlx_gss_joined_t gss_join(rlx_gss_replica_t *replica, const rlx_gss_cell_t *cell, uint32_t from);
/* replica.c: refuses and closes a link that says what it must not. */
void gss_refuse(rlx_gss_replica_t *replica, uint32_t link);

/* peers.c */
bool gss_peer_reachable(const rlx_gss_replica_t *replica, uint32_t peer);
uint32_t gss_peers_reachable(const rlx_gss_replica_t *replica);
void gss_peer_message(rlx_gss_replica_t *replica, uint32_t link);
void gss_peer_up(rlx_gss_replica_t *replica, uint32_t link, uint32_t peer);
void gss_peer_down(rlx_gss_replica_t *replica, uint32_t peer);
void gss_peer_hang_up(rlx_gss_replica_t *replica, uint32_t peer); /* closes its link */
void gss_peers_tick(rlx_gss_replica_t *replica);  /* dials, readiness, repairs */
void gss_peers_flush(rlx_gss_replica_t *replica); /* sends what is due */
void gss_peers_persisting(rlx_gss_replica_t *replica);
void gss_peers_persisted(rlx_gss_replica_t *replica);

/* nodes.c */
void gss_node_message(rlx_gss_replica_t *replica, uint32_t link);
void gss_nodes_flush(rlx_gss_replica_t *replica);

/* watch.c */
void gss_watch_beat(rlx_gss_replica_t *replica, const rlx_gss_cell_t *beat);
void gss_watch_row(rlx_gss_replica_t *replica, const rlx_gss_cell_t *row); /* somebody else's */
void gss_watch_tick(rlx_gss_replica_t *replica);
void gss_watch_expire(rlx_gss_replica_t *replica);

/* intents.c */
void gss_intent_event(rlx_gss_replica_t *replica, const rlx_gss_event_t *event);
void gss_intents_flush(rlx_gss_replica_t *replica); /* answers */
#ifdef RLX_GSS_MUTANTS
void gss_intent_removed(rlx_gss_replica_t *replica, const rlx_gss_cell_t *cell);
#endif
/* A rescued cell of another replica may be joined. A dot that the context here has seen, and that is not here, was removed since. */
bool gss_intent_rescuable(const rlx_gss_replica_t *replica, const rlx_gss_cell_t *cell);

#endif
