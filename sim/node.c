/* Scenario "node": one daemon, clients that send bursts, set deadlines, go away in every state and lose connections; workers of uneven
 * speed with stragglers; models that come, are replaced and go; a drain at the end. daemon_check.c holds the rules. */
#include "sim/daemon.h"
#include "sim/link.h"
#include "sim/scenario.h"

#define CLIENTS_MAX 12
#define DRAIN_NS (60 * SIM_MS)
#define END_NS (70 * SIM_MS)
#define ABSENT_MODEL 7 /* clients ask for it, too; it is never added */

enum { ACT, OPEN, BYTES, GONE, DONE, LEFT, TIMER, MODEL_LEAVES, MODEL_COMES, DRAIN };

typedef struct client {
    sim_link_t link;
    uint64_t think_ns, patience_ns; /* between bursts; deadlines are about this, 0: it sets none */
    uint32_t burst, cancels, cuts;  /* requests of a burst; per mille: goes away, loses its connection */
} client_t;

typedef struct node {
    sim_daemon_t daemon;
    client_t clients[CLIENTS_MAX];
    uint32_t n_clients, n_models;
    uint64_t keys[4]; /* of batches; the first is 0 */
    uint64_t cost_ns[SIM_MODELS_MAX], speed[SIM_MODELS_MAX]; /* table; what it really is, in 16ths */
    uint64_t timer; /* the armed one's number */
    bool crowd;     /* large bursts of one key on one worker: runs of 64 */
} node_t;

static rlx_prng_t *dice(sim_daemon_t *daemon)
{
    return &daemon->world->prng;
}

/* Table costs are for one worker; runs of several are cheaper than one by one, runs alone faster, and one in a hundred is a straggler. */
static uint64_t duration_ns(sim_daemon_t *daemon, const sim_run_t *run)
{
    const node_t *node = daemon->context;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < run->n; i++)
        sum += daemon->requests[run->requests[i]].cost_ns;
    if (run->n > 1)
        sum = sum * 3 / 4;
    sum = sum * node->speed[run->model] / 16 * rlx_prng_between(dice(daemon), 80, 130) / 100;
    if (run->alone)
        sum /= rlx_prng_between(dice(daemon), 1, daemon->options.workers);
    if (rlx_prng_chance(dice(daemon), 10))
        sum *= 20;
    return sum + 1;
}

static void started(sim_daemon_t *daemon, uint32_t run)
{
    uint64_t ns = duration_ns(daemon, &daemon->runs[run]);

    sim_schedule(daemon->world, ns, (sim_event_t){DONE, run, daemon->runs[run].serial, ns});
}

/* The worker notices at its next step: a later DONE of the same run finds it gone. */
static void stopped(sim_daemon_t *daemon, uint32_t run)
{
    uint64_t ns = rlx_prng_below(dice(daemon), 50 * SIM_US);

    sim_schedule(daemon->world, ns,
                 (sim_event_t){DONE, run, daemon->runs[run].serial, daemon->world->now_ns + ns - daemon->runs[run].start_ns});
}

static void answered(sim_daemon_t *daemon, uint32_t request, rlx_refusal_t refusal)
{
    uint64_t serial = daemon->requests[request].serial;

    (void)refusal;
    if (rlx_prng_chance(dice(daemon), 50)) /* The client goes while its answer leaves: CANCEL, and still REPLIED. */
        sim_schedule(daemon->world, rlx_prng_below(dice(daemon), 30 * SIM_US), (sim_event_t){GONE, request, serial, 0});
    sim_schedule(daemon->world, rlx_prng_exponential(dice(daemon), 30 * SIM_US), (sim_event_t){LEFT, request, serial, 0});
}

static void armed(sim_daemon_t *daemon, uint64_t at_ns)
{
    node_t *node = daemon->context;
    uint64_t late_ns = rlx_prng_below(dice(daemon), 100 * SIM_US);

    sim_schedule(daemon->world, at_ns - daemon->world->now_ns + late_ns, (sim_event_t){TIMER, ++node->timer, 0, 0});
}

static void model_free(sim_daemon_t *daemon, uint32_t model)
{
    sim_schedule(daemon->world, rlx_prng_exponential(dice(daemon), SIM_MS), (sim_event_t){MODEL_COMES, model, 0, 0});
}

static const sim_daemon_ops_t ops = {started, stopped, answered, armed, model_free};

static void model_comes(node_t *node, uint32_t model)
{
    rlx_prng_t *prng = dice(&node->daemon);
    rlx_actor_model_t settings = {.queue_max = (uint32_t)rlx_prng_between(prng, 0, 12)};

    if (rlx_prng_chance(prng, 600)) {
        settings.rows_max = (uint32_t)rlx_prng_between(prng, 1, 8);
        settings.batch_delay_ns = rlx_prng_below(prng, 2) * rlx_prng_below(prng, 2 * SIM_MS);
    }
    if (node->crowd)
        settings = (rlx_actor_model_t){.queue_max = 150, .rows_max = 200};
    node->cost_ns[model] = rlx_prng_exponential(prng, 300 * SIM_US) + 10 * SIM_US;
    node->speed[model] = rlx_prng_between(prng, 4, 48);
    sim_daemon_model_add(&node->daemon, model, &settings);
}

static void set_up(node_t *node, sim_world_t *world)
{
    rlx_prng_t *prng = &world->prng;
    rlx_actor_options_t options = {.requests_max = (uint32_t)rlx_prng_between(prng, 2, 40), .models_max = 4,
        .workers = (uint32_t)rlx_prng_between(prng, 1, 4), .ahead = (uint32_t)rlx_prng_between(prng, 0, 6)};

    node->crowd = rlx_prng_chance(prng, 20);
    if (node->crowd)
        options = (rlx_actor_options_t){.requests_max = 200, .models_max = 1, .workers = 1};
    sim_daemon_init(&node->daemon, world, &options, &ops, node);
    node->timer = 0;
    for (int i = 1; i < 4; i++)
        node->keys[i] = rlx_prng_next(prng) | 1;
    node->n_models = (uint32_t)rlx_prng_between(prng, 1, options.models_max);
    node->n_clients = (uint32_t)rlx_prng_between(prng, 1, CLIENTS_MAX);
    for (uint32_t i = 0; i < node->n_models; i++) {
        model_comes(node, i);
        sim_schedule(world, rlx_prng_exponential(prng, 40 * SIM_MS), (sim_event_t){MODEL_LEAVES, i, 0, 0});
    }
    for (uint32_t i = 0; i < node->n_clients; i++) {
        client_t *client = &node->clients[i];
        *client = (client_t){.link = {.loss_per_mille = (uint32_t)rlx_prng_below(prng, 20), .stream = true, .delay_max_ns = 100 * SIM_US},
            .think_ns = rlx_prng_between(prng, 100 * SIM_US, 10 * SIM_MS), .burst = (uint32_t)rlx_prng_between(prng, 1, 10),
            .patience_ns = rlx_prng_below(prng, 2) * rlx_prng_between(prng, 200 * SIM_US, 20 * SIM_MS),
            .cancels = (uint32_t)rlx_prng_below(prng, 300), .cuts = (uint32_t)rlx_prng_below(prng, 50)};
        if (node->crowd)
            client->burst = 100;
        sim_schedule(world, rlx_prng_exponential(prng, client->think_ns), (sim_event_t){ACT, i, 0, 0});
    }
    sim_schedule(world, DRAIN_NS, (sim_event_t){DRAIN, 0, 0, 0});
}

static void act(node_t *node, uint64_t who)
{
    sim_world_t *world = node->daemon.world;
    client_t *client = &node->clients[who];
    uint64_t n = rlx_prng_between(&world->prng, 1, client->burst);

    client->link.broken = false; /* It connects again. */
    for (uint64_t i = 0; i < n; i++)
        sim_link_send(world, &client->link, (sim_event_t){OPEN, who, 0, 0});
    if (world->now_ns < END_NS)
        sim_schedule(world, rlx_prng_exponential(&world->prng, client->think_ns), (sim_event_t){ACT, who, 0, 0});
}

static void open_request(node_t *node, uint64_t who)
{
    sim_world_t *world = node->daemon.world;
    client_t *client = &node->clients[who];
    bool absent = rlx_prng_chance(&world->prng, 10);
    uint32_t request = sim_daemon_open(&node->daemon, absent ? ABSENT_MODEL : (uint32_t)rlx_prng_below(&world->prng, node->n_models));

    if (request == RLX_ACTOR_NONE)
        return;
    sim_event_t gone = {GONE, request, node->daemon.requests[request].serial, 0}, bytes = {BYTES, request, gone.b, who};
    if (!sim_link_send(world, &client->link, bytes))
        sim_schedule(world, rlx_prng_exponential(&world->prng, SIM_MS), gone); /* The cut is noticed some time later. */
    if (rlx_prng_chance(&world->prng, client->cancels))
        sim_schedule(world, rlx_prng_exponential(&world->prng, SIM_MS), gone);
    if (rlx_prng_chance(&world->prng, client->cuts)) /* Noticed twice: by a reset and by the close. */
        sim_schedule(world, rlx_prng_exponential(&world->prng, 200 * SIM_US), gone);
}

static void bytes_are_there(node_t *node, uint32_t request, uint64_t who)
{
    rlx_prng_t *prng = dice(&node->daemon);
    const client_t *client = &node->clients[who];
    uint32_t model = node->daemon.requests[request].model;

    if (rlx_prng_chance(prng, 20)) {
        sim_daemon_abandon(&node->daemon, request);
        return;
    }
    uint32_t rows = rlx_prng_chance(prng, 700) ? 1 : (uint32_t)rlx_prng_between(prng, 1, 10);
    rlx_actor_event_t event = {.rows = rows, .batch_key = node->keys[node->crowd ? 1 : rlx_prng_below(prng, 4)],
        .priority = rlx_prng_chance(prng, 100),
        .cost_ns = node->cost_ns[model] * rows * rlx_prng_between(prng, 50, 200) / 100, .deadline_ns = RLX_ACTOR_NEVER};
    if (client->patience_ns > 0 && rlx_prng_chance(prng, 900)) {
        uint64_t within_ns = rlx_prng_exponential(prng, client->patience_ns);
        uint64_t opened_ns = node->daemon.requests[request].opened_ns;
        event.deadline_ns = opened_ns + within_ns; /* It ran while the bytes came: it may have passed. */
    }
    sim_daemon_submit(&node->daemon, request, &event);
}

static bool is_it(const node_t *node, const sim_event_t *event, sim_phase_t phase)
{
    const sim_request_t *request = &node->daemon.requests[event->a];

    return request->phase != SIM_NOWHERE && request->serial == event->b && (phase == SIM_NOWHERE || request->phase == phase);
}

static void happen(node_t *node, const sim_event_t *event)
{
    sim_daemon_t *daemon = &node->daemon;
    uint32_t a = (uint32_t)event->a;

    switch (event->kind) {
    case ACT:
        act(node, event->a);
        break;
    case OPEN:
        open_request(node, event->a);
        break;
    case BYTES:
        if (is_it(node, event, SIM_RECEIVING))
            bytes_are_there(node, a, event->c);
        break;
    case GONE:
        if (is_it(node, event, SIM_NOWHERE))
            sim_daemon_cancel(daemon, a);
        break;
    case DONE:
        if (daemon->runs[a].active && daemon->runs[a].serial == event->b)
            sim_daemon_complete(daemon, a, event->c);
        break;
    case LEFT:
        if (is_it(node, event, SIM_REPLYING))
            sim_daemon_replied(daemon, a);
        break;
    case TIMER:
        if (event->a == node->timer)
            sim_daemon_timer(daemon);
        break;
    case MODEL_LEAVES:
        if (daemon->models[a].serving)
            sim_daemon_model_remove(daemon, a);
        break;
    case MODEL_COMES:
        if (!daemon->draining) {
            model_comes(node, a);
            sim_schedule(daemon->world, rlx_prng_exponential(dice(daemon), 20 * SIM_MS), (sim_event_t){MODEL_LEAVES, a, 0, 0});
        }
        break;
    case DRAIN:
        sim_daemon_drain(daemon);
        break;
    }
}

static void play(sim_world_t *world)
{
    static node_t node;
    sim_event_t event;

    set_up(&node, world);
    while (sim_next(world, &event))
        happen(&node, &event);
    if (!world->failed)
        sim_daemon_check_end(&node.daemon);
    sim_daemon_fini(&node.daemon);
}

const sim_scenario_t sim_scenario_node = {
    .name = "node",
    .help = "one daemon: clients that come and go, uneven workers, models that change, a drain; every rule of a request's life",
    .play = play,
    .counters = sim_daemon_counters,
    .n_counters = SIM_REACHED_COUNT,
    .all_reached = true,
};
