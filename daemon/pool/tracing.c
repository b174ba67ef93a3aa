/* A worker touches nothing here but its own rlx_trace_run_t; tables and tracks are the loop's. */
#include "daemon/pool/tracing.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "bundle/bundle.h"
#include "daemon/pool/pool.h"

#define LONG_TURN_NS 1000000 /* a turn of the loop that takes longer is told */

struct rlx_tracing {
    rlx_trace_t *trace;
    rlx_trace_track_t *loop_track;
    uv_prepare_t before_sleep;
    uv_check_t after_sleep;
    uint64_t awake_ns;    /* since when the loop works; 0: it sleeps */
    uint64_t told[RLX_TRACE_COUNTERS];
    rlx_trace_run_t *workers;
    uint32_t *members;    /* tracks by member of the team: 0 is whoever runs */
    int n_workers;
    const char *isa;
    const rlx_trace_model_t *models[RLX_MODELS_SERVED_MAX]; /* by number */
};

static void on_before_sleep(uv_prepare_t *handle)
{
    rlx_tracing_t *tracing = handle->data;
    uint64_t now = rlx_clock_ns();

    if (tracing->awake_ns != 0 && now - tracing->awake_ns >= LONG_TURN_NS)
        rlx_trace_turn(tracing->loop_track, tracing->awake_ns, now);
    tracing->awake_ns = 0;
}

static void on_after_sleep(uv_check_t *handle) { ((rlx_tracing_t *)handle->data)->awake_ns = rlx_clock_ns(); }

static void loop_watch(rlx_tracing_t *tracing, uv_loop_t *loop)
{
    uv_prepare_init(loop, &tracing->before_sleep);
    uv_check_init(loop, &tracing->after_sleep);
    tracing->before_sleep.data = tracing->after_sleep.data = tracing;
    uv_prepare_start(&tracing->before_sleep, on_before_sleep);
    uv_check_start(&tracing->after_sleep, on_after_sleep);
    uv_unref((uv_handle_t *)&tracing->before_sleep);
    uv_unref((uv_handle_t *)&tracing->after_sleep);
}

rlx_status_t rlx_tracing_create(const rlx_tracing_options_t *options, rlx_tracing_t **out_tracing, rlx_diag_t *diag)
{
    rlx_tracing_t *tracing = calloc(1, sizeof *tracing);
    rlx_trace_options_t trace = {.path = options->path, .program = "rlxd", .version = options->version, .node = options->node,
                                 .threads = options->workers > 0 ? options->workers : rlx_cpus_allowed(), .bytes_max = options->bytes_max};
    rlx_status_t status;

    if (tracing == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a trace");
    trace.isa = tracing->isa = rlx_isa_runs("x86-64-v4") ? "x86-64-v4" : "x86-64-v3";
    trace.machine = trace.one_thread = rlx_machine_measure(trace.isa, trace.threads);
    if (trace.threads > 1)
        trace.one_thread = rlx_machine_measure(trace.isa, 1);
    status = rlx_trace_open(&trace, &tracing->trace, diag);
    if (status == RLX_OK && (tracing->loop_track = rlx_trace_track(tracing->trace, "loop")) == NULL)
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a trace");
    if (status != RLX_OK) {
        if (tracing->trace != NULL)
            (void)rlx_trace_close(tracing->trace, NULL);
        free(tracing);
        return status;
    }
    loop_watch(tracing, options->loop);
    *out_tracing = tracing;
    return RLX_OK;
}

void rlx_tracing_stop(rlx_tracing_t *tracing)
{
    if (tracing == NULL)
        return;
    uv_close((uv_handle_t *)&tracing->before_sleep, NULL);
    uv_close((uv_handle_t *)&tracing->after_sleep, NULL);
}

rlx_status_t rlx_tracing_destroy(rlx_tracing_t *tracing, rlx_diag_t *diag)
{
    rlx_status_t status;

    if (tracing == NULL)
        return RLX_OK;
    status = rlx_trace_close(tracing->trace, diag);
    for (int i = 0; i < tracing->n_workers; i++)
        rlx_trace_run_fini(&tracing->workers[i]);
    free(tracing->workers);
    free(tracing->members);
    free(tracing);
    return status;
}

/* Tracks of all workers. Whoever runs is a helper of others too, so they share the table of members. */
static rlx_status_t workers_make(rlx_tracing_t *tracing, int n_workers, rlx_diag_t *diag)
{
    rlx_trace_track_t *track;
    char name[32];

    tracing->workers = calloc((size_t)n_workers + 1, sizeof *tracing->workers);
    tracing->members = calloc((size_t)n_workers + 1, sizeof *tracing->members);
    if (tracing->workers == NULL || tracing->members == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the trace of %d workers", n_workers);
    for (int i = 0; i < n_workers; i++, tracing->n_workers++) {
        snprintf(name, sizeof name, "worker %d", i);
        track = rlx_trace_track(tracing->trace, name);
        RLX_TRY(rlx_trace_run_init(&tracing->workers[i], track, tracing->members, n_workers + 1, n_workers, diag));
        tracing->members[i + 1] = rlx_trace_track_id(track);
    }
    RLX_TRY(rlx_trace_run_init(&tracing->workers[n_workers], tracing->loop_track, tracing->members, n_workers + 1, n_workers, diag));
    tracing->n_workers++;
    return RLX_OK;
}

rlx_trace_run_t *rlx_tracing_worker(rlx_tracing_t *tracing, int index, int n_workers, rlx_diag_t *diag)
{
    if (tracing->workers == NULL && workers_make(tracing, n_workers, diag) != RLX_OK)
        return NULL;
    return index < tracing->n_workers ? &tracing->workers[index] : NULL;
}

void rlx_tracing_served(rlx_tracing_t *tracing, const rlx_served_t *served)
{
    const rlx_bundle_image_t *code = rlx_bundle_code(served->bundle);

    tracing->models[served->number] =
        rlx_trace_model(tracing->trace, served->name, served->version, rlx_bundle_manifest_digest(served->bundle),
                        code != NULL ? code->isa : tracing->isa, rlx_model_program(served->model));
}

uint64_t rlx_tracing_run(rlx_tracing_t *tracing, uint32_t model, rlx_job_t *job)
{
    job->trace_model = tracing->models[model];
    return job->trace_number = rlx_trace_number(tracing->trace);
}

void rlx_tracing_job_begin(rlx_trace_run_t *run, const rlx_job_t *job) { rlx_trace_run_begin(run, job->trace_model, job->trace_number); }

void rlx_tracing_job_end(rlx_trace_run_t *run, const rlx_job_t *job)
{
    rlx_trace_run_end_t end = {.begin_ns = job->start_ns, .end_ns = job->end_ns, .kernel_ns = job->kernel_ns, .n_requests = job->n_slots,
                               .outcome = rlx_status_name(RLX_OK)};

    for (int i = 0; i < job->n_slots; i++) {
        end.rows += job->rows[i];
        if (job->slots[i]->status != RLX_OK)
            end.outcome = rlx_status_name(job->slots[i]->status);
    }
    rlx_trace_run_end(run, &end);
}

void rlx_tracing_request(rlx_tracing_t *tracing, uint32_t model, rlx_trace_request_t *request)
{
    request->model = tracing->models[model];
    request->number = rlx_trace_number(tracing->trace);
    request->free_ns = rlx_clock_ns();
    rlx_trace_request(tracing->loop_track, request);
}

void rlx_tracing_counts(rlx_tracing_t *tracing, const rlx_actor_t *actor)
{
    rlx_actor_view_t view;
    uint64_t now = 0, counts[RLX_TRACE_COUNTERS];

    rlx_actor_look(actor, &view);
    counts[RLX_TRACE_QUEUED] = view.in_state[RLX_REQUEST_QUEUED] + view.in_state[RLX_REQUEST_BATCHING];
    counts[RLX_TRACE_RUNNING] = view.in_state[RLX_REQUEST_RUNNING] + view.in_state[RLX_REQUEST_CANCELLING];
    counts[RLX_TRACE_IN_FLIGHT] = counts[RLX_TRACE_QUEUED] + counts[RLX_TRACE_RUNNING] + view.in_state[RLX_REQUEST_RECEIVING] +
                                  view.in_state[RLX_REQUEST_REPLYING];
    for (int i = 0; i < RLX_TRACE_COUNTERS; i++) {
        if (counts[i] == tracing->told[i])
            continue;
        now = now != 0 ? now : rlx_clock_ns();
        rlx_trace_count(tracing->loop_track, (rlx_trace_counter_t)i, now, counts[i]);
        tracing->told[i] = counts[i];
    }
}
