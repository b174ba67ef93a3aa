/* Creation and the view from outside (actor.h). All memory is taken here; tables are zeroed pages that are touched when they are first
 * needed. */
#include "daemon/actor/actor.h"

#include <stdlib.h>

#include "base/assert.h"
#include "daemon/actor/queue.h"

static uint32_t buckets_for(uint32_t requests_max)
{
    uint32_t n = 16;

    while (n < requests_max && n < 1u << 30)
        n *= 2;
    return n;
}

static void init(rlx_actor_t *actor)
{
    uint32_t runs = actor->options.workers + actor->options.ahead;

    actor->requests_free = RLX_ACTOR_NONE;
    for (uint32_t i = 0; i < runs; i++)
        actor->runs[i].next = i + 1 < runs ? i + 1 : RLX_ACTOR_NONE;
    actor->runs_free = 0;
    actor->runs_head = actor->runs_tail = actor->ending = RLX_ACTOR_NONE;
    actor->armed_ns = RLX_ACTOR_NEVER;
}

rlx_actor_t *rlx_actor_create(const rlx_actor_options_t *options)
{
    uint32_t buckets = buckets_for(options->requests_max);

    RLX_ASSERT(options->requests_max >= 1);
    RLX_ASSERT(options->models_max >= 1);
    RLX_ASSERT(options->workers >= 1);
    RLX_ASSERT(options->workers <= RLX_ACTOR_WORKERS_MAX);
    RLX_ASSERT(options->ahead <= RLX_ACTOR_WORKERS_MAX);
    rlx_actor_t *actor = calloc(1, sizeof *actor);
    if (actor == NULL)
        return NULL;
    actor->options = *options;
    actor->buckets_mask = buckets - 1;
    actor->requests = calloc(options->requests_max, sizeof *actor->requests);
    actor->groups = calloc(options->requests_max, sizeof *actor->groups);
    actor->buckets = calloc(buckets, sizeof *actor->buckets);
    actor->models = calloc(options->models_max, sizeof *actor->models);
    actor->runs = calloc(options->workers + options->ahead, sizeof *actor->runs);
    bool whole = actor->requests != NULL && actor->groups != NULL && actor->buckets != NULL && actor->models != NULL && actor->runs != NULL;
    whole = actor_heap_init(&actor->deadlines, options->requests_max) && whole;
    whole = actor_heap_init(&actor->ripe, options->models_max) && whole;
    whole = actor_heap_init(&actor->unripe, options->models_max) && whole;
    if (!whole) {
        rlx_actor_destroy(actor);
        return NULL;
    }
    init(actor);
    return actor;
}

void rlx_actor_destroy(rlx_actor_t *actor)
{
    if (actor == NULL)
        return;
    actor_heap_fini(&actor->deadlines);
    actor_heap_fini(&actor->ripe);
    actor_heap_fini(&actor->unripe);
    free(actor->requests);
    free(actor->groups);
    free(actor->buckets);
    free(actor->models);
    free(actor->runs);
    free(actor);
}

void rlx_actor_look(const rlx_actor_t *actor, rlx_actor_view_t *out_view)
{
    *out_view = actor->view;
    out_view->in_state[RLX_REQUEST_FREE] = actor->options.requests_max - actor->open;
    out_view->runs = actor->n_running;
}

bool rlx_actor_request(const rlx_actor_t *actor, uint32_t request, rlx_request_view_t *out_view)
{
    if (request >= actor->requests_touched || actor->requests[request].state == RLX_REQUEST_FREE)
        return false;
    const actor_request_t *held = &actor->requests[request];
    *out_view = (rlx_request_view_t){.state = (rlx_request_state_t)held->state, .model = held->model, .run = held->run,
        .since_ns = held->since_ns, .deadline_ns = held->deadline_ns, .cost_ns = held->cost_ns, .submitted_ns = held->submitted_ns};
    return true;
}

uint32_t rlx_actor_waiting(const rlx_actor_t *actor, uint32_t model)
{
    return model < actor->options.models_max ? actor_queue_count(&actor->models[model]) : 0;
}

uint64_t rlx_actor_oldest_run_ns(const rlx_actor_t *actor)
{
    return actor->runs_head == RLX_ACTOR_NONE ? RLX_ACTOR_NEVER : actor->runs[actor->runs_head].start_ns;
}
