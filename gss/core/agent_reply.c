/* What a replica says of this node, and of all the others. */
#include "gss/core/agent_inside.h"

#define RISES_LIVE 3       /* a life whose counter was seen to rise so often is no echo of one that has ended */
#define MISMATCHES_MAX 8   /* level replies in a row with another digest: the view is fetched anew */

static void stop(rlx_gss_agent_t *agent, uint64_t holder_boot)
{
    agent->state = RLX_GSS_AGENT_STOPPED;
    agent->registered = false;
    rlx_gss_effects_add(agent->effects, RLX_GSS_EFFECT_STOPPED)->boot = holder_boot;
}

/* Takes an incarnation above all that are known, and writes it down before it is said. */
static void incarnate(rlx_gss_agent_t *agent, uint64_t known)
{
    rlx_gss_effect_t *effect;

    agent->incarnation = (known > agent->incarnation ? known : agent->incarnation) + 1;
    agent->state = RLX_GSS_AGENT_PERSISTING;
    agent->registered = false;
    effect = rlx_gss_effects_add(agent->effects, RLX_GSS_EFFECT_PERSIST);
    effect->incarnation = agent->incarnation;
}

static void asked(rlx_gss_agent_t *agent, const rlx_gss_head_t *in)
{
    rlx_gss_version_t holder = {in->f[RLX_GSS_F_INCARNATION], in->f[RLX_GSS_F_BOOT], in->f[RLX_GSS_F_COUNTER]};
    uint64_t known = holder.a > in->f[RLX_GSS_F_EVICTED] ? holder.a : in->f[RLX_GSS_F_EVICTED];

    agent->learned = known > agent->learned ? known : agent->learned;
    if (!(in->f[RLX_GSS_F_FLAGS] & RLX_GSS_FLAG_HOLDER_LIVE) || holder.b == agent->boot) {
        incarnate(agent, agent->learned);
        return;
    }
    if (holder.a != agent->holder.a || holder.b != agent->holder.b)
        agent->holder_rises = 0;
    else if (holder.c > agent->holder.c)
        agent->holder_rises++;
    agent->holder = holder;
    if (agent->holder_rises >= RISES_LIVE)
        stop(agent, holder.b);
}

static void confirmed(rlx_gss_agent_t *agent)
{
    agent->registered = true;
    agent->send_record = false;
    if (agent->state == RLX_GSS_AGENT_LEAVING) {
        agent->state = RLX_GSS_AGENT_STOPPED;
        rlx_gss_effects_add(agent->effects, RLX_GSS_EFFECT_LEFT);
        return;
    }
    if (!agent->joined_told)
        rlx_gss_effects_add(agent->effects, RLX_GSS_EFFECT_JOINED)->incarnation = agent->incarnation;
    agent->joined_told = true;
}

/* What the replica holds of us against what we are. */
static void judged(rlx_gss_agent_t *agent, const rlx_gss_head_t *in)
{
    rlx_gss_version_t held = {in->f[RLX_GSS_F_INCARNATION], in->f[RLX_GSS_F_BOOT], in->f[RLX_GSS_F_SEQUENCE]};
    rlx_gss_version_t own = {agent->incarnation, agent->boot, agent->sequence};
    bool other = held.b != own.b && rlx_gss_version_compare(held, own) > 0;

    if (other && !RLX_MUTANT(STUBBORN_TWIN)) {
        stop(agent, held.b);
    } else if (other || in->f[RLX_GSS_F_EVICTED] >= own.a) {
        agent->rejoins++;
        incarnate(agent, held.a > in->f[RLX_GSS_F_EVICTED] ? held.a : in->f[RLX_GSS_F_EVICTED]);
    } else if (rlx_gss_version_compare(held, own) == 0) {
        confirmed(agent);
    } else if (rlx_gss_version_compare(held, own) < 0 && in->f[RLX_GSS_F_ECHO] != 0) {
        bool waits = agent->send_record && agent->registered;
        agent->send_record = true;
        agent->registered = false;
        if (!waits && !(in->f[RLX_GSS_F_FLAGS] & RLX_GSS_FLAG_FULL) && agent->beat_ms > agent_now(agent) + 20)
            agent->beat_ms = agent_now(agent) + 20; /* soon, and not for every reply */
    }
}

/* What other replicas told us may go with it, so nothing counts as received from them any more. */
static void sweep(rlx_gss_agent_t *agent, const agent_source_t *from)
{
    rlx_gss_store_t *store = &agent->view.store;
    const rlx_gss_entry_t *next;

    for (const rlx_gss_entry_t *entry = rlx_gss_store_after(store, RLX_GSS_TOPOLOGY, 0); entry != NULL; entry = next) {
        next = rlx_gss_store_next(store, entry);
        if (entry->mark != agent->sweep)
            rlx_gss_state_drop(&agent->view, (rlx_gss_entry_t *)entry);
    }
    for (uint32_t i = 0; i < agent->n_replicas; i++)
        if (&agent->sources[i] != from)
            agent->sources[i].serial = 0;
    agent->sweeping = false;
    agent->resyncs++;
}

/* While a full view comes, what it says replaces what we have, newer or not: a replica that died may have told us what no replica has any
 * more. */
static void take_cells(rlx_gss_agent_t *agent, const rlx_gss_packet_t *in)
{
    for (uint32_t i = 0; i < in->n_cells; i++) {
        rlx_gss_entry_t *entry = rlx_gss_store_find(&agent->view.store, in->cells[i].key);
        if (in->cells[i].key.kind == RLX_GSS_BEAT)
            continue;
        if (agent->sweeping && entry != NULL && rlx_gss_cell_compare(&entry->cell, &in->cells[i]) > 0)
            rlx_gss_state_drop(&agent->view, entry);
        rlx_gss_state_join(&agent->view, &in->cells[i], 0, agent_now(agent));
        entry = rlx_gss_store_find(&agent->view.store, in->cells[i].key);
        if (entry != NULL)
            entry->mark = agent->sweep;
    }
}

/* The replica's part of the view ends here: is ours the same? One that differs for long is fetched anew. */
static void level(rlx_gss_agent_t *agent, agent_source_t *source, const rlx_gss_head_t *in)
{
    agent->fresh_ms = agent_now(agent);
    if (agent->sweeping)
        sweep(agent, source);
    source->mismatches = in->f[RLX_GSS_F_DIGEST] == rlx_gss_state_digest(&agent->view) ? 0 : source->mismatches + 1;
    if (source->mismatches < MISMATCHES_MAX)
        return;
    source->mismatches = 0;
    source->serial = 0;
    agent->sweep++;
    agent->sweeping = true;
}

static void view(rlx_gss_agent_t *agent, uint32_t link, const rlx_gss_packet_t *in)
{
    agent_source_t *source = &agent->sources[link];
    uint64_t flags = in->head.f[RLX_GSS_F_FLAGS], since = in->head.f[RLX_GSS_F_SINCE];

    if (source->epoch != in->head.f[RLX_GSS_F_EPOCH]) {
        source->epoch = in->head.f[RLX_GSS_F_EPOCH];
        source->serial = 0;
        source->mismatches = 0;
    }
    if ((flags & RLX_GSS_FLAG_MISSED) && since == 0) {
        agent->sweep++;
        agent->sweeping = true;
        source->serial = 0;
    }
    if (since > source->serial) {
        agent->gaps++;
        return; /* our next beat says how far we are */
    }
    take_cells(agent, in);
    if (in->head.f[RLX_GSS_F_SERIAL] > source->serial)
        source->serial = in->head.f[RLX_GSS_F_SERIAL];
    if (flags & RLX_GSS_FLAG_MORE)
        agent_speak(agent, link, false);
    else
        level(agent, source, &in->head);
}

void agent_reply(rlx_gss_agent_t *agent, uint32_t link)
{
    const rlx_gss_packet_t *in = &agent->in;
    agent_source_t *source = &agent->sources[link];
    uint64_t flags = in->head.f[RLX_GSS_F_FLAGS];

    if (in->head.f[RLX_GSS_F_ECHO] != 0) {
        source->since_ms = 0;
        agent->rtt_ms = agent->awake.last_ms + 1 - in->head.f[RLX_GSS_F_ECHO];
    }
    if (flags & (RLX_GSS_FLAG_NOT_READY | RLX_GSS_FLAG_INCOMPATIBLE)) {
        agent_leave_link(agent, link); /* another replica may be further */
        return;
    }
    if (agent->home == link) {
        agent->spread = flags & RLX_GSS_FLAG_MINORITY;
        agent->dial_wait_ms = 0;
    }
    if (agent->state == RLX_GSS_AGENT_ASKING)
        asked(agent, &in->head);
    else if (agent->state == RLX_GSS_AGENT_BEATING || agent->state == RLX_GSS_AGENT_LEAVING)
        judged(agent, &in->head);
    if (in->head.f[RLX_GSS_F_INCARNATION] != 0 && agent->state == RLX_GSS_AGENT_BEATING)
        view(agent, link, in);
}
