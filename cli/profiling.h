/* --profiling of `rlx infer` and `rlx bench`: a trace of this process's runs. One thread. */
#ifndef RLX_CLI_PROFILING_H
#define RLX_CLI_PROFILING_H

#include "cli/session.h"
#include "trace/run.h"

typedef struct rlx_profiling {
    rlx_trace_t *trace;
    rlx_trace_track_t *requests;         /* of the calling thread, as is the run's */
    const rlx_trace_model_t *model;
    rlx_trace_run_t run;
    uint32_t members[RLX_CLI_THREADS_MAX];
    uint64_t number;                     /* of the last run */
    uint64_t begin_ns, end_ns, kernel_ns;
} rlx_profiling_t;

/* Begins the trace. `machine`: what was measured with the session's threads, or NULL: it is measured (about half a second). */
rlx_status_t rlx_profiling_open(const char *path, const rlx_session_t *session, const rlx_machine_t *machine,
                                rlx_profiling_t **out_profiling, rlx_diag_t *diag);
/* rlx_run on the session's team, told to the trace. `stats` may have step_ns. */
rlx_status_t rlx_profiling_run(rlx_profiling_t *profiling, const rlx_session_t *session, rlx_plan_t *plan, const rlx_io_t *inputs,
                               rlx_io_t *outputs, rlx_run_stats_t *stats, rlx_diag_t *diag);
/* The last run was a request: its bytes were read from `read_ns` to `submit_ns`; its answer has been written now. */
void rlx_profiling_request(rlx_profiling_t *profiling, uint64_t read_ns, uint64_t submit_ns, int64_t rows, const char *outcome);
/* NULL is none. */
rlx_status_t rlx_profiling_close(rlx_profiling_t *profiling, rlx_diag_t *diag);

#endif
