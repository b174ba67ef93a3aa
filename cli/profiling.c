/* One track for each thread of the team; the first is the caller's own, and its requests are told there. */
#include "cli/profiling.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"

static rlx_status_t tracks_make(rlx_profiling_t *profiling, int n_threads, rlx_diag_t *diag)
{
    rlx_trace_track_t *first = NULL;

    for (int i = 0; i < n_threads; i++) {
        char name[32];
        rlx_trace_track_t *track;

        snprintf(name, sizeof name, "worker %d", i);
        track = rlx_trace_track(profiling->trace, name);
        if (track == NULL)
            return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the trace of %d threads", n_threads);
        profiling->members[i] = rlx_trace_track_id(track);
        first = first != NULL ? first : track;
    }
    profiling->requests = first;
    return rlx_trace_run_init(&profiling->run, first, profiling->members, n_threads, n_threads, diag);
}

rlx_status_t rlx_profiling_open(const char *path, const rlx_session_t *session, const rlx_machine_t *machine,
                                rlx_profiling_t **out_profiling, rlx_diag_t *diag)
{
    rlx_profiling_t *profiling = calloc(1, sizeof *profiling);
    rlx_trace_options_t options = {.path = path, .program = "rlx", .version = rlx_cli_version(), .isa = session->isa,
                                   .threads = session->n_threads};
    rlx_status_t status;

    if (profiling == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    rlx_cli_progress(NULL, "measuring this machine");
    options.machine = options.one_thread = machine != NULL ? *machine : rlx_machine_measure(session->isa, session->n_threads);
    if (session->n_threads > 1)
        options.one_thread = rlx_machine_measure(session->isa, 1);
    rlx_cli_progress(NULL, NULL);
    status = rlx_trace_open(&options, &profiling->trace, diag);
    if (status != RLX_OK)
        goto free_profiling;
    status = tracks_make(profiling, session->n_threads, diag);
    if (status != RLX_OK)
        goto close_trace;
    profiling->model = rlx_trace_model(profiling->trace, rlx_bundle_name(session->bundle), "1", rlx_bundle_manifest_digest(session->bundle),
                                       session->isa, session->program);
    *out_profiling = profiling;
    return RLX_OK;
close_trace:
    (void)rlx_trace_close(profiling->trace, NULL);
free_profiling:
    free(profiling);
    return status;
}

rlx_status_t rlx_profiling_run(rlx_profiling_t *profiling, const rlx_session_t *session, rlx_plan_t *plan, const rlx_io_t *inputs,
                               rlx_io_t *outputs, rlx_run_stats_t *stats, rlx_diag_t *diag)
{
    rlx_status_t status;

    profiling->number = rlx_trace_number(profiling->trace);
    rlx_trace_run_begin(&profiling->run, profiling->model, profiling->number);
    stats->watch = &profiling->run.watch;
    profiling->begin_ns = rlx_clock_ns();
    status = rlx_run(plan, session->team, inputs, outputs, NULL, stats, diag);
    profiling->end_ns = rlx_clock_ns();
    profiling->kernel_ns = stats->total_ns;
    rlx_trace_run_end(&profiling->run, &(rlx_trace_run_end_t){.begin_ns = profiling->begin_ns, .end_ns = profiling->end_ns,
                                                              .kernel_ns = stats->total_ns, .n_requests = 1, .rows = 1,
                                                              .outcome = rlx_status_name(status)});
    return status;
}

void rlx_profiling_request(rlx_profiling_t *profiling, uint64_t read_ns, uint64_t submit_ns, int64_t rows, const char *outcome)
{
    uint64_t now = rlx_clock_ns();

    rlx_trace_request(profiling->requests, &(rlx_trace_request_t){
        .model = profiling->model, .number = rlx_trace_number(profiling->trace), .run = profiling->number, .id = "", .traceparent = "",
        .outcome = outcome, .rows = rows, .read_ns = read_ns, .submit_ns = submit_ns, .start_ns = profiling->begin_ns,
        .end_ns = profiling->end_ns, .free_ns = now, .kernel_ns = profiling->kernel_ns});
}

rlx_status_t rlx_profiling_close(rlx_profiling_t *profiling, rlx_diag_t *diag)
{
    rlx_status_t status;

    if (profiling == NULL)
        return RLX_OK;
    status = rlx_trace_close(profiling->trace, diag);
    rlx_trace_run_fini(&profiling->run);
    free(profiling);
    return status;
}
