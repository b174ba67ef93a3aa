/* Tells of a run from inside of it. A record that finds the ring full is dropped there and counted; the run goes on. */
#include "trace/run.h"

#include <stdlib.h>

#include "base/assert.h"
#include "trace/record.h"

static void part_tell(const rlx_trace_run_t *run, uint32_t step, int member, const rlx_step_part_t *part)
{
    rlx_record_part_t *record = rlx_ring_reserve(&run->track->ring, sizeof *record, RLX_RECORD_PART);

    if (record == NULL)
        return;
    *record = (rlx_record_part_t){.head = record->head, .track = run->members[member], .step = step, .model = run->model,
                                  .run = run->number, .begin_ns = part->begin_ns, .end_ns = part->end_ns, .tiles = part->tiles};
    rlx_ring_commit(&run->track->ring);
}

/* Flops and bytes of a step under its plan; 0 where the program has no costs. */
static void step_costs(const rlx_step_seen_t *seen, const rlx_program_header_t *program, rlx_record_step_t *record)
{
    const rlx_program_cost_t *cost = RLX_PROGRAM_TABLE(rlx_program_cost_t, program, costs) + seen->index;

    if (seen->index >= program->costs.count)
        return;
    record->flops = rlx_plan_number(seen->plan, &cost->flops);
    record->bytes = rlx_plan_number(seen->plan, &cost->bytes);
}

static void step_tell(void *context, const rlx_step_seen_t *seen)
{
    rlx_trace_run_t *run = context;
    int there = seen->n_parts < run->n_threads ? seen->n_parts : run->n_threads;
    uint64_t busy_ns = 0;
    uint32_t workers = 0;
    rlx_record_step_t *record;

    if (run->model == NULL)
        return;
    for (int i = 0; i < seen->n_parts; i++) {
        if (seen->parts[i].tiles == 0)
            continue;
        busy_ns += seen->parts[i].end_ns - seen->parts[i].begin_ns;
        workers++;
        if (i > 0)
            part_tell(run, seen->step, i, &seen->parts[i]);
    }
    record = rlx_ring_reserve(&run->track->ring, sizeof *record, RLX_RECORD_STEP);
    if (record == NULL)
        return;
    *record = (rlx_record_step_t){.head = record->head, .track = run->track->id, .step = seen->step, .model = run->model,
                                  .run = run->number, .begin_ns = seen->begin_ns, .end_ns = seen->end_ns, .busy_ns = busy_ns,
                                  .cost_ns = seen->cost_ns, .tiles = seen->tiles,
                                  .team = (uint32_t)(there > (int)workers ? there : (int)workers), .workers = workers};
    step_costs(seen, rlx_plan_program(seen->plan), record);
    rlx_ring_commit(&run->track->ring);
}

rlx_status_t rlx_trace_run_init(rlx_trace_run_t *run, rlx_trace_track_t *track, const uint32_t *members, int n_members, int n_threads,
                                rlx_diag_t *diag)
{
    *run = (rlx_trace_run_t){.track = track, .members = members, .n_threads = n_threads};
    if (track == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "a trace has at most %d tracks", RLX_TRACE_TRACKS_MAX);
    run->watch = (rlx_run_watch_t){.step = step_tell, .context = run, .n_parts = n_members,
                                   .parts = calloc((size_t)n_members, sizeof *run->watch.parts)};
    return run->watch.parts != NULL ? RLX_OK : rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
}

void rlx_trace_run_fini(rlx_trace_run_t *run)
{
    free(run->watch.parts);
    run->watch.parts = NULL;
}

void rlx_trace_run_begin(rlx_trace_run_t *run, const rlx_trace_model_t *model, uint64_t number)
{
    RLX_ASSERT(run->watch.context == run); /* it has not been moved */
    run->model = model;
    run->number = number;
}

void rlx_trace_run_end(rlx_trace_run_t *run, const rlx_trace_run_end_t *end)
{
    rlx_record_run_t *record;

    if (run->model == NULL)
        return;
    record = rlx_ring_reserve(&run->track->ring, sizeof *record, RLX_RECORD_RUN);
    if (record == NULL)
        return;
    *record = (rlx_record_run_t){.head = record->head, .track = run->track->id, .requests = (uint32_t)end->n_requests, .model = run->model,
                                 .run = run->number, .begin_ns = end->begin_ns, .end_ns = end->end_ns, .kernel_ns = end->kernel_ns,
                                 .rows = end->rows, .outcome = end->outcome};
    rlx_ring_commit(&run->track->ring);
}
