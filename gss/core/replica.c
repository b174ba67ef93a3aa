/* The step: one event, then what time demands, then what is to be sent as far as there is room. */
#include <stdlib.h>

#include "base/assert.h"
#include "gss/core/inside.h"
#include "gss/core/snapshot.h"

#define EXPIRE_MS 1000
#define PERSIST_AGAIN_MS 1000 /* after a disk failed */

void rlx_gss_replica_destroy(rlx_gss_replica_t *replica)
{
    if (replica == NULL)
        return;
    rlx_gss_state_fini(&replica->state);
    rlx_gss_pulses_fini(&replica->pulses);
    free(replica->links);
    free(replica);
}

static void peers_init(rlx_gss_replica_t *replica, const uint64_t *ids)
{
    for (uint32_t i = 0; i < replica->n_replicas; i++) {
        gss_peer_t *peer = &replica->peers[i];
        peer->id = ids[i];
        peer->link = RLX_GSS_NONE;
        peer->have_ms = peer->durable_ms = peer->mark_ms = peer->mark_durable_ms = gss_now(replica);
    }
}

rlx_gss_replica_t *rlx_gss_replica_create(const rlx_gss_replica_settings_t *settings, uint64_t now_ms, rlx_diag_t *diag)
{
    rlx_gss_replica_t *replica = calloc(1, sizeof *replica);

    RLX_ASSERT(settings->n_replicas >= 1);
    RLX_ASSERT(settings->n_replicas <= RLX_GSS_REPLICAS_MAX);
    RLX_ASSERT(settings->self < settings->n_replicas);
    RLX_ASSERT(settings->boot != 0);
    if (replica == NULL)
        return NULL;
    replica->options = settings->options;
    replica->n_replicas = settings->n_replicas;
    replica->self = settings->self;
    replica->id = settings->replicas[settings->self];
    replica->boot = settings->boot;
    replica->awake = (rlx_gss_awake_t){.now_ms = GSS_AWAKE_START, .last_ms = now_ms};
    replica->started_ms = replica->tick_ms = replica->expire_ms = gss_now(replica);
    replica->links_max = 2 * settings->options.nodes_max + 64;
    replica->links = calloc(replica->links_max, sizeof *replica->links);
    rlx_prng_init(&replica->prng, settings->boot);
    peers_init(replica, settings->replicas);
    if (!rlx_gss_state_init(&replica->state, &replica->options) || !rlx_gss_pulses_init(&replica->pulses, settings->options.nodes_max) ||
        replica->links == NULL ||
        (settings->snapshot != NULL && gss_snapshot_read(replica, settings->snapshot, settings->snapshot_bytes, diag) != RLX_OK)) {
        rlx_gss_replica_destroy(replica);
        return NULL;
    }
    replica->ready = replica->n_replicas == 1;
    replica->durable = gss_topology(replica);
    return replica;
}

rlx_gss_joined_t gss_join(rlx_gss_replica_t *replica, const rlx_gss_cell_t *cell, uint32_t from)
{
    rlx_gss_joined_t joined = rlx_gss_state_join(&replica->state, cell, from, gss_now(replica));

    if (joined != RLX_GSS_JOINED_CHANGED)
        return joined;
    if (cell->key.kind == RLX_GSS_BEAT)
        gss_watch_beat(replica, cell);
    else if (cell->key.kind == RLX_GSS_ROW && cell->key.b != replica->id)
        gss_watch_row(replica, cell);
    else if (cell->key.kind == RLX_GSS_INTENT)
        replica->persist_now = true; /* somebody waits for it to be durable */
#ifdef RLX_GSS_MUTANTS
    if (cell->key.kind == RLX_GSS_INTENT && from != RLX_GSS_NONE)
        gss_intent_removed(replica, cell);
#endif
    return joined;
}

void gss_refuse(rlx_gss_replica_t *replica, uint32_t link)
{
    gss_link_t *held = &replica->links[link];

    replica->refused_link++;
    if (held->peer != RLX_GSS_NONE)
        gss_peer_down(replica, held->peer);
    *held = (gss_link_t){.peer = RLX_GSS_NONE};
    rlx_gss_effects_add(replica->effects, RLX_GSS_EFFECT_CLOSE)->link = link;
}

static void link_up(rlx_gss_replica_t *replica, uint32_t link, uint32_t peer)
{
    RLX_ASSERT(link < replica->links_max);
    RLX_ASSERT(!replica->links[link].up);
    replica->links[link] = (gss_link_t){.up = true, .peer = RLX_GSS_NONE};
    if (link >= replica->links_touched)
        replica->links_touched = link + 1;
    if (peer != RLX_GSS_NONE)
        gss_peer_up(replica, link, peer);
}

static void link_down(rlx_gss_replica_t *replica, uint32_t link)
{
    RLX_ASSERT(link < replica->links_max);
    if (replica->links[link].up && replica->links[link].peer != RLX_GSS_NONE)
        gss_peer_down(replica, replica->links[link].peer);
    replica->links[link] = (gss_link_t){.peer = RLX_GSS_NONE};
}

static void message(rlx_gss_replica_t *replica, const rlx_gss_event_t *event)
{
    RLX_ASSERT(event->link < replica->links_max);
    if (!replica->links[event->link].up)
        return; /* we closed it; this was on its way */
    if (rlx_gss_packet_decode(event->data, event->bytes, &replica->in, NULL) != RLX_OK)
        gss_refuse(replica, event->link);
    else if (replica->in.head.part == RLX_GSS_PART_BEAT)
        gss_node_message(replica, event->link);
    else if (replica->in.head.part == RLX_GSS_PART_PEER)
        gss_peer_message(replica, event->link);
    else
        gss_refuse(replica, event->link);
}

static void persisted(rlx_gss_replica_t *replica, bool ok)
{
    if (!replica->persisting)
        return;
    replica->persisting = false;
    replica->disk_failed = !ok;
    replica->persist_ms = gss_now(replica) + (ok ? 0 : PERSIST_AGAIN_MS);
    if (!ok) {
        replica->persist_now = true;
        return;
    }
    replica->durable = replica->persisting_serial;
    gss_peers_persisted(replica);
}

static void persist_flush(rlx_gss_replica_t *replica)
{
    bool wanted = replica->durable < gss_topology(replica) &&
                  (replica->persist_now || gss_now(replica) >= replica->persist_ms + replica->options.snapshot_ms);

    if (replica->persisting || !wanted || gss_now(replica) < replica->persist_ms || replica->discard_for != 0)
        return;
    replica->persisting = true;
    replica->persist_now = false;
    replica->persist_ms = gss_now(replica);
    replica->persisting_serial = gss_topology(replica);
    gss_peers_persisting(replica);
    rlx_gss_effects_add(replica->effects, RLX_GSS_EFFECT_PERSIST);
}

static void tick(rlx_gss_replica_t *replica)
{
    if (gss_now(replica) < replica->tick_ms)
        return;
    replica->tick_ms = gss_now(replica) + GSS_TICK_MS;
    gss_peers_tick(replica);
    gss_watch_tick(replica);
    if (gss_now(replica) >= replica->expire_ms) {
        replica->expire_ms = gss_now(replica) + EXPIRE_MS;
        rlx_gss_state_expire(&replica->state, gss_now(replica));
        gss_watch_expire(replica);
    }
}

static void handle(rlx_gss_replica_t *replica, const rlx_gss_event_t *event)
{
    switch (event->kind) {
    case RLX_GSS_EVENT_LINK_UP: link_up(replica, event->link, event->peer); break;
    case RLX_GSS_EVENT_LINK_DOWN: link_down(replica, event->link); break;
    case RLX_GSS_EVENT_MESSAGE: message(replica, event); break;
    case RLX_GSS_EVENT_PERSISTED: persisted(replica, event->ok); break;
    case RLX_GSS_EVENT_INTENT: gss_intent_event(replica, event); break;
    default: break;
    }
}

void rlx_gss_replica_step(rlx_gss_replica_t *replica, const rlx_gss_event_t *event, uint64_t now_ms, rlx_gss_effects_t *effects)
{
    rlx_gss_effects_clear(effects);
    replica->effects = effects;
    rlx_gss_awake_step(&replica->awake, now_ms, 2 * GSS_TICK_MS);
    handle(replica, event);
    tick(replica);
    gss_intents_flush(replica);
    persist_flush(replica);
    gss_peers_flush(replica);
    gss_nodes_flush(replica);
    replica->effects = NULL;
}

uint64_t rlx_gss_replica_due_ms(const rlx_gss_replica_t *replica)
{
    uint64_t due = replica->tick_ms, now = gss_now(replica);

    if (replica->ready && replica->pushed < gss_topology(replica) && replica->push_ms < due)
        due = replica->push_ms;
    return replica->awake.last_ms + (due > now ? due - now : 1);
}

const rlx_gss_state_t *rlx_gss_replica_state(const rlx_gss_replica_t *replica) { return &replica->state; }

uint32_t rlx_gss_replica_load(const rlx_gss_replica_t *replica, uint64_t node, uint8_t out_load[RLX_GSS_LOAD_MAX])
{
    const rlx_gss_entry_t *beat = rlx_gss_store_find(&replica->state.store, (rlx_gss_key_t){.a = node, .kind = RLX_GSS_BEAT});

    if (beat == NULL)
        return 0;
    for (uint32_t i = 0; i < beat->cell.bytes; i++)
        out_load[i] = beat->cell.body[i];
    return beat->cell.bytes;
}

void rlx_gss_replica_look(const rlx_gss_replica_t *replica, rlx_gss_replica_look_t *out_look)
{
    const rlx_gss_store_t *store = &replica->state.store;

    *out_look = (rlx_gss_replica_look_t){
        .ready = replica->ready, .persisted = replica->durable >= gss_topology(replica), .disk_failed = replica->disk_failed,
        .reachable = gss_peers_reachable(replica), .score = replica->awake.score, .nodes = store->kind_counts[RLX_GSS_NODE],
        .members = rlx_gss_state_members(&replica->state),
        .tombstones_and_rows = store->kind_counts[RLX_GSS_EVICTION] + store->kind_counts[RLX_GSS_ROW],
        .digest = rlx_gss_state_digest(&replica->state),
        .serial = store->serial, .bytes = store->bytes, .refused_full = replica->state.refused_full,
        .refused_bad = replica->state.refused_bad, .refused_link = replica->refused_link, .clashes = replica->state.clashes,
        .suspicions = replica->suspicions, .evictions = replica->evictions, .evictions_held = replica->evictions_held,
        .discards = replica->discards, .resent = replica->resent, .gaps = replica->gaps,
    };
    for (uint32_t i = 0; i < replica->links_touched; i++)
        out_look->links += replica->links[i].up;
    for (uint32_t i = 0; i < replica->n_replicas; i++)
        out_look->lag_ms[i] = i == replica->self ? 0 : gss_now(replica) - replica->peers[i].have_ms;
}
