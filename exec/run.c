/* A run: region after region, step after step. The hot path is steps_run: it allocates nothing and takes no lock beyond the team's. A step
 * that calls a body runs it the same way, on the same thread and team. */
#include "exec/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "exec/by_row.h"
#include "exec/call.h"
#include "exec/symbols.h"
#include "kernels/params_custom.h"

/* A step below this cost runs on the caller alone: handing it over would cost more. Workers that spin are cheaper to reach. */
#define ALONE_NS_AWAKE 4000
#define ALONE_NS_ASLEEP 20000

/* Parameters of user code that name one of the step's inputs: bundles are checked for what is read of them here only. */
static bool step_is_custom(const rlx_run_state_t *run, const rlx_program_step_t *step)
{
    const int64_t *params = run->model->params + step->params;
    int64_t operand;

    if (step->kernel < RLX_CUSTOM_FIRST || step->n_params < sizeof(rlx_custom_params_t) / sizeof(int64_t))
        return false;
    operand = ((const rlx_custom_params_t *)params)->step;
    return operand >= 0 && operand < (int64_t)step->n_in && run->operands[run->model->operands[step->operands + (uint32_t)operand]].base != NULL;
}

/* User code was not called: its step is larger than it allows, or no number. */
static rlx_status_t step_size_fail(const rlx_run_state_t *run, const rlx_program_step_t *step)
{
    const rlx_custom_params_t *params = (const rlx_custom_params_t *)(run->model->params + step->params);
    uint32_t id = run->model->operands[step->operands + (uint32_t)params->step];
    const double *size = run->operands[id].base;
    double most;

    memcpy(&most, &params->step_max, sizeof most);
    rlx_fail(run->diag, RLX_E_INPUT_VALUE, "step '%s': the step size '%s' is %.17g, and max_step_size is %.17g",
             run->model->strings + step->name, rlx_model_value_name(run->model, id), *size, most);
    rlx_diag_hint(run->diag, "Take more and smaller steps: the update is not stable beyond that.");
    rlx_diag_at(run->diag, "%s", run->model->strings + step->source);
    return RLX_INVALID_ARGUMENT;
}

static rlx_status_t kernel_fail(const rlx_run_state_t *run, const rlx_program_step_t *step)
{
    const char *what = run->error & RLX_KERR_INDEX    ? "an index lies outside its axis"
                       : run->error & RLX_KERR_DIVIDE ? "an integer is divided by zero"
                                                      : "a value lies outside its domain";

    if ((run->error & RLX_KERR_STEP) != 0 && step_is_custom(run, step))
        return step_size_fail(run, step);
    rlx_fail(run->diag, RLX_E_INPUT_VALUE, "step '%s': %s", run->model->strings + step->name, what);
    rlx_diag_at(run->diag, "%s", run->model->strings + step->source);
    return RLX_INVALID_ARGUMENT;
}

static bool step_is_small(const rlx_run_state_t *run, const rlx_plan_step_t *step, int64_t tiles)
{
    if (tiles == 1 || rlx_run_threads(run) == 1)
        return true;
    return step->cost_ns < (rlx_team_awake(run->team) ? ALONE_NS_AWAKE : ALONE_NS_ASLEEP);
}

/* Tells the watch of the step that has just ended. */
static __attribute__((noinline)) void step_watch(const rlx_run_state_t *run, uint32_t region, uint32_t index, int64_t tiles,
                                                 uint64_t begin_ns)
{
    const rlx_run_watch_t *watch = run->stats->watch;
    const rlx_plan_step_t *planned = &run->plans[region]->steps[index - run->model->regions[region].first_step];
    rlx_step_seen_t seen = {.plan = run->plans[region], .step = run->model->first_step + index, .index = index,
                            .call = planned->fn == NULL, .tiles = tiles, .begin_ns = begin_ns, .end_ns = rlx_clock_ns(),
                            .cost_ns = planned->cost_ns, .parts = watch->parts,
                            .n_parts = planned->fn != NULL ? rlx_run_threads(run) : 0};

    if (seen.tiles > 0)
        watch->step(watch->context, &seen);
}

/* Where members of the team write what they did in the next step; NULL without a watch. */
static rlx_step_part_t *step_parts(const rlx_run_state_t *run)
{
    const rlx_run_watch_t *watch = run->stats != NULL ? run->stats->watch : NULL;

    if (watch == NULL)
        return NULL;
    memset(watch->parts, 0, (size_t)rlx_run_threads(run) * sizeof *watch->parts);
    return watch->parts;
}

/* On the caller alone. */
static void step_alone(const rlx_team_job_t *job)
{
    uint64_t begin_ns = job->parts != NULL ? rlx_clock_ns() : 0;

    job->fn(&job->args, 0, job->tiles);
    if (job->parts != NULL)
        job->parts[0] = (rlx_step_part_t){begin_ns, rlx_clock_ns(), job->tiles};
}

/* Makes the job one of rows, each its own tiles, with the operands' steps from row to row. */
static void step_by_row(const rlx_plan_t *plan, const uint32_t *ids, rlx_operand_t *operands, const rlx_by_row_t *by_row,
                        rlx_team_job_t *job)
{
    for (int i = 0; i < by_row->n_in + by_row->n_out; i++)
        if (plan->model->values[ids[i]].batch_symbol != plan->model->batch_symbol)
            operands[i].row_bytes = 0;
    job->fn = rlx_by_row_run;
    job->args.param = (const int64_t *)by_row;
    job->tiles = by_row->step->tiles * plan->slots[plan->model->batch_symbol];
}

/* Returns how many tiles the step had. */
static int64_t step_run(rlx_run_state_t *run, const rlx_plan_t *plan, uint32_t index)
{
    const rlx_program_step_t *step = &run->model->steps[index];
    const rlx_plan_step_t *planned = &plan->steps[index - run->model->regions[plan->region].first_step];
    const rlx_by_row_t by_row = {.step = planned->row, .n_in = (int)step->n_in, .n_out = (int)step->n_out};
    const uint32_t *ids = run->model->operands + step->operands;
    rlx_operand_t operands[2 * RLX_OPERAND_MAX];
    rlx_team_job_t job = {.fn = planned->fn, .tiles = planned->tiles, .scratch_stride = (size_t)plan->scratch_bytes,
                          .parts = step_parts(run)};

    for (uint32_t i = 0; i < step->n_in + step->n_out; i++)
        operands[i] = run->operands[ids[i]];
    job.args = (rlx_kernel_args_t){
        .in = operands,
        .out = operands + step->n_in,
        .param = planned->params,
        .scratch = plan->scratch_bytes > 0 ? run->scratch : NULL,
        .error = &run->error,
    };
    if (planned->row != NULL && rlx_by_row_wanted(operands, by_row.n_in + by_row.n_out))
        step_by_row(plan, ids, operands, &by_row, &job);
    if (job.tiles == 0)
        return 0;
    if (step_is_small(run, planned, job.tiles))
        step_alone(&job);
    else
        rlx_team_run(run->team, &job);
    return job.tiles;
}

/* A step took `ns`, of which its bodies' steps are told already. */
static void step_account(rlx_run_state_t *run, uint32_t index, uint64_t ns, uint64_t inner_ns)
{
    run->stats->step_ns[run->model->first_step + index] += ns - inner_ns;
    run->own_ns += ns - inner_ns;
}

static rlx_status_t steps_run(rlx_run_state_t *run, uint32_t region)
{
    const rlx_program_region_t *entry = &run->model->regions[region];
    uint64_t *step_ns = run->stats != NULL ? run->stats->step_ns : NULL;
    bool watched = run->stats != NULL && run->stats->watch != NULL;

    for (uint32_t i = entry->first_step; i < entry->first_step + entry->n_steps; i++) {
        uint64_t start = step_ns != NULL || watched ? rlx_clock_ns() : 0, called_ns = run->called_ns;
        int64_t tiles = 1;

        if (run->cancel != NULL && atomic_load_explicit(run->cancel, memory_order_relaxed)) /* a hint: no data travels with it */
            return rlx_fail(run->diag, RLX_E_CANCELLED, "cancelled before step '%s'", run->model->strings + run->model->steps[i].name);
        if (run->stats != NULL && run->stats->step != NULL)
            atomic_store_explicit(run->stats->step, run->model->first_step + i, memory_order_relaxed); /* for onlookers: orders nothing */
        if (rlx_step_is_call(&run->model->steps[i]))
            RLX_TRY(rlx_call_run(run, &run->model->steps[i]));
        else
            tiles = step_run(run, run->plans[region], i);
        if (step_ns != NULL)
            step_account(run, i, rlx_clock_ns() - start, run->called_ns - called_ns);
        if (watched)
            step_watch(run, region, i, tiles, start);
        if (__atomic_load_n(&run->error, __ATOMIC_RELAXED) != 0) /* ordered by the end of the job */
            return kernel_fail(run, &run->model->steps[i]);
    }
    return RLX_OK;
}

static rlx_status_t regions_run(rlx_run_state_t *run)
{
    for (uint32_t r = 0; r < run->model->n_regions; r++) {
        if (r > 0)
            RLX_TRY(rlx_region_plan(run, r));
        RLX_TRY(rlx_region_memory(run, r));
        RLX_TRY(rlx_bind_region(run, r));
        RLX_TRY(steps_run(run, r));
    }
    rlx_bind_finish(run);
    return RLX_OK;
}

/* A bad program may have regions that were not entered: their plans and arenas are empty. */
static void run_release(rlx_run_state_t *run)
{
    for (uint32_t i = 0; run->dynamics != NULL && i < run->model->n_dynamic; i++)
        rlx_arena_put(&run->model->arenas, run->dynamics[i].memory);
    for (uint32_t r = run->model->n_regions; r-- > 0;) { /* region 0 holds the tables */
        if (r > 0)
            rlx_plan_release_internal(run->plans[r]);
        rlx_arena_put(&run->model->arenas, run->arenas[r]);
    }
}

rlx_status_t rlx_run_body(rlx_run_state_t *caller, rlx_plan_t *plan, const rlx_io_t *inputs, rlx_io_t *outputs, rlx_arena_t *out_memory)
{
    rlx_run_stats_t stats = {.watch = caller->stats != NULL ? caller->stats->watch : NULL,
                             .step = caller->stats != NULL ? caller->stats->step : NULL,
                             .step_ns = caller->stats != NULL ? caller->stats->step_ns : NULL};
    rlx_run_state_t run = {.model = plan->model, .team = caller->team, .inputs = inputs, .outputs = outputs, .cancel = caller->cancel,
                           .stats = &stats, .diag = caller->diag, .pool = &caller->model->arenas, .out_memory = out_memory};
    rlx_status_t status;

    run.plans[0] = plan;
    status = regions_run(&run);
    if (status != RLX_OK)
        rlx_bind_undo(&run);
    run_release(&run);
    caller->copies += run.copies;
    caller->called_ns += run.own_ns + run.called_ns;
    return status;
}

rlx_status_t rlx_run(rlx_plan_t *plan, rlx_team_t *team, const rlx_io_t *inputs, rlx_io_t *outputs, const atomic_bool *cancel,
                     rlx_run_stats_t *stats, rlx_diag_t *diag)
{
    rlx_run_state_t run = {
        .model = plan->model, .team = team, .inputs = inputs, .outputs = outputs, .cancel = cancel, .stats = stats, .diag = diag};
    uint64_t start = rlx_clock_ns();
    unsigned float_env;
    rlx_status_t status;

    RLX_ASSERT(plan->region == 0);
    if (stats != NULL && stats->watch != NULL)
        RLX_ASSERT(stats->watch->n_parts >= rlx_run_threads(&run));
    RLX_TRY(rlx_symbols_match_plan(plan, inputs, diag));
    run.plans[0] = plan;
    if (stats != NULL && stats->step_ns != NULL)
        memset(stats->step_ns, 0, rlx_program_steps_total(run.model->header) * sizeof *stats->step_ns);
    if (team != NULL)
        rlx_team_lock(team);
    float_env = rlx_float_env_enter();
    status = regions_run(&run);
    rlx_float_env_leave(float_env);
    if (team != NULL)
        rlx_team_unlock(team);
    if (status != RLX_OK)
        rlx_bind_undo(&run);
    run_release(&run);
    if (stats != NULL) {
        stats->total_ns = rlx_clock_ns() - start;
        stats->input_copies = run.copies;
    }
    return status;
}
