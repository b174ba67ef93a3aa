/* Faults as a list of actions, drawn before the play. What the specification does not promise to survive is not drawn: two disks lost before
 * the first was refilled. Everything is healed for the last part of a play, so that it can be judged. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/cluster.h"

#define FIRST_NS (8 * SIM_SECOND)
#define WIPE_BEFORE_NS (45 * SIM_SECOND) /* around the loss of a replica's disk the others are left alone */
#define WIPE_AFTER_NS (60 * SIM_SECOND)

typedef struct recipe {
    cluster_fault_t fault;
    uint32_t per_minute_x10; /* actions in ten minutes */
    uint32_t for_min_ms, for_max_ms;
} recipe_t;

static const recipe_t recipes[] = {
    {CLUSTER_CUT, 25, 200, 60000},    {CLUSTER_ISLAND, 6, 1000, 150000}, {CLUSTER_PAUSE, 25, 100, 120000}, {CLUSTER_CRASH, 20, 100, 60000},
    {CLUSTER_WIPE, 2, 500, 20000},    {CLUSTER_SLOW, 6, 5000, 60000},    {CLUSTER_DISK, 6, 1000, 60000},   {CLUSTER_RESET, 20, 0, 0},
    {CLUSTER_LOSS, 4, 5000, 120000},  {CLUSTER_LEAVE, 6, 5000, 400000},  {CLUSTER_TWIN, 2, 20000, 40000},  {CLUSTER_OPERATE, 60, 0, 0},
    {CLUSTER_ROT, 2, 500, 20000},
};

static bool touches_replica(const cluster_t *cluster, const cluster_action_t *action)
{
    switch (action->fault) {
    case CLUSTER_CUT: case CLUSTER_ISLAND: return true;
    case CLUSTER_LEAVE: case CLUSTER_TWIN: case CLUSTER_OPERATE: case CLUSTER_LOSS: case CLUSTER_RESET: return false;
    default: return action->who < cluster->n_replicas;
    }
}

static bool loses_disk(const cluster_t *cluster, const cluster_action_t *action)
{
    return (action->fault == CLUSTER_WIPE || action->fault == CLUSTER_ROT) && action->who < cluster->n_replicas;
}

/* A replica's disk is lost only while the others are whole, and nothing else touches replicas around it. */
static bool conflicts(const cluster_t *cluster, const cluster_action_t *x, const cluster_action_t *y)
{
    if (!loses_disk(cluster, x) || !touches_replica(cluster, y))
        return false;
    return y->at_ns < x->at_ns + x->for_ns + WIPE_AFTER_NS && y->at_ns + y->for_ns + WIPE_BEFORE_NS > x->at_ns;
}

static void add(cluster_t *cluster, cluster_action_t action)
{
    if (cluster->n_actions == CLUSTER_ACTIONS_MAX)
        return;
    for (uint32_t i = 0; i < cluster->n_actions; i++)
        if (conflicts(cluster, &action, &cluster->actions[i]) || conflicts(cluster, &cluster->actions[i], &action))
            return;
    cluster->actions[cluster->n_actions++] = action;
}

static void draw_one(cluster_t *cluster, const recipe_t *recipe)
{
    rlx_prng_t *prng = &cluster->world->prng;
    uint64_t last_ns = cluster->end_ns - CLUSTER_SETTLE_NS;
    uint32_t replicas = cluster->n_replicas;
    cluster_action_t action = {.fault = recipe->fault, .at_ns = rlx_prng_between(prng, FIRST_NS, last_ns - 1), .draw = rlx_prng_next(prng)};
    /* Durations over orders of magnitude: short ones are as likely as long ones. */
    uint64_t span = recipe->for_max_ms / (recipe->for_min_ms + 1) + 1, scale = 1;

    while (scale < span && rlx_prng_chance(prng, 600))
        scale *= 2;
    action.for_ns = (recipe->for_min_ms * scale + rlx_prng_below(prng, recipe->for_min_ms * scale + 1)) * SIM_MS;
    if (action.for_ns > recipe->for_max_ms * SIM_MS)
        action.for_ns = recipe->for_max_ms * SIM_MS;
    if (action.at_ns + action.for_ns > last_ns && recipe->fault != CLUSTER_LEAVE)
        action.for_ns = last_ns - action.at_ns;
    action.who = rlx_prng_chance(prng, 400) ? (uint32_t)rlx_prng_below(prng, replicas) : (uint32_t)rlx_prng_below(prng, cluster->n_procs);
    if (recipe->fault == CLUSTER_OPERATE)
        action.who = (uint32_t)rlx_prng_below(prng, replicas);
    if (recipe->fault == CLUSTER_ROT)
        action.who = (uint32_t)rlx_prng_below(prng, replicas);
    if (recipe->fault == CLUSTER_LEAVE || recipe->fault == CLUSTER_TWIN)
        action.who = replicas + (uint32_t)rlx_prng_below(prng, cluster->n_nodes);
    action.other = (uint32_t)rlx_prng_below(prng, replicas);
    action.way = (uint32_t)rlx_prng_below(prng, 3);
    add(cluster, action);
}

static void draw_clocks(cluster_t *cluster, uint32_t chosen)
{
    rlx_prng_t *prng = &cluster->world->prng;

    for (uint32_t i = 0; i < cluster->n_procs; i++) {
        cluster_proc_t *proc = &cluster->procs[i];
        uint64_t offset_ms = rlx_prng_below(prng, 20ull * 365 * 86400 * 1000);
        int32_t drift = (int32_t)rlx_prng_below(prng, 20001) - 10000;
        bool newer = rlx_prng_chance(prng, 500);
        proc->offset_ms = chosen >> CLUSTER_CLOCK & 1 ? offset_ms : 1000;
        proc->drift_ppm = chosen >> CLUSTER_CLOCK & 1 ? drift : 0;
        proc->newer = (chosen >> CLUSTER_MIX & 1) && newer;
    }
}

void cluster_draw(cluster_t *cluster)
{
    rlx_prng_t *prng = &cluster->world->prng;
    uint32_t chosen = cluster_config.all_faults ? UINT32_MAX : (uint32_t)rlx_prng_next(prng) | (uint32_t)rlx_prng_next(prng);
    uint64_t active_s = (cluster->end_ns - CLUSTER_SETTLE_NS - FIRST_NS) / SIM_SECOND;

    chosen &= cluster_config.faults;
    draw_clocks(cluster, chosen);
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        uint64_t n = recipes[i].per_minute_x10 * active_s / 600;
        n = n > 0 ? rlx_prng_between(prng, 1, 2 * n) : rlx_prng_below(prng, 2);
        for (uint64_t j = 0; j < n; j++)
            if (chosen >> recipes[i].fault & 1)
                draw_one(cluster, &recipes[i]);
    }
    /* Many nodes at once, now and then. */
    if ((chosen >> CLUSTER_CRASH & 1) && rlx_prng_chance(prng, 150)) {
        uint64_t at_ns = rlx_prng_between(prng, FIRST_NS, cluster->end_ns - CLUSTER_SETTLE_NS - 1);
        for (uint32_t i = 0; i < cluster->n_nodes / 3; i++)
            add(cluster, (cluster_action_t){.fault = CLUSTER_CRASH, .at_ns = at_ns, .for_ns = cluster->end_ns - CLUSTER_SETTLE_NS - at_ns,
                             .who = cluster->n_replicas + (uint32_t)rlx_prng_below(prng, cluster->n_nodes), .way = 1});
    }
}

static void cut(cluster_t *cluster, uint32_t from, uint32_t to, int by)
{
    cluster->cuts[from][to] = (uint16_t)(cluster->cuts[from][to] + by);
    bool was = cluster->cut[from][to];
    cluster->cut[from][to] = cluster->cuts[from][to] > 0;
    if (was && !cluster->cut[from][to])
        cluster_healed(cluster, from, to);
}

/* Whether `proc` is on the island of `action`. */
static bool on_island(const cluster_t *cluster, const cluster_action_t *action, uint32_t proc)
{
    uint64_t x = (action->draw ^ proc * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;

    if (proc < cluster->n_replicas)
        return proc == action->other || (action->way == 2 && proc == (action->other + 1) % cluster->n_replicas);
    return x >> 40 & 1;
}

static void cut_apply(cluster_t *cluster, const cluster_action_t *action, int by)
{
    if (action->fault == CLUSTER_CUT) {
        if (action->who != action->other && action->way != 1)
            cut(cluster, action->who, action->other, by);
        if (action->who != action->other && action->way != 0)
            cut(cluster, action->other, action->who, by);
    } else {
        for (uint32_t i = 0; i < cluster->n_procs; i++)
            for (uint32_t j = 0; j < cluster->n_procs; j++)
                if (on_island(cluster, action, i) != on_island(cluster, action, j))
                    cut(cluster, i, j, by);
    }
    cluster_reach_update(cluster);
}

static void leave(cluster_t *cluster, cluster_proc_t *proc, uint32_t index)
{
    rlx_gss_record_t record;
    rlx_text_t text;

    if (!cluster_runs(proc) || !rlx_gss_record_decode(proc->record, proc->record_bytes, &record))
        return;
    record.state = RLX_GSS_NODE_LEFT;
    rlx_text_init(&text, RLX_GSS_BODY_MAX);
    rlx_gss_record_encode(&record, &text);
    rlx_gss_event_t event = {.kind = RLX_GSS_EVENT_LEAVE, .data = text.data, .bytes = text.bytes};
    cluster_event(cluster, index, &event);
    rlx_text_fini(&text);
}

/* Half of the twins start while the first one is cut off, so that both register. */
static void twin_cut(cluster_t *cluster, const cluster_action_t *action, int by)
{
    for (uint32_t i = 0; i < cluster->n_replicas && action->draw & 1; i++) {
        cut(cluster, action->who, i, by);
        cut(cluster, i, action->who, by);
    }
    cluster_reach_update(cluster);
}

void cluster_middle(cluster_t *cluster, const cluster_action_t *action) { twin_cut(cluster, action, -1); }

static void twin_start(cluster_t *cluster, const cluster_action_t *action)
{
    const cluster_proc_t *first = &cluster->procs[action->who];
    cluster_proc_t *twin = &cluster->procs[cluster->n_procs];

    if (twin->up || !cluster_runs(first))
        return;
    twin->index = first->index;
    twin->node = first->node;
    twin->disk.incarnation = first->disk.incarnation;
    twin->offset_ms = first->offset_ms;
    cluster_start(cluster, cluster->n_procs);
}

void cluster_begin(cluster_t *cluster, const cluster_action_t *action)
{
    cluster_proc_t *proc = &cluster->procs[action->who];

    sim_trace(cluster->world, "fault", action->fault, action->who, action->other, action->for_ns / SIM_MS);
    switch (action->fault) {
    case CLUSTER_CUT: case CLUSTER_ISLAND: cut_apply(cluster, action, 1); break;
    case CLUSTER_PAUSE:
        proc->paused_ns = proc->pauses++ == 0 ? cluster->world->now_ns : proc->paused_ns;
        cluster_reach_update(cluster);
        break;
    case CLUSTER_CRASH: cluster_stop(cluster, action->who, action->way == 1); break;
    case CLUSTER_WIPE:
        cluster_stop(cluster, action->who, action->way == 1);
        cluster_disk_lose(&proc->disk);
        cluster->disks_lost += proc->is_replica;
        break;
    case CLUSTER_ROT:
        cluster_stop(cluster, action->who, false);
        cluster->disks_lost++;
        if (proc->disk.bytes[1 - proc->disk.next] > 0)
            proc->disk.generations[1 - proc->disk.next][action->draw % proc->disk.bytes[1 - proc->disk.next]] ^= 1;
        break;
    case CLUSTER_SLOW:
        if (proc->slow++ == 0)
            sim_schedule(cluster->world, 100 * SIM_MS, (sim_event_t){CLUSTER_EV_TURN, action->who, 150 + action->draw % 900, 0});
        cluster_reach_update(cluster);
        break;
    case CLUSTER_DISK: proc->disk.full = true; break;
    case CLUSTER_RESET: cluster_break_all(cluster, action->who, true, true); break;
    case CLUSTER_LOSS: cluster->loss_per_mille += 50 + (uint32_t)(action->draw % 50); break;
    case CLUSTER_LEAVE: leave(cluster, proc, action->who); break;
    case CLUSTER_TWIN:
        twin_cut(cluster, action, 1);
        twin_start(cluster, action);
        break;
    case CLUSTER_OPERATE: cluster_operate(cluster, action); break;
    default: break;
    }
}

void cluster_end(cluster_t *cluster, const cluster_action_t *action)
{
    cluster_proc_t *proc = &cluster->procs[action->who];

    sim_trace(cluster->world, "healed", action->fault, action->who, action->other, 0);
    switch (action->fault) {
    case CLUSTER_CUT: case CLUSTER_ISLAND: cut_apply(cluster, action, -1); break;
    case CLUSTER_PAUSE:
        proc->pauses--;
        proc->resumed_ns = cluster->world->now_ns;
        cluster_reach_update(cluster);
        cluster_resume(cluster, action->who);
        break;
    case CLUSTER_CRASH: case CLUSTER_WIPE: case CLUSTER_ROT: cluster_start(cluster, action->who); break;
    case CLUSTER_SLOW:
        proc->slow--;
        cluster_reach_update(cluster);
        cluster_resume(cluster, action->who);
        break;
    case CLUSTER_DISK: proc->disk.full = false; break;
    case CLUSTER_LOSS: cluster->loss_per_mille -= 50 + (uint32_t)(action->draw % 50); break;
    case CLUSTER_LEAVE:
        if (action->way == 0)
            break; /* for good */
        cluster_stop(cluster, action->who, false);
        cluster_start(cluster, action->who);
        break;
    case CLUSTER_TWIN:
        cluster_check_twin(cluster, action);
        cluster_stop(cluster, cluster->n_procs, false);
        break;
    default: break;
    }
}

static const char *proc_name(const cluster_t *cluster, uint32_t proc, char out[24])
{
    snprintf(out, 24, proc < cluster->n_replicas ? "replica-%u" : "node-%u", proc < cluster->n_replicas ? proc : proc - cluster->n_replicas);
    return out;
}

void cluster_action_print(const cluster_t *cluster, const cluster_action_t *action)
{
    static const char *const names[] = {
#define X(id, name, text) name,
        CLUSTER_FAULT_LIST(X)
#undef X
    };
    static const char *const cuts[] = {"->", "<-", "<->"};
    char who[24], other[24];

    printf("    %8.3f s  %-8s %s", (double)action->at_ns / 1e9, names[action->fault], proc_name(cluster, action->who, who));
    if (action->fault == CLUSTER_CUT)
        printf(" %s %s", cuts[action->way], proc_name(cluster, action->other, other));
    if (action->fault == CLUSTER_OPERATE)
        printf(" %s kind %" PRIu64 " of target %" PRIu64, action->draw >> 32 & 1 ? "removes" : "adds", action->draw % 4, (action->draw >> 8) % 4);
    if (action->for_ns > 0)
        printf(" for %.3f s", (double)action->for_ns / 1e9);
    printf("\n");
}
