/* The node's life: what it is made of, readiness, drain, and the way back. The way of a request is infer.c and effects.c. */
#include "daemon/node/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "daemon/node/state.h"

#define PROGRESS_NS (UINT64_C(60) * 1000000000)
#define SPIN_BEFORE_NS 40000 /* the expected end of a run that is alone: about what waking the loop takes */

/* A model version is about to serve: it gets the lowest free number. */
static rlx_status_t served_add(void *context, rlx_served_t *served, rlx_diag_t *diag)
{
    rlx_node_t *node = context;
    rlx_actor_event_t event = {.kind = RLX_EVENT_MODEL_ADD, .settings.queue_max = node->options.queue_max,
                               .settings.batch_delay_ns = node->options.batch_delay_us * 1000};

    for (event.model = 0; event.model < RLX_MODELS_SERVED_MAX && node->served[event.model] != NULL; event.model++)
        ;
    if (event.model == RLX_MODELS_SERVED_MAX)
        return rlx_fail(diag, RLX_E_MODEL_LIMIT, "all %d places for model versions are taken", RLX_MODELS_SERVED_MAX);
    node->slots[event.model] = rlx_slots_create(served->n_inputs, served->n_outputs);
    if (node->slots[event.model] == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for model '%s'", served->name);
    event.settings.rows_max = served->batch_max > 1 ? (uint32_t)served->batch_max : 1;
    node->served[event.model] = served;
    served->number = event.model;
    if (node->options.tracing != NULL)
        rlx_tracing_served(node->options.tracing, served);
    rlx_node_event(node, &event);
    return RLX_OK;
}

static void served_remove(void *context, rlx_served_t *served)
{
    rlx_actor_event_t event = {.kind = RLX_EVENT_MODEL_REMOVE, .model = served->number};

    rlx_node_event(context, &event);
}

static void timer_ring(uv_poll_t *handle, int status, int events)
{
    rlx_node_t *node = handle->data;
    rlx_actor_event_t event = {.kind = RLX_EVENT_TIMER};
    uint64_t times;

    (void)events;
    if (status != 0 || read(node->timer_fd, &times, sizeof times) != (ssize_t)sizeof times)
        return;
    node->armed_ns = RLX_ACTOR_NEVER;
    rlx_node_event(node, &event);
}

static rlx_status_t timer_open(rlx_node_t *node, rlx_diag_t *diag)
{
    node->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (node->timer_fd < 0 || uv_poll_init(node->loop, &node->timer, node->timer_fd) != 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "cannot make a timer");
    node->timer.data = node;
    uv_poll_start(&node->timer, UV_READABLE, timer_ring);
    uv_unref((uv_handle_t *)&node->timer);
    return RLX_OK;
}

static void node_free(rlx_node_t *node)
{
    rlx_actor_destroy(node->actor);
    free(node->requests);
    free(node->runs);
    free(node->served);
    free(node->bindings);
    free(node->slots);
    free(node->waiting.events);
    free(node);
}

static rlx_status_t tables_make(rlx_node_t *node, rlx_diag_t *diag)
{
    int workers = rlx_pool_workers(node->pool);
    rlx_actor_options_t options = {.requests_max = node->options.requests_max,
                                   .models_max = RLX_MODELS_SERVED_MAX,
                                   .workers = (uint32_t)workers,
                                   .ahead = RLX_NODE_AHEAD};

    node->waiting.capacity = 3 * node->options.requests_max + (uint32_t)workers + RLX_NODE_AHEAD + RLX_MODELS_SERVED_MAX + 2;
    node->waiting.events = malloc(node->waiting.capacity * sizeof *node->waiting.events);
    node->requests = calloc(node->options.requests_max, sizeof *node->requests);
    node->runs = calloc((size_t)workers + RLX_NODE_AHEAD, sizeof *node->runs);
    node->served = calloc(RLX_MODELS_SERVED_MAX, sizeof *node->served);
    node->bindings = calloc(RLX_MODELS_SERVED_MAX, sizeof *node->bindings);
    node->slots = calloc(RLX_MODELS_SERVED_MAX, sizeof *node->slots);
    node->regions = rlx_regions_create();
    node->actor = rlx_actor_create(&options);
    if (node->waiting.events == NULL || node->requests == NULL || node->runs == NULL || node->served == NULL || node->bindings == NULL ||
        node->slots == NULL || node->regions == NULL || node->actor == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for %u requests", node->options.requests_max);
    return RLX_OK;
}

rlx_status_t rlx_node_create(const rlx_node_options_t *options, rlx_node_t **out_node, rlx_diag_t *diag)
{
    rlx_node_t *node = calloc(1, sizeof *node);
    rlx_pool_options_t pool = {.loop = options->loop,
                               .workers = options->workers,
                               .ahead = RLX_NODE_AHEAD,
                               .completed = rlx_node_completed,
                               .context = node,
                               .tracing = options->tracing};
    rlx_models_options_t models = options->models;

    if (node == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the node");
    node->options = *options;
    if (node->options.progress_ns == 0)
        node->options.progress_ns = PROGRESS_NS;
    node->loop = options->loop;
    node->armed_ns = RLX_ACTOR_NEVER;
    snprintf(node->id, sizeof node->id, "%s", options->id);
    models.loop = options->loop;
    models.hooks = (rlx_models_hooks_t){.add = served_add, .remove = served_remove, .context = node};
    /* A failure here ends the process: what was made before it is not taken apart. */
    RLX_TRY(rlx_pool_create(&pool, &node->pool, diag));
    RLX_TRY(tables_make(node, diag));
    RLX_TRY(timer_open(node, diag));
    RLX_TRY(rlx_models_create(&models, &node->models, diag));
    *out_node = node;
    return RLX_OK;
}

rlx_models_t *rlx_node_models(rlx_node_t *node) { return node->models; }
rlx_regions_t *rlx_node_regions(rlx_node_t *node) { return node->regions; }
rlx_pool_t *rlx_node_pool(rlx_node_t *node) { return node->pool; }
const rlx_actor_t *rlx_node_actor(const rlx_node_t *node) { return node->actor; }
const char *rlx_node_id(const rlx_node_t *node) { return node->id; }
uv_loop_t *rlx_node_loop(rlx_node_t *node) { return node->loop; }
rlx_node_copies_t *rlx_node_copies(rlx_node_t *node) { return &node->copies; }
bool rlx_node_draining(const rlx_node_t *node) { return node->draining; }
const char *rlx_node_request_id(const rlx_node_t *node, uint32_t request) { return node->requests[request].id; }

const rlx_served_t *rlx_node_served(const rlx_node_t *node, uint32_t model)
{
    return model < RLX_MODELS_SERVED_MAX ? node->served[model] : NULL;
}

void rlx_node_look(const rlx_node_t *node, rlx_node_view_t *out_view)
{
    *out_view = (rlx_node_view_t){.requests_max = node->options.requests_max, .malformed = node->malformed, .held_bytes = node->held_bytes,
                                  .held_bytes_max = node->options.receive_bytes_max};
}

/* A configured model that did not load and was not unloaded since. */
static bool model_missing(const rlx_node_t *node)
{
    rlx_model_entry_t entry;
    int cursor = 0;

    while (rlx_models_next(node->models, &cursor, &entry))
        if (entry.state == RLX_MODEL_UNAVAILABLE && strcmp(entry.reason, RLX_REASON_UNLOADED) != 0)
            return true;
    return false;
}

void rlx_node_started(rlx_node_t *node, bool all_loaded)
{
    node->started = true;
    node->start_failed = !all_loaded;
}

bool rlx_node_progresses(const rlx_node_t *node)
{
    uint64_t oldest = rlx_actor_oldest_run_ns(node->actor);

    return oldest == RLX_ACTOR_NEVER || rlx_clock_ns() <= oldest + node->options.progress_ns;
}

bool rlx_node_ready(const rlx_node_t *node, const char **out_reason)
{
    *out_reason = "";
    if (node->draining)
        *out_reason = "draining";
    else if (!node->started)
        *out_reason = "the configured models are loading";
    else if (!rlx_node_progresses(node))
        *out_reason = "a run makes no progress";
    else if (node->start_failed && model_missing(node))
        *out_reason = "a configured model could not be loaded: see the repository index";
    return (*out_reason)[0] == '\0';
}

void rlx_node_drain(rlx_node_t *node, void (*done)(void *context), void *context)
{
    rlx_actor_event_t event = {.kind = RLX_EVENT_DRAIN};

    RLX_ASSERT(!node->draining);
    node->draining = true;
    node->drain_done = done;
    node->drain_context = context;
    rlx_node_event(node, &event);
}

/* A run that is alone is waited for by spinning, but only towards its expected end: the timer wakes the loop shortly before. */
void rlx_node_spin(rlx_node_t *node, bool (*poll)(void *context), void *context)
{
    rlx_actor_view_t view;

    rlx_actor_look(node->actor, &view);
    if (view.runs != 1 || view.in_state[RLX_REQUEST_RUNNING] != 1 || view.in_state[RLX_REQUEST_RECEIVING] != 0)
        return;
    if (rlx_clock_ns() + SPIN_BEFORE_NS < node->run_end_ns)
        rlx_node_timer_arm(node, node->run_end_ns - SPIN_BEFORE_NS);
    else
        rlx_pool_spin(node->pool, poll, context);
}

void rlx_node_linger(rlx_node_t *node, bool (*poll)(void *context), void *context) { rlx_pool_linger(node->pool, poll, context); }

static void timer_closed(uv_handle_t *handle)
{
    rlx_node_t *node = handle->data;
    void (*done)(void *context) = node->close_done;
    void *context = node->close_context;

    close(node->timer_fd);
    for (uint32_t i = 0; i < RLX_MODELS_SERVED_MAX; i++)
        if (node->served[i] != NULL) {
            rlx_binding_forget(node, node->served[i]);
            rlx_slots_destroy(node->slots[i]);
        }
    rlx_models_destroy(node->models);
    rlx_regions_destroy(node->regions);
    node_free(node);
    done(context);
}

static void pool_closed(void *context)
{
    rlx_node_t *node = context;

    uv_close((uv_handle_t *)&node->timer, timer_closed);
}

void rlx_node_close(rlx_node_t *node, void (*done)(void *context), void *context)
{
    RLX_ASSERT(node->drained);
    node->close_done = done;
    node->close_context = context;
    rlx_pool_close(node->pool, pool_closed, node);
}
