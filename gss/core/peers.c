/* Replicas among themselves. Each pair has one link; the one later in the list dials. A message acknowledges what was received and carries
 * what changed since what the other has acknowledged or was sent on this link. Who speaks first on a link says only what it has, so nobody
 * gets cells before it is known that the sender's state may be spoken (discard.c). */
#include "base/assert.h"
#include "gss/core/discard.h"
#include "gss/core/inside.h"

#define DIAL_FIRST_MS 200
#define DIAL_LAST_MS 2000
#define SILENT_MS 3000    /* a link on which nothing comes is broken */
#define REPAIR_MS 3000    /* what was sent and not acknowledged is sent again */
#define MISMATCHES_MAX 16

bool gss_peer_reachable(const rlx_gss_replica_t *replica, uint32_t peer)
{
    const gss_peer_t *held = &replica->peers[peer];

    return held->link != RLX_GSS_NONE && held->greeted && gss_now(replica) - held->echoed_ms <= GSS_REACHABLE_MS;
}

uint32_t gss_peers_reachable(const rlx_gss_replica_t *replica)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < replica->n_replicas; i++)
        n += i != replica->self && gss_peer_reachable(replica, i);
    return n;
}

static uint64_t missed_by(const rlx_gss_replica_t *replica, const gss_peer_t *peer)
{
    uint64_t flags = replica->state.forgot_ms > peer->have_ms ? RLX_GSS_FLAG_MISSED : 0;

    return flags | (replica->state.forgot_ms > peer->durable_ms ? RLX_GSS_FLAG_MISSED_DURABLE : 0);
}

/* What our first message on the link will say, for both sides judge by that. */
static void prepare(rlx_gss_replica_t *replica, gss_peer_t *peer)
{
    peer->said_flags = missed_by(replica, peer) | (peer->met ? 0 : RLX_GSS_FLAG_FRESH);
    peer->said_group = 1ull << replica->self;
    for (uint32_t i = 0; i < replica->n_replicas; i++)
        peer->said_group |= (uint64_t)gss_peer_reachable(replica, i) << i;
}

void gss_peer_hang_up(rlx_gss_replica_t *replica, uint32_t peer)
{
    uint32_t link = replica->peers[peer].link;

    gss_peer_down(replica, peer);
    replica->links[link] = (gss_link_t){.peer = RLX_GSS_NONE};
    rlx_gss_effects_add(replica->effects, RLX_GSS_EFFECT_CLOSE)->link = link;
}

void gss_peer_up(rlx_gss_replica_t *replica, uint32_t link, uint32_t peer)
{
    gss_peer_t *held = &replica->peers[peer];

    if (held->link != RLX_GSS_NONE && held->link != link) { /* the newer one is the one that works */
        replica->links[held->link] = (gss_link_t){.peer = RLX_GSS_NONE};
        rlx_gss_effects_add(replica->effects, RLX_GSS_EFFECT_CLOSE)->link = held->link;
    }
    replica->links[link].peer = peer;
    held->link = link;
    held->greeted = held->owes = held->more = false;
    held->inflight = 0;
    held->sent_ms = 0;
    held->stamp_in = 0;
    held->progress_ms = gss_now(replica);
    held->echoed_ms = 0;
    held->dial_wait_ms = DIAL_FIRST_MS;
    prepare(replica, held);
}

void gss_peer_down(rlx_gss_replica_t *replica, uint32_t peer)
{
    gss_peer_t *held = &replica->peers[peer];

    held->link = RLX_GSS_NONE;
    held->greeted = false;
    held->ready = false;
    held->dial_ms = gss_now(replica) + rlx_prng_between(&replica->prng, 0, DIAL_FIRST_MS);
    gss_discard_peer_down(replica, peer);
}

/* The peer's life is a new one: nothing that either has of the other's serials holds. */
static void epoch_set(gss_peer_t *peer, uint64_t epoch)
{
    peer->epoch = epoch;
    peer->have = peer->have_beats = peer->its_total = 0;
    peer->acked = peer->acked_beats = peer->durable = peer->sent = peer->sent_beats = 0;
    peer->durable_out = peer->persisting = 0;
}

static void take_ack(rlx_gss_replica_t *replica, gss_peer_t *peer, const rlx_gss_packet_t *in)
{
    bool ours = in->head.f[RLX_GSS_F_ACK_EPOCH] == replica->boot;
    uint64_t acked = ours ? in->head.f[RLX_GSS_F_ACK_SERIAL] : 0;
    uint64_t beats = ours ? in->head.f[RLX_GSS_F_ACK_BEATS] : 0;

    if (RLX_MUTANT(LOST_DELTA)) {
        acked = acked > peer->sent ? acked : peer->sent;
    } else if (!peer->greeted || acked < peer->acked) {
        peer->sent = acked;
        peer->sent_beats = beats;
        peer->inflight = 0;
    }
    if (acked > peer->acked || acked >= peer->sent) {
        peer->inflight = 0;
        peer->progress_ms = gss_now(replica);
    }
    peer->acked = acked;
    peer->acked_beats = beats;
    peer->durable = ours ? in->head.f[RLX_GSS_F_ACK_DURABLE] : 0;
}

/* When did it last have everything of ours; and on disk? */
static void take_marks(rlx_gss_replica_t *replica, gss_peer_t *peer)
{
    if (peer->acked >= peer->mark_serial) {
        peer->have_ms = peer->mark_ms > peer->have_ms ? peer->mark_ms : peer->have_ms;
        peer->mark_serial = gss_topology(replica);
        peer->mark_ms = gss_now(replica);
    }
    if (peer->durable >= peer->mark_durable) {
        peer->durable_ms = peer->mark_durable_ms > peer->durable_ms ? peer->mark_durable_ms : peer->durable_ms;
        peer->mark_durable = gss_topology(replica);
        peer->mark_durable_ms = gss_now(replica);
    }
}

static void take_ages(rlx_gss_replica_t *replica, gss_peer_t *peer, const rlx_gss_packet_t *in)
{
    if (in->head.f[RLX_GSS_F_HAVE_AGE + replica->self] == 0)
        return;
    peer->forgot_age = in->head.f[RLX_GSS_F_FORGOT_AGE];
    for (uint32_t i = 0; i < replica->n_replicas; i++) {
        peer->have_ages[i] = in->head.f[RLX_GSS_F_HAVE_AGE + i];
        peer->durable_ages[i] = in->head.f[RLX_GSS_F_DURABLE_AGE + i];
    }
}

static bool follows(rlx_gss_replica_t *replica, uint64_t since, uint64_t have)
{
    bool gap = since > have;

    replica->gaps += gap;
    return !gap;
}

static void take_cells(rlx_gss_replica_t *replica, uint32_t index, const rlx_gss_packet_t *in)
{
    gss_peer_t *peer = &replica->peers[index];
    bool rescue = in->head.f[RLX_GSS_F_FLAGS] & RLX_GSS_FLAG_RESCUE;
    bool topology = follows(replica, in->head.f[RLX_GSS_F_SINCE], peer->have);
    bool beats = follows(replica, in->head.f[RLX_GSS_F_BEATS_SINCE], peer->have_beats);

    for (uint32_t i = 0; i < in->n_cells; i++) {
        const rlx_gss_cell_t *cell = &in->cells[i];
        if (rescue ? gss_intent_rescuable(replica, cell) : cell->key.kind == RLX_GSS_BEAT ? beats : topology)
            gss_join(replica, cell, index);
    }
    peer->owes |= in->n_cells > 0 && (rescue || in->head.f[RLX_GSS_F_SERIAL] > peer->have);
    if (rescue)
        return;
    if (topology && in->head.f[RLX_GSS_F_SERIAL] > peer->have)
        peer->have = in->head.f[RLX_GSS_F_SERIAL];
    if (beats && in->head.f[RLX_GSS_F_BEATS_SERIAL] > peer->have_beats)
        peer->have_beats = in->head.f[RLX_GSS_F_BEATS_SERIAL];
    peer->more = in->head.f[RLX_GSS_F_FLAGS] & RLX_GSS_FLAG_MORE;
}

static uint32_t peer_find(const rlx_gss_replica_t *replica, uint64_t id)
{
    for (uint32_t i = 0; i < replica->n_replicas; i++)
        if (i != replica->self && replica->peers[i].id == id)
            return i;
    return RLX_GSS_NONE;
}

/* Both have all of each other's, and it is not the same: everything is exchanged anew. That takes a defect, and ends it. */
static void compare(rlx_gss_replica_t *replica, gss_peer_t *peer, const rlx_gss_packet_t *in)
{
    bool level = !peer->more && peer->have >= peer->its_total && peer->acked >= gss_topology(replica) && peer->ready && replica->ready;

    peer->mismatches = level && in->head.f[RLX_GSS_F_DIGEST] != rlx_gss_state_digest(&replica->state) ? peer->mismatches + 1 : 0;
    if (peer->mismatches < MISMATCHES_MAX)
        return;
    peer->mismatches = 0;
    peer->have = 0;
    peer->owes = true;
    replica->resent++;
}

void gss_peer_message(rlx_gss_replica_t *replica, uint32_t link)
{
    const rlx_gss_packet_t *in = &replica->in;
    uint32_t index = peer_find(replica, in->head.f[RLX_GSS_F_SENDER]), known = replica->links[link].peer;
    gss_peer_t *peer = &replica->peers[index == RLX_GSS_NONE ? 0 : index];
    bool meet = in->head.protocol >= RLX_GSS_PROTOCOL_MIN && in->head.protocol_min <= RLX_GSS_PROTOCOL;

    if (index == RLX_GSS_NONE || (known != RLX_GSS_NONE && known != index) || in->head.f[RLX_GSS_F_EPOCH] == 0 || !meet) {
        gss_refuse(replica, link);
        return;
    }
    if (known == RLX_GSS_NONE)
        gss_peer_up(replica, link, index);
    if (replica->discard_for != 0 && replica->discard_for != index + 1) {
        gss_peer_hang_up(replica, index); /* later */
        return;
    }
    if (peer->epoch != in->head.f[RLX_GSS_F_EPOCH])
        epoch_set(peer, in->head.f[RLX_GSS_F_EPOCH]);
    take_ack(replica, peer, in);
    take_marks(replica, peer);
    peer->stamp_in = in->head.f[RLX_GSS_F_STAMP];
    peer->its_total = in->head.f[RLX_GSS_F_TOTAL];
    take_ages(replica, peer, in);
    if (in->head.f[RLX_GSS_F_ECHO] > peer->echoed_ms)
        peer->echoed_ms = in->head.f[RLX_GSS_F_ECHO];
    peer->ready = !(in->head.f[RLX_GSS_F_FLAGS] & RLX_GSS_FLAG_NOT_READY);
    if (!peer->greeted && gss_discard_wanted(replica, index, &in->head))
        gss_discard_begin(replica, index);
    peer->owes |= !peer->greeted;
    peer->greeted = peer->met = true;
    if (gss_discard_echo(replica, index))
        return; /* these cells follow what we had */
    if (replica->discard_for != 0)
        return;
    take_cells(replica, index, in);
    compare(replica, peer, in);
}

void gss_peers_persisting(rlx_gss_replica_t *replica)
{
    for (uint32_t i = 0; i < replica->n_replicas; i++)
        replica->peers[i].persisting = replica->peers[i].have;
}

void gss_peers_persisted(rlx_gss_replica_t *replica)
{
    for (uint32_t i = 0; i < replica->n_replicas; i++) {
        gss_peer_t *peer = &replica->peers[i];
        peer->owes |= peer->persisting > peer->durable_out;
        peer->durable_out = peer->persisting > peer->durable_out ? peer->persisting : peer->durable_out;
    }
}

static void repair(rlx_gss_replica_t *replica, gss_peer_t *peer)
{
    if (!peer->greeted || peer->acked >= peer->sent || gss_now(replica) - peer->progress_ms < REPAIR_MS || RLX_MUTANT(LOST_DELTA))
        return;
    peer->sent = peer->acked;
    peer->sent_beats = peer->acked_beats;
    peer->inflight = 0;
    peer->progress_ms = gss_now(replica);
    replica->resent++;
}

static void dial(rlx_gss_replica_t *replica, uint32_t index)
{
    gss_peer_t *peer = &replica->peers[index];

    if (index >= replica->self || peer->link != RLX_GSS_NONE || replica->discard_for != 0 || gss_now(replica) < peer->dial_ms)
        return;
    peer->dial_wait_ms = peer->dial_wait_ms == 0 ? DIAL_FIRST_MS : peer->dial_wait_ms;
    peer->dial_ms = gss_now(replica) + peer->dial_wait_ms + rlx_prng_below(&replica->prng, DIAL_FIRST_MS);
    peer->dial_wait_ms = 2 * peer->dial_wait_ms < DIAL_LAST_MS ? 2 * peer->dial_wait_ms : DIAL_LAST_MS;
    rlx_gss_effects_add(replica->effects, RLX_GSS_EFFECT_DIAL)->peer = index;
}

static bool caught_up(const gss_peer_t *peer) { return peer->greeted && !peer->more && peer->have >= peer->its_total; }

/* A replica speaks for the cluster when it has what another has that does; or when there is no such other. */
static void become_ready(rlx_gss_replica_t *replica)
{
    bool any_ready = false, all_level = true;

    if (replica->ready || replica->discard_for != 0)
        return;
    for (uint32_t i = 0; i < replica->n_replicas; i++) {
        const gss_peer_t *peer = &replica->peers[i];
        if (i == replica->self)
            continue;
        any_ready |= peer->greeted && peer->ready;
        all_level &= caught_up(peer);
        if (!replica->ready && peer->ready && caught_up(peer)) {
            gss_discard_refilled(replica, i);
            replica->ready = true;
        }
    }
    if (all_level || (!any_ready && gss_now(replica) - replica->started_ms >= replica->options.refill_ms))
        replica->ready = true;
}

void gss_peers_tick(rlx_gss_replica_t *replica)
{
    for (uint32_t i = 0; i < replica->n_replicas; i++) {
        gss_peer_t *peer = &replica->peers[i];
        if (i == replica->self)
            continue;
        if (peer->link != RLX_GSS_NONE && gss_now(replica) - peer->progress_ms >= SILENT_MS && !gss_peer_reachable(replica, i)) {
            gss_peer_hang_up(replica, i);
        }
        repair(replica, peer);
        dial(replica, i);
    }
    become_ready(replica);
}
