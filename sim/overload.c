/* Scenario "overload": three times as much arrives as the workers can do, every request with a deadline. Capacity is not wasted: of the
 * workers' time nine tenths go to requests that are answered in time, and nearly all refusals are told at once. */
#include "sim/daemon.h"
#include "sim/scenario.h"

#define RUNS_WARM_UP 200 /* average runs per worker until estimates have settled, and then as many times this as are measured */
#define MEASURED_TIMES 5
#define GOODPUT_PER_MILLE 900
#define LATE_REFUSALS_PER_MILLE 150

enum { ARRIVE, DONE, LEFT, TIMER };

typedef struct overload {
    sim_daemon_t daemon;
    uint32_t n_models;
    uint64_t cost_ns[SIM_MODELS_MAX], speed[SIM_MODELS_MAX], gap_ns[SIM_MODELS_MAX];
    uint64_t timer, warm_ns, end_ns;
    uint64_t duration_ns[SIM_RUNS_MAX];
    uint64_t good_ns, refused, refused_late, asked;
} overload_t;

static bool is_measured(const overload_t *overload)
{
    uint64_t now_ns = overload->daemon.world->now_ns;

    return now_ns >= overload->warm_ns && now_ns < overload->end_ns;
}

static void started(sim_daemon_t *daemon, uint32_t run)
{
    overload_t *overload = daemon->context;
    const sim_run_t *held = &daemon->runs[run];
    uint64_t sum = 0;

    for (uint32_t i = 0; i < held->n; i++)
        sum += daemon->requests[held->requests[i]].cost_ns;
    uint64_t ns = sum * overload->speed[held->model] / 16 * rlx_prng_between(&daemon->world->prng, 60, 150) / 100 + 1;
    if (rlx_prng_chance(&daemon->world->prng, 5)) /* a straggler */
        ns *= 4;
    overload->duration_ns[run] = ns;
    sim_schedule(daemon->world, ns, (sim_event_t){DONE, run, 0, ns});
}

static void stopped(sim_daemon_t *daemon, uint32_t run)
{
    sim_check(daemon->world, false, "nobody goes away here", run, 0);
}

static void answered(sim_daemon_t *daemon, uint32_t request, rlx_refusal_t refusal)
{
    overload_t *overload = daemon->context;
    const sim_request_t *held = &daemon->requests[request];

    sim_schedule(daemon->world, 0, (sim_event_t){LEFT, request, 0, 0});
    if (!is_measured(overload))
        return;
    if (refusal != RLX_REFUSAL_NONE) {
        overload->refused++;
        overload->refused_late += held->submitted_ns < daemon->world->now_ns;
    } else if (daemon->world->now_ns <= held->deadline_ns) {
        overload->good_ns += held->tag; /* its share of the run */
    }
}

static void armed(sim_daemon_t *daemon, uint64_t at_ns)
{
    overload_t *overload = daemon->context;

    sim_schedule(daemon->world, at_ns - daemon->world->now_ns, (sim_event_t){TIMER, ++overload->timer, 0, 0});
}

static void model_free(sim_daemon_t *daemon, uint32_t model)
{
    sim_check(daemon->world, false, "no model leaves here", model, 0);
}

static const sim_daemon_ops_t ops = {started, stopped, answered, armed, model_free};

static void arrive(overload_t *overload, uint32_t model)
{
    sim_daemon_t *daemon = &overload->daemon;
    rlx_prng_t *prng = &daemon->world->prng;
    uint64_t real_ns = overload->cost_ns[model] * overload->speed[model] / 16;
    rlx_actor_event_t event = {.rows = 1, .batch_key = 1, .cost_ns = overload->cost_ns[model] * rlx_prng_between(prng, 50, 150) / 100,
        .deadline_ns = daemon->world->now_ns + rlx_prng_between(prng, 5 * real_ns, 40 * real_ns)};
    uint32_t request = sim_daemon_open(daemon, model);

    if (daemon->world->now_ns < overload->end_ns)
        sim_schedule(daemon->world, rlx_prng_exponential(prng, overload->gap_ns[model]), (sim_event_t){ARRIVE, model, 0, 0});
    if (!sim_check(daemon->world, request != RLX_ACTOR_NONE, "the table has room", daemon->open, 0))
        return;
    overload->asked += is_measured(overload);
    sim_daemon_submit(daemon, request, &event);
}

/* Each member's share of the run's time is noted before the answers come. */
static void complete(overload_t *overload, uint32_t run)
{
    sim_daemon_t *daemon = &overload->daemon;
    const sim_run_t *held = &daemon->runs[run];

    for (uint32_t i = 0; i < held->n; i++)
        daemon->requests[held->requests[i]].tag = overload->duration_ns[run] / held->n;
    sim_daemon_complete(daemon, run, overload->duration_ns[run]);
}

static void set_up(overload_t *overload, sim_world_t *world)
{
    rlx_prng_t *prng = &world->prng;
    rlx_actor_options_t options = {.requests_max = SIM_REQUESTS_MAX, .models_max = 4, .workers = (uint32_t)rlx_prng_between(prng, 1, 4)};
    uint64_t longest_ns = 0;

    sim_daemon_init(&overload->daemon, world, &options, &ops, overload);
    overload->timer = overload->good_ns = overload->refused = overload->refused_late = overload->asked = 0;
    overload->n_models = (uint32_t)rlx_prng_between(prng, 1, 3);
    for (uint32_t i = 0; i < overload->n_models; i++) {
        overload->cost_ns[i] = rlx_prng_between(prng, 200 * SIM_US, 2 * SIM_MS);
        overload->speed[i] = rlx_prng_between(prng, 8, 48);
        uint64_t real_ns = overload->cost_ns[i] * overload->speed[i] / 16;
        longest_ns = real_ns > longest_ns ? real_ns : longest_ns;
        overload->gap_ns[i] = real_ns * overload->n_models / options.workers / 3; /* all models together: 3 times the capacity */
        rlx_actor_model_t settings = {.queue_max = 200, .rows_max = (uint32_t)(rlx_prng_below(prng, 2) * rlx_prng_between(prng, 2, 8))};
        sim_daemon_model_add(&overload->daemon, i, &settings);
        sim_schedule(world, 0, (sim_event_t){ARRIVE, i, 0, 0});
    }
    overload->warm_ns = RUNS_WARM_UP * longest_ns;
    overload->end_ns = (1 + MEASURED_TIMES) * overload->warm_ns;
}

static void happen(overload_t *overload, const sim_event_t *event)
{
    switch (event->kind) {
    case ARRIVE:
        arrive(overload, (uint32_t)event->a);
        break;
    case DONE:
        complete(overload, (uint32_t)event->a);
        break;
    case LEFT:
        sim_daemon_replied(&overload->daemon, (uint32_t)event->a);
        break;
    case TIMER:
        if (event->a == overload->timer)
            sim_daemon_timer(&overload->daemon);
        break;
    }
}

static void play(sim_world_t *world)
{
    static overload_t overload;
    sim_event_t event;

    set_up(&overload, world);
    while (sim_next(world, &event))
        happen(&overload, &event);
    uint64_t capacity_ns = (overload.end_ns - overload.warm_ns) * overload.daemon.options.workers;
    uint64_t goodput = overload.good_ns / (capacity_ns / 1000), late = overload.refused_late * 1000 / (overload.asked + 1);
    sim_trace(world, "goodput", goodput, late, overload.asked, overload.refused);
    sim_check(world, goodput >= GOODPUT_PER_MILLE, "goodput at three times the load is nine tenths of the capacity", goodput, late);
    sim_check(world, late <= LATE_REFUSALS_PER_MILLE, "refusals are told at once", late, goodput);
    if (!world->failed)
        sim_daemon_check_end(&overload.daemon);
    sim_daemon_fini(&overload.daemon);
}

const sim_scenario_t sim_scenario_overload = {
    .name = "overload",
    .help = "three times the capacity arrives: the workers' time goes to requests that are answered in time",
    .play = play,
    .counters = sim_daemon_counters,
    .n_counters = SIM_REACHED_COUNT,
};
