/* Inside of the node: its requests, runs and what they hold. Shared by node.c (life cycle), infer.c (what a client asks for)
 * and effects.c (what the actor decides). Loop thread only.
 *
 * A request's number is its index in `requests`. Between OPEN and FREE it holds: its served model, a slot, and the regions it names. What
 * it holds is given back in one place, on the FREE effect. */
#ifndef RLX_DAEMON_NODE_STATE_H
#define RLX_DAEMON_NODE_STATE_H

#include "daemon/node/node.h"

/* How a request meets a model: by input and output of the model. One block per request in use, from a free list of its model. */
typedef struct rlx_binding {
    struct rlx_binding *next;
    int *input_of;                  /* model input of the head's input i */
    rlx_region_t **input_region;    /* by model input; NULL: in the slot */
    rlx_region_t **output_region;   /* by answer output */
    int *output_of;                 /* model output of answer output i */
    rlx_infer_answer_output_t *answer; /* by answer output */
    int n_answer;
} rlx_binding_t;

struct rlx_infer {
    rlx_node_t *node;
    uint32_t request;
    rlx_served_t *served;
    rlx_slot_t *slot;
    rlx_binding_t *binding;
    rlx_infer_answer_fn_t *answer;
    void *context;
    rlx_infer_answer_t result;
    rlx_diag_t diag;
    uint64_t read_ns, submit_ns, start_ns, end_ns, kernel_ns; /* rlx_clock_ns() */
    uint64_t deadline_ns, held_bytes;
    uint64_t run_number; /* in the trace */
    uint32_t priority;
    bool submitted, cancelled;
    char id[RLX_INFER_NAME_MAX];
    char traceparent[64]; /* with --profiling */
};

/* Events that arrive while effects are being applied wait here: at most one SUBMIT, one CANCEL or ABANDON and one REPLIED a request. */
typedef struct rlx_event_ring {
    rlx_actor_event_t *events;
    uint32_t capacity, first, count;
} rlx_event_ring_t;

/* A run and whose it is. */
typedef struct rlx_node_run {
    rlx_job_t job;
    uint32_t requests[RLX_ACTOR_BATCH_MAX]; /* in the order of job.slots */
} rlx_node_run_t;

struct rlx_node {
    rlx_node_options_t options;
    char id[RLX_INFER_NAME_MAX];
    uv_loop_t *loop;
    rlx_actor_t *actor;
    rlx_models_t *models;
    rlx_regions_t *regions;
    rlx_pool_t *pool;
    rlx_infer_t *requests;
    rlx_node_run_t *runs;         /* by run number */
    rlx_served_t **served;        /* by model number */
    rlx_binding_t **bindings;     /* free lists, by model number */
    rlx_slots_t **slots;          /* by model number */
    rlx_event_ring_t waiting;
    bool applying;                /* effects are being applied */
    int timer_fd;
    uv_poll_t timer;
    uint64_t armed_ns;            /* RLX_ACTOR_NEVER: not armed */
    uint64_t run_end_ns;          /* when the latest run is expected to end */
    uint64_t held_bytes;          /* of all requests between begin and FREE */
    uint64_t malformed;           /* requests that named no model */
    rlx_node_copies_t copies;
    bool started, start_failed, draining, drained;
    void (*drain_done)(void *context);
    void *drain_context;
    void (*close_done)(void *context);
    void *close_context;
};

#define RLX_NODE_AHEAD 16 /* brief runs handed to the workers before one is free */

/* effects.c: hands an event to the actor and applies what it decides. `event->request` is set by OPEN. */
void rlx_node_event(rlx_node_t *node, rlx_actor_event_t *event);
/* effects.c: the node's timer rings at `at_ns` (rlx_clock_ns time), or earlier if that was asked for before; then the actor gets TIMER. */
void rlx_node_timer_arm(rlx_node_t *node, uint64_t at_ns);
/* A worker finished a run. */
void rlx_node_completed(void *context, rlx_job_t *job);
/* binding.c */
rlx_binding_t *rlx_binding_get(rlx_node_t *node, const rlx_served_t *served); /* NULL: no memory */
void rlx_binding_put(rlx_node_t *node, const rlx_served_t *served, rlx_binding_t *binding); /* drops its regions */
void rlx_binding_forget(rlx_node_t *node, const rlx_served_t *served); /* frees the model's list */

/* infer.c: gives back what a request holds; its number may be used again. */
void rlx_infer_free(rlx_infer_t *infer);
/* infer.c: the client hears of it. */
void rlx_infer_answer_ok(rlx_infer_t *infer);
void rlx_infer_answer_fail(rlx_infer_t *infer);
/* infer_count.c: one finished request more. */
void rlx_infer_count(rlx_infer_t *infer, rlx_status_t status, rlx_fail_reason_t reason);

#endif
