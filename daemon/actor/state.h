/* What the actor's files share: its tables, visible inside this folder only. Every table is allocated once, by create; an index is an
 * identity, RLX_ACTOR_NONE is none. Costs are nanoseconds: `cost` as the compiler's table says, `expected` as corrected by what was
 * measured (estimate.c). */
#ifndef RLX_DAEMON_ACTOR_STATE_H
#define RLX_DAEMON_ACTOR_STATE_H

#include "daemon/actor/actor.h"
#include "daemon/actor/heap.h"

#define ACTOR_PRIORITIES 2

/* Effects that one indivisible act may need: FREE, MODEL_FREE, DRAINED. Before each the step makes sure of that room. */
#define ACTOR_ACT_EFFECTS 3

typedef struct actor_request {
    uint64_t cost_ns, deadline_ns, since_ns, submitted_ns, batch_key;
    uint32_t model, run, rows;
    uint32_t group;                  /* while it waits */
    uint32_t prev, next;             /* while it waits: its model's line; while FREE: `next` in the free list */
    uint32_t group_prev, group_next; /* while it waits: its group */
    uint8_t state, priority;
    bool probe; /* let in to measure an estimate that may be stale */
} actor_request_t;

/* Waiting requests of one model, priority and batch key, oldest first (group.h). Full: enough for a run; it is in its line's list of
 * those. */
typedef struct actor_group {
    uint64_t key;
    uint32_t model, priority;
    uint32_t head, tail, n;
    uint64_t rows;
    uint32_t bucket_next;          /* index + 1 in its hash bucket; free list likewise */
    uint32_t full_prev, full_next; /* among the full ones */
    bool full, single; /* single: one request, never more, so always full; in no bucket */
} actor_group_t;

/* All waiting requests of one model and priority, oldest first. */
typedef struct actor_line {
    uint32_t head, tail, n;
    uint32_t full_head, full_tail; /* groups that are full, in the order they became so */
    uint64_t cost_ns;              /* sum over the line */
} actor_line_t;

/* Measured time over table cost, 16 bits behind the point; its mean deviation; when it was measured last, and how often. */
typedef struct actor_estimate {
    uint64_t ratio, deviation, measured_ns;
    uint8_t samples; /* stops at 255 */
} actor_estimate_t;

typedef enum actor_model_state { ACTOR_MODEL_ABSENT, ACTOR_MODEL_SERVING, ACTOR_MODEL_LEAVING } actor_model_state_t;

typedef struct actor_model {
    actor_model_state_t state;
    rlx_actor_model_t settings;
    actor_line_t lines[ACTOR_PRIORITIES];
    uint32_t requests; /* in any state but FREE */
    uint32_t runs;
    uint64_t waiting_ns; /* expected, over both lines */
    uint64_t virtual_ns; /* work it got, on the common scale of turn.c */
    actor_estimate_t one;  /* of runs on one worker */
    actor_estimate_t team; /* of runs that were alone and had all workers */
} actor_model_t;

typedef struct actor_run {
    uint32_t requests[RLX_ACTOR_BATCH_MAX];
    uint32_t n, cancelled, ended; /* ended: members whose end was told, while the run completes */
    uint32_t model;
    uint32_t prev, next; /* running ones, oldest first; free list by `next` */
    uint64_t start_ns, cost_ns, expected_ns;
    bool alone, active, brief;
} actor_run_t;

struct rlx_actor {
    rlx_actor_options_t options;
    actor_request_t *requests;
    actor_group_t *groups;
    uint32_t *buckets; /* of groups by (model, priority, key): index + 1 */
    uint32_t buckets_mask;
    actor_model_t *models;
    actor_run_t *runs;
    uint32_t requests_free, requests_touched; /* never used ones begin at requests_touched: their pages stay untouched */
    uint32_t groups_free, groups_touched;     /* groups_free: index + 1 */
    uint32_t runs_free, runs_head, runs_tail, n_running;
    uint32_t n_long; /* running ones that are not brief */
    uint32_t waiting, open; /* requests: waiting; not FREE */
    uint64_t waiting_ns;    /* expected, over all models */
    actor_heap_t deadlines; /* waiting requests that have one */
    actor_heap_t ripe;      /* models with waiting requests, by virtual time */
    actor_heap_t unripe;    /* models whose waiting requests may all still gain companions, by the time that ends */
    uint64_t virtual_ns;    /* of the last model that had its turn */
    uint64_t now_ns, armed_ns;
    uint32_t ending; /* run whose members are being told, or NONE */
    bool draining, drained, more;
    rlx_actor_effects_t *effects; /* of the step that runs */
    rlx_actor_view_t view;
};

static inline actor_request_t *actor_request_at(rlx_actor_t *actor, uint32_t request)
{
    return &actor->requests[request];
}

static inline uint64_t actor_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* step.c: the next free effect, with kind set and the rest zero or NONE. */
rlx_actor_effect_t *actor_emit(rlx_actor_t *actor, rlx_actor_effect_kind_t kind);

#endif
