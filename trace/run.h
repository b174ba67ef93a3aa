/* A run in a trace: on the runner's track the run and, inside it, its steps; on the helpers' tracks the tiles that they took. One per
 * thread that runs, made before its first run. */
#ifndef RLX_TRACE_RUN_H
#define RLX_TRACE_RUN_H

#include "exec/executor.h"
#include "trace/trace.h"

typedef struct rlx_trace_run {
    rlx_trace_track_t *track;
    const uint32_t *members; /* by member of the team: the id of its track; [0] is not used. Borrowed */
    const rlx_trace_model_t *model;
    uint64_t number;
    int n_threads;           /* that are there for it: may be set before each run */
    rlx_run_watch_t watch;   /* for rlx_run_stats_t */
} rlx_trace_run_t;

/* `n_members` of the largest team, with the runner; `n_threads` that there are: in an open team the runner is one of the helpers. */
rlx_status_t rlx_trace_run_init(rlx_trace_run_t *run, rlx_trace_track_t *track, const uint32_t *members, int n_members, int n_threads,
                                rlx_diag_t *diag);
void rlx_trace_run_fini(rlx_trace_run_t *run);

/* Before the run. `model` NULL: its steps are not told. */
void rlx_trace_run_begin(rlx_trace_run_t *run, const rlx_trace_model_t *model, uint64_t number);
typedef struct rlx_trace_run_end {
    uint64_t begin_ns, end_ns, kernel_ns;
    int n_requests;
    int64_t rows;
    const char *outcome; /* RLX_OK's name, or a string that lives for ever */
} rlx_trace_run_end_t;
void rlx_trace_run_end(rlx_trace_run_t *run, const rlx_trace_run_end_t *end);

#endif
