/* A daemon without sockets and threads: hands events to the actor, applies its effects to books of its own, and holds every one of them
 * against the specification (docs/PROTOCOL.md, daemon/actor/actor.h): the books know nothing of the actor's code. Scenarios drive it. */
#ifndef RLX_SIM_DAEMON_H
#define RLX_SIM_DAEMON_H

#include "daemon/actor/actor.h"
#include "sim/world.h"

#define SIM_REQUESTS_MAX 1024
#define SIM_RUNS_MAX 16 /* workers, and runs ahead of them */
#define SIM_MODELS_MAX 8

/* SIM_REACHED(id, text): what a scenario that uses the daemon counts. States, refusals and cancellations by state come first. */
#define SIM_REACHED_LIST(X) \
    X(STATE_FREE, "state free again") X(STATE_RECEIVING, "state receiving") X(STATE_QUEUED, "state queued") \
    X(STATE_BATCHING, "state batching") X(STATE_RUNNING, "state running") X(STATE_CANCELLING, "state cancelling") \
    X(STATE_REPLYING, "state replying") \
    X(REFUSED_NONE, "requests submitted") X(REFUSED_TABLE_FULL, "refused table_full") X(REFUSED_QUEUE_FULL, "refused queue_full") \
    X(REFUSED_UNREACHABLE, "refused deadline_unreachable") X(REFUSED_PASSED, "refused deadline_passed") \
    X(REFUSED_CANCELLED, "clients gone unanswered") X(REFUSED_DRAINING, "refused draining") X(REFUSED_MODEL_GONE, "refused model_gone") \
    X(GONE_FREE, "answers") X(GONE_RECEIVING, "client gone receiving") X(GONE_QUEUED, "client gone queued") \
    X(GONE_BATCHING, "client gone batching") X(GONE_RUNNING, "client gone running") X(GONE_CANCELLING, "client gone twice") \
    X(GONE_REPLYING, "client gone replying") \
    X(ABANDONED, "bad input") X(RUNS, "runs") X(RUNS_BATCHED, "runs of several") X(RUNS_ALONE, "runs alone") \
    X(RUNS_STOPPED, "runs stopped") X(RUNS_MIXED, "runs with some clients gone") X(LATE, "answers after their deadline") \
    X(LATE_REFUSALS, "refused after waiting") X(TIMERS, "timers") X(MODELS_LEFT, "models gone while in use") X(DRAINED, "drained") \
    X(MORE, "steps in several parts")
enum {
#define X(id, text) SIM_REACHED_##id,
    SIM_REACHED_LIST(X)
#undef X
    SIM_REACHED_COUNT
};
extern const char *const sim_daemon_counters[SIM_REACHED_COUNT];

typedef enum sim_phase { SIM_NOWHERE, SIM_RECEIVING, SIM_WAITING, SIM_RUNNING, SIM_ENDED, SIM_REPLYING } sim_phase_t;

typedef struct sim_request {
    sim_phase_t phase;
    bool gone, abandoned; /* client gone; input was bad */
    uint32_t model, rows, priority, run, answers;
    uint64_t serial, submitted; /* of all requests ever; order of submission */
    uint64_t key, cost_ns, deadline_ns, opened_ns, submitted_ns;
    uint64_t tag; /* the scenario's */
} sim_request_t;

typedef struct sim_run {
    bool active, stopped, alone;
    uint32_t requests[RLX_ACTOR_BATCH_MAX];
    uint32_t n, model;
    uint64_t serial, start_ns;
} sim_run_t;

typedef struct sim_model {
    bool serving, leaving;
    rlx_actor_model_t settings;
    uint32_t requests, waiting;
    uint64_t busy_ns; /* of completed runs */
} sim_model_t;

typedef struct sim_daemon sim_daemon_t;

/* What a scenario does when something happens; every pointer is set. */
typedef struct sim_daemon_ops {
    void (*started)(sim_daemon_t *daemon, uint32_t run);
    void (*stopped)(sim_daemon_t *daemon, uint32_t run);  /* all its clients are gone */
    void (*answered)(sim_daemon_t *daemon, uint32_t request, rlx_refusal_t refusal); /* NONE: a real answer; REPLIED is to be sent */
    void (*armed)(sim_daemon_t *daemon, uint64_t at_ns);
    void (*model_free)(sim_daemon_t *daemon, uint32_t model);
} sim_daemon_ops_t;

struct sim_daemon {
    sim_world_t *world;
    rlx_actor_t *actor;
    rlx_actor_options_t options;
    const sim_daemon_ops_t *ops;
    void *context;
    rlx_actor_effects_t effects;
    sim_request_t requests[SIM_REQUESTS_MAX];
    sim_run_t runs[SIM_RUNS_MAX];
    sim_model_t models[SIM_MODELS_MAX];
    uint32_t open, waiting, running, touched; /* touched: ids below were used */
    uint64_t serial, submitted, armed_ns;
    uint64_t opened, replied, completed, refused[RLX_REFUSAL_COUNT];
    bool draining, drained;
};

void sim_daemon_init(sim_daemon_t *daemon, sim_world_t *world, const rlx_actor_options_t *options, const sim_daemon_ops_t *ops,
                     void *context);
void sim_daemon_fini(sim_daemon_t *daemon);
void sim_daemon_model_add(sim_daemon_t *daemon, uint32_t model, const rlx_actor_model_t *settings);
void sim_daemon_model_remove(sim_daemon_t *daemon, uint32_t model);
/* RLX_ACTOR_NONE when refused. */
uint32_t sim_daemon_open(sim_daemon_t *daemon, uint32_t model);
/* rows, batch_key, cost_ns, deadline_ns and priority of `event` are used. */
void sim_daemon_submit(sim_daemon_t *daemon, uint32_t request, const rlx_actor_event_t *event);
void sim_daemon_abandon(sim_daemon_t *daemon, uint32_t request);
void sim_daemon_cancel(sim_daemon_t *daemon, uint32_t request);
void sim_daemon_replied(sim_daemon_t *daemon, uint32_t request);
void sim_daemon_complete(sim_daemon_t *daemon, uint32_t run, uint64_t busy_ns);
void sim_daemon_timer(sim_daemon_t *daemon);
void sim_daemon_drain(sim_daemon_t *daemon);
/* Nothing happens any more: every id, run and model must be back, and the actor's counters must add up to ours. */
void sim_daemon_check_end(sim_daemon_t *daemon);

/* daemon_check.c: one effect against the books, then into them. */
void sim_daemon_effect(sim_daemon_t *daemon, const rlx_actor_effect_t *effect);
/* daemon_check.c: opening `model` was refused. */
void sim_daemon_closed(sim_daemon_t *daemon, uint32_t model, rlx_refusal_t refusal);
/* daemon_check.c: what must hold after every step; and, unless it was an opening, that nothing is overdue. */
void sim_daemon_check_books(sim_daemon_t *daemon);
void sim_daemon_check_rest(sim_daemon_t *daemon);

#endif
