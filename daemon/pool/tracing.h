/* The node's side of --profiling: who tells what to the trace (trace/trace.h). Without --profiling there is no rlx_tracing_t: callers hold
 * NULL and skip the call, one test each.
 *
 * Tracks: the loop and every worker. Told by the loop: ended requests, what waits and runs, turns of the loop that took long. Told by
 * workers: runs and their steps. All calls are the loop's except where said. */
#ifndef RLX_DAEMON_POOL_TRACING_H
#define RLX_DAEMON_POOL_TRACING_H

#include <uv.h>

#include "base/diag.h"
#include "daemon/actor/actor.h"
#include "daemon/models/models.h"
#include "trace/run.h"

typedef struct rlx_tracing rlx_tracing_t;
typedef struct rlx_job rlx_job_t;

typedef struct rlx_tracing_options {
    uv_loop_t *loop;
    const char *path, *node, *version;
    int workers;        /* 0: one per CPU, as the pool does */
    uint64_t bytes_max; /* of the file */
} rlx_tracing_options_t;

/* Measures the machine (about half a second, before anything is served) and begins the trace. */
rlx_status_t rlx_tracing_create(const rlx_tracing_options_t *options, rlx_tracing_t **out_tracing, rlx_diag_t *diag);
/* Gives its handles back to the loop; when the loop has ended and the workers are joined, destroy closes the file. NULL is none. */
void rlx_tracing_stop(rlx_tracing_t *tracing);
rlx_status_t rlx_tracing_destroy(rlx_tracing_t *tracing, rlx_diag_t *diag);

/* What worker `index` of `n_workers` tells its runs to; `n_workers` itself is the loop. The first call makes all. NULL: no
 * memory, and diag says so. */
rlx_trace_run_t *rlx_tracing_worker(rlx_tracing_t *tracing, int index, int n_workers, rlx_diag_t *diag);
/* A model is served under its number now. */
void rlx_tracing_served(rlx_tracing_t *tracing, const rlx_served_t *served);
/* A run is about to be submitted: names it in the job; returns its number. */
uint64_t rlx_tracing_run(rlx_tracing_t *tracing, uint32_t model, rlx_job_t *job);
/* The worker: around a job's runs. */
void rlx_tracing_job_begin(rlx_trace_run_t *run, const rlx_job_t *job);
void rlx_tracing_job_end(rlx_trace_run_t *run, const rlx_job_t *job);
/* A request ends. `request->model`, `number` and `free_ns` are filled in. */
void rlx_tracing_request(rlx_tracing_t *tracing, uint32_t model, rlx_trace_request_t *request);
/* After an event: what changed is told. */
void rlx_tracing_counts(rlx_tracing_t *tracing, const rlx_actor_t *actor);

#endif
