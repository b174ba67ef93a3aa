/* The node's actor: the life of every request, as a pure state machine. Events in, effects out: no I/O, no clock, no randomness, no
 * thread, no heap after create. The daemon (daemon/node/node.c) and the simulator (sim/) drive the same object.
 *
 * A request is known by its index in the actor's table, given by the actor at OPEN and valid until its FREE effect. Life:
 *
 *   FREE -> RECEIVING (its bytes arrive) -> QUEUED or BATCHING (waits for companions) -> RUNNING -> REPLYING (bytes leave) -> FREE
 *
 * A client that goes away while RECEIVING, QUEUED or BATCHING frees the request at once; while RUNNING the state is CANCELLING until the
 * run completes; while REPLYING nothing changes: REPLIED ends it, whether the bytes left or not. One function changes a state
 * (actor_request_move). A submitted request whose client stays gets exactly one REPLY or REFUSE effect; one whose client is gone gets none.
 *
 * Admission: at SUBMIT a request is refused when the model's queue or the table is full, or when the work ahead of it and its own cost
 * cannot end before its deadline; a request whose deadline passes while it waits is refused then, by timer, never run, and one that can no
 * longer meet it is refused at its turn. Costs are corrected by what runs of the model really took. Models take turns by the work they got
 * (turn.h), so that a flood on one model delays another by at most one run per worker. No request waits while a worker is free. Bits of
 * answers depend on none of this. */
#ifndef RLX_DAEMON_ACTOR_ACTOR_H
#define RLX_DAEMON_ACTOR_ACTOR_H

#include <stdbool.h>
#include <stdint.h>

#define RLX_ACTOR_NEVER UINT64_MAX
#define RLX_ACTOR_NONE UINT32_MAX
#define RLX_ACTOR_BATCH_MAX 64 /* requests of one run */
#define RLX_ACTOR_BRIEF_NS 20000 /* waking a worker costs more than doing less than this on one that is awake */
#define RLX_ACTOR_WORKERS_MAX 1024

/* RLX_REQUEST_STATE(id, text) */
#define RLX_REQUEST_STATES(X) \
    X(FREE, "free") X(RECEIVING, "receiving") X(QUEUED, "queued") X(BATCHING, "batching") X(RUNNING, "running") \
    X(CANCELLING, "cancelling") X(REPLYING, "replying")
typedef enum rlx_request_state {
#define X(id, text) RLX_REQUEST_##id,
    RLX_REQUEST_STATES(X)
#undef X
    RLX_REQUEST_STATE_COUNT
} rlx_request_state_t;
const char *rlx_request_state_name(rlx_request_state_t state);

/* Why a request was not run. RLX_REFUSAL(id, text) */
#define RLX_REFUSALS(X) \
    X(NONE, "none") X(TABLE_FULL, "table_full") X(QUEUE_FULL, "queue_full") X(DEADLINE_UNREACHABLE, "deadline_unreachable") \
    X(DEADLINE_PASSED, "deadline_passed") X(CANCELLED, "cancelled") X(DRAINING, "draining") X(MODEL_GONE, "model_gone")
typedef enum rlx_refusal {
#define X(id, text) RLX_REFUSAL_##id,
    RLX_REFUSALS(X)
#undef X
    RLX_REFUSAL_COUNT
} rlx_refusal_t;
const char *rlx_refusal_name(rlx_refusal_t refusal);

typedef struct rlx_actor_options {
    uint32_t requests_max; /* table; when full OPEN answers RLX_ACTOR_NONE */
    uint32_t models_max;   /* model versions known at once */
    uint32_t workers;      /* runs at once */
    uint32_t ahead;        /* and this many more while all that run are brief: they wait for a worker that comes free at once */
} rlx_actor_options_t;

typedef struct rlx_actor_model {
    uint32_t queue_max;      /* requests waiting; when full: QUEUE_FULL */
    uint32_t rows_max;       /* rows of a batched run; 0 or 1: not batched */
    uint64_t batch_delay_ns; /* for so long a request lets others, whose run is full or that waited longer, go first, in the hope of
                              * companions; it never waits while a worker is free */
} rlx_actor_model_t;

typedef enum rlx_actor_event_kind {
    RLX_EVENT_OPEN,      /* a request begins to arrive: model; the id is returned in event.request, or NONE and event.refusal says why. It
                          * emits nothing and may come at any time, even between the steps of one event (`more`) */
    RLX_EVENT_SUBMIT,    /* request, rows, batch_key, cost_ns, deadline_ns, priority: its bytes are there */
    RLX_EVENT_ABANDON,   /* request: its bytes will not come (bad input): freed, no reply effect */
    RLX_EVENT_CANCEL,    /* request: the client is gone, whatever the state; nothing changes while REPLYING (REPLIED follows) */
    RLX_EVENT_COMPLETE,  /* run: a worker finished it; busy_ns: how long it took */
    RLX_EVENT_REPLIED,   /* request: its bytes have left, or cannot leave any more */
    RLX_EVENT_TIMER,     /* now is at or past the last ARM effect; one that comes early is harmless */
    RLX_EVENT_MODEL_ADD, /* model (free number below models_max), settings */
    RLX_EVENT_MODEL_REMOVE, /* model: takes no new requests; MODEL_FREE when its last request is free */
    RLX_EVENT_DRAIN,     /* OPEN is refused from now on; DRAINED when the last request is free */
} rlx_actor_event_kind_t;

typedef struct rlx_actor_event {
    rlx_actor_event_kind_t kind;
    uint32_t request, model, run;
    uint32_t rows;         /* SUBMIT: of axis 0; 0 counts as 1 */
    uint64_t batch_key;    /* SUBMIT: requests of equal key may run together; 0: alone */
    uint64_t cost_ns;      /* SUBMIT: expected on one worker, by the cost table; the actor corrects it */
    uint64_t deadline_ns;  /* SUBMIT: RLX_ACTOR_NEVER without */
    uint32_t priority;     /* SUBMIT: 0 normal, 1 high: goes before normal of its model */
    uint64_t busy_ns;      /* COMPLETE: time on the worker */
    rlx_actor_model_t settings; /* MODEL_ADD */
    rlx_refusal_t refusal; /* set by OPEN: NONE, TABLE_FULL, DRAINING or MODEL_GONE */
} rlx_actor_event_t;

typedef enum rlx_actor_effect_kind {
    RLX_EFFECT_RUN,        /* run, requests[0..n): start on a worker. `alone`: nothing else runs or waits: use all workers.
                            * `brief`: this run and all under way are brief: one worker may do them in turn.
                            * `tiny`: one request whose model was measured to be brief: whoever applies the effect may run it
                            * `expected_ns`: how long it will take */
    RLX_EFFECT_CANCEL_RUN, /* run: every request of it is cancelled: stop at the next step */
    RLX_EFFECT_REPLY,      /* request: the answer of its run goes to the client; REPLYING */
    RLX_EFFECT_REFUSE,     /* request, refusal: tell the client; REPLYING; `wait_ns`: expected wait, for the message */
    RLX_EFFECT_FREE,       /* request: the id is free again */
    RLX_EFFECT_ARM,        /* at_ns: send TIMER then; replaces earlier ones */
    RLX_EFFECT_MODEL_FREE, /* model: nothing uses it any more */
    RLX_EFFECT_DRAINED,
} rlx_actor_effect_kind_t;

typedef struct rlx_actor_effect {
    rlx_actor_effect_kind_t kind;
    uint32_t request, model, run;
    uint32_t requests[RLX_ACTOR_BATCH_MAX];
    uint32_t n;
    bool alone, brief, tiny;
    rlx_refusal_t refusal;
    uint64_t wait_ns, at_ns, expected_ns;
} rlx_actor_effect_t;

/* Grows never: a step emits at most what fits, and the actor is called again while `more` is set. Effects are applied in order. */
typedef struct rlx_actor_effects {
    rlx_actor_effect_t effect[64];
    int n;
    bool more; /* call rlx_actor_step again with event NULL before anything else */
} rlx_actor_effects_t;

typedef struct rlx_actor rlx_actor_t;

/* All memory is allocated here. NULL when there is none. */
rlx_actor_t *rlx_actor_create(const rlx_actor_options_t *options);
void rlx_actor_destroy(rlx_actor_t *actor);
/* `now_ns` never goes back. `event` is NULL exactly when the last step's effects said `more` (but for OPEN, which is independent of it). A
 * wrong number in an event is a bug of the caller: asserted. */
void rlx_actor_step(rlx_actor_t *actor, rlx_actor_event_t *event, uint64_t now_ns, rlx_actor_effects_t *effects);

/* What can be seen from outside: for metrics, `rlxctl stacks`, and the simulator's checks. */
typedef struct rlx_actor_view {
    uint32_t in_state[RLX_REQUEST_STATE_COUNT];
    uint32_t runs;
    uint64_t refused[RLX_REFUSAL_COUNT];
    uint64_t opened, submitted, replied, completed_runs, batched_requests; /* batched: ran in company */
} rlx_actor_view_t;
void rlx_actor_look(const rlx_actor_t *actor, rlx_actor_view_t *out_view);

typedef struct rlx_request_view {
    rlx_request_state_t state;
    uint32_t model, run;
    uint64_t since_ns, deadline_ns, cost_ns, submitted_ns;
} rlx_request_view_t;
/* False for a free or unknown id. */
bool rlx_actor_request(const rlx_actor_t *actor, uint32_t request, rlx_request_view_t *out_view);
/* Requests of `model` that wait; and when the oldest running run began (RLX_ACTOR_NEVER: none). */
uint32_t rlx_actor_waiting(const rlx_actor_t *actor, uint32_t model);
uint64_t rlx_actor_oldest_run_ns(const rlx_actor_t *actor);

#endif
