/* The executor: a checked program, its constants and its code image -> answers. No network, no global state.
 *
 * Objects: a *model* (program + constants + kernel entry points; immutable, shared, refcounted), a *plan* (a model under given symbol
 * values: parameters, offsets, tile counts; immutable once published, cached per model in RLX_PLAN_SLOTS slots, LRU, refcounted), a *team*
 * (worker threads that run one step at a time together). The bits of an answer depend on the model and its inputs only. */
#ifndef RLX_EXEC_EXECUTOR_H
#define RLX_EXEC_EXECUTOR_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/diag.h"
#include "base/tensor.h"
#include "bundle/program.h"
#include "kernels/abi.h"

#define RLX_PLAN_SLOTS 32

typedef struct rlx_model rlx_model_t;
typedef struct rlx_plan rlx_plan_t;
typedef struct rlx_team rlx_team_t;

/* Where kernels come from: entry[id] for every kernel the program names. */
typedef struct rlx_kernel_table {
    rlx_kernel_fn_t *entry[RLX_K_END];
    const char *target; /* "x86-64-v4" */
} rlx_kernel_table_t;

/* `program` was checked by rlx_program_check and, like `constants`, outlives the model. Fails when a kernel is missing. */
rlx_status_t rlx_model_create(const void *program, const void *constants, const rlx_kernel_table_t *kernels, rlx_model_t **out_model,
                              rlx_diag_t *diag);
rlx_model_t *rlx_model_retain(rlx_model_t *model);
void rlx_model_release(rlx_model_t *model);
const rlx_program_header_t *rlx_model_program(const rlx_model_t *model);
const char *rlx_model_string(const rlx_model_t *model, uint32_t offset);

/* One request's tensors, in the model's order. Inputs are borrowed until completion; outputs are written in place.
 * `rows`: NULL, or for batched requests an array of row pointers (one per index of axis 0). */
typedef struct rlx_io {
    rlx_tensor_t tensor;
    void *const *rows;
} rlx_io_t;

/* Checks inputs against the model, derives the symbols and finds or builds the plan. Fails with a diagnosis that names input and axis.
 * Any thread. For programs of several regions the plan covers region 0; later regions are planned while running. */
rlx_status_t rlx_plan_get(rlx_model_t *model, const rlx_io_t *inputs, rlx_plan_t **out_plan, rlx_diag_t *diag);
/* The plan of these inputs if it is cached, retained; else NULL: not built yet, inputs refused, or the cache is in use this moment. Looks
 * at types and extents, and at data only where extents come from it (absent data: NULL). Never waits, builds or allocates. */
rlx_plan_t *rlx_plan_peek(rlx_model_t *model, const rlx_io_t *inputs);
void rlx_plan_release(rlx_plan_t *plan);
/* Logical shape of output `index`; false when it depends on data (known only after the run). */
bool rlx_plan_output(const rlx_plan_t *plan, int index, rlx_tensor_t *out_shape);
int64_t rlx_plan_arena_bytes(const rlx_plan_t *plan);
/* Estimated time of a run on one thread: the sum of its steps' costs. UINT64_MAX where that cannot be said: the program has no costs,
 * several regions, or bodies. */
uint64_t rlx_plan_cost_ns(const rlx_plan_t *plan);
/* A number of the program under this plan (costs, extents); 0 where it belongs to a region that was not planned yet. */
int64_t rlx_plan_number(const rlx_plan_t *plan, const rlx_ref_t *ref);
const rlx_program_header_t *rlx_plan_program(const rlx_plan_t *plan);

/* `n_threads` >= 1 counts the caller: a team of 1 has no threads of its own. */
rlx_status_t rlx_team_create(int n_threads, rlx_team_t **out_team, rlx_diag_t *diag);
void rlx_team_destroy(rlx_team_t *team);
/* A team without threads of its own: up to `n_helpers` threads of somebody else help whoever runs with it. */
rlx_status_t rlx_team_create_open(int n_helpers, rlx_team_t **out_team, rlx_diag_t *diag);
/* Helps as helper `index` (0 .. n_helpers - 1, each used by one thread at a time) until `leave(context)` is true, which is asked between
 * steps: takes tiles of steps under way and sleeps while there are none. A helper that comes late does nothing. What `leave` reads is
 * written before rlx_team_ring, with sequentially consistent atomics on both sides. `spin_ns(context)`: how long to spin before a sleep. */
void rlx_team_help(rlx_team_t *team, int index, bool (*leave)(void *context), uint64_t (*spin_ns)(void *context), void *context);
/* Wakes up to `count` sleeping helpers to ask `leave` again. Returns false when none slept. Any thread. */
bool rlx_team_ring(rlx_team_t *team, int count);

/* What one member of the team did in a step; nothing where `tiles` is 0. */
typedef struct rlx_step_part {
    uint64_t begin_ns, end_ns; /* rlx_clock_ns() */
    int64_t tiles;
} rlx_step_part_t;

/* A step that has ended. Borrowed for the call. */
typedef struct rlx_step_seen {
    const rlx_plan_t *plan; /* of the step's region: rlx_plan_number gives its costs, rlx_plan_program the program the step is of */
    uint32_t step;          /* as rlx_program_step_find counts: steps of bodies come after those of the program around them */
    uint32_t index;         /* in its own program */
    bool call;              /* it ran bodies, whose steps were told before it */
    int64_t tiles;
    uint64_t begin_ns, end_ns;
    uint64_t cost_ns;             /* as the plan estimated it, on one thread */
    const rlx_step_part_t *parts; /* by member of the team; 0 is the thread that runs */
    int n_parts;                  /* members that could have taken part */
} rlx_step_seen_t;

/* For profiling: told of every step with tiles, on the thread that runs, between steps; it must not wait. It sees and changes nothing. */
typedef struct rlx_run_watch {
    void (*step)(void *context, const rlx_step_seen_t *seen);
    void *context;
    rlx_step_part_t *parts; /* room for n_parts, at least the members of the team (1 without a team) */
    int n_parts;
} rlx_run_watch_t;

typedef struct rlx_run_stats {
    uint64_t *step_ns; /* NULL, or one per step of rlx_program_steps_total, filled: a call's without what its bodies' steps took */
    uint64_t total_ns;
    uint64_t input_copies; /* inputs or outputs copied because a kernel cannot take row pointers */
    atomic_uint *step;     /* NULL, or told the step under way (rlx_program_step_find), for onlookers */
    const rlx_run_watch_t *watch; /* NULL, or told of every step that ended */
} rlx_run_stats_t;

/* Runs a plan on the calling thread plus the team. `cancel` is checked between steps. Outputs must have the plan's shapes, or
 * tensor.data == NULL to let the run allocate (malloc, owned by the caller afterwards): the only way for data-dependent outputs. */
rlx_status_t rlx_run(rlx_plan_t *plan, rlx_team_t *team, const rlx_io_t *inputs, rlx_io_t *outputs, const atomic_bool *cancel,
                     rlx_run_stats_t *stats, rlx_diag_t *diag);

/* Asynchronous form for servers: runs on the queue's own worker; `done` is called exactly once, on that worker. Plan, model and io arrays
 * are retained or borrowed until then. */
typedef struct rlx_queue rlx_queue_t;
typedef void rlx_done_fn_t(void *context, rlx_status_t status, const rlx_diag_t *diag);
rlx_status_t rlx_queue_create(rlx_team_t *team, int capacity, rlx_queue_t **out_queue, rlx_diag_t *diag);
rlx_status_t rlx_submit(rlx_queue_t *queue, rlx_plan_t *plan, const rlx_io_t *inputs, rlx_io_t *outputs, const atomic_bool *cancel,
                        rlx_done_fn_t *done, void *context);
void rlx_queue_destroy(rlx_queue_t *queue); /* waits for what was submitted */

#endif
