/* See discard.h. */
#include "gss/core/discard.h"

static bool missed(bool fresh, uint64_t flags) { return flags & (fresh ? RLX_GSS_FLAG_MISSED_DURABLE : RLX_GSS_FLAG_MISSED); }

bool gss_discard_wanted(const rlx_gss_replica_t *replica, uint32_t index, const rlx_gss_head_t *in)
{
    const gss_peer_t *peer = &replica->peers[index];
    bool own = missed(peer->said_flags & RLX_GSS_FLAG_FRESH, in->f[RLX_GSS_F_FLAGS]);
    bool other = missed(in->f[RLX_GSS_F_FLAGS] & RLX_GSS_FLAG_FRESH, peer->said_flags);
    int size = __builtin_popcountll(peer->said_group), other_size = __builtin_popcountll(in->f[RLX_GSS_F_GROUP]);

    if ((!own && !other) || RLX_MUTANT(STALE_SPEAKER))
        return false;
    if (size != other_size)
        return size < other_size;
    return own != other ? own : replica->self > index;
}

static void discard(rlx_gss_replica_t *replica)
{
    rlx_gss_state_clear(&replica->state);
    replica->discard_for = 0;
    replica->persist_now = true;
    for (uint32_t i = 0; i < replica->n_replicas; i++) {
        gss_peer_t *peer = &replica->peers[i];
        peer->have = peer->have_beats = 0;
        peer->durable_out = peer->persisting = 0;
        peer->owes = true;
    }
    replica->started_ms = gss_now(replica);
}

void gss_discard_begin(rlx_gss_replica_t *replica, uint32_t index)
{
    replica->discards++;
    replica->ready = false;
    replica->discard_for = index + 1;
    replica->discard_stamp = replica->rescued = 0;
    for (uint32_t i = 0; i < replica->n_replicas; i++) /* nobody else is told anything until it is done */
        if (i != index && replica->peers[i].link != RLX_GSS_NONE)
            gss_peer_hang_up(replica, i);
    if (RLX_MUTANT(DISCARD_FIRST))
        discard(replica);
}

static bool is_rescued(const rlx_gss_entry_t *entry)
{
    uint32_t kind = entry->cell.key.kind;

    return kind == RLX_GSS_INTENT || kind == RLX_GSS_CONTEXT || (kind == RLX_GSS_NODE && rlx_gss_store_is_tombstone(entry));
}

void gss_discard_flush(rlx_gss_replica_t *replica)
{
    gss_peer_t *peer = &replica->peers[replica->discard_for == 0 ? 0 : replica->discard_for - 1];
    rlx_text_t *text = &replica->effects->text;
    const rlx_gss_entry_t *entry;
    rlx_gss_head_t head = rlx_gss_head(RLX_GSS_PART_PEER);
    size_t at = text->bytes, part;
    uint32_t n = 0;

    if (replica->discard_for == 0 || replica->discard_stamp != 0 || peer->link == RLX_GSS_NONE || !peer->greeted)
        return;
    if (!rlx_gss_effects_room(replica->effects)) {
        replica->effects->more = true;
        return;
    }
    part = rlx_gss_packet_begin(text, &head);
    entry = rlx_gss_store_after(&replica->state.store, RLX_GSS_TOPOLOGY, replica->rescued);
    for (; entry != NULL && text->bytes - at < GSS_PART_BYTES && n < RLX_GSS_CELLS_MAX; entry = rlx_gss_store_next(&replica->state.store, entry)) {
        if (is_rescued(entry)) {
            rlx_gss_packet_cell(text, &entry->cell);
            n++;
        }
        replica->rescued = entry->serial;
    }
    head.f[RLX_GSS_F_SENDER] = replica->id;
    head.f[RLX_GSS_F_EPOCH] = replica->boot;
    head.f[RLX_GSS_F_FLAGS] = RLX_GSS_FLAG_RESCUE | RLX_GSS_FLAG_NOT_READY;
    head.f[RLX_GSS_F_STAMP] = gss_now(replica);
    head.f[RLX_GSS_F_ECHO] = peer->stamp_in;
    head.f[RLX_GSS_F_ACK_EPOCH] = peer->epoch;
    head.f[RLX_GSS_F_ACK_SERIAL] = peer->have;
    head.f[RLX_GSS_F_ACK_BEATS] = peer->have_beats;
    head.f[RLX_GSS_F_ACK_DURABLE] = peer->durable_out;
    rlx_gss_packet_end(text, &head, part);
    rlx_gss_effects_send(replica->effects, peer->link, at);
    if (entry == NULL)
        replica->discard_stamp = gss_now(replica);
    else
        replica->effects->more = true;
}

bool gss_discard_echo(rlx_gss_replica_t *replica, uint32_t index)
{
    if (replica->discard_for != index + 1 || replica->discard_stamp == 0 || replica->peers[index].echoed_ms < replica->discard_stamp)
        return false;
    discard(replica);
    return true;
}

void gss_discard_peer_down(rlx_gss_replica_t *replica, uint32_t index)
{
    if (replica->discard_for == index + 1)
        replica->discard_for = 0; /* not ready; it will be told again, or find that it is alone */
}

void gss_discard_refilled(rlx_gss_replica_t *replica, uint32_t index)
{
    const gss_peer_t *from = &replica->peers[index];
    uint64_t now = gss_now(replica);

    if (from->have_ages[replica->self] == 0)
        return;
    if (from->forgot_age != 0 && now - (from->forgot_age - 1) > replica->state.forgot_ms)
        replica->state.forgot_ms = now - (from->forgot_age - 1);
    for (uint32_t i = 0; i < replica->n_replicas; i++) {
        gss_peer_t *peer = &replica->peers[i];
        if (i == replica->self)
            continue;
        if (from->have_ages[i] != 0 && now - (from->have_ages[i] - 1) > peer->have_ms)
            peer->have_ms = now - (from->have_ages[i] - 1);
        if (from->durable_ages[i] != 0 && now - (from->durable_ages[i] - 1) > peer->durable_ms)
            peer->durable_ms = now - (from->durable_ages[i] - 1);
    }
}
