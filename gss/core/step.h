/* What goes into and comes out of a step of a replica (replica.h) or a node (agent.h): plain values. The driver and the simulator apply
 * effects in order; sockets, files and clocks are theirs. */
#ifndef RLX_GSS_CORE_STEP_H
#define RLX_GSS_CORE_STEP_H

#include "base/status.h"
#include "base/text.h"
#include "gss/core/record.h"

#define RLX_GSS_EFFECTS_MAX 64
#define RLX_GSS_EFFECT_BYTES ((size_t)256 << 10) /* of messages of one step */

typedef enum rlx_gss_event_kind {
    RLX_GSS_EVENT_TIMER,     /* time passed; at the latest when due says so, early is harmless. Also for a step again while `more` is set */
    RLX_GSS_EVENT_LINK_UP,   /* link; replica: peer is the index that DIAL named, or NONE for one that was accepted. Agent: link is the index
                              * of the replica */
    RLX_GSS_EVENT_LINK_DOWN, /* link: closed, broken, refused, or a dial that failed (agent). Nothing more comes from it */
    RLX_GSS_EVENT_MESSAGE,   /* link, data, bytes (borrowed): one whole message. Order holds within a link, not between links */
    RLX_GSS_EVENT_PERSISTED, /* ok: the last PERSIST has reached the disk, or failed */
    RLX_GSS_EVENT_INTENT,    /* replica: an operator's intent; request is echoed by exactly one ANSWER. remove: what is seen of it here goes */
    RLX_GSS_EVENT_RECORD,    /* agent: the node's record changed: data, bytes (RLX_GSS_BODY_MAX at most) */
    RLX_GSS_EVENT_LOAD,      /* agent: watermarks for the next heartbeats: data, bytes (RLX_GSS_LOAD_MAX at most) */
    RLX_GSS_EVENT_LEAVE,     /* agent: the record (state left) goes out once more, then nothing */
} rlx_gss_event_kind_t;

typedef struct rlx_gss_event {
    rlx_gss_event_kind_t kind;
    uint32_t link, peer;
    const void *data;
    size_t bytes;
    uint64_t request;
    const rlx_gss_intent_t *intent;
    bool remove, ok;
} rlx_gss_event_t;

typedef enum rlx_gss_effect_kind {
    RLX_GSS_EFFECT_SEND,    /* link; rlx_gss_effect_data: one message. May be lost, if the link breaks; whoever sent it knows */
    RLX_GSS_EFFECT_CLOSE,   /* link: LINK_DOWN follows only if it was up by the other's doing before; the number is free at once */
    RLX_GSS_EFFECT_DIAL,    /* peer: index of a replica. LINK_UP answers it, or nothing (replica), or LINK_DOWN (agent) */
    RLX_GSS_EFFECT_PERSIST, /* replica: rlx_gss_replica_snapshot now, then to disk. Agent: incarnation. PERSISTED answers it */
    RLX_GSS_EFFECT_ANSWER,  /* request: status; durable_on replicas the intent is durable */
    RLX_GSS_EFFECT_SUSPECT, /* replica: it suspects node, incarnation: silent for silence_ms */
    RLX_GSS_EFFECT_EVICTED, /* replica: it evicted node, incarnation: silent for silence_ms, by votes observers */
    RLX_GSS_EFFECT_JOINED,  /* agent: registered as incarnation */
    RLX_GSS_EFFECT_STOPPED, /* agent: another live machine holds the name, with boot: this one stops and says so */
    RLX_GSS_EFFECT_LEFT,    /* agent: the record that says so has arrived */
} rlx_gss_effect_kind_t;

typedef struct rlx_gss_effect {
    rlx_gss_effect_kind_t kind;
    uint32_t link, peer, durable_on, votes;
    rlx_status_t status;
    size_t at, bytes;
    uint64_t request, node, incarnation, boot, silence_ms;
} rlx_gss_effect_t;

typedef struct rlx_gss_effects {
    rlx_gss_effect_t effect[RLX_GSS_EFFECTS_MAX];
    uint32_t n;
    bool more; /* there was no room for all: step again with TIMER after applying these */
    rlx_text_t text;
} rlx_gss_effects_t;

/* Takes all the memory that steps will need. False when there is none; fini is allowed either way. */
bool rlx_gss_effects_init(rlx_gss_effects_t *effects);
void rlx_gss_effects_fini(rlx_gss_effects_t *effects);
void rlx_gss_effects_clear(rlx_gss_effects_t *effects);
/* Room for eight more effects, one of them a large message. */
bool rlx_gss_effects_room(const rlx_gss_effects_t *effects);
rlx_gss_effect_t *rlx_gss_effects_add(rlx_gss_effects_t *effects, rlx_gss_effect_kind_t kind);
/* What was appended to effects->text since it had `at` bytes, as a message on `link`. */
void rlx_gss_effects_send(rlx_gss_effects_t *effects, uint32_t link, size_t at);

static inline const char *rlx_gss_effect_data(const rlx_gss_effects_t *effects, const rlx_gss_effect_t *effect)
{
    return effects->text.data + effect->at;
}

#endif
