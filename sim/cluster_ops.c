/* Operators, and the model of what must become of their intents. Every intent has a value of its own, so that it can be told from all others.
 * An intent that was called durable on two replicas and that no operation has seen since must live; one that a durable operation removed or
 * replaced must not; of the rest either may be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cluster.h"

#define TARGETS 4 /* few, so that operators meet */
#define LATE_NS (3 * SIM_SECOND)

static uint32_t op_of(const rlx_gss_intent_t *intent)
{
    return strncmp(intent->value, "op-", 3) == 0 ? (uint32_t)strtoul(intent->value + 3, NULL, 10) : CLUSTER_NONE;
}

/* The ops whose intents are live in `state`. */
static void live_ops(const rlx_gss_state_t *state, bool out_live[CLUSTER_OPS_MAX])
{
    memset(out_live, 0, CLUSTER_OPS_MAX * sizeof *out_live);
    for (const rlx_gss_entry_t *entry = rlx_gss_store_kind(&state->store, RLX_GSS_INTENT); entry != NULL;
         entry = rlx_gss_store_kind_next(&state->store, entry)) {
        rlx_gss_intent_t intent;
        if (entry->cell.version.a != 1 || !rlx_gss_intent_decode(entry->cell.body, entry->cell.bytes, &intent))
            continue;
        if (op_of(&intent) < CLUSTER_OPS_MAX)
            out_live[op_of(&intent)] = true;
    }
}

void cluster_operate(cluster_t *cluster, const cluster_action_t *action)
{
    cluster_proc_t *proc = &cluster->procs[action->who];
    cluster_op_t *op = &cluster->ops[cluster->n_ops];
    bool live[CLUSTER_OPS_MAX];
    static const uint32_t kinds[] = {RLX_GSS_INTENT_CORDON, RLX_GSS_INTENT_DRAIN, RLX_GSS_INTENT_LABEL, RLX_GSS_INTENT_BAN};

    if (!cluster_runs(proc) || cluster->n_ops == CLUSTER_OPS_MAX)
        return;
    memset(op, 0, sizeof *op);
    op->intent.kind = kinds[action->draw % 4];
    op->intent.target = cluster_node(cluster, (uint32_t)(action->draw >> 8) % TARGETS)->node;
    snprintf(op->intent.key, sizeof op->intent.key, "%s", op->intent.kind == RLX_GSS_INTENT_LABEL ? "tier" : "");
    snprintf(op->intent.value, sizeof op->intent.value, "op-%u", cluster->n_ops);
    op->remove = action->draw >> 32 & 1;
    op->replica = action->who;
    op->life = proc->life;
    op->at_ns = cluster->world->now_ns;
    live_ops(rlx_gss_replica_state(proc->replica), live);
    for (uint32_t i = 0; i < cluster->n_ops; i++)
        op->removes[i] = live[i] && rlx_gss_intent_same_key(&cluster->ops[i].intent, &op->intent);
    sim_trace(cluster->world, op->remove ? "remove" : "intend", cluster->n_ops, action->who, op->intent.kind, op->intent.target);
    rlx_gss_event_t event = {.kind = RLX_GSS_EVENT_INTENT, .request = cluster->n_ops++, .intent = &op->intent, .remove = op->remove};
    cluster_event(cluster, action->who, &event);
}

static uint32_t disks_with(const cluster_t *cluster, const cluster_op_t *op)
{
    char field[2 + sizeof op->intent.value] = {0x22, (char)strlen(op->intent.value)}; /* Intent.value as it is encoded */
    uint32_t n = 0;

    memcpy(field + 2, op->intent.value, strlen(op->intent.value));
    for (uint32_t i = 0; i < cluster->n_replicas; i++)
        n += cluster_disk_has(&cluster->procs[i].disk, field, 2 + strlen(op->intent.value));
    return n;
}

void cluster_answered(cluster_t *cluster, uint32_t proc, const rlx_gss_effect_t *effect)
{
    cluster_op_t *op = &cluster->ops[effect->request];

    sim_trace(cluster->world, "answer", effect->request, effect->status, effect->durable_on, 0);
    sim_check(cluster->world, effect->request < cluster->n_ops && op->replica == proc && !op->answered, "an operator is answered once",
              effect->request, proc);
    op->answered = true;
    op->durable = effect->status == RLX_OK && effect->durable_on >= 2;
    op->on_disk = effect->status == RLX_OK && effect->durable_on >= 1;
    if (op->durable && !op->remove)
        sim_check(cluster->world, disks_with(cluster, op) >= 2, "an intent that is called durable is on two disks", effect->request, proc);
    sim_reach(cluster->world, op->durable ? CLUSTER_N_DURABLE : effect->status == RLX_OK ? CLUSTER_N_SHORT : CLUSTER_N_REFUSED);
    if (effect->status != RLX_OK) { /* nothing was done */
        memset(op->removes, 0, sizeof op->removes);
        op->remove = true;
    }
}

static void check_replica(cluster_t *cluster, uint32_t index)
{
    bool live[CLUSTER_OPS_MAX];

    live_ops(rlx_gss_replica_state(cluster->procs[index].replica), live);
    for (uint32_t i = 0; i < cluster->n_ops; i++) {
        const cluster_op_t *op = &cluster->ops[i];
        bool touched = false, removed = false;
        for (uint32_t j = i + 1; j < cluster->n_ops; j++) {
            touched |= cluster->ops[j].removes[i];
            removed |= cluster->ops[j].removes[i] && cluster->ops[j].durable;
        }
        if (op->durable && !op->remove && !touched)
            sim_check(cluster->world, live[i], "an intent that was called durable is kept", i, index);
        if (op->on_disk && !op->remove && !touched && cluster->disks_lost == 0)
            sim_check(cluster->world, live[i], "an intent that was on a disk is kept as long as no disk is lost", i, index);
        if (removed)
            sim_check(cluster->world, !live[i], "an intent that was durably removed does not come back", i, index);
        if (op->remove)
            sim_check(cluster->world, !live[i], "a removal or a refused intent makes none", i, index);
    }
}

void cluster_ops_check(cluster_t *cluster)
{
    for (uint32_t i = 0; i < cluster->n_replicas; i++)
        if (cluster->procs[i].up)
            check_replica(cluster, i);
    for (uint32_t i = 0; i < cluster->n_ops; i++) {
        const cluster_op_t *op = &cluster->ops[i];
        bool alive = cluster->procs[op->replica].up && cluster->procs[op->replica].life == op->life;
        bool late = cluster->world->now_ns - op->at_ns > cluster->options.answer_ms * SIM_MS + LATE_NS;
        sim_check(cluster->world, op->answered || !alive || !late, "an operator is answered in time", i, op->replica);
    }
}
