/* Streams. Order holds within one, not between two. A lost segment delays what follows (times of TCP's retransmission); a cut stalls, and
 * what is stalled arrives after the cut heals if the stream is still there. Who closes, or breaks, forgets the stream at once; what he sent
 * may still arrive, and what was sent to him is gone: so the same news may come twice, or late, over another stream. */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "sim/cluster.h"

#define RTO_NS (200 * SIM_MS)
#define RTO_DOUBLINGS 5
#define CONNS_MAX 100000

void cluster_net_fini(cluster_t *cluster)
{
    for (uint32_t i = 0; i < cluster->n_msgs; i++)
        free(cluster->msgs[i].data);
    free(cluster->msgs);
    free(cluster->conns);
    cluster->msgs = NULL;
    cluster->conns = NULL;
}

/* Zones are 1 to 12 ms apart, machines of one 50 to 300 us. */
static uint64_t way_ns(cluster_t *cluster, uint32_t from, uint32_t to)
{
    uint32_t zones = from % 3 + 3 * (to % 3);
    uint64_t base_ns = from % 3 == to % 3 ? 50 * SIM_US : (1 + zones % 5 * 2) * SIM_MS;
    uint64_t delay_ns = base_ns + rlx_prng_below(&cluster->net, base_ns / 2 + 200 * SIM_US), rto_ns = RTO_NS;

    for (int i = 0; i < RTO_DOUBLINGS && cluster->loss_per_mille > 0 && rlx_prng_chance(&cluster->net, cluster->loss_per_mille); i++) {
        delay_ns += rto_ns;
        rto_ns *= 2;
    }
    return delay_ns;
}

static uint32_t conn_take(cluster_t *cluster)
{
    uint32_t index = cluster->conns_free;

    if (index != 0) {
        cluster->conns_free = cluster->conns[index - 1].links[0];
        return index - 1;
    }
    if ((cluster->n_conns & (cluster->n_conns - 1)) == 0)
        cluster->conns = realloc(cluster->conns, (cluster->n_conns == 0 ? 1 : 2 * cluster->n_conns) * sizeof *cluster->conns);
    sim_check(cluster->world, cluster->n_conns < CONNS_MAX, "streams are bounded", cluster->n_conns, 0);
    memset(&cluster->conns[cluster->n_conns], 0, sizeof *cluster->conns);
    return cluster->n_conns++;
}

static void conn_release(cluster_t *cluster, uint32_t index)
{
    cluster_conn_t *conn = &cluster->conns[index];

    if (conn->open[0] || conn->open[1])
        return;
    for (int side = 0; side < 2; side++)
        for (uint32_t at = conn->stalled[side]; at != 0;) {
            cluster_msg_t *msg = &cluster->msgs[at - 1];
            uint32_t next = msg->next;
            free(msg->data);
            *msg = (cluster_msg_t){.next = cluster->msgs_free};
            cluster->msgs_free = at;
            at = next;
        }
    uint32_t generation = conn->generation;
    memset(conn, 0, sizeof *conn);
    conn->generation = generation + 1;
    conn->links[0] = cluster->conns_free;
    cluster->conns_free = index + 1;
}

static uint32_t find(const cluster_t *cluster, uint32_t proc, uint32_t link, int *out_side)
{
    for (uint32_t i = 0; i < cluster->n_conns; i++)
        for (int side = 0; side < 2; side++)
            if (cluster->conns[i].used && cluster->conns[i].open[side] && cluster->conns[i].procs[side] == proc &&
                cluster->conns[i].links[side] == link) {
                *out_side = side;
                return i;
            }
    return CLUSTER_NONE;
}

static uint32_t free_link(const cluster_t *cluster, uint32_t proc)
{
    int side;
    uint32_t link = 0;

    while (find(cluster, proc, link, &side) != CLUSTER_NONE)
        link++;
    return link;
}

static sim_event_t conn_event(const cluster_t *cluster, uint32_t kind, uint32_t index, int side, uint64_t arg)
{
    return (sim_event_t){kind, index | (uint64_t)cluster->conns[index].generation << 32, (uint64_t)side, arg};
}

static void schedule(cluster_t *cluster, uint32_t index, int from_side, sim_event_t event)
{
    cluster_conn_t *conn = &cluster->conns[index];
    uint64_t at_ns = cluster->world->now_ns + way_ns(cluster, conn->procs[from_side], conn->procs[1 - from_side]);

    if (at_ns < conn->last_ns[from_side])
        at_ns = conn->last_ns[from_side];
    conn->last_ns[from_side] = at_ns;
    sim_schedule(cluster->world, at_ns - cluster->world->now_ns, event);
}

void cluster_dial(cluster_t *cluster, uint32_t from, uint32_t to, uint32_t link)
{
    bool cut = cluster->cut[from][to] || cluster->cut[to][from];
    uint32_t index;
    cluster_conn_t *conn;

    if (cut)
        return; /* the dialler gives up by itself */
    index = conn_take(cluster);
    conn = &cluster->conns[index];
    conn->used = true;
    conn->procs[0] = from;
    conn->procs[1] = to;
    conn->links[0] = cluster->procs[from].is_replica ? CLUSTER_NONE : link; /* a replica numbers its links when they are up */
    conn->lives[0] = cluster->procs[from].life;
    conn->lives[1] = cluster->procs[to].life;
    conn->open[0] = true;
    if (!cluster->procs[to].up) { /* refused */
        schedule(cluster, index, 1, conn_event(cluster, CLUSTER_EV_DOWN, index, 0, 0));
        return;
    }
    conn->open[1] = true;
    conn->links[1] = CLUSTER_NONE;
    schedule(cluster, index, 0, conn_event(cluster, CLUSTER_EV_UP, index, 1, 0));
    conn->last_ns[1] = conn->last_ns[0];
    schedule(cluster, index, 1, conn_event(cluster, CLUSTER_EV_UP, index, 0, 0));
}

uint32_t cluster_receiver(const cluster_t *cluster, const sim_event_t *event)
{
    uint32_t index = (uint32_t)event->a;
    const cluster_conn_t *conn = &cluster->conns[index];
    int side = (int)event->b;

    if (!conn->used || conn->generation != event->a >> 32 || !conn->open[side] || conn->lives[side] != cluster->procs[conn->procs[side]].life)
        return CLUSTER_NONE;
    return conn->procs[side];
}

static void msg_release(cluster_t *cluster, uint32_t index)
{
    free(cluster->msgs[index].data);
    cluster->msgs[index] = (cluster_msg_t){.next = cluster->msgs_free};
    cluster->msgs_free = index + 1;
}

void cluster_arrived(cluster_t *cluster, const sim_event_t *event)
{
    uint32_t index = (uint32_t)event->a, to = cluster_receiver(cluster, event), msg = (uint32_t)event->c;
    int side = (int)event->b;
    rlx_gss_event_t out = {.peer = RLX_GSS_NONE};

    if (to == CLUSTER_NONE) {
        if (event->kind == CLUSTER_EV_DELIVER)
            msg_release(cluster, msg);
        return;
    }
    cluster_conn_t *conn = &cluster->conns[index];
    if (event->kind == CLUSTER_EV_UP && conn->links[side] == CLUSTER_NONE)
        conn->links[side] = free_link(cluster, to);
    out.link = conn->links[side];
    if (event->kind == CLUSTER_EV_DELIVER) {
        char *data = cluster->msgs[msg].data;
        out.kind = RLX_GSS_EVENT_MESSAGE;
        out.data = data;
        out.bytes = cluster->msgs[msg].bytes;
        cluster->msgs[msg].data = NULL;
        msg_release(cluster, msg);
        cluster_event(cluster, to, &out);
        free(data);
        return;
    }
    out.kind = event->kind == CLUSTER_EV_UP ? RLX_GSS_EVENT_LINK_UP : RLX_GSS_EVENT_LINK_DOWN;
    if (event->kind == CLUSTER_EV_UP && side == 0 && cluster->procs[to].is_replica)
        out.peer = conn->procs[1];
    if (event->kind == CLUSTER_EV_DOWN) {
        conn->open[side] = false;
        bool told = conn->links[side] != CLUSTER_NONE;
        conn_release(cluster, index);
        if (!told)
            return;
    }
    cluster_event(cluster, to, &out);
}

void cluster_send(cluster_t *cluster, uint32_t proc, uint32_t link, const char *data, size_t bytes)
{
    int side = 0;
    uint32_t index = find(cluster, proc, link, &side), at = cluster->msgs_free;
    static const char newer[] = {0x78, 0x01}; /* a field that this version does not know */
    size_t extra = cluster->procs[proc].newer ? sizeof newer : 0;

    uint64_t digest[2];

    rlx_digest_xxh3(data, bytes, digest);
    sim_fold(cluster->world, digest[0] ^ cluster->world->now_ns);
    cluster->bytes += bytes + extra;
    cluster->messages++;
    if (index == CLUSTER_NONE)
        return;
    cluster_conn_t *conn = &cluster->conns[index];
    if (at != 0) {
        cluster->msgs_free = cluster->msgs[at - 1].next;
        at--;
    } else {
        if ((cluster->n_msgs & (cluster->n_msgs - 1)) == 0)
            cluster->msgs = realloc(cluster->msgs, (cluster->n_msgs == 0 ? 1 : 2 * cluster->n_msgs) * sizeof *cluster->msgs);
        at = cluster->n_msgs++;
    }
    cluster->msgs[at] = (cluster_msg_t){.data = malloc(bytes + extra), .bytes = bytes + extra, .conn = index, .side = (uint32_t)side};
    memcpy(cluster->msgs[at].data, data, bytes);
    memcpy(cluster->msgs[at].data + bytes, newer, extra);
    if (cluster->cut[proc][conn->procs[1 - side]] || conn->stalled[side] != 0) {
        *(conn->stalled[side] == 0 ? &conn->stalled[side] : &cluster->msgs[conn->stalled_last[side] - 1].next) = at + 1;
        conn->stalled_last[side] = at + 1;
        return;
    }
    schedule(cluster, index, side, conn_event(cluster, CLUSTER_EV_DELIVER, index, 1 - side, at));
}

void cluster_healed(cluster_t *cluster, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < cluster->n_conns; i++)
        for (int side = 0; side < 2; side++) {
            cluster_conn_t *conn = &cluster->conns[i];
            if (!conn->used || conn->procs[side] != from || conn->procs[1 - side] != to || conn->stalled[side] == 0)
                continue;
            uint64_t at_ns = cluster->world->now_ns + rlx_prng_between(&cluster->net, 1, 2000) * SIM_MS; /* the sender tries again by then */
            conn->last_ns[side] = conn->last_ns[side] > at_ns ? conn->last_ns[side] : at_ns;
            for (uint32_t at = conn->stalled[side]; at != 0;) {
                uint32_t next = cluster->msgs[at - 1].next;
                cluster->msgs[at - 1].next = 0;
                schedule(cluster, i, side, conn_event(cluster, CLUSTER_EV_DELIVER, i, 1 - side, at - 1));
                at = next;
            }
            conn->stalled[side] = conn->stalled_last[side] = 0;
        }
}

static void close_side(cluster_t *cluster, uint32_t index, int side, bool tell)
{
    cluster_conn_t *conn = &cluster->conns[index];
    uint32_t self = conn->procs[side], other = conn->procs[1 - side];

    conn->open[side] = false;
    if (tell && conn->open[1 - side] && !cluster->cut[self][other])
        schedule(cluster, index, side, conn_event(cluster, CLUSTER_EV_DOWN, index, 1 - side, 0));
    conn_release(cluster, index);
}

void cluster_close(cluster_t *cluster, uint32_t proc, uint32_t link)
{
    int side = 0;
    uint32_t index = find(cluster, proc, link, &side);

    if (index != CLUSTER_NONE)
        close_side(cluster, index, side, true);
}

void cluster_break_all(cluster_t *cluster, uint32_t proc, bool tell_self, bool tell_others)
{
    for (uint32_t i = 0; i < cluster->n_conns; i++)
        for (int side = 0; side < 2; side++) {
            cluster_conn_t *conn = &cluster->conns[i];
            if (!conn->used || !conn->open[side] || conn->procs[side] != proc)
                continue;
            if (tell_self) {
                schedule(cluster, i, 1 - side, conn_event(cluster, CLUSTER_EV_DOWN, i, side, 0));
                if (conn->open[1 - side])
                    schedule(cluster, i, side, conn_event(cluster, CLUSTER_EV_DOWN, i, 1 - side, 0));
            } else {
                close_side(cluster, i, side, tell_others);
            }
        }
}
