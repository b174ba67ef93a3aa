/* The replica as an observer: who is silent, who is suspect, who is out. Suspicion is this observer's alone and takes effect at once, for a
 * suspect gets no new work. Eviction needs that all reachable observers (three are enough) say so of the same counter; long silence; an
 * observer that is not blind; and a free place under the cap. It then holds everywhere, until the node takes a higher incarnation. */
#include "gss/core/inside.h"

#define MINUTE_MS 60000
#define SCORE_BLIND 4  /* from this health score on no new suspicion */
#define RANK_MS 750    /* the first reachable replica evicts; each after it waits so much longer, so that one does */
#define VOTES_ENOUGH 3

static void row_write(rlx_gss_replica_t *replica, const rlx_gss_pulse_t *pulse, bool suspect)
{
    rlx_gss_cell_t row = {
        .key = {.a = pulse->node, .b = replica->id, .kind = RLX_GSS_ROW},
        .version = {pulse->life.a, pulse->life.b, 2 * pulse->life.c + suspect},
    };

    gss_join(replica, &row, RLX_GSS_NONE);
}

/* Lifts suspicion of a node that was heard from. */
static void clear(rlx_gss_replica_t *replica, rlx_gss_pulse_t *pulse)
{
    const rlx_gss_entry_t *node = rlx_gss_state_node(&replica->state, pulse->node);

    pulse->suspect = pulse->held = false;
    if (node != NULL && node->cell.version.a == pulse->life.a && node->cell.version.b == pulse->life.b &&
        rlx_gss_state_suspect(&replica->state, node) && !RLX_MUTANT(STUCK_SUSPECT))
        row_write(replica, pulse, false);
}

void gss_watch_beat(rlx_gss_replica_t *replica, const rlx_gss_cell_t *beat)
{
    rlx_gss_pulse_t *pulse = rlx_gss_pulses_get(&replica->pulses, beat->key.a, gss_now(replica));

    if (pulse != NULL && rlx_gss_pulse_beat(pulse, beat->version, gss_now(replica)))
        clear(replica, pulse);
}

void gss_watch_row(rlx_gss_replica_t *replica, const rlx_gss_cell_t *row)
{
    rlx_gss_pulse_t *pulse = rlx_gss_pulses_find(&replica->pulses, row->key.a);

    if (pulse != NULL && !pulse->suspect && (row->version.c & 1) && row->version.a == pulse->life.a && row->version.b == pulse->life.b &&
        row->version.c / 2 < pulse->life.c)
        clear(replica, pulse); /* we heard from it since */
}

static rlx_gss_pulse_t *pulse_of(rlx_gss_replica_t *replica, const rlx_gss_entry_t *node)
{
    rlx_gss_pulse_t *pulse = rlx_gss_pulses_get(&replica->pulses, node->cell.key.a, gss_now(replica));
    rlx_gss_version_t life = {node->cell.version.a, node->cell.version.b, 0};

    if (pulse != NULL && rlx_gss_pulse_beat(pulse, life, gss_now(replica)))
        pulse->suspect = pulse->held = false; /* a life that has registered and not beaten yet */
    return pulse;
}

static void suspect(rlx_gss_replica_t *replica, rlx_gss_pulse_t *pulse)
{
    rlx_gss_effect_t *effect = rlx_gss_effects_add(replica->effects, RLX_GSS_EFFECT_SUSPECT);

    effect->node = pulse->node;
    effect->incarnation = pulse->life.a;
    effect->boot = pulse->life.b;
    effect->silence_ms = gss_now(replica) - pulse->heard_ms;
    pulse->suspect = true;
    replica->suspicions++;
    row_write(replica, pulse, true);
}

static void watch(rlx_gss_replica_t *replica, const rlx_gss_entry_t *node)
{
    rlx_gss_pulse_t *pulse = pulse_of(replica, node);

    if (pulse == NULL || pulse->suspect || replica->awake.score >= SCORE_BLIND || pulse->life.a != node->cell.version.a)
        return;
    if (gss_now(replica) - pulse->heard_ms >= rlx_gss_pulse_threshold_ms(pulse, &replica->options, replica->awake.score))
        suspect(replica, pulse);
}

static uint32_t votes(const rlx_gss_replica_t *replica, const rlx_gss_pulse_t *pulse)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < replica->n_replicas; i++) {
        rlx_gss_key_t key = {.a = pulse->node, .b = replica->peers[i].id, .kind = RLX_GSS_ROW};
        const rlx_gss_entry_t *row = rlx_gss_store_find(&replica->state.store, key);
        n += row != NULL && row->cell.version.a == pulse->life.a && row->cell.version.b == pulse->life.b &&
             row->cell.version.c == 2 * pulse->life.c + 1;
    }
    return n;
}

/* More than half of the members were heard from lately. */
static bool sees_most(const rlx_gss_replica_t *replica)
{
    uint32_t members = 0, seen = 0;

    for (const rlx_gss_entry_t *node = rlx_gss_store_kind(&replica->state.store, RLX_GSS_NODE); node != NULL;
         node = rlx_gss_store_kind_next(&replica->state.store, node)) {
        const rlx_gss_pulse_t *pulse = rlx_gss_pulses_find(&replica->pulses, node->cell.key.a);
        if (rlx_gss_store_is_tombstone(node))
            continue;
        members++;
        seen += pulse != NULL && !pulse->suspect && gss_now(replica) - pulse->heard_ms <= replica->options.evict_ms;
    }
    return 2 * seen > members;
}

/* An observer that sees half of the replicas or fewer cannot tell nodes that are dead from nodes that beat at the others; one that is alone by
 * configuration must see most nodes. */
static bool is_blind(const rlx_gss_replica_t *replica)
{
    if (RLX_MUTANT(BLIND_EVICTION))
        return false;
    return replica->n_replicas == 1 ? !sees_most(replica) : 2 * (1 + gss_peers_reachable(replica)) <= replica->n_replicas;
}

static bool cap_reached(const rlx_gss_replica_t *replica)
{
    uint32_t recent = 0, cap;

    for (const rlx_gss_entry_t *out = rlx_gss_store_kind(&replica->state.store, RLX_GSS_EVICTION); out != NULL;
         out = rlx_gss_store_kind_next(&replica->state.store, out))
        recent += gss_now(replica) - out->changed_ms < MINUTE_MS;
    cap = (rlx_gss_state_members(&replica->state) + recent) / replica->options.evict_share;
    return recent >= (cap > 1 ? cap : 1) && !RLX_MUTANT(NO_CAP);
}

static uint32_t rank(const rlx_gss_replica_t *replica)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < replica->self; i++)
        n += gss_peer_reachable(replica, i);
    return n;
}

static void evict(rlx_gss_replica_t *replica, const rlx_gss_pulse_t *pulse, uint32_t n_votes)
{
    rlx_gss_effect_t *effect = rlx_gss_effects_add(replica->effects, RLX_GSS_EFFECT_EVICTED);
    rlx_gss_cell_t out = {.key = {.a = pulse->node, .kind = RLX_GSS_EVICTION}, .version = {pulse->life.a, 0, 0}};

    effect->node = pulse->node;
    effect->incarnation = pulse->life.a;
    effect->boot = pulse->life.b;
    effect->silence_ms = gss_now(replica) - pulse->heard_ms;
    effect->votes = n_votes;
    replica->evictions++;
    gss_join(replica, &out, RLX_GSS_NONE);
}

/* True when it evicted `node`, which is then gone. */
static bool judge(rlx_gss_replica_t *replica, const rlx_gss_entry_t *node)
{
    rlx_gss_pulse_t *pulse = rlx_gss_pulses_find(&replica->pulses, node->cell.key.a);
    uint32_t reachable = gss_peers_reachable(replica), n, needed = 1 + reachable < VOTES_ENOUGH ? 1 + reachable : VOTES_ENOUGH;
    uint64_t after_ms = rlx_gss_options_evict_after_ms(&replica->options) + rank(replica) * RANK_MS;

    if (RLX_MUTANT(EARLY_EVICTION))
        after_ms = 0;
    if (RLX_MUTANT(LONE_EVICTION))
        needed = 1;
    if (pulse == NULL || !pulse->suspect || gss_now(replica) - pulse->heard_ms < after_ms)
        return false;
    n = votes(replica, pulse);
    if (n < needed)
        return false;
    if (is_blind(replica) || cap_reached(replica)) {
        replica->evictions_held += !pulse->held;
        pulse->held = true;
        return false;
    }
    evict(replica, pulse, n);
    return true;
}

void gss_watch_tick(rlx_gss_replica_t *replica)
{
    rlx_gss_entry_t *next;

    if (!replica->ready)
        return;
    for (rlx_gss_entry_t *node = rlx_gss_store_kind(&replica->state.store, RLX_GSS_NODE); node != NULL; node = next) {
        next = rlx_gss_store_kind_next(&replica->state.store, node);
        if (rlx_gss_store_is_tombstone(node))
            continue;
        if (!rlx_gss_effects_room(replica->effects)) {
            replica->effects->more = true; /* the rest at the next tick */
            return;
        }
        watch(replica, node);
        judge(replica, node);
    }
}

void gss_watch_expire(rlx_gss_replica_t *replica)
{
    for (uint32_t i = 0; i <= replica->pulses.mask; i++) {
        uint64_t node = replica->pulses.slots[i].node;
        if (node != 0 && rlx_gss_state_node(&replica->state, node) == NULL)
            rlx_gss_pulses_remove(&replica->pulses, node);
    }
}
