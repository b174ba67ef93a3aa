/* The kernel workers of a node. The loop hands over runs and gets each back exactly once; it never waits for one.
 *
 * `workers` threads at nice +5. A run takes one worker; workers without a run of their own help runs that were started `alone` (or whose
 * steps are long while workers idle) by taking tiles: team size follows load by itself and never changes a bit. Hand-over: a bounded ring
 * each way (as large as the number of runs, so never full); a futex only where the other side sleeps, uv_async only where the loop is not
 * spinning. Waiting: architecture "spin rule": workers and loop spin, bounded, only while exactly one request is in flight; a worker never
 * spins after it signalled completion where it could hold the loop's CPU. */
#ifndef RLX_DAEMON_POOL_POOL_H
#define RLX_DAEMON_POOL_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/diag.h"
#include "daemon/memory/regions.h"
#include "exec/executor.h"
#include "trace/run.h"

typedef struct rlx_pool rlx_pool_t;
typedef struct rlx_tracing rlx_tracing_t;

/* Bytes that move between a system shared-memory region and a slot, on the worker: inputs before the run, outputs after it. */
typedef struct rlx_slot_move {
    rlx_region_t *region; /* borrowed: the request uses it */
    uint64_t offset, bytes;
    int port;             /* input or output of the model */
} rlx_slot_move_t;

/* One request's memory and tensors: reused, grown when needed (counted). Written by the loop until submitted, by a worker while running.
 * Inputs: the loop has set every inputs[i] (type, extents, data), those of `reads` too. Outputs: the loop sets data only where a sealed
 * region takes the output (capacity in `room`); the worker sets type and extents and, elsewhere, memory of the slot behind the inputs.
 * An output that is larger than its room fails this request (RLX_E_REGION_RANGE, both numbers). */
typedef struct rlx_slot {
    rlx_io_t *inputs, *outputs; /* in the model's order */
    uint64_t *room;             /* by output: bytes at outputs[i].tensor.data; 0: slot memory */
    char *memory;               /* 64-byte aligned */
    size_t memory_bytes;
    size_t inputs_end;          /* bytes that inputs take; outputs follow */
    rlx_slot_move_t *reads, *writes; /* room for one per port */
    int n_reads, n_writes;
    rlx_status_t status;        /* of this request, set by the worker: one bad request of a batch does not hurt the others */
    rlx_diag_t diag;
    uint64_t growths;           /* times that memory was allocated since the node last counted */
    struct rlx_slot *next;      /* in its free list */
} rlx_slot_t;

/* The slots of one model: a free list that grows to the most requests that were ever in flight. Loop thread. */
typedef struct rlx_slots rlx_slots_t;
rlx_slots_t *rlx_slots_create(int n_inputs, int n_outputs); /* NULL: no memory */
void rlx_slots_destroy(rlx_slots_t *slots);                 /* all are back */
rlx_slot_t *rlx_slots_get(rlx_slots_t *slots, size_t inputs_bytes); /* memory for the inputs at least; NULL: no memory */
void rlx_slots_put(rlx_slots_t *slots, rlx_slot_t *slot);
/* Room for `bytes` in the slot's memory. What lies in it moves when it grows: the first inputs_end bytes and the `n_inputs` inputs'
 * pointers into it. Whoever has the slot. */
rlx_status_t rlx_slot_reserve(rlx_slot_t *slot, int n_inputs, size_t bytes);

/* A run: one or several requests of one model. Owned by the loop before and after, by a worker in between. */
typedef struct rlx_job {
    uint32_t run;               /* the actor's number */
    rlx_model_t *model;         /* borrowed: the requests hold it */
    const char *name;           /* of the model, for onlookers; borrowed, may be NULL */
    rlx_slot_t *slots[64];
    int n_slots;
    int64_t rows[64];           /* extent of axis 0 per slot, where n_slots > 1 */
    bool alone;
    bool brief;                 /* no worker need be woken for it where one is awake: all that runs is brief */
    atomic_bool cancel;
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
/* At most workers + ahead jobs may be out at once. Never blocks. Completions are handed back from the loop's poll and check phases and from
 * rlx_pool_spin: what they queue for clients is sent by whoever flushes before the loop sleeps (uv_prepare). */
void rlx_pool_submit(rlx_pool_t *pool, rlx_job_t *job);
/* The loop is about to sleep with exactly one request in flight: spins, bounded, for completions (and lets the caller poll its sockets:
 * `poll` returns true when it found work). */
void rlx_pool_spin(rlx_pool_t *pool, bool (*poll)(void *context), void *context);
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
