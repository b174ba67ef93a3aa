/* The node: one process's loop-side state, and the glue between front ends, actor, models and workers. It applies the actor's effects;
 * nothing else changes a request. Everything here is loop thread only. */
#ifndef RLX_DAEMON_NODE_NODE_H
#define RLX_DAEMON_NODE_NODE_H

#include <uv.h>

#include "base/diag.h"
#include "daemon/actor/actor.h"
#include "daemon/memory/regions.h"
#include "daemon/models/models.h"
#include "daemon/node/infer.h"
#include "daemon/pool/pool.h"
#include "daemon/pool/tracing.h"
#include "rpc/http/http.h"
#include "rpc/server/server.h"

typedef struct rlx_node_options {
    uv_loop_t *loop;
    const char *id;            /* "node-0" */
    int workers;               /* 0: one per CPU */
    uint32_t requests_max;     /* in all states together */
    uint32_t queue_max;        /* waiting, per model */
    uint64_t batch_delay_us;
    uint64_t progress_ns;      /* a run older than this makes the node not ready: its worker may hang; 0: PROGRESS_NS */
    uint64_t receive_bytes_max; /* memory of requests that are arriving or waiting, all together; above: RESOURCE_EXHAUSTED */
    rlx_tracing_t *tracing;    /* NULL: off */
    rlx_models_options_t models; /* loop and hooks are filled in */
} rlx_node_options_t;

rlx_status_t rlx_node_create(const rlx_node_options_t *options, rlx_node_t **out_node, rlx_diag_t *diag);
rlx_models_t *rlx_node_models(rlx_node_t *node);
rlx_regions_t *rlx_node_regions(rlx_node_t *node);
rlx_pool_t *rlx_node_pool(rlx_node_t *node);
const rlx_actor_t *rlx_node_actor(const rlx_node_t *node);
const char *rlx_node_id(const rlx_node_t *node);
uv_loop_t *rlx_node_loop(rlx_node_t *node);

/* For people who watch: bounds, and what counts against them now. */
typedef struct rlx_node_view {
    uint32_t requests_max;
    uint64_t malformed;                  /* requests that named no model that is served, or could not be read that far */
    uint64_t held_bytes, held_bytes_max; /* memory of requests that arrive or wait */
} rlx_node_view_t;
void rlx_node_look(const rlx_node_t *node, rlx_node_view_t *out_view);
/* What its client calls the request of this number; "" without. */
const char *rlx_node_request_id(const rlx_node_t *node, uint32_t request);
/* The version of this number in the actor's table of models; NULL when there is none. */
const rlx_served_t *rlx_node_served(const rlx_node_t *node, uint32_t model);

/* The first load of the configured models has ended. */
void rlx_node_started(rlx_node_t *node, bool all_loaded);
/* Live: the loop turns. Ready: the configured models were loaded (one that failed makes the node not ready until it is loaded or unloaded;
 * later loads of other models never change readiness), nothing drains, and no run is older than the progress bound. The reason is for
 * people. */
bool rlx_node_ready(const rlx_node_t *node, const char **out_reason);
/* No run is older than the progress bound: what feeds the watchdog. */
bool rlx_node_progresses(const rlx_node_t *node);
/* From now on ready is false and new requests are refused as UNAVAILABLE; `done` runs when the last one is answered. */
void rlx_node_drain(rlx_node_t *node, void (*done)(void *context), void *context);
bool rlx_node_draining(const rlx_node_t *node);
/* For the loop's idle hook: spins while exactly one request is in flight (daemon/pool/pool.h). */
void rlx_node_spin(rlx_node_t *node, bool (*poll)(void *context), void *context);
/* For the loop before it sleeps, when all answers have left: looks for the next request for a bounded time where it is worth it (the same). */
void rlx_node_linger(rlx_node_t *node, bool (*poll)(void *context), void *context);
/* After the drain: joins workers, unloads models, then `done`; the node is freed. */
void rlx_node_close(rlx_node_t *node, void (*done)(void *context), void *context);

/* Counters of copies on the data path, in bytes. RLX_COPY(id, help) */
#define RLX_COPIES(X) \
    X(socket_to_slot, "request bytes copied from the socket's buffer to their slot") X(staged, "inputs and outputs copied for a kernel") \
    X(region_read, "bytes read from system shared memory") X(region_write, "bytes written to system shared memory") \
    X(region_guarded, "bytes of integer inputs copied out of client memory before they are checked") \
    X(typed, "bytes converted from typed or JSON contents") X(slot_growths, "times that a slot's memory grew")
typedef struct rlx_node_copies {
#define RLX_COPY(id, help) uint64_t id;
    RLX_COPIES(RLX_COPY)
#undef RLX_COPY
} rlx_node_copies_t;
rlx_node_copies_t *rlx_node_copies(rlx_node_t *node);

#endif
