/* How fast: scenarios without faults but the one that is measured. Every seed adds samples; the report prints them and holds them against
 * the bounds of docs/STATE.md. A sample is the last of all views: of every replica and every node that runs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cluster.h"
#include "sim/scenario.h"

#define SAMPLES_MAX 100000
#define WARM_NS (10 * SIM_SECOND)
#define TRAFFIC_MAX 400 /* bytes a second and node, at 2 s heartbeats */

typedef struct samples {
    const char *what;
    uint32_t p50_max_ms, p99_max_ms, min_ms; /* bounds; 0: none */
    uint32_t n;
    uint32_t ms[SAMPLES_MAX];
} samples_t;

static samples_t first = {0}, second = {0}; /* what the scenario measures */

static void sample(samples_t *samples, uint64_t ns)
{
    if (samples->n < SAMPLES_MAX)
        samples->ms[samples->n++] = (uint32_t)(ns / SIM_MS);
}

static int by_value(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

    return (a > b) - (a < b);
}

static bool report_one(samples_t *samples)
{
    uint32_t n = samples->n;

    if (n == 0)
        return true;
    qsort(samples->ms, n, sizeof *samples->ms, by_value);
    uint32_t p50 = samples->ms[n / 2], p99 = samples->ms[n - 1 - n / 100], least = samples->ms[0];
    bool good = (samples->p99_max_ms == 0 || p99 <= samples->p99_max_ms) && (samples->p50_max_ms == 0 || p50 <= samples->p50_max_ms) &&
                least >= samples->min_ms;
    printf("  %-40s min %6" PRIu32 "  p50 %6" PRIu32 "  p99 %6" PRIu32 "  max %6" PRIu32 " ms  of %" PRIu32 "%s\n", samples->what, least, p50,
           p99, samples->ms[n - 1], n, good ? "" : "  OUT OF BOUND");
    return good;
}

static bool report(void)
{
    bool good = report_one(&first);

    return report_one(&second) && good;
}

typedef struct measured {
    cluster_t cluster;
    uint32_t victims, from;     /* nodes from..from + victims */
    uint64_t at_ns;             /* when it happened to them */
    uint64_t suspect_ns, gone_ns, seen_ns; /* when the last view showed it */
    uint32_t evictions;
} measured_t;

static bool unusable(rlx_gss_status_t status) { return status != RLX_GSS_STATUS_AVAILABLE; }

/* How every view that is to have a say sees the victims. */
static void look(measured_t *measured)
{
    cluster_t *cluster = &measured->cluster;
    bool all_suspect = true, all_gone = true, all_seen = true;

    for (uint32_t i = 0; i < cluster->n_procs; i++) {
        const cluster_proc_t *proc = &cluster->procs[i];
        if (!proc->up || proc->pauses > 0)
            continue;
        for (uint32_t j = measured->from; j < measured->from + measured->victims; j++) {
            rlx_gss_status_t status = rlx_gss_state_status(cluster_state(proc), cluster_node(cluster, j)->node);
            all_suspect &= unusable(status);
            all_gone &= status == RLX_GSS_STATUS_UNKNOWN;
            all_seen &= status == RLX_GSS_STATUS_AVAILABLE;
        }
    }
    uint64_t since = cluster->world->now_ns - measured->at_ns;
    if (all_suspect && measured->suspect_ns == 0)
        measured->suspect_ns = since;
    if (all_gone && measured->gone_ns == 0)
        measured->gone_ns = since;
    if (all_seen && measured->seen_ns == 0)
        measured->seen_ns = since;
}

static void stepped(cluster_t *cluster, uint32_t proc)
{
    measured_t *measured = cluster->context;

    (void)proc;
    if (measured->at_ns != 0)
        look(measured);
}

static void evicted(cluster_t *cluster, uint32_t replica, uint32_t node, const rlx_gss_effect_t *effect)
{
    measured_t *measured = cluster->context;

    measured->evictions++;
    cluster_check_eviction(cluster, replica, node, effect);
}

static measured_t *begin(sim_world_t *world, uint32_t nodes, uint32_t heartbeat_ms)
{
    measured_t *measured = calloc(1, sizeof *measured);
    cluster_config_t config = {.replicas = cluster_config.replicas, .nodes = nodes, .heartbeat_ms = heartbeat_ms};
    rlx_gss_options_t options = rlx_gss_options_default(heartbeat_ms, CLUSTER_NODES_MAX);

    if (measured == NULL || !cluster_init(&measured->cluster, world, &config, &options)) {
        free(measured);
        sim_check(world, false, "there is memory", 0, 0);
        return NULL;
    }
    measured->cluster.context = measured;
    measured->cluster.stepped = stepped;
    measured->cluster.evicted = evicted;
    for (uint32_t i = 0; i < measured->cluster.n_procs; i++) {
        measured->cluster.procs[i].offset_ms = rlx_prng_below(&world->prng, 1ull << 40);
        measured->cluster.procs[i].drift_ppm = (int32_t)rlx_prng_below(&world->prng, 401) - 200;
    }
    return measured;
}

static void end(measured_t *measured)
{
    for (uint32_t i = 0; i < measured->cluster.n_procs; i++)
        if (measured->cluster.procs[i].up)
            cluster_collect(&measured->cluster, i);
    cluster_fini(&measured->cluster);
    free(measured);
}

/* All but `except` nodes from the end run, and it is quiet; then a moment that stands in no relation to any heartbeat. */
static bool warm(measured_t *measured, uint32_t except)
{
    cluster_t *cluster = &measured->cluster;

    for (uint32_t i = 0; i < cluster->n_procs - except; i++)
        cluster_start(cluster, i);
    return cluster_run(cluster, WARM_NS + rlx_prng_below(&cluster->world->prng, 5 * SIM_SECOND));
}

static void happens(measured_t *measured, uint32_t from, uint32_t victims)
{
    measured->from = from;
    measured->victims = victims;
    measured->at_ns = measured->cluster.world->now_ns;
}

static void crash_at(sim_world_t *world, uint32_t heartbeat_ms, uint32_t scale)
{
    measured_t *measured = begin(world, cluster_config.nodes, heartbeat_ms);

    if (measured == NULL)
        return;
    first.what = heartbeat_ms == 500 ? "a node dies: suspect in every view" : "2 s heartbeats: suspect in every view";
    second.what = heartbeat_ms == 500 ? "evicted in every view" : "2 s heartbeats: evicted in every view";
    first.p99_max_ms = heartbeat_ms == 500 ? 3000 : 10000;
    second.p99_max_ms = heartbeat_ms == 500 ? 9000 : 16000;
    second.min_ms = heartbeat_ms == 500 ? 6000 : 12000;
    if (warm(measured, 0)) {
        happens(measured, (uint32_t)rlx_prng_below(&world->prng, cluster_config.nodes), 1);
        cluster_stop(&measured->cluster, measured->cluster.n_replicas + measured->from, world->seed & 1);
        if (cluster_run(&measured->cluster, world->now_ns + scale * 12 * SIM_SECOND) &&
            sim_check(world, measured->suspect_ns != 0 && measured->gone_ns != 0, "a node that dies is suspected and evicted",
                      measured->suspect_ns, measured->gone_ns)) {
            sample(&first, measured->suspect_ns);
            sample(&second, measured->gone_ns);
        }
    }
    end(measured);
}

static void crash(sim_world_t *world) { crash_at(world, cluster_config.heartbeat_ms, cluster_config.heartbeat_ms == 500 ? 1 : 2); }

static void third(sim_world_t *world)
{
    measured_t *measured = begin(world, 3 * (cluster_config.nodes / 3), 500);
    uint32_t lost = cluster_config.nodes / 3;

    if (measured == NULL)
        return;
    first.what = "a third dies at once: no view uses it";
    first.p99_max_ms = 3000;
    if (warm(measured, 0)) {
        happens(measured, 0, lost);
        for (uint32_t i = 0; i < lost; i++)
            cluster_stop(&measured->cluster, measured->cluster.n_replicas + i, true);
        if (cluster_run(&measured->cluster, world->now_ns + 20 * SIM_SECOND) &&
            sim_check(world, measured->suspect_ns != 0, "nodes that die are suspected", lost, 0))
            sample(&first, measured->suspect_ns);
    }
    end(measured);
}

static void join(sim_world_t *world)
{
    uint32_t nodes = cluster_config.nodes > 128 ? cluster_config.nodes : 128;
    measured_t *measured = begin(world, nodes, 500);

    if (measured == NULL)
        return;
    first.what = "a node starts: available in every view";
    first.p99_max_ms = 500;
    if (warm(measured, 1)) {
        happens(measured, nodes - 1, 1);
        cluster_start(&measured->cluster, measured->cluster.n_procs - 1);
        if (cluster_run(&measured->cluster, world->now_ns + 5 * SIM_SECOND) &&
            sim_check(world, measured->seen_ns != 0, "a node that starts is seen", 0, 0))
            sample(&first, measured->seen_ns);
    }
    end(measured);
}

/* A pause below the eviction time is none; above it, it is, and the node is back within a second of its end. */
static void stall(sim_world_t *world)
{
    measured_t *measured = begin(world, cluster_config.nodes, 500);
    uint64_t for_ns = rlx_prng_between(&world->prng, 3000, 12000) * SIM_MS;

    if (measured == NULL)
        return;
    first.what = "a paused node goes on: available again";
    first.p99_max_ms = 1000;
    if (warm(measured, 0)) {
        uint32_t node = (uint32_t)rlx_prng_below(&world->prng, cluster_config.nodes), proc = measured->cluster.n_replicas + node;
        measured->cluster.procs[proc].pauses++;
        cluster_reach_update(&measured->cluster);
        if (cluster_run(&measured->cluster, world->now_ns + for_ns)) {
            measured->cluster.procs[proc].pauses--;
            cluster_reach_update(&measured->cluster);
            happens(measured, node, 1);
            cluster_resume(&measured->cluster, proc);
            if (cluster_run(&measured->cluster, world->now_ns + 5 * SIM_SECOND)) {
                sim_check(world, for_ns >= 6 * SIM_SECOND || measured->evictions == 0, "a short pause is no eviction", for_ns, 0);
                if (sim_check(world, measured->seen_ns != 0, "a paused node comes back", for_ns, 0))
                    sample(&first, measured->seen_ns);
            }
        }
    }
    end(measured);
}

/* 128 nodes at 2 s heartbeats with one join or leave every 14 s: 1 % an hour of 128 nodes would be one every 23 minutes. */
static void traffic(sim_world_t *world)
{
    measured_t *measured = begin(world, 128, 2000);
    cluster_t *cluster = &measured->cluster;

    if (measured == NULL)
        return;
    cluster->stepped = NULL;
    first.what = "bytes a second and node (not ms)";
    first.p99_max_ms = TRAFFIC_MAX;
    if (warm(measured, 0) && cluster_run(cluster, 60 * SIM_SECOND)) {
        uint64_t bytes = cluster->bytes, from_ns = world->now_ns;
        bool goes_on = true;
        for (uint32_t i = 0; i < 20 && goes_on; i++) {
            uint32_t proc = cluster->n_replicas + i;
            if (i % 2 == 0)
                cluster_stop(cluster, proc, false);
            else
                cluster_start(cluster, proc - 1);
            goes_on = cluster_run(cluster, world->now_ns + 14 * SIM_SECOND);
        }
        sample(&first, (cluster->bytes - bytes) * SIM_SECOND / (world->now_ns - from_ns) / 128 * SIM_MS);
    }
    end(measured);
}

#define BOUND_SCENARIO(id, text) \
    const sim_scenario_t sim_scenario_##id = {.name = #id, .help = text, .play = id, .counters = cluster_counters, \
                                              .n_counters = CLUSTER_COUNTERS, .report = report}
BOUND_SCENARIO(crash, "how soon a dead node is suspected and evicted");
BOUND_SCENARIO(third, "how soon nobody uses a third of the nodes that died at once");
BOUND_SCENARIO(join, "how soon a node that starts is in every view");
BOUND_SCENARIO(stall, "how soon a paused node is back");
BOUND_SCENARIO(traffic, "bytes of the state service a second and node");
