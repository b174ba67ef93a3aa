/* Processes: their clocks, their steps, and what becomes of the effects. One that is paused or waits for its turn takes nothing; what comes is
 * kept in order for later. */
#include "sim/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const cluster_counters[CLUSTER_COUNTERS] = {
#define X(id, text) text,
    CLUSTER_COUNTER_LIST(X)
#undef X
};

#define HELD_MAX 65536
#define RECORD_EXTRA 180 /* bytes of a newer version's fields */

uint64_t cluster_local_ms(const cluster_t *cluster, const cluster_proc_t *proc)
{
    uint64_t ms = cluster->world->now_ns / SIM_MS;

    return proc->offset_ms + ms + (uint64_t)((int64_t)ms * proc->drift_ppm / 1000000);
}

const rlx_gss_state_t *cluster_state(const cluster_proc_t *proc)
{
    return proc->is_replica ? rlx_gss_replica_state(proc->replica) : rlx_gss_agent_view(proc->agent);
}

static void record_make(cluster_proc_t *proc, uint32_t state)
{
    rlx_gss_record_t record = {.state = state, .protocol_min = 1, .protocol_max = proc->newer ? 2 : 1, .cores = 8, .memory_bytes = 1ull << 36};
    rlx_text_t text;

    snprintf(record.name, sizeof record.name, "node-%u", proc->index);
    snprintf(record.address, sizeof record.address, "10.0.%u.%u:9000", proc->index >> 8, proc->index & 255);
    snprintf(record.zone, sizeof record.zone, "zone-%u", proc->index % 3);
    rlx_text_init(&text, sizeof proc->record);
    rlx_gss_record_encode(&record, &text);
    if (proc->newer) { /* field 99, which this version does not know */
        unsigned char head[] = {0x9a, 0x06, (RECORD_EXTRA & 0x7f) | 0x80, RECORD_EXTRA >> 7};
        char extra[RECORD_EXTRA];
        memset(extra, 'x', sizeof extra);
        rlx_text_add(&text, head, sizeof head);
        rlx_text_add(&text, extra, sizeof extra);
    }
    memcpy(proc->record, text.data, text.bytes);
    proc->record_bytes = (uint32_t)text.bytes;
    rlx_text_fini(&text);
}

bool cluster_init(cluster_t *cluster, sim_world_t *world, const cluster_config_t *config, const rlx_gss_options_t *options)
{
    memset(cluster, 0, sizeof *cluster);
    cluster->world = world;
    cluster->options = *options;
    cluster->n_replicas = config->replicas;
    cluster->n_nodes = config->nodes;
    cluster->n_procs = config->replicas + config->nodes;
    rlx_prng_init(&cluster->boots, world->seed ^ 0xb007);
    rlx_prng_init(&cluster->net, world->seed ^ 0x4e7);
    for (uint32_t i = 0; i < cluster->n_replicas; i++) {
        char name[32];
        snprintf(name, sizeof name, "replica-%u", i);
        cluster->ids[i] = rlx_gss_id(name);
    }
    for (uint32_t i = 0; i <= cluster->n_procs; i++) { /* the last one is for a twin */
        cluster_proc_t *proc = &cluster->procs[i];
        char name[32];
        proc->is_replica = i < cluster->n_replicas;
        proc->index = proc->is_replica ? i : i - cluster->n_replicas;
        snprintf(name, sizeof name, "node-%u", proc->index);
        proc->node = proc->is_replica ? 0 : rlx_gss_id(name);
        if (!rlx_gss_effects_init(&proc->effects))
            return false;
    }
    return true;
}

static void proc_free(cluster_proc_t *proc)
{
    rlx_gss_replica_destroy(proc->replica);
    rlx_gss_agent_destroy(proc->agent);
    proc->replica = NULL;
    proc->agent = NULL;
    proc->n_held = 0;
}

void cluster_fini(cluster_t *cluster)
{
    for (uint32_t i = 0; i < CLUSTER_PROCS_MAX; i++) {
        proc_free(&cluster->procs[i]);
        rlx_gss_effects_fini(&cluster->procs[i].effects);
        cluster_disk_lose(&cluster->procs[i].disk);
        free(cluster->procs[i].held);
    }
    cluster_net_fini(cluster);
}

static void arm(cluster_t *cluster, uint32_t index)
{
    cluster_proc_t *proc = &cluster->procs[index];
    uint64_t due = proc->is_replica ? rlx_gss_replica_due_ms(proc->replica) : rlx_gss_agent_due_ms(proc->agent);
    uint64_t local = cluster_local_ms(cluster, proc), delay_ns = (due > local ? due - local : 1) * SIM_MS;

    if (proc->armed_ns > cluster->world->now_ns && proc->armed_ns <= cluster->world->now_ns + delay_ns)
        return; /* early is harmless */
    proc->armed_ns = cluster->world->now_ns + delay_ns;
    sim_schedule(cluster->world, delay_ns, (sim_event_t){CLUSTER_EV_TIMER, index, ++proc->serial, proc->life});
}

static void joined(cluster_t *cluster, cluster_proc_t *proc, const rlx_gss_effect_t *effect)
{
    sim_trace(cluster->world, "joined", proc->index, effect->incarnation, 0, 0);
    sim_reach(cluster->world, proc->joined_incarnation == 0 ? CLUSTER_N_JOINED : CLUSTER_N_REJOINED);
    proc->joined_ns = cluster->world->now_ns;
    proc->joined_incarnation = effect->incarnation;
}

static void evicted(cluster_t *cluster, cluster_proc_t *proc, const rlx_gss_effect_t *effect)
{
    for (uint32_t i = 0; i < cluster->n_nodes; i++)
        if (cluster_node(cluster, i)->node == effect->node) {
            sim_trace(cluster->world, "evicted", proc->index, i, effect->incarnation, effect->silence_ms);
            sim_reach(cluster->world, CLUSTER_N_EVICTED);
            if (cluster->evicted != NULL)
                cluster->evicted(cluster, proc->index, i, effect);
        }
}

static void suspected(cluster_t *cluster, const cluster_proc_t *proc, const rlx_gss_effect_t *effect)
{
    for (uint32_t i = 0; i < cluster->n_nodes; i++)
        if (cluster_node(cluster, i)->node == effect->node) {
            sim_trace(cluster->world, "suspect", proc->index, i, effect->incarnation, effect->silence_ms);
            sim_reach(cluster->world, CLUSTER_N_SUSPECT);
            cluster_check_suspicion(cluster, proc->index, i);
            if (cluster->unheard_ns[proc->index][i] == 0 && cluster->world->now_ns - cluster->gap_end_ns[proc->index][i] > 2 * SIM_SECOND &&
                effect->boot == cluster_node(cluster, i)->boot)
                sim_reach(cluster->world, CLUSTER_N_FALSE_SUSPECT);
        }
}

static void apply(cluster_t *cluster, uint32_t index, const rlx_gss_effect_t *effect)
{
    cluster_proc_t *proc = &cluster->procs[index];

    switch (effect->kind) {
    case RLX_GSS_EFFECT_SEND: cluster_send(cluster, index, effect->link, rlx_gss_effect_data(&proc->effects, effect), effect->bytes); break;
    case RLX_GSS_EFFECT_CLOSE: cluster_close(cluster, index, effect->link); break;
    case RLX_GSS_EFFECT_DIAL: cluster_dial(cluster, index, effect->peer, effect->peer); break;
    case RLX_GSS_EFFECT_PERSIST: cluster_persist(cluster, index, effect); break;
    case RLX_GSS_EFFECT_ANSWER: cluster_answered(cluster, index, effect); break;
    case RLX_GSS_EFFECT_SUSPECT: suspected(cluster, proc, effect); break;
    case RLX_GSS_EFFECT_EVICTED: evicted(cluster, proc, effect); break;
    case RLX_GSS_EFFECT_JOINED: joined(cluster, proc, effect); break;
    case RLX_GSS_EFFECT_STOPPED:
        sim_trace(cluster->world, "stopped", proc->index, effect->boot, 0, 0);
        sim_reach(cluster->world, CLUSTER_N_TWINS);
        proc->stopped_boot = effect->boot;
        sim_check(cluster->world, cluster->procs[cluster->n_procs].life > 0 && cluster->procs[cluster->n_procs].node == proc->node,
                  "only a machine that has a twin stops", proc->index, effect->boot);
        cluster_reach_update(cluster);
        break;
    case RLX_GSS_EFFECT_LEFT:
        sim_reach(cluster->world, CLUSTER_N_LEFT);
        proc->left_ns = cluster->world->now_ns;
        cluster_reach_update(cluster);
        break;
    }
}

void cluster_event(cluster_t *cluster, uint32_t index, const rlx_gss_event_t *event)
{
    static const rlx_gss_event_t again = {.kind = RLX_GSS_EVENT_TIMER};
    cluster_proc_t *proc = &cluster->procs[index];
    uint64_t now = cluster_local_ms(cluster, proc);

    do {
        if (proc->is_replica)
            rlx_gss_replica_step(proc->replica, event, now, &proc->effects);
        else
            rlx_gss_agent_step(proc->agent, event, now, &proc->effects);
        for (uint32_t i = 0; i < proc->effects.n; i++)
            apply(cluster, index, &proc->effects.effect[i]);
        event = &again;
    } while (proc->effects.more);
    arm(cluster, index);
    if (cluster->stepped != NULL)
        cluster->stepped(cluster, index);
}

static void boot_replica(cluster_t *cluster, cluster_proc_t *proc)
{
    rlx_gss_replica_settings_t settings = {.options = cluster->options, .n_replicas = cluster->n_replicas, .self = proc->index, .boot = proc->boot};

    memcpy(settings.replicas, cluster->ids, sizeof cluster->ids);
    settings.snapshot = cluster_disk_read(cluster, &proc->disk, &settings.snapshot_bytes);
    proc->replica = rlx_gss_replica_create(&settings, cluster_local_ms(cluster, proc), NULL);
}

static void boot_agent(cluster_t *cluster, cluster_proc_t *proc)
{
    rlx_gss_agent_settings_t settings = {.options = cluster->options, .node = proc->node, .boot = proc->boot,
        .incarnation = proc->disk.incarnation, .n_replicas = cluster->n_replicas};

    record_make(proc, RLX_GSS_NODE_SERVING);
    settings.record = proc->record;
    settings.record_bytes = proc->record_bytes;
    proc->agent = rlx_gss_agent_create(&settings, cluster_local_ms(cluster, proc));
}

void cluster_start(cluster_t *cluster, uint32_t index)
{
    cluster_proc_t *proc = &cluster->procs[index];
    static const rlx_gss_event_t first = {.kind = RLX_GSS_EVENT_TIMER};

    if (proc->up || proc->gone)
        return;
    proc->up = true;
    proc->life++;
    proc->boot = rlx_prng_next(&cluster->boots) | 1;
    proc->up_ns = cluster->world->now_ns;
    proc->joined_incarnation = proc->stopped_boot = proc->left_ns = 0;
    proc->armed_ns = 0;
    sim_trace(cluster->world, "start", index, proc->life, 0, 0);
    if (proc->is_replica)
        boot_replica(cluster, proc);
    else
        boot_agent(cluster, proc);
    if (proc->replica == NULL && proc->agent == NULL) {
        sim_check(cluster->world, false, "a process can start", index, proc->life);
        proc->up = false;
        return;
    }
    cluster_reach_update(cluster);
    cluster_event(cluster, index, &first);
}

void cluster_stop(cluster_t *cluster, uint32_t index, bool power)
{
    cluster_proc_t *proc = &cluster->procs[index];

    if (!proc->up)
        return;
    sim_trace(cluster->world, "stop", index, power, 0, 0);
    cluster_collect(cluster, index);
    cluster_break_all(cluster, index, false, !power);
    proc->up = false;
    proc_free(proc);
    cluster_reach_update(cluster);
}

static void hold(cluster_t *cluster, cluster_proc_t *proc, const sim_event_t *event)
{
    if (proc->n_held == proc->held_max) {
        uint32_t wanted = proc->held_max == 0 ? 256 : 2 * proc->held_max;
        cluster_held_t *held = wanted > HELD_MAX ? NULL : realloc(proc->held, wanted * sizeof *held);
        if (held == NULL) {
            sim_check(cluster->world, false, "what waits for a paused process is bounded", proc->n_held, 0);
            return;
        }
        proc->held = held;
        proc->held_max = wanted;
    }
    proc->held[proc->n_held++].event = *event;
}

static void handle(cluster_t *cluster, const sim_event_t *event);

void cluster_resume(cluster_t *cluster, uint32_t index)
{
    cluster_proc_t *proc = &cluster->procs[index];
    uint32_t n = proc->n_held, life = proc->life;
    static const rlx_gss_event_t woken = {.kind = RLX_GSS_EVENT_TIMER};

    if (!proc->up || proc->pauses > 0)
        return;
    for (uint32_t i = 0; i < n && proc->life == life && proc->up; i++) {
        sim_event_t event = proc->held[i].event;
        uint32_t slow = proc->slow;
        proc->slow = 0; /* its turn */
        handle(cluster, &event);
        proc->slow = slow;
    }
    if (proc->up && proc->life == life) {
        if (n > 0)
            memmove(proc->held, proc->held + n, (proc->n_held - n) * sizeof *proc->held);
        proc->n_held -= n;
        cluster_event(cluster, index, &woken);
    }
}

static uint32_t receiver(const cluster_t *cluster, const sim_event_t *event)
{
    switch (event->kind) {
    case CLUSTER_EV_TIMER: return (uint32_t)event->a;
    case CLUSTER_EV_DELIVER: case CLUSTER_EV_UP: case CLUSTER_EV_DOWN: return cluster_receiver(cluster, event);
    case CLUSTER_EV_DISK: return (uint32_t)event->a;
    default: return CLUSTER_NONE;
    }
}

static void timer(cluster_t *cluster, const sim_event_t *event)
{
    static const rlx_gss_event_t tick = {.kind = RLX_GSS_EVENT_TIMER};
    cluster_proc_t *proc = &cluster->procs[event->a];

    if (proc->serial == event->b && proc->life == event->c)
        cluster_event(cluster, (uint32_t)event->a, &tick);
}

static void handle(cluster_t *cluster, const sim_event_t *event)
{
    uint32_t to = receiver(cluster, event);

    if (to != CLUSTER_NONE && !cluster->procs[to].up)
        return;
    if (to != CLUSTER_NONE && !cluster_runs(&cluster->procs[to])) {
        if (event->kind != CLUSTER_EV_TIMER) /* it looks at its clock when it goes on */
            hold(cluster, &cluster->procs[to], event);
        return;
    }
    switch (event->kind) {
    case CLUSTER_EV_TIMER: timer(cluster, event); break;
    case CLUSTER_EV_DELIVER: case CLUSTER_EV_UP: case CLUSTER_EV_DOWN: cluster_arrived(cluster, event); break;
    case CLUSTER_EV_DISK: cluster_disk_done(cluster, event); break;
    case CLUSTER_EV_TURN:
        cluster_resume(cluster, (uint32_t)event->a);
        if (cluster->procs[event->a].slow > 0)
            sim_schedule(cluster->world, rlx_prng_between(&cluster->net, 100, event->b) * SIM_MS, *event);
        break;
    default: cluster->handle(cluster, event); break;
    }
}

bool cluster_run(cluster_t *cluster, uint64_t until_ns)
{
    sim_event_t event;

    sim_schedule(cluster->world, until_ns - cluster->world->now_ns, (sim_event_t){.kind = UINT32_MAX});
    while (sim_next(cluster->world, &event)) {
        if (event.kind == UINT32_MAX)
            return true;
        handle(cluster, &event);
    }
    return false;
}
