/* What a peer is told: what changed since what it has, beats at their own pace, and at least so much that each knows that it is heard. */
#include "gss/core/discard.h"
#include "gss/core/inside.h"

#define BEATS_MS 250      /* beats are passed on at least so often */
#define ACK_MS 10         /* acknowledgements are gathered for so long */
#define QUIET_MS 500      /* something is said at least so often, so that each knows that it is heard */

/* Cells of a list after *sent, as far as `bytes` go; not the beats that the peer told us itself. False: some are left. */
static bool add_cells(rlx_gss_replica_t *replica, uint32_t index, rlx_gss_list_t list, size_t bytes, uint64_t *sent, uint32_t *n)
{
    rlx_text_t *text = &replica->effects->text;
    size_t begin = text->bytes;
    const rlx_gss_entry_t *entry = rlx_gss_store_after(&replica->state.store, list, *sent);

    for (; entry != NULL; entry = rlx_gss_store_next(&replica->state.store, entry)) {
        if (text->bytes - begin > bytes || *n == RLX_GSS_CELLS_MAX)
            return false;
        if (list == RLX_GSS_TOPOLOGY || entry->from != index) {
            rlx_gss_packet_cell(text, &entry->cell);
            ++*n;
        }
        *sent = entry->serial;
    }
    *sent = replica->state.store.serial;
    return true;
}

static bool may_send(const rlx_gss_replica_t *replica, const gss_peer_t *peer)
{
    return peer->greeted && peer->inflight < GSS_WINDOW && (replica->discard_for == 0 || RLX_MUTANT(STALE_SPEAKER));
}

static void head_ages(const rlx_gss_replica_t *replica, rlx_gss_head_t *head)
{
    head->f[RLX_GSS_F_FORGOT_AGE] = replica->state.forgot_ms == 0 ? 0 : gss_now(replica) - replica->state.forgot_ms + 1;
    for (uint32_t i = 0; i < replica->n_replicas; i++) {
        bool self = i == replica->self;
        head->f[RLX_GSS_F_HAVE_AGE + i] = self ? 1 : gss_now(replica) - replica->peers[i].have_ms + 1;
        head->f[RLX_GSS_F_DURABLE_AGE + i] = self ? 1 : gss_now(replica) - replica->peers[i].durable_ms + 1;
    }
}

static rlx_gss_head_t head_for(const rlx_gss_replica_t *replica, const gss_peer_t *peer)
{
    rlx_gss_head_t head = rlx_gss_head(RLX_GSS_PART_PEER);

    head.f[RLX_GSS_F_SENDER] = replica->id;
    head.f[RLX_GSS_F_EPOCH] = replica->boot;
    head.f[RLX_GSS_F_TOTAL] = gss_topology(replica);
    head.f[RLX_GSS_F_DIGEST] = rlx_gss_state_digest(&replica->state);
    head.f[RLX_GSS_F_STAMP] = gss_now(replica);
    head.f[RLX_GSS_F_ECHO] = peer->stamp_in;
    head.f[RLX_GSS_F_FLAGS] = replica->ready ? 0 : RLX_GSS_FLAG_NOT_READY;
    if (peer->sent_ms == 0) {
        head.f[RLX_GSS_F_FLAGS] |= peer->said_flags;
        head.f[RLX_GSS_F_GROUP] = peer->said_group;
    }
    head.f[RLX_GSS_F_ACK_EPOCH] = peer->epoch;
    head.f[RLX_GSS_F_ACK_SERIAL] = peer->have;
    head.f[RLX_GSS_F_ACK_BEATS] = peer->have_beats;
    head.f[RLX_GSS_F_ACK_DURABLE] = peer->durable_out;
    if (!replica->ready || !peer->ready || peer->sent_ms == 0)
        head_ages(replica, &head); /* who has just started takes them over (discard.h) */
    return head;
}

static void send(rlx_gss_replica_t *replica, uint32_t index)
{
    gss_peer_t *peer = &replica->peers[index];
    rlx_gss_head_t head = head_for(replica, peer);
    rlx_text_t *text = &replica->effects->text;
    size_t at = text->bytes, part = rlx_gss_packet_begin(text, &head);
    uint32_t n = 0;

    if (may_send(replica, peer)) {
        head.f[RLX_GSS_F_SINCE] = peer->sent;
        head.f[RLX_GSS_F_BEATS_SINCE] = peer->sent_beats;
        bool all = add_cells(replica, index, RLX_GSS_TOPOLOGY, GSS_PART_BYTES, &peer->sent, &n);
        peer->inflight += n > 0;
        all &= add_cells(replica, index, RLX_GSS_BEATS, GSS_PART_BYTES / 2, &peer->sent_beats, &n);
        head.f[RLX_GSS_F_SERIAL] = peer->sent;
        head.f[RLX_GSS_F_BEATS_SERIAL] = peer->sent_beats;
        head.f[RLX_GSS_F_FLAGS] |= all ? 0 : RLX_GSS_FLAG_MORE;
    }
    rlx_gss_packet_end(text, &head, part);
    rlx_gss_effects_send(replica->effects, peer->link, at);
    peer->sent_ms = gss_now(replica);
    peer->owes = false;
}

static bool due(const rlx_gss_replica_t *replica, const gss_peer_t *peer)
{
    uint64_t since = gss_now(replica) - peer->sent_ms;
    bool topology = peer->sent < gss_topology(replica), beats = peer->sent_beats < replica->state.store.last[RLX_GSS_BEATS];

    if (peer->sent_ms == 0)
        return true; /* a new link: say what we have */
    if (peer->owes && since >= ACK_MS)
        return true;
    if (may_send(replica, peer) && ((topology && since >= replica->options.push_ms) || (beats && since >= BEATS_MS)))
        return true;
    return since >= QUIET_MS;
}

void gss_peers_flush(rlx_gss_replica_t *replica)
{
    for (uint32_t i = 0; i < replica->n_replicas; i++) {
        gss_peer_t *peer = &replica->peers[i];
        if (peer->link == RLX_GSS_NONE || !due(replica, peer))
            continue;
        if (!rlx_gss_effects_room(replica->effects)) {
            replica->effects->more = true;
            return;
        }
        send(replica, i);
    }
    gss_discard_flush(replica);
}
