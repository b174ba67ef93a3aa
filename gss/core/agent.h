/* A node's side of the state service, as a pure state machine like the replica (replica.h): it registers, beats, follows the topology, and
 * goes to another replica when one does not answer. The daemon's client (gss/client) and the simulator drive the same object.
 *
 * A node that starts asks first what is known of its name, and takes an incarnation above that and above its own disk's; so a wiped node, or
 * one from a backup, is never taken for its former life. While the life that holds the name goes on beating, it stops with STOPPED, and never
 * raises its incarnation to win; of two that registered where they could not see each other the one with the larger boot stays. A node that
 * finds itself evicted takes a new incarnation and is in again. One thread, no I/O, no clock; memory as in replica.h. */
#ifndef RLX_GSS_CORE_AGENT_H
#define RLX_GSS_CORE_AGENT_H

#include "gss/core/state.h"
#include "gss/core/step.h"

typedef struct rlx_gss_agent rlx_gss_agent_t;

typedef struct rlx_gss_agent_settings {
    rlx_gss_options_t options;
    uint64_t node;        /* rlx_gss_id of its name */
    uint64_t boot;        /* random, never 0, never used before */
    uint64_t incarnation; /* the last one that its disk remembers; 0: none */
    uint32_t n_replicas;
    const void *record;   /* NodeRecord, copied */
    size_t record_bytes;
} rlx_gss_agent_settings_t;

/* RLX_GSS_AGENT_STATE(id, text) */
#define RLX_GSS_AGENT_STATES(X) \
    X(ASKING, "asking") X(PERSISTING, "persisting") X(BEATING, "beating") X(LEAVING, "leaving") X(STOPPED, "stopped")
typedef enum rlx_gss_agent_state {
#define X(id, text) RLX_GSS_AGENT_##id,
    RLX_GSS_AGENT_STATES(X)
#undef X
} rlx_gss_agent_state_t;

typedef struct rlx_gss_agent_look {
    rlx_gss_agent_state_t state;
    bool registered;       /* a replica has confirmed this incarnation and record */
    uint64_t incarnation;
    uint32_t home;         /* index of the replica it beats at; NONE: none answers */
    uint64_t view_age_ms;  /* since a replica last said that the view is complete */
    uint64_t rtt_ms, failovers, rejoins, refused, resyncs, gaps;
} rlx_gss_agent_look_t;

rlx_gss_agent_t *rlx_gss_agent_create(const rlx_gss_agent_settings_t *settings, uint64_t now_ms);
void rlx_gss_agent_destroy(rlx_gss_agent_t *agent);
void rlx_gss_agent_step(rlx_gss_agent_t *agent, const rlx_gss_event_t *event, uint64_t now_ms, rlx_gss_effects_t *effects);
uint64_t rlx_gss_agent_due_ms(const rlx_gss_agent_t *agent);
/* The cached view. */
const rlx_gss_state_t *rlx_gss_agent_view(const rlx_gss_agent_t *agent);
void rlx_gss_agent_look(const rlx_gss_agent_t *agent, rlx_gss_agent_look_t *out_look);

#endif
