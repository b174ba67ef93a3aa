/* Deliberate bugs, for the test that the simulator finds them. Built only where RLX_GSS_MUTANTS is defined (sim/rlx-sim-mutants); elsewhere
 * RLX_MUTANT is the constant 0, and nothing of this is in the object. */
#ifndef RLX_GSS_CORE_MUTANT_H
#define RLX_GSS_CORE_MUTANT_H

/* RLX_GSS_MUTANT(id, name, what is wrong) */
#define RLX_GSS_MUTANT_LIST(X) \
    X(ARRIVAL, "merge-by-arrival", "a join keeps what came last, not the larger version") \
    X(WALL_CLOCK, "remote-clock", "liveness subtracts the node's clock from the observer's") \
    X(TOMBSTONE_EARLY, "tombstone-early", "tombstones are dropped after a second, and nobody is told that they are") \
    X(DOT_REUSED, "dot-reused", "dots are numbered by replica instead of by its start, so a restart gives them again") \
    X(INCARNATION, "incarnation-forgotten", "a node that starts takes incarnation 1 and asks nobody") \
    X(LONE_EVICTION, "lone-eviction", "one observer is enough to evict") \
    X(BLIND_EVICTION, "blind-eviction", "a replica that sees nobody evicts all the same") \
    X(NO_CAP, "no-eviction-cap", "any number of nodes is evicted in a minute") \
    X(DEAF_OBSERVER, "deaf-observer", "an observer counts its own pause as the nodes' silence") \
    X(EARLY_ANSWER, "early-answer", "an intent is called durable before any disk has it") \
    X(STUCK_SUSPECT, "stuck-suspect", "a suspect that is heard from stays suspect") \
    X(EARLY_EVICTION, "early-eviction", "a suspect is evicted at once") \
    X(LOST_DELTA, "lost-delta", "what was sent counts as received, also when the connection broke") \
    X(EVICTION_KEPT, "eviction-kept", "a later eviction of the same node does not raise the incarnation") \
    X(FIELDS_DROPPED, "unknown-fields-dropped", "a record passed on loses what this version does not know") \
    X(STALE_SPEAKER, "stale-speaker", "a replica that missed forgotten tombstones speaks before it refills") \
    X(DISCARD_FIRST, "discard-first", "a replica that discards its state does not send its own intents first") \
    X(REMOVE_KEY, "remove-by-key", "a removal also takes intents that it has not seen") \
    X(ROUND_NOT_ARMED, "round-not-armed", "a heartbeat round that fails arms no other") \
    X(OLD_SNAPSHOT, "old-snapshot", "of two snapshots the older is read") \
    X(STUBBORN_TWIN, "stubborn-twin", "a node that finds its name taken raises its incarnation instead of stopping") \
    X(NO_PUSH, "no-push", "changes reach nodes only with the answers to their heartbeats")

#ifdef RLX_GSS_MUTANTS
typedef enum rlx_gss_mutant {
    RLX_GSS_MUTANT_NONE,
#define X(id, name, text) RLX_GSS_MUTANT_##id,
    RLX_GSS_MUTANT_LIST(X)
#undef X
    RLX_GSS_MUTANT_COUNT
} rlx_gss_mutant_t;
extern rlx_gss_mutant_t rlx_gss_mutant; /* the bug in force; the simulator's to set before it plays */
#define RLX_MUTANT(id) (rlx_gss_mutant == RLX_GSS_MUTANT_##id)
#else
#define RLX_MUTANT(id) 0
#endif

#endif
