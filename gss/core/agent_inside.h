/* What the agent's files share, visible inside this folder only. */
#ifndef RLX_GSS_CORE_AGENT_INSIDE_H
#define RLX_GSS_CORE_AGENT_INSIDE_H

#include "base/prng.h"
#include "gss/core/agent.h"
#include "gss/core/message.h"
#include "gss/core/mutant.h"
#include "gss/core/pulse.h"

/* What there is of one replica: a link, and how far its changes have come. */
typedef struct agent_source {
    bool up, dialing;
    uint64_t epoch, serial;       /* its boot; received up to this serial */
    uint64_t since_ms;            /* when the dial, or the oldest unanswered message, began; 0: nothing is waited for */
    uint32_t mismatches;          /* level replies in a row whose digest was another */
} agent_source_t;

struct rlx_gss_agent {
    rlx_gss_options_t options;
    uint64_t node, boot, incarnation, learned, counter, sequence;
    rlx_gss_agent_state_t state;
    bool registered, joined_told, send_record, spread;
    rlx_gss_state_t view;
    rlx_gss_awake_t awake;
    rlx_prng_t prng;
    agent_source_t sources[RLX_GSS_REPLICAS_MAX];
    uint32_t n_replicas, home, next_home;
    uint64_t beat_ms, dial_ms, expire_ms, fresh_ms;
    uint32_t dial_wait_ms;
    rlx_gss_version_t holder; /* while asking: the life that has the name */
    uint32_t holder_rises;
    uint32_t sweep; /* number of the full view under way; what it does not mention goes */
    bool sweeping;
    uint8_t record[RLX_GSS_BODY_MAX], load[RLX_GSS_LOAD_MAX];
    uint32_t record_bytes, load_bytes;
    rlx_gss_effects_t *effects;
    rlx_gss_packet_t in;
    uint64_t rtt_ms, failovers, rejoins, refused, resyncs, gaps;
};

static inline uint64_t agent_now(const rlx_gss_agent_t *agent) { return agent->awake.now_ms; }

/* agent.c: says on `link` what there is to say in this state. */
void agent_speak(rlx_gss_agent_t *agent, uint32_t link, bool counts);
/* agent.c: the link is of no use: closed; if it was home's another one is sought. */
void agent_leave_link(rlx_gss_agent_t *agent, uint32_t link);
/* agent_reply.c: the message in agent->in came on `link`. */
void agent_reply(rlx_gss_agent_t *agent, uint32_t link);

#endif
