/* Nodes and what they are told. A heartbeat carries the node's counter, its record when the replica lacks it, and how much of this replica's
 * topology the node has; the reply carries what it lacks. Changes are pushed to nodes that were level, a little later than they happen, so
 * that several go in one message. */
#include "base/assert.h"
#include "gss/core/inside.h"

#define LIVE_BEATS 3 /* a life that was heard from within so many heartbeats is live: its name is taken */

static bool is_level(const rlx_gss_replica_t *replica, const gss_link_t *link) { return link->sent >= replica->pushed; }

/* Cells after link->sent, as far as a message goes. False: some are left. */
static bool add_cells(rlx_gss_replica_t *replica, gss_link_t *link, uint64_t *out_since)
{
    rlx_text_t *text = &replica->effects->text;
    size_t begin = text->bytes;
    uint32_t n = 0;
    const rlx_gss_entry_t *entry = rlx_gss_store_after(&replica->state.store, RLX_GSS_TOPOLOGY, link->sent);

    *out_since = link->sent;
    for (; entry != NULL; entry = rlx_gss_store_next(&replica->state.store, entry)) {
        if (text->bytes - begin > GSS_PART_BYTES || ++n > RLX_GSS_CELLS_MAX)
            return false;
        rlx_gss_packet_cell(text, &entry->cell);
        link->sent = entry->serial;
    }
    link->sent = gss_topology(replica);
    return true;
}

/* Group of half the replicas or fewer: the others may take the nodes that beat only here for dead. */
static bool in_minority(const rlx_gss_replica_t *replica)
{
    return 2 * (1 + gss_peers_reachable(replica)) <= replica->n_replicas;
}

static void send(rlx_gss_replica_t *replica, uint32_t index, const rlx_gss_head_t *about, bool cells)
{
    gss_link_t *link = &replica->links[index];
    rlx_gss_head_t head = *about;
    rlx_text_t *text = &replica->effects->text;
    size_t at = text->bytes, part = rlx_gss_packet_begin(text, &head);
    bool all = true;

    head.f[RLX_GSS_F_SENDER] = replica->id;
    head.f[RLX_GSS_F_EPOCH] = replica->boot;
    if (cells)
        all = add_cells(replica, link, &head.f[RLX_GSS_F_SINCE]);
    else
        head.f[RLX_GSS_F_SINCE] = link->sent;
    head.f[RLX_GSS_F_SERIAL] = link->sent;
    head.f[RLX_GSS_F_DIGEST] = rlx_gss_state_digest(&replica->state);
    head.f[RLX_GSS_F_FLAGS] |= (all ? 0 : RLX_GSS_FLAG_MORE) | (link->missed ? RLX_GSS_FLAG_MISSED : 0) |
                               (replica->ready ? 0 : RLX_GSS_FLAG_NOT_READY) | (in_minority(replica) ? RLX_GSS_FLAG_MINORITY : 0);
    link->missed &= !all;
    rlx_gss_packet_end(text, &head, part);
    rlx_gss_effects_send(replica->effects, index, at);
}

/* What is held of a node, for its reply. */
static void head_held(const rlx_gss_replica_t *replica, uint64_t node, rlx_gss_head_t *head)
{
    const rlx_gss_entry_t *held = rlx_gss_state_node(&replica->state, node);
    const rlx_gss_pulse_t *pulse = rlx_gss_pulses_find(&replica->pulses, node);

    head->f[RLX_GSS_F_EVICTED] = rlx_gss_state_evicted(&replica->state, node);
    if (held == NULL)
        return;
    head->f[RLX_GSS_F_INCARNATION] = held->cell.version.a;
    head->f[RLX_GSS_F_BOOT] = held->cell.version.b;
    head->f[RLX_GSS_F_SEQUENCE] = held->cell.version.c;
    if (pulse == NULL || pulse->life.a != held->cell.version.a || pulse->life.b != held->cell.version.b)
        return;
    head->f[RLX_GSS_F_COUNTER] = pulse->life.c;
    if (gss_now(replica) - pulse->heard_ms <= (uint64_t)LIVE_BEATS * replica->options.heartbeat_ms && !rlx_gss_store_is_tombstone(held))
        head->f[RLX_GSS_F_FLAGS] |= RLX_GSS_FLAG_HOLDER_LIVE;
}

/* How far the node has come with this replica's changes. */
static void take_cursor(rlx_gss_replica_t *replica, gss_link_t *link, const rlx_gss_head_t *in)
{
    uint64_t serial = in->f[RLX_GSS_F_EPOCH] == replica->boot ? in->f[RLX_GSS_F_SERIAL] : 0;

    if (link->missed && serial > 0)
        return; /* it speaks of what it had before the full stream that is under way */
    link->sent = serial;
    if (serial > 0 && serial < replica->state.forgot_serial) {
        link->sent = 0;
        link->missed = true;
    }
}

static bool take_record(rlx_gss_replica_t *replica, const rlx_gss_head_t *in, rlx_gss_head_t *out)
{
    rlx_gss_cell_t cell = {
        .key = {.a = in->f[RLX_GSS_F_SENDER], .kind = RLX_GSS_NODE},
        .version = {in->f[RLX_GSS_F_INCARNATION], in->f[RLX_GSS_F_BOOT], in->f[RLX_GSS_F_SEQUENCE]},
        .body = in->record, .bytes = in->record_bytes,
    };
    rlx_gss_joined_t joined;

    if (in->record == NULL)
        return true;
    joined = gss_join(replica, &cell, RLX_GSS_NONE);
    if (joined == RLX_GSS_JOINED_FULL)
        out->f[RLX_GSS_F_FLAGS] |= RLX_GSS_FLAG_FULL;
    return joined != RLX_GSS_JOINED_BAD;
}

/* The life that beats is out, or another one holds its name. */
static bool is_out(const rlx_gss_replica_t *replica, const rlx_gss_head_t *in)
{
    uint64_t node = in->f[RLX_GSS_F_SENDER];
    const rlx_gss_entry_t *held = rlx_gss_state_node(&replica->state, node);
    rlx_gss_version_t life = {in->f[RLX_GSS_F_INCARNATION], in->f[RLX_GSS_F_BOOT], UINT64_MAX};

    if (life.a <= rlx_gss_state_evicted(&replica->state, node))
        return true;
    return held != NULL && (held->cell.version.a != life.a || held->cell.version.b != life.b) &&
           rlx_gss_version_compare(held->cell.version, life) > 0;
}

static void take_beat(rlx_gss_replica_t *replica, const rlx_gss_head_t *in)
{
    rlx_gss_cell_t cell = {
        .key = {.a = in->f[RLX_GSS_F_SENDER], .kind = RLX_GSS_BEAT},
        .version = {in->f[RLX_GSS_F_INCARNATION], in->f[RLX_GSS_F_BOOT], in->f[RLX_GSS_F_COUNTER]},
        .body = in->load, .bytes = in->load_bytes,
    };

    /* Only of nodes that are registered: a beat alone makes no table grow. */
    if (rlx_gss_state_node(&replica->state, cell.key.a) != NULL)
        gss_join(replica, &cell, RLX_GSS_NONE);
    if (RLX_MUTANT(WALL_CLOCK)) {
        rlx_gss_pulse_t *pulse = rlx_gss_pulses_find(&replica->pulses, cell.key.a);
        if (pulse != NULL) /* as if both clocks had the same origin */
            pulse->heard_ms = gss_now(replica) - (replica->awake.last_ms - in->f[RLX_GSS_F_STAMP]);
    }
}

static bool is_plausible(const rlx_gss_replica_t *replica, const rlx_gss_head_t *in)
{
    uint64_t node = in->f[RLX_GSS_F_SENDER], known = rlx_gss_state_evicted(&replica->state, node);
    const rlx_gss_entry_t *held = rlx_gss_state_node(&replica->state, node);

    if (held != NULL && held->cell.version.a > known)
        known = held->cell.version.a;
    return node != 0 && in->f[RLX_GSS_F_INCARNATION] <= known + RLX_GSS_INCARNATION_JUMP &&
           (in->f[RLX_GSS_F_INCARNATION] == 0 || in->f[RLX_GSS_F_BOOT] != 0);
}

void gss_node_message(rlx_gss_replica_t *replica, uint32_t index)
{
    const rlx_gss_head_t *in = &replica->in.head;
    gss_link_t *link = &replica->links[index];
    rlx_gss_head_t out = rlx_gss_head(RLX_GSS_PART_REPLY);

    if (link->peer != RLX_GSS_NONE || !is_plausible(replica, in) || (link->node != 0 && link->node != in->f[RLX_GSS_F_SENDER])) {
        gss_refuse(replica, index);
        return;
    }
    link->node = in->f[RLX_GSS_F_SENDER];
    out.f[RLX_GSS_F_ECHO] = in->f[RLX_GSS_F_STAMP];
    if (in->protocol < RLX_GSS_PROTOCOL_MIN || in->protocol_min > RLX_GSS_PROTOCOL) {
        out.f[RLX_GSS_F_FLAGS] |= RLX_GSS_FLAG_INCOMPATIBLE;
        send(replica, index, &out, false);
        return;
    }
    if (!replica->ready || in->f[RLX_GSS_F_INCARNATION] == 0 || is_out(replica, in)) {
        head_held(replica, link->node, &out);
        send(replica, index, &out, false);
        return;
    }
    if (!take_record(replica, in, &out)) {
        gss_refuse(replica, index);
        return;
    }
    take_beat(replica, in);
    take_cursor(replica, link, in);
    head_held(replica, link->node, &out);
    send(replica, index, &out, true);
}

void gss_nodes_flush(rlx_gss_replica_t *replica)
{
    uint64_t target = gss_topology(replica);
    rlx_gss_head_t out = rlx_gss_head(RLX_GSS_PART_REPLY);

    if (!replica->ready || replica->pushed >= target || gss_now(replica) < replica->push_ms || RLX_MUTANT(NO_PUSH))
        return;
    for (; replica->push_next < replica->links_touched; replica->push_next++) {
        gss_link_t *link = &replica->links[replica->push_next];
        if (!link->up || link->node == 0 || link->peer != RLX_GSS_NONE || link->sent >= target || !is_level(replica, link) || link->sent == 0)
            continue;
        if (!rlx_gss_effects_room(replica->effects)) {
            replica->effects->more = true;
            return;
        }
        head_held(replica, link->node, &out);
        send(replica, replica->push_next, &out, true);
        out = rlx_gss_head(RLX_GSS_PART_REPLY);
    }
    replica->push_next = 0;
    replica->pushed = target;
    replica->push_ms = gss_now(replica) + replica->options.push_ms;
}
