/* The rules, from docs/STATE.md. They look at the machines from outside: at what replicas and nodes would answer, and at what the faults
 * allowed to happen. */
#include <string.h>

#include "sim/cluster.h"

#define TOLERANCE_NS (100 * SIM_MS)
#define FAILOVER_NS (2500 * SIM_MS)   /* a second to notice, one more for each replica that cannot be reached either */
#define STEADY_NS (5 * SIM_SECOND)
#define JUST_NOW_NS (500 * SIM_MS)
#define TOGETHER_NS (6 * SIM_SECOND)   /* two replicas that could exchange for so long do */
#define AFTERMATH_NS (5 * SIM_SECOND) /* news of a node may be on its way for so long after it can be heard again */

static bool mutual(const cluster_t *cluster, uint32_t x, uint32_t y) { return !cluster->cut[x][y] && !cluster->cut[y][x]; }

/* The replicas that `replica` can exchange with, over others where need be. */
static void component(const cluster_t *cluster, uint32_t replica, bool out_in[CLUSTER_REPLICAS_MAX])
{
    memset(out_in, 0, CLUSTER_REPLICAS_MAX * sizeof *out_in);
    out_in[replica] = true;
    for (uint32_t round = 0; round < cluster->n_replicas; round++)
        for (uint32_t i = 0; i < cluster->n_replicas; i++)
            for (uint32_t j = 0; j < cluster->n_replicas; j++)
                if (out_in[i] && !out_in[j] && cluster->procs[j].up && cluster->procs[j].pauses == 0 && mutual(cluster, i, j))
                    out_in[j] = true;
}

static bool heard(const cluster_t *cluster, uint32_t replica, uint32_t node, const bool in[CLUSTER_REPLICAS_MAX])
{
    const cluster_proc_t *proc = &cluster->procs[cluster->n_replicas + node];

    if (!proc->up || proc->pauses > 0 || proc->stopped_boot != 0 || proc->left_ns != 0)
        return false;
    for (uint32_t i = 0; i < cluster->n_replicas; i++)
        if (in[i] && (i == replica || (cluster->procs[i].up && cluster->procs[i].pauses == 0)) && mutual(cluster, i, cluster->n_replicas + node))
            return true;
    return false;
}

void cluster_reach_update(cluster_t *cluster)
{
    uint64_t now = cluster->world->now_ns;
    bool in[CLUSTER_REPLICAS_MAX];

    for (uint32_t i = 0; i < cluster->n_replicas; i++) {
        for (uint32_t j = 0; j < cluster->n_replicas; j++)
            if (!cluster_runs(&cluster->procs[i]) || !cluster_runs(&cluster->procs[j]) || !mutual(cluster, i, j))
                cluster->apart_ns[i][j] = cluster->apart_ns[j][i] = UINT64_MAX;
            else if (cluster->apart_ns[i][j] == UINT64_MAX)
                cluster->apart_ns[i][j] = cluster->apart_ns[j][i] = now;
        component(cluster, i, in);
        for (uint32_t j = 0; j < cluster->n_nodes; j++) {
            bool was = cluster->unheard_ns[i][j] == 0, is = heard(cluster, i, j, in);
            if (was && !is) {
                /* A gap that follows another one before the node can have found a replica is one with it. */
                bool same = cluster->gap_net[i][j] && now - cluster->gap_end_ns[i][j] < FAILOVER_NS;
                cluster->unheard_ns[i][j] = same ? cluster->gap_begin_ns[i][j] : now + 1;
                cluster->unheard_net[i][j] = true;
            }
            cluster->unheard_net[i][j] &= cluster_runs(cluster_node(cluster, j));
            if (!was && is) {
                cluster->gap_begin_ns[i][j] = cluster->unheard_ns[i][j];
                cluster->gap_end_ns[i][j] = now;
                cluster->gap_net[i][j] = cluster->unheard_net[i][j];
                cluster->unheard_ns[i][j] = 0;
            }
        }
    }
}

/* Two machines with one name, both heard for a while: one has stopped. */
void cluster_check_twin(cluster_t *cluster, const cluster_action_t *action)
{
    const cluster_proc_t *first = &cluster->procs[action->who], *twin = &cluster->procs[cluster->n_procs];
    uint64_t steady_ns = cluster->world->now_ns - 8 * SIM_SECOND;

    if (!cluster_runs(first) || !cluster_runs(twin) || first->node != twin->node || first->left_ns != 0 || first->up_ns > steady_ns ||
        twin->up_ns > steady_ns)
        return;
    for (uint32_t i = 0; i < cluster->n_replicas; i++)
        if (!cluster_runs(&cluster->procs[i]) || cluster->procs[i].up_ns > steady_ns || cluster->procs[i].resumed_ns > steady_ns ||
            cluster->unheard_ns[i][first->index] != 0 || cluster->gap_end_ns[i][first->index] > steady_ns)
            return;
    sim_check(cluster->world, first->stopped_boot != 0 || twin->stopped_boot != 0, "of two machines with one name one stops", action->who, 0);
}

static void check_cap(cluster_t *cluster, uint32_t replica)
{
    uint64_t now = cluster->world->now_ns;
    uint32_t n = 0, most = sizeof cluster->evictions_ns / sizeof *cluster->evictions_ns;
    uint32_t share = cluster->n_nodes / cluster->options.evict_share, cap = share > 1 ? share : 1;

    cluster->evictions_ns[cluster->n_evictions++ % most] = now;
    for (uint32_t i = 0; i < most && i < cluster->n_evictions; i++)
        n += now - cluster->evictions_ns[i] < 58 * SIM_SECOND;
    /* Two replicas may take a free place at the same moment, before each hears of the other's. */
    sim_check(cluster->world, n <= 2 * cap, "evictions of a minute are capped", n, replica);
}

/* Every replica that could be asked says that it does not hear the node. */
static void check_votes(cluster_t *cluster, uint32_t replica, uint32_t node, const rlx_gss_effect_t *effect)
{
    rlx_gss_replica_look_t look;

    rlx_gss_replica_look(cluster->procs[replica].replica, &look);
    if (look.reachable + 1 < cluster->n_replicas || cluster->n_replicas > 3)
        return;
    for (uint32_t i = 0; i < cluster->n_replicas; i++) {
        uint64_t apart = cluster->apart_ns[replica][i];
        rlx_gss_key_t key = {.a = cluster_node(cluster, node)->node, .b = cluster->ids[i], .kind = RLX_GSS_ROW};
        const rlx_gss_entry_t *row;
        if (i == replica || apart == UINT64_MAX || cluster->world->now_ns - apart < TOGETHER_NS || cluster->loss_per_mille > 0)
            continue;
        row = rlx_gss_store_find(&cluster_state(&cluster->procs[i])->store, key);
        if (rlx_gss_state_evicted(cluster_state(&cluster->procs[i]), key.a) < effect->incarnation)
            sim_check(cluster->world, row != NULL && row->cell.version.a == effect->incarnation && row->cell.version.b == effect->boot &&
                          (row->cell.version.c & 1),
                      "all observers that can be reached agree to an eviction", node, i);
    }
}

/* Its own pause is nobody's silence. */
void cluster_check_suspicion(cluster_t *cluster, uint32_t replica, uint32_t node)
{
    const cluster_proc_t *proc = &cluster->procs[replica];
    uint64_t now = cluster->world->now_ns, since = proc->paused_ns > STEADY_NS ? proc->paused_ns - STEADY_NS : 0;
    bool woke = proc->resumed_ns != 0 && now - proc->resumed_ns < JUST_NOW_NS && proc->resumed_ns - proc->paused_ns > STEADY_NS;
    bool steady = cluster->unheard_ns[replica][node] == 0 && cluster->gap_end_ns[replica][node] < since && proc->up_ns < since &&
                  cluster_node(cluster, node)->joined_ns < since && cluster->loss_per_mille == 0 && proc->slow == 0;

    sim_check(cluster->world, !woke || !steady, "an observer's own pause is nobody's silence", node, replica);
}

void cluster_check_eviction(cluster_t *cluster, uint32_t replica, uint32_t node, const rlx_gss_effect_t *effect)
{
    uint64_t now = cluster->world->now_ns, bound_ns = cluster->options.evict_ms * SIM_MS - TOLERANCE_NS;
    uint64_t since = cluster->unheard_ns[replica][node], begin = cluster->gap_begin_ns[replica][node], end = cluster->gap_end_ns[replica][node];
    const cluster_proc_t *proc = cluster_node(cluster, node);
    /* A former life of the name may be evicted at any time: the present one has a higher incarnation. */
    bool former = proc->boot != effect->boot;
    /* While it was cut off it may have had to look for another replica before and after, which is silence, too. */
    uint64_t silent_ns = bound_ns - (cluster->unheard_net[replica][node] ? FAILOVER_NS : 0);
    uint64_t was_silent_ns = bound_ns - (cluster->gap_net[replica][node] ? FAILOVER_NS : 0);
    bool silent = since != 0 && now - since >= silent_ns;
    bool was_silent = end != 0 && end - begin >= was_silent_ns && now - end <= AFTERMATH_NS;

    sim_check(cluster->world, silent || was_silent || former, "a node that can be heard is not evicted", node, effect->silence_ms);
    check_cap(cluster, replica);
    check_votes(cluster, replica, node, effect);
}

void cluster_collect(cluster_t *cluster, uint32_t index)
{
    const cluster_proc_t *proc = &cluster->procs[index];
    uint64_t *reached = cluster->world->reached;

    if (proc->is_replica) {
        rlx_gss_replica_look_t look;
        rlx_gss_replica_look(proc->replica, &look);
        reached[CLUSTER_N_DISCARDS] += look.discards;
        reached[CLUSTER_N_RESENT] += look.resent;
        reached[CLUSTER_N_HELD] += look.evictions_held;
        reached[CLUSTER_N_CLASHES] += look.clashes;
        sim_check(cluster->world, look.refused_bad == 0 && look.refused_link == 0, "no message of ours is refused", look.refused_bad,
                  look.refused_link);
        sim_check(cluster->world, look.gaps == 0 || look.discards > 0 || look.resent > 0, "no delta has a gap, but after a repair", look.gaps, index);
    } else {
        rlx_gss_agent_look_t look;
        rlx_gss_agent_look(proc->agent, &look);
        reached[CLUSTER_N_FAILOVERS] += look.failovers;
        reached[CLUSTER_N_RESYNCS] += look.resyncs;
        sim_check(cluster->world, look.refused == 0, "no reply of ours is refused", look.refused, index);
    }
}

/* With --trace: what each machine that matters holds of the node. */
static void explain(const cluster_t *cluster, uint32_t node)
{
    uint64_t id = cluster->procs[cluster->n_replicas + node].node;

    for (uint32_t i = 0; i < cluster->n_procs; i++) {
        const rlx_gss_state_t *state = cluster->procs[i].up ? cluster_state(&cluster->procs[i]) : NULL;
        const rlx_gss_entry_t *entry = state == NULL ? NULL : rlx_gss_state_node(state, id);
        if (state == NULL)
            continue;
        sim_trace(cluster->world, "digest", i, rlx_gss_state_digest(state), rlx_gss_state_status(state, id), rlx_gss_state_evicted(state, id));
        if (entry != NULL)
            sim_trace(cluster->world, "record", i, entry->cell.version.a, entry->cell.version.b, entry->cell.version.c);
        for (uint32_t j = 0; j < cluster->n_replicas; j++) {
            rlx_gss_key_t key = {.a = id, .b = cluster->ids[j], .kind = RLX_GSS_ROW};
            const rlx_gss_entry_t *row = rlx_gss_store_find(&state->store, key);
            if (row != NULL)
                sim_trace(cluster->world, "row", j, row->cell.version.a, row->cell.version.b, row->cell.version.c);
        }
    }
}

/* Is what this machine holds of the node what the node is? */
static void check_node_in(cluster_t *cluster, uint32_t holder, uint32_t node)
{
    const rlx_gss_state_t *state = cluster_state(&cluster->procs[holder]);
    const cluster_proc_t *proc = cluster_node(cluster, node);
    const rlx_gss_entry_t *entry = rlx_gss_state_node(state, proc->node);
    rlx_gss_status_t status = rlx_gss_state_status(state, proc->node);
    rlx_gss_agent_look_t look;

    if (proc->left_ns != 0) {
        /* A leave that only replicas knew that were cut off for longer than they remember it is lost: then the node is evicted like others. */
        bool forgotten = cluster->world->now_ns - proc->left_ns >= cluster->options.tombstone_ms * SIM_MS && status == RLX_GSS_STATUS_SUSPECT;
        sim_check(cluster->world, forgotten || status == RLX_GSS_STATUS_LEFT || status == RLX_GSS_STATUS_UNKNOWN || status == RLX_GSS_STATUS_BANNED,
                  "a node that left is gone", node, holder);
        return;
    }
    if (proc->stopped_boot != 0)
        return; /* its twin may have the name, and has stopped */
    rlx_gss_agent_look(proc->agent, &look);
    if (!sim_check(cluster->world, entry != NULL, "a node that runs is known everywhere", node, holder))
        return;
    sim_check(cluster->world, entry->cell.version.a == look.incarnation && entry->cell.version.b == proc->boot, "its life is the present one",
              node, holder);
    sim_check(cluster->world, entry->cell.bytes == proc->record_bytes && memcmp(entry->cell.body, proc->record, proc->record_bytes) == 0,
              "its record is what it wrote, unknown fields too", node, holder);
    sim_check(cluster->world, status != RLX_GSS_STATUS_SUSPECT && status != RLX_GSS_STATUS_STARTING && status != RLX_GSS_STATUS_LEFT,
              "a node that runs is no suspect", node, holder);
}

static void check_bounds(cluster_t *cluster, uint32_t index)
{
    const rlx_gss_state_t *state = cluster_state(&cluster->procs[index]);
    uint64_t nodes = cluster->n_nodes, rows = nodes * cluster->n_replicas;

    sim_check(cluster->world, state->store.n <= 3 * nodes + rows + 2 * CLUSTER_OPS_MAX + 1024, "cells are bounded", state->store.n, index);
    sim_check(cluster->world, state->store.bytes <= state->store.bytes_max, "memory is bounded", state->store.bytes, index);
    sim_check(cluster->world, state->refused_full == 0, "nothing is refused for want of room", state->refused_full, index);
}

void cluster_check_end(cluster_t *cluster)
{
    rlx_gss_replica_look_t first, look;

    rlx_gss_replica_look(cluster->procs[0].replica, &first);
    for (uint32_t i = 0; i < cluster->n_procs && !cluster->world->failed; i++) {
        cluster_proc_t *proc = &cluster->procs[i];
        if (!proc->up || proc->stopped_boot != 0 || proc->left_ns != 0)
            continue;
        if (proc->is_replica) {
            rlx_gss_replica_look(proc->replica, &look);
            sim_check(cluster->world, look.ready, "a replica that runs is ready", i, look.reachable);
            sim_check(cluster->world, look.reachable + 1 == cluster->n_replicas, "replicas that run reach each other", i, look.reachable);
            sim_check(cluster->world, look.persisted, "all is on disk", i, 0);
        }
        sim_check(cluster->world, rlx_gss_state_digest(cluster_state(proc)) == first.digest, "all replicas and views are the same", i, 0);
        for (uint32_t j = 0; j < cluster->n_nodes; j++)
            check_node_in(cluster, i, j);
        check_bounds(cluster, i);
    }
    if (!cluster->world->failed)
        cluster_ops_check(cluster);
    for (uint32_t j = 0; j < cluster->n_nodes && cluster->world->failed && cluster->world->print; j++)
        explain(cluster, j);
}
