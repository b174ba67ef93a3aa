/* A cluster under virtual time: replicas of the state service and nodes, each with a clock of its own, joined by streams that stall, break and
 * are cut. The machines' code is gss/core, the same objects that the daemons link. Its faults are a list of actions drawn from the seed
 * (cluster_fault.c), so that a failing history can be made shorter; its rules are written from docs/STATE.md (cluster_check.c). */
#ifndef RLX_SIM_CLUSTER_H
#define RLX_SIM_CLUSTER_H

#include "gss/core/agent.h"
#include "gss/core/replica.h"
#include "sim/world.h"

#define SIM_SECOND (1000 * SIM_MS)
#define CLUSTER_REPLICAS_MAX 5
#define CLUSTER_NODES_MAX 256
#define CLUSTER_PROCS_MAX (CLUSTER_REPLICAS_MAX + CLUSTER_NODES_MAX + 2)
#define CLUSTER_ACTIONS_MAX 512
#define CLUSTER_OPS_MAX 256
#define CLUSTER_NONE UINT32_MAX
#define CLUSTER_MIDDLE_NS (9 * SIM_SECOND)
#define CLUSTER_SETTLE_NS (30 * SIM_SECOND) /* the last part of a play, without faults; then all must be the same */

/* CLUSTER_FAULT(id, name, what happens) */
#define CLUSTER_FAULT_LIST(X) \
    X(CUT, "cut", "two machines cannot reach each other, or one cannot reach the other") \
    X(ISLAND, "island", "a group of machines is cut off from the rest") \
    X(PAUSE, "pause", "a process stops for milliseconds to minutes, then goes on") \
    X(CRASH, "crash", "a process dies, or its machine; it starts again with its disk") \
    X(WIPE, "wipe", "a process dies and its disk is lost") \
    X(SLOW, "slow", "a process gets a turn only every now and then") \
    X(DISK, "disk", "a disk is full") \
    X(RESET, "reset", "all connections of a process break") \
    X(LOSS, "loss", "every stream loses segments, which delays it") \
    X(LEAVE, "leave", "a node leaves in order, for good or for a while") \
    X(TWIN, "twin", "a second machine starts with a node's name and a copy of its disk") \
    X(CLOCK, "clock", "clocks are years apart and drift") \
    X(MIX, "mix", "some processes are of a newer version") \
    X(OPERATE, "operate", "operators cordon, drain, label and take it back") \
    X(ROT, "rot", "a byte of a snapshot changes while its replica is down")
typedef enum cluster_fault {
#define X(id, name, text) CLUSTER_##id,
    CLUSTER_FAULT_LIST(X)
#undef X
    CLUSTER_FAULTS
} cluster_fault_t;

typedef struct cluster_config {
    uint32_t replicas, nodes, heartbeat_ms, minutes;
    uint32_t faults; /* bits of cluster_fault_t that may be drawn */
    bool all_faults; /* every seed has all of `faults`, not a part of them */
} cluster_config_t;
extern cluster_config_t cluster_config; /* main's to set before it plays */

typedef struct cluster_action {
    cluster_fault_t fault;
    uint64_t at_ns, for_ns;
    uint32_t who, other, way; /* processes; way: what the fault makes of it */
    uint64_t draw;            /* for what else is to be decided */
    bool dropped;             /* left out while a history is made shorter */
} cluster_action_t;

typedef struct cluster_disk {
    char *generations[2]; /* of a snapshot */
    size_t bytes[2];
    uint32_t next;
    bool full;
    uint64_t incarnation; /* a node's */
} cluster_disk_t;

typedef struct cluster_held { sim_event_t event; } cluster_held_t;

typedef struct cluster_proc {
    bool is_replica, up, newer, gone; /* gone: never to start again */
    uint32_t index;                   /* of the replica, or of the node */
    uint32_t life, pauses, slow;      /* starts so far; faults that hold it at the moment */
    uint64_t offset_ms, armed_ns, serial;
    int32_t drift_ppm;
    rlx_gss_replica_t *replica;
    rlx_gss_agent_t *agent;
    rlx_gss_effects_t effects;
    cluster_disk_t disk;
    cluster_held_t *held; /* what came while it did not run */
    uint32_t n_held, held_max;
    uint64_t paused_ns, resumed_ns;   /* the last pause */
    uint64_t node, boot, up_ns, joined_ns, joined_incarnation, stopped_boot, left_ns;
    char record[512];
    uint32_t record_bytes;
} cluster_proc_t;

/* One stream; side 0 dialled. */
typedef struct cluster_conn {
    bool used, open[2];     /* open: this side has it; it gives link[side] */
    uint32_t generation, procs[2], links[2], lives[2];
    uint64_t last_ns[2];    /* arrival of the last thing sent by this side */
    uint32_t stalled[2];    /* messages from this side that wait for a cut to heal: first of a list in msgs, + 1 */
    uint32_t stalled_last[2];
} cluster_conn_t;

typedef struct cluster_msg {
    char *data;
    size_t bytes;
    uint32_t conn, generation, side, next;
} cluster_msg_t;

/* An operator's request, and what must follow from it. */
typedef struct cluster_op {
    rlx_gss_intent_t intent;
    bool remove, answered, durable, on_disk; /* durable: on two; on_disk: on one at least */
    uint32_t replica, life;
    uint64_t at_ns;
    bool removes[CLUSTER_OPS_MAX]; /* the earlier ops whose intents were seen */
} cluster_op_t;

typedef struct cluster {
    sim_world_t *world;
    rlx_prng_t boots, net; /* beside the world's, so that an action less does not change every draw */
    rlx_gss_options_t options;
    uint32_t n_replicas, n_nodes, n_procs;
    cluster_proc_t procs[CLUSTER_PROCS_MAX];
    uint64_t ids[CLUSTER_REPLICAS_MAX];
    bool cut[CLUSTER_PROCS_MAX][CLUSTER_PROCS_MAX]; /* from, to */
    uint16_t cuts[CLUSTER_PROCS_MAX][CLUSTER_PROCS_MAX];
    uint32_t loss_per_mille, disks_lost; /* disks_lost: of replicas */
    cluster_conn_t *conns;
    cluster_msg_t *msgs;
    uint32_t n_conns, n_msgs, msgs_free, conns_free;
    cluster_action_t actions[CLUSTER_ACTIONS_MAX];
    uint32_t n_actions;
    cluster_op_t ops[CLUSTER_OPS_MAX];
    uint32_t n_ops;
    uint64_t end_ns, healed_ns;
    /* Books: for each replica and node since when the node cannot be heard by it (0: it can), and the last time that this was so. */
    uint64_t unheard_ns[CLUSTER_REPLICAS_MAX][CLUSTER_NODES_MAX], gap_begin_ns[CLUSTER_REPLICAS_MAX][CLUSTER_NODES_MAX],
        gap_end_ns[CLUSTER_REPLICAS_MAX][CLUSTER_NODES_MAX];
    bool unheard_net[CLUSTER_REPLICAS_MAX][CLUSTER_NODES_MAX], gap_net[CLUSTER_REPLICAS_MAX][CLUSTER_NODES_MAX]; /* it ran */
    uint64_t apart_ns[CLUSTER_REPLICAS_MAX][CLUSTER_REPLICAS_MAX]; /* the last time that two replicas could not exchange, or one was slow */
    uint64_t evictions_ns[64]; /* the last ones */
    uint32_t n_evictions;
    uint64_t bytes, messages; /* on all streams */
    void (*evicted)(struct cluster *cluster, uint32_t replica, uint32_t node, const rlx_gss_effect_t *effect);
    void (*stepped)(struct cluster *cluster, uint32_t proc); /* may be NULL */
    void (*handle)(struct cluster *cluster, const sim_event_t *event); /* events of kinds from CLUSTER_EV_USER on */
    void *context;
} cluster_t;

/* CLUSTER_COUNTER(id, text): what a play counts. */
#define CLUSTER_COUNTER_LIST(X) \
    X(JOINED, "registrations") X(REJOINED, "registrations after an eviction") X(EVICTED, "evictions") X(SUSPECT, "suspicions") \
    X(FALSE_SUSPECT, "suspicions of nodes that can be heard") \
    X(TWINS, "twins that stopped") X(LEFT, "nodes that left") X(DISCARDS, "states discarded") X(DURABLE, "intents durable on two") \
    X(SHORT, "intents answered with fewer") X(REFUSED, "operators refused") X(RESENT, "deltas sent again") X(FAILOVERS, "failovers of nodes") \
    X(HELD, "evictions held back") X(RESYNCS, "views fetched anew") X(CLASHES, "clashes of identity") X(BAD_SNAPSHOT, "snapshots found damaged") \
    X(PERSIST_FAILED, "snapshots that failed")
enum {
#define X(id, text) CLUSTER_N_##id,
    CLUSTER_COUNTER_LIST(X)
#undef X
    CLUSTER_COUNTERS
};
extern const char *const cluster_counters[CLUSTER_COUNTERS];

enum { CLUSTER_EV_TIMER, CLUSTER_EV_DELIVER, CLUSTER_EV_UP, CLUSTER_EV_DOWN, CLUSTER_EV_DISK, CLUSTER_EV_TURN, CLUSTER_EV_USER };

/* cluster.c */
bool cluster_init(cluster_t *cluster, sim_world_t *world, const cluster_config_t *config, const rlx_gss_options_t *options);
void cluster_fini(cluster_t *cluster);
void cluster_start(cluster_t *cluster, uint32_t proc);
/* `power`: the machine goes, so that no connection is told. */
void cluster_stop(cluster_t *cluster, uint32_t proc, bool power);
void cluster_event(cluster_t *cluster, uint32_t proc, const rlx_gss_event_t *event);
/* Plays until `until_ns`; false when a rule was broken. */
bool cluster_run(cluster_t *cluster, uint64_t until_ns);
uint64_t cluster_local_ms(const cluster_t *cluster, const cluster_proc_t *proc);
void cluster_resume(cluster_t *cluster, uint32_t proc);
static inline bool cluster_runs(const cluster_proc_t *proc) { return proc->up && proc->pauses == 0 && proc->slow == 0; }
static inline cluster_proc_t *cluster_node(cluster_t *cluster, uint32_t node) { return &cluster->procs[cluster->n_replicas + node]; }
const rlx_gss_state_t *cluster_state(const cluster_proc_t *proc);

/* cluster_net.c */
void cluster_dial(cluster_t *cluster, uint32_t from, uint32_t to, uint32_t link);
void cluster_send(cluster_t *cluster, uint32_t proc, uint32_t link, const char *data, size_t bytes);
/* This side closes; the other one is told by the stream. */
void cluster_close(cluster_t *cluster, uint32_t proc, uint32_t link);
void cluster_break_all(cluster_t *cluster, uint32_t proc, bool tell_self, bool tell_others);
void cluster_healed(cluster_t *cluster, uint32_t from, uint32_t to);
/* An event of a stream that has arrived at `proc` and may be handled now. */
void cluster_arrived(cluster_t *cluster, const sim_event_t *event);
uint32_t cluster_receiver(const cluster_t *cluster, const sim_event_t *event); /* NONE: nobody any more */
void cluster_net_fini(cluster_t *cluster);

/* cluster_disk.c */
void cluster_persist(cluster_t *cluster, uint32_t proc, const rlx_gss_effect_t *effect);
void cluster_disk_done(cluster_t *cluster, const sim_event_t *event);
void cluster_disk_lose(cluster_disk_t *disk);
bool cluster_disk_has(const cluster_disk_t *disk, const char *bytes, size_t n); /* in the last snapshot that is whole */
/* The snapshot to start from, or none; counts damaged ones. */
const char *cluster_disk_read(cluster_t *cluster, cluster_disk_t *disk, size_t *out_bytes);

/* cluster_fault.c */
void cluster_draw(cluster_t *cluster);
void cluster_begin(cluster_t *cluster, const cluster_action_t *action);
void cluster_middle(cluster_t *cluster, const cluster_action_t *action); /* CLUSTER_MIDDLE_NS after its begin */
void cluster_end(cluster_t *cluster, const cluster_action_t *action);
void cluster_action_print(const cluster_t *cluster, const cluster_action_t *action);

/* cluster_ops.c */
void cluster_operate(cluster_t *cluster, const cluster_action_t *action);
void cluster_answered(cluster_t *cluster, uint32_t proc, const rlx_gss_effect_t *effect);
void cluster_ops_check(cluster_t *cluster);

/* cluster_check.c */
void cluster_reach_update(cluster_t *cluster); /* after anything that changes who can hear whom */
void cluster_check_eviction(cluster_t *cluster, uint32_t replica, uint32_t node, const rlx_gss_effect_t *effect);
void cluster_check_twin(cluster_t *cluster, const cluster_action_t *action);
void cluster_check_suspicion(cluster_t *cluster, uint32_t replica, uint32_t node);
void cluster_check_end(cluster_t *cluster);
void cluster_collect(cluster_t *cluster, uint32_t proc); /* counters of a life that ends */

#endif
