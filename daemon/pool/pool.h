/* The kernel workers of a node. The loop hands over runs and gets each back exactly once; it never waits for one.
 *
 * `workers` threads at nice +5. A run takes one worker; workers without a run of their own help runs that were started `alone` (or whose
 * steps are long while workers idle) by taking tiles: team size follows load by itself and never changes a bit. Hand-over: a bounded ring
 * each way (as large as the number of runs, so never full); a futex only where the other side sleeps, uv_async only where the loop is not
 * spinning. A tiny run whose plan is at hand, and that moves no bytes of regions, is not handed over: the loop runs it and completes it before
 * rlx_pool_submit returns, a bounded time in each of its turns. Workers and loop spin, bounded, only while exactly one request is in flight;
 * a worker never spins after it signalled completion where it could hold the loop's CPU (docs/ARCHITECTURE.md, "Who spins, and when"). */
#ifndef RLX_DAEMON_POOL_POOL_H
#define RLX_DAEMON_POOL_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/diag.h"
#include "daemon/pool/slot.h"
#include "exec/executor.h"
#include "trace/run.h"

typedef struct rlx_pool rlx_pool_t;
typedef struct rlx_tracing rlx_tracing_t;

#define RLX_JOB_SLOTS_MAX 64 /* requests of one run: RLX_ACTOR_BATCH_MAX */

/* A run: one or several requests of one model. Owned by the loop before and after, by a worker in between. */
typedef struct rlx_job {
    uint32_t run;               /* the actor's number */
    rlx_model_t *model;         /* borrowed: the requests hold it */
    const char *name;           /* of the model, for onlookers; borrowed, may be NULL */
    rlx_slot_t *slots[RLX_JOB_SLOTS_MAX];
    int n_slots;
    int64_t rows[RLX_JOB_SLOTS_MAX]; /* extent of axis 0 per slot, where n_slots > 1 */
    bool alone;
    bool tiny;                  /* the loop may run it: handing it over takes longer */
    bool brief;                 /* no worker need be woken for it where one is awake: all that runs is brief */
    atomic_bool cancel;
    rlx_plan_t *plan;           /* of a run on the loop; else NULL: the worker finds it */
    /* Set by the worker; status and diag stand in each slot. When a batch fails, its requests are run one by one. */
    uint64_t start_ns, end_ns, kernel_ns;
    uint64_t input_copies;
    const rlx_trace_model_t *trace_model; /* with --profiling */
    uint64_t trace_number;
    struct rlx_job *next;
} rlx_job_t;

typedef struct rlx_pool_options {
    uv_loop_t *loop;
    int workers;      /* 0: one per CPU that this process may use */
    int ahead;        /* jobs that may be out beyond the workers */
    bool pin;         /* never where there are 2 CPUs or fewer */
    void (*completed)(void *context, rlx_job_t *job); /* on the loop */
    void *context;
    rlx_tracing_t *tracing; /* tracing.h; NULL: off */
} rlx_pool_options_t;

rlx_status_t rlx_pool_create(const rlx_pool_options_t *options, rlx_pool_t **out_pool, rlx_diag_t *diag);
int rlx_pool_workers(const rlx_pool_t *pool);
/* At most workers + ahead jobs may be out at once. Never blocks. Completions are handed back from the loop's poll and check phases, from
 * rlx_pool_spin and, of tiny jobs, from here: what they queue for clients is sent by whoever flushes before the loop sleeps (uv_prepare). */
void rlx_pool_submit(rlx_pool_t *pool, rlx_job_t *job);
/* The loop is about to sleep with exactly one request in flight: spins, bounded, for completions (and lets the caller poll its sockets:
 * `poll` returns true when it found work). */
void rlx_pool_spin(rlx_pool_t *pool, bool (*poll)(void *context), void *context);
/* The loop is about to sleep, and all answers have left: where requests follow each other closely, one at a time and tiny, the next one is
 * here sooner than a sleeping loop wakes. Calls `poll`, which serves the sockets without sleeping, for a bounded time after each answer; until
 * it returns true. */
void rlx_pool_linger(rlx_pool_t *pool, bool (*poll)(void *context), void *context);
/* Joins the workers: what was submitted completes first. `done` on the loop when its handles are closed; the pool is freed. */
void rlx_pool_close(rlx_pool_t *pool, void (*done)(void *context), void *context);

typedef struct rlx_pool_worker_view {
    const char *step;     /* name of the step it runs, or "" */
    const char *model;    /* or "" */
    uint64_t since_ns;    /* when its run began; 0: idle */
} rlx_pool_worker_view_t;
/* What worker `index` does now, for `rlxctl stacks`. Loop thread: the strings live until that run is handed back. */
void rlx_pool_look(const rlx_pool_t *pool, int index, rlx_pool_worker_view_t *out_view);

#endif
