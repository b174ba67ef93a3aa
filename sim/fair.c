/* Scenario "fair": two models that always have work share the workers; now and then a third, long idle, asks once. While both wait, the
 * work they got differs by no more than two runs of each per worker and one; the newcomer is next. Costs in the tables are wrong by up to
 * 4 times. */
#include "sim/daemon.h"
#include "sim/scenario.h"

#define END_NS (120 * SIM_MS)
#define NEWCOMER 2
#define NEWCOMER_PAUSE_NS (20 * SIM_MS)
#define KEPT_WAITING 6

enum { DONE, LEFT, NEW };

typedef struct fair {
    sim_daemon_t daemon;
    uint64_t cost_ns[3], speed[3], rows_max[3];
    uint64_t longest_ns[3]; /* run, real or expected */
    uint32_t newcomer;      /* request that waits, or NONE */
    uint32_t overtaken;     /* runs of others since it asked */
} fair_t;

static void started(sim_daemon_t *daemon, uint32_t run)
{
    fair_t *fair = daemon->context;
    const sim_run_t *held = &daemon->runs[run];
    uint64_t sum = 0;

    for (uint32_t i = 0; i < held->n; i++)
        sum += daemon->requests[held->requests[i]].cost_ns;
    uint64_t ns = sum * fair->speed[held->model] / 16 * rlx_prng_between(&daemon->world->prng, 70, 140) / 100 + 1;
    uint64_t longer_ns = ns > sum ? ns : sum;
    if (longer_ns > fair->longest_ns[held->model])
        fair->longest_ns[held->model] = longer_ns;
    sim_schedule(daemon->world, ns, (sim_event_t){DONE, run, 0, ns});
    if (fair->newcomer != RLX_ACTOR_NONE && held->model != NEWCOMER)
        fair->overtaken++;
    if (fair->newcomer == held->requests[0]) {
        sim_check(daemon->world, fair->overtaken <= 2, "a newcomer is delayed by at most one run of each", fair->overtaken, 0);
        fair->newcomer = RLX_ACTOR_NONE;
    }
}

static void stopped(sim_daemon_t *daemon, uint32_t run)
{
    sim_check(daemon->world, false, "nobody goes away here", run, 0);
}

static void answered(sim_daemon_t *daemon, uint32_t request, rlx_refusal_t refusal)
{
    sim_check(daemon->world, refusal == RLX_REFUSAL_NONE, "nothing is refused here", request, refusal);
    sim_schedule(daemon->world, 0, (sim_event_t){LEFT, request, 0, 0});
}

static void armed(sim_daemon_t *daemon, uint64_t at_ns)
{
    sim_check(daemon->world, false, "nobody sets a deadline here", at_ns, 0);
}

static void model_free(sim_daemon_t *daemon, uint32_t model)
{
    sim_check(daemon->world, false, "no model leaves here", model, 0);
}

static const sim_daemon_ops_t ops = {started, stopped, answered, armed, model_free};

static void ask(fair_t *fair, uint32_t model)
{
    rlx_prng_t *prng = &fair->daemon.world->prng;
    rlx_actor_event_t event = {.rows = 1, .batch_key = 1, .deadline_ns = RLX_ACTOR_NEVER,
        .cost_ns = fair->cost_ns[model] * rlx_prng_between(prng, 50, 150) / 100};
    uint32_t request = sim_daemon_open(&fair->daemon, model);

    if (!sim_check(fair->daemon.world, request != RLX_ACTOR_NONE, "there is room", model, 0))
        return;
    if (model == NEWCOMER) {
        fair->newcomer = request;
        fair->overtaken = 0;
    }
    sim_daemon_submit(&fair->daemon, request, &event);
}

static void keep_waiting(fair_t *fair)
{
    for (uint32_t model = 0; model < 2; model++)
        while (fair->daemon.models[model].waiting < KEPT_WAITING && !fair->daemon.world->failed)
            ask(fair, model);
}

static void check_shares(fair_t *fair)
{
    const sim_model_t *models = fair->daemon.models;
    uint64_t bound = 2 * (fair->daemon.options.workers + 1) * (fair->longest_ns[0] + fair->longest_ns[1]);
    uint64_t x = models[0].busy_ns, y = models[1].busy_ns;

    sim_check(fair->daemon.world, (x > y ? x - y : y - x) <= bound, "two models that both wait get the same", x, y);
}

/* Long enough for the others to have got more than its last run took. */
static uint64_t pause_ns(const fair_t *fair)
{
    return NEWCOMER_PAUSE_NS + 8 * fair->cost_ns[NEWCOMER] * fair->speed[NEWCOMER] / 16;
}

static void set_up(fair_t *fair, sim_world_t *world)
{
    rlx_actor_options_t options = {.requests_max = 200, .models_max = 3, .workers = (uint32_t)rlx_prng_between(&world->prng, 1, 8)};

    sim_daemon_init(&fair->daemon, world, &options, &ops, fair);
    fair->newcomer = RLX_ACTOR_NONE;
    for (uint32_t i = 0; i < 3; i++) {
        fair->cost_ns[i] = rlx_prng_between(&world->prng, 20 * SIM_US, rlx_prng_chance(&world->prng, 500) ? 100 * SIM_US : 3 * SIM_MS);
        fair->speed[i] = rlx_prng_between(&world->prng, 4, 64);
        fair->longest_ns[i] = 0;
        rlx_actor_model_t settings = {.queue_max = 32, .rows_max = (uint32_t)rlx_prng_below(&world->prng, 5)};
        sim_daemon_model_add(&fair->daemon, i, &settings);
    }
    keep_waiting(fair);
    sim_schedule(world, pause_ns(fair), (sim_event_t){NEW, 0, 0, 0});
}

static void happen(fair_t *fair, const sim_event_t *event)
{
    sim_world_t *world = fair->daemon.world;

    switch (event->kind) {
    case DONE:
        sim_daemon_complete(&fair->daemon, (uint32_t)event->a, event->c);
        if (world->now_ns < END_NS) {
            keep_waiting(fair);
            check_shares(fair);
        }
        break;
    case LEFT:
        sim_daemon_replied(&fair->daemon, (uint32_t)event->a);
        break;
    case NEW:
        if (fair->newcomer == RLX_ACTOR_NONE)
            ask(fair, NEWCOMER);
        if (world->now_ns < END_NS)
            sim_schedule(world, pause_ns(fair), (sim_event_t){NEW, 0, 0, 0});
        break;
    }
}

static void play(sim_world_t *world)
{
    static fair_t fair;
    sim_event_t event;

    set_up(&fair, world);
    while (sim_next(world, &event))
        happen(&fair, &event);
    if (!world->failed)
        sim_daemon_check_end(&fair.daemon);
    sim_daemon_fini(&fair.daemon);
}

const sim_scenario_t sim_scenario_fair = {
    .name = "fair",
    .help = "two models that always wait get the same share of the workers; a newcomer is next",
    .play = play,
    .counters = sim_daemon_counters,
    .n_counters = SIM_REACHED_COUNT,
};
