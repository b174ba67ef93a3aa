/* See request.h. Freed ids are used again last in, first out: a lightly loaded daemon touches few of the table's pages. */
#include "daemon/actor/request.h"

#include "base/assert.h"
#include "daemon/actor/model.h"

const char *rlx_request_state_name(rlx_request_state_t state)
{
    static const char *const names[] = {
#define X(id, text) text,
        RLX_REQUEST_STATES(X)
#undef X
    };
    return (unsigned)state < RLX_REQUEST_STATE_COUNT ? names[state] : "unknown";
}

const char *rlx_refusal_name(rlx_refusal_t refusal)
{
    static const char *const names[] = {
#define X(id, text) text,
        RLX_REFUSALS(X)
#undef X
    };
    return (unsigned)refusal < RLX_REFUSAL_COUNT ? names[refusal] : "unknown";
}

#define TO(id) (1u << RLX_REQUEST_##id)
static const uint8_t legal[RLX_REQUEST_STATE_COUNT] = {
    [RLX_REQUEST_FREE] = TO(RECEIVING),
    [RLX_REQUEST_RECEIVING] = TO(FREE) | TO(QUEUED) | TO(BATCHING) | TO(REPLYING),
    [RLX_REQUEST_QUEUED] = TO(FREE) | TO(RUNNING) | TO(REPLYING),
    [RLX_REQUEST_BATCHING] = TO(FREE) | TO(QUEUED) | TO(RUNNING) | TO(REPLYING),
    [RLX_REQUEST_RUNNING] = TO(CANCELLING) | TO(REPLYING),
    [RLX_REQUEST_CANCELLING] = TO(FREE),
    [RLX_REQUEST_REPLYING] = TO(FREE),
};
#undef TO

void actor_request_move(rlx_actor_t *actor, uint32_t request, rlx_request_state_t to)
{
    actor_request_t *held = actor_request_at(actor, request);

    RLX_ASSERT(legal[held->state] & (1u << to));
    if (held->state != RLX_REQUEST_FREE)
        actor->view.in_state[held->state]--;
    if (to != RLX_REQUEST_FREE)
        actor->view.in_state[to]++;
    held->state = (uint8_t)to;
    held->since_ns = actor->now_ns;
}

uint32_t actor_request_open(rlx_actor_t *actor, uint32_t model)
{
    uint32_t request = actor->requests_free;

    if (request != RLX_ACTOR_NONE)
        actor->requests_free = actor->requests[request].next;
    else if (actor->requests_touched < actor->options.requests_max)
        request = actor->requests_touched++;
    else
        return RLX_ACTOR_NONE;
    actor->requests[request] = (actor_request_t){
        .model = model, .run = RLX_ACTOR_NONE, .group = RLX_ACTOR_NONE, .deadline_ns = RLX_ACTOR_NEVER, .state = RLX_REQUEST_FREE};
    actor_request_move(actor, request, RLX_REQUEST_RECEIVING);
    actor->open++;
    actor->models[model].requests++;
    actor->view.opened++;
    return request;
}

void actor_request_free(rlx_actor_t *actor, uint32_t request)
{
    actor_request_t *held = actor_request_at(actor, request);

    actor_request_move(actor, request, RLX_REQUEST_FREE);
    held->next = actor->requests_free;
    actor->requests_free = request;
    actor_emit(actor, RLX_EFFECT_FREE)->request = request;
    RLX_ASSERT(actor->models[held->model].requests > 0);
    actor->models[held->model].requests--;
    actor->open--;
    actor_model_settle(actor, held->model);
    if (actor->draining && actor->open == 0 && !actor->drained) {
        actor->drained = true;
        actor_emit(actor, RLX_EFFECT_DRAINED);
    }
}

void actor_request_refuse(rlx_actor_t *actor, uint32_t request, rlx_refusal_t refusal, uint64_t wait_ns)
{
    rlx_actor_effect_t *effect = actor_emit(actor, RLX_EFFECT_REFUSE);

    actor_request_move(actor, request, RLX_REQUEST_REPLYING);
    effect->request = request;
    effect->model = actor->requests[request].model;
    effect->refusal = refusal;
    effect->wait_ns = wait_ns;
    actor->view.refused[refusal]++;
}
