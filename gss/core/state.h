/* What a replica or node holds of the cluster: a store of cells, and the rules between kinds. An eviction removes the records, beats and rows
 * of its incarnation and those before, and keeps them out: the state is the product of its cells' orders, reduced by that rule, so joining
 * states stays commutative, associative and idempotent whatever the order of cells.
 *
 * Tombstones (evictions, removed intents, nodes that left) are forgotten after options.tombstone_ms, or when there are more than
 * tombstones_max. `forgot_ms` tells who may have missed one: everybody who did not have everything at that time (peer.h). */
#ifndef RLX_GSS_CORE_STATE_H
#define RLX_GSS_CORE_STATE_H

#include "gss/core/record.h"
#include "gss/core/store.h"

#define RLX_GSS_OBSERVERS_MAX 16 /* distinct observers of rows; further ones are refused */

typedef enum rlx_gss_joined {
    RLX_GSS_JOINED_SAME,    /* known, or older than what is held */
    RLX_GSS_JOINED_CHANGED,
    RLX_GSS_JOINED_OUT,     /* kept out by an eviction */
    RLX_GSS_JOINED_FULL,    /* a bound is reached: refused, counted */
    RLX_GSS_JOINED_BAD,     /* malformed: refused, counted */
} rlx_gss_joined_t;

typedef struct rlx_gss_state {
    rlx_gss_store_t store;
    const rlx_gss_options_t *options; /* borrowed */
    uint64_t observers[RLX_GSS_OBSERVERS_MAX];
    uint32_t n_observers;
    uint64_t forgot_ms, forgot_serial;   /* when the youngest forgotten tombstone was made, and its serial; 0: none was forgotten */
    uint64_t rows_digest;                /* of the rows that speak of a life whose record is here */
    uint64_t refused_full, refused_bad, clashes;
} rlx_gss_state_t;

/* What may be done with a node. RLX_GSS_STATUS(id, text): the first that applies, from the end of the list. */
#define RLX_GSS_STATUSES(X) \
    X(AVAILABLE, "available") X(STARTING, "starting") X(CORDONED, "cordoned") X(DRAINING, "draining") X(SUSPECT, "suspect") \
    X(INCOMPATIBLE, "incompatible") X(BANNED, "banned") X(LEFT, "left") X(UNKNOWN, "unknown")
typedef enum rlx_gss_status {
#define X(id, text) RLX_GSS_STATUS_##id,
    RLX_GSS_STATUSES(X)
#undef X
    RLX_GSS_STATUSES
} rlx_gss_status_t;
const char *rlx_gss_status_name(rlx_gss_status_t status);

bool rlx_gss_state_init(rlx_gss_state_t *state, const rlx_gss_options_t *options);
void rlx_gss_state_fini(rlx_gss_state_t *state);

/* Joins one cell in. Cells of unknown kinds are joined by version alone. Two records with one version and different bodies are a clash of
 * identities: counted, the larger body stays. */
rlx_gss_joined_t rlx_gss_state_join(rlx_gss_state_t *state, const rlx_gss_cell_t *cell, uint32_t from, uint64_t now_ms);
/* Removes a cell as if it had never come. For nodes, whose view follows what replicas have (agent.h). */
void rlx_gss_state_drop(rlx_gss_state_t *state, rlx_gss_entry_t *entry);
void rlx_gss_state_clear(rlx_gss_state_t *state);
/* Equal for states that mean the same: over live records and intents, and the rows that count. */
static inline uint64_t rlx_gss_state_digest(const rlx_gss_state_t *state)
{
    return state->store.digest + state->rows_digest;
}
/* Forgets old tombstones, and rows and beats of nodes that are not there. */
void rlx_gss_state_expire(rlx_gss_state_t *state, uint64_t now_ms);

const rlx_gss_entry_t *rlx_gss_state_node(const rlx_gss_state_t *state, uint64_t node);
/* The incarnation up to which `node` is out; 0: none. */
uint64_t rlx_gss_state_evicted(const rlx_gss_state_t *state, uint64_t node);
/* An observer's word that the node is silent stands: no observer has heard from this life of it since. */
bool rlx_gss_state_suspect(const rlx_gss_state_t *state, const rlx_gss_entry_t *node);
rlx_gss_status_t rlx_gss_state_status(const rlx_gss_state_t *state, uint64_t node);
/* Nodes with a record that have not left. */
uint32_t rlx_gss_state_members(const rlx_gss_state_t *state);
/* The live intents of a kind, target and key ("" and 0 where it has none): how many; the one with the largest dot in *out_intent. More than
 * one, with different values: operators disagreed while they could not see each other. */
uint32_t rlx_gss_state_intents(const rlx_gss_state_t *state, uint32_t kind, uint64_t target, const char *key, rlx_gss_intent_t *out_intent);

#endif
