/* Scenario "cluster": a cluster of the state service under faults of every kind, healed at the end and judged against docs/STATE.md. A seed
 * that fails is played again with fewer and fewer of its faults, as long as it fails. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cluster.h"
#include "sim/scenario.h"

#define START_SPREAD_NS (2 * SIM_SECOND)
#define ATTEMPTS_MAX 120

cluster_config_t cluster_config = {.replicas = 3, .nodes = 32, .heartbeat_ms = 500, .minutes = 10, .faults = (1u << CLUSTER_FAULTS) - 1};

static bool dropped[CLUSTER_ACTIONS_MAX]; /* by index of the drawn action */

static void handle(cluster_t *cluster, const sim_event_t *event)
{
    if (event->a == UINT64_MAX)
        cluster_start(cluster, (uint32_t)event->b);
    else if (event->b == 0)
        cluster_begin(cluster, &cluster->actions[event->a]);
    else if (event->b == 1)
        cluster_end(cluster, &cluster->actions[event->a]);
    else
        cluster_middle(cluster, &cluster->actions[event->a]);
}

static void schedule(cluster_t *cluster)
{
    for (uint32_t i = 0; i < cluster->n_procs; i++) {
        uint64_t at_ns = rlx_prng_below(&cluster->net, START_SPREAD_NS);
        sim_schedule(cluster->world, at_ns, (sim_event_t){CLUSTER_EV_USER, UINT64_MAX, i, 0});
    }
    for (uint32_t i = 0; i < cluster->n_actions; i++) {
        const cluster_action_t *action = &cluster->actions[i];
        if (action->dropped)
            continue;
        sim_schedule(cluster->world, action->at_ns, (sim_event_t){CLUSTER_EV_USER, i, 0, 0});
        if (action->fault == CLUSTER_TWIN)
            sim_schedule(cluster->world, action->at_ns + CLUSTER_MIDDLE_NS, (sim_event_t){CLUSTER_EV_USER, i, 2, 0});
        if (action->at_ns + action->for_ns + CLUSTER_SETTLE_NS <= cluster->end_ns)
            sim_schedule(cluster->world, action->at_ns + action->for_ns, (sim_event_t){CLUSTER_EV_USER, i, 1, 0});
    }
}

static cluster_t *make(sim_world_t *world)
{
    cluster_t *cluster = calloc(1, sizeof *cluster);
    rlx_gss_options_t options = rlx_gss_options_default(cluster_config.heartbeat_ms, CLUSTER_NODES_MAX);

    if (cluster == NULL)
        return NULL;
    options.tombstone_ms = 60000 + world->seed % 4 * 30000; /* short, so that forgetting happens */
    if (!cluster_init(cluster, world, &cluster_config, &options)) {
        free(cluster);
        return NULL;
    }
    cluster->end_ns = cluster_config.minutes * 60 * SIM_SECOND;
    cluster->handle = handle;
    cluster->evicted = cluster_check_eviction;
    return cluster;
}

static void play_with(sim_world_t *world, bool print)
{
    cluster_t *cluster = make(world);

    if (cluster == NULL) {
        sim_check(world, false, "there is memory", 0, 0);
        return;
    }
    cluster_draw(cluster);
    for (uint32_t i = 0; i < cluster->n_actions; i++)
        cluster->actions[i].dropped = dropped[i];
    for (uint32_t i = 0; print && i < cluster->n_actions; i++)
        if (!cluster->actions[i].dropped)
            cluster_action_print(cluster, &cluster->actions[i]);
    if (!print) {
        schedule(cluster);
        if (cluster_run(cluster, cluster->end_ns))
            cluster_check_end(cluster);
        for (uint32_t i = 0; i < cluster->n_procs; i++)
            if (cluster->procs[i].up)
                cluster_collect(cluster, i);
    }
    cluster_fini(cluster);
    free(cluster);
}

static void play(sim_world_t *world)
{
    memset(dropped, 0, sizeof dropped);
    play_with(world, false);
}

/* Whether the seed still breaks the same rule. */
static bool still_fails(uint64_t seed, uint64_t *reached, const char *rule, char out_failure[256])
{
    sim_world_t world;
    bool fails;

    sim_world_init(&world, seed, reached, false);
    play_with(&world, false);
    fails = world.failed && strstr(world.failure, rule) != NULL;
    if (fails)
        memcpy(out_failure, world.failure, 256);
    sim_world_fini(&world);
    return fails;
}

static void rule_of(const char *failure, char out_rule[256])
{
    const char *begin = strstr(failure, "broken: "), *end = strrchr(failure, '(');
    size_t bytes = begin != NULL && end > begin ? (size_t)(end - begin) : 0;

    memcpy(out_rule, begin == NULL ? "" : begin, bytes);
    out_rule[bytes] = '\0';
}

static void minimise(uint64_t seed, uint64_t *reached)
{
    char failure[256] = "", rule[256];
    uint32_t left = ATTEMPTS_MAX;
    sim_world_t world;

    memset(dropped, 0, sizeof dropped);
    if (!still_fails(seed, reached, "", failure))
        return;
    rule_of(failure, rule);
    for (uint32_t size = 128; size > 0; size /= 2)
        for (uint32_t at = 0; at < CLUSTER_ACTIONS_MAX && left > 0; at += size) {
            bool before[CLUSTER_ACTIONS_MAX];
            memcpy(before, dropped, sizeof before);
            memset(dropped + at, 1, size);
            if (memcmp(before, dropped, sizeof before) == 0)
                continue;
            left--;
            if (!still_fails(seed, reached, rule, failure))
                memcpy(dropped, before, sizeof before);
        }
    printf("  seed %" PRIu64 " still fails with these faults: %s\n", seed, failure);
    sim_world_init(&world, seed, reached, false);
    play_with(&world, true);
    sim_world_fini(&world);
}

const sim_scenario_t sim_scenario_cluster = {
    .name = "cluster", .help = "the state service under faults: nothing is lost, nobody is falsely evicted, all agree in the end",
    .play = play, .counters = cluster_counters, .n_counters = CLUSTER_COUNTERS, .minimise = minimise,
};
