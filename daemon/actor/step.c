/* The step: one event goes in, then everything that follows from it comes out: ended requests are told, deadlines that passed are refused,
 * free workers get runs, the timer is armed. Each of these goes on where it stopped when a step's effects are full, so `more` needs no
 * memory of its own. After a step without `more` no request waits while a worker is free. */
#include "daemon/actor/step.h"

#include <stddef.h>

#include "base/assert.h"
#include "daemon/actor/admission.h"
#include "daemon/actor/estimate.h"
#include "daemon/actor/model.h"
#include "daemon/actor/queue.h"
#include "daemon/actor/request.h"
#include "daemon/actor/run.h"
#include "daemon/actor/turn.h"

#define EFFECTS_MAX ((int)(sizeof ((rlx_actor_effects_t *)0)->effect / sizeof(rlx_actor_effect_t)))

rlx_actor_effect_t *actor_emit(rlx_actor_t *actor, rlx_actor_effect_kind_t kind)
{
    RLX_ASSERT(actor->effects->n < EFFECTS_MAX);
    rlx_actor_effect_t *effect = &actor->effects->effect[actor->effects->n++];

    effect->kind = kind;
    effect->request = effect->model = effect->run = RLX_ACTOR_NONE;
    effect->n = 0;
    effect->alone = effect->brief = effect->tiny = false;
    effect->refusal = RLX_REFUSAL_NONE;
    effect->wait_ns = effect->at_ns = effect->expected_ns = 0;
    return effect;
}

bool actor_step_room(const rlx_actor_t *actor)
{
    return actor->effects->n + ACTOR_ACT_EFFECTS <= EFFECTS_MAX;
}

static void open_request(rlx_actor_t *actor, rlx_actor_event_t *event)
{
    event->request = RLX_ACTOR_NONE;
    event->refusal = RLX_REFUSAL_NONE;
    if (actor->draining)
        event->refusal = RLX_REFUSAL_DRAINING;
    else if (event->model >= actor->options.models_max || actor->models[event->model].state != ACTOR_MODEL_SERVING)
        event->refusal = RLX_REFUSAL_MODEL_GONE;
    else if ((event->request = actor_request_open(actor, event->model)) == RLX_ACTOR_NONE)
        event->refusal = RLX_REFUSAL_TABLE_FULL;
    if (event->refusal != RLX_REFUSAL_NONE)
        actor->view.refused[event->refusal]++;
}

static void submit_request(rlx_actor_t *actor, const rlx_actor_event_t *event, uint64_t now_ns)
{
    actor_request_t *request = actor_request_at(actor, event->request);
    uint64_t wait_ns;

    RLX_ASSERT(request->state == RLX_REQUEST_RECEIVING);
    request->rows = event->rows == 0 ? 1 : event->rows;
    request->batch_key = event->batch_key;
    request->cost_ns = event->cost_ns == 0 ? 1 : event->cost_ns < ACTOR_COST_MAX ? event->cost_ns : ACTOR_COST_MAX;
    request->deadline_ns = event->deadline_ns;
    request->priority = event->priority > 0;
    request->submitted_ns = now_ns;
    actor->view.submitted++;
    rlx_refusal_t refusal = actor_admission_decide(actor, event->request, now_ns, &wait_ns);
    if (refusal != RLX_REFUSAL_NONE)
        actor_request_refuse(actor, event->request, refusal, wait_ns);
    else
        actor_queue_push(actor, event->request);
}

static void cancel_request(rlx_actor_t *actor, uint32_t request)
{
    switch ((rlx_request_state_t)actor->requests[request].state) {
    case RLX_REQUEST_QUEUED:
    case RLX_REQUEST_BATCHING:
        actor_queue_remove(actor, request);
        actor_request_free(actor, request);
        break;
    case RLX_REQUEST_RECEIVING:
        actor_request_free(actor, request);
        break;
    case RLX_REQUEST_RUNNING:
        actor_run_cancel(actor, request);
        break;
    default:
        return; /* CANCELLING: known. REPLYING: its end is REPLIED, whether the bytes left or not. */
    }
    actor->view.refused[RLX_REFUSAL_CANCELLED]++;
}

static void drain(rlx_actor_t *actor)
{
    if (actor->draining)
        return;
    actor->draining = true;
    actor->drained = actor->open == 0;
    if (actor->drained)
        actor_emit(actor, RLX_EFFECT_DRAINED);
}

static rlx_request_state_t state_of(const rlx_actor_t *actor, uint32_t request)
{
    RLX_ASSERT(request < actor->requests_touched);
    RLX_ASSERT(actor->requests[request].state != RLX_REQUEST_FREE);
    return (rlx_request_state_t)actor->requests[request].state;
}

static void apply(rlx_actor_t *actor, rlx_actor_event_t *event, uint64_t now_ns)
{
    switch (event->kind) {
    case RLX_EVENT_OPEN: /* rlx_actor_step */
        break;
    case RLX_EVENT_SUBMIT:
        RLX_ASSERT(state_of(actor, event->request) == RLX_REQUEST_RECEIVING);
        submit_request(actor, event, now_ns);
        break;
    case RLX_EVENT_ABANDON:
        RLX_ASSERT(state_of(actor, event->request) == RLX_REQUEST_RECEIVING);
        actor_request_free(actor, event->request);
        break;
    case RLX_EVENT_CANCEL:
        RLX_ASSERT(state_of(actor, event->request) != RLX_REQUEST_FREE);
        cancel_request(actor, event->request);
        break;
    case RLX_EVENT_COMPLETE:
        actor_run_complete(actor, event->run, event->busy_ns, now_ns);
        break;
    case RLX_EVENT_REPLIED:
        RLX_ASSERT(state_of(actor, event->request) == RLX_REQUEST_REPLYING);
        actor_request_free(actor, event->request);
        break;
    case RLX_EVENT_TIMER:
        actor->armed_ns = RLX_ACTOR_NEVER;
        break;
    case RLX_EVENT_MODEL_ADD:
        actor_model_add(actor, event->model, &event->settings);
        break;
    case RLX_EVENT_MODEL_REMOVE:
        actor_model_remove(actor, event->model);
        break;
    case RLX_EVENT_DRAIN:
        drain(actor);
        break;
    }
}

static void refuse_waiting(rlx_actor_t *actor, uint32_t request, rlx_refusal_t refusal)
{
    actor_queue_remove(actor, request);
    actor_request_refuse(actor, request, refusal, 0);
}

/* False: effects are full, some are left. */
static bool expire(rlx_actor_t *actor, uint64_t now_ns)
{
    while (actor->deadlines.n > 0 && actor_heap_top(&actor->deadlines).key <= now_ns) {
        if (!actor_step_room(actor))
            return false;
        refuse_waiting(actor, actor_heap_top(&actor->deadlines).item, RLX_REFUSAL_DEADLINE_PASSED);
    }
    return true;
}

/* Whether `request` may run beside what runs: on a free worker, or ahead of one that comes free at once. */
static bool may_start(const rlx_actor_t *actor, uint32_t request, uint64_t now_ns)
{
    const actor_request_t *next = &actor->requests[request];

    if (actor->n_running < actor->options.workers)
        return true;
    return actor_estimate_mean(&actor->models[next->model], next->cost_ns) < RLX_ACTOR_BRIEF_NS && actor_run_all_brief(actor, now_ns);
}

static bool dispatch(rlx_actor_t *actor, uint64_t now_ns)
{
    while (actor->runs_free != RLX_ACTOR_NONE && actor->waiting > 0) {
        if (actor->n_running >= actor->options.workers && !actor_run_all_brief(actor, now_ns))
            return true;
        if (!actor_step_room(actor))
            return false;
        uint32_t request = actor_queue_next(actor, actor_turn_next(actor, now_ns), now_ns);
        if (!may_start(actor, request, now_ns))
            return true;
        rlx_refusal_t refusal = actor_admission_start(actor, request, now_ns);
        if (refusal == RLX_REFUSAL_NONE)
            actor_run_start(actor, request, now_ns);
        else
            refuse_waiting(actor, request, refusal);
    }
    return true;
}

/* Only an earlier time is told: a timer that comes too early finds nothing, and costs less than one call for every request. */
static bool arm(rlx_actor_t *actor)
{
    if (actor->deadlines.n == 0 || actor_heap_top(&actor->deadlines).key >= actor->armed_ns)
        return true;
    if (!actor_step_room(actor))
        return false;
    actor->armed_ns = actor_heap_top(&actor->deadlines).key;
    actor_emit(actor, RLX_EFFECT_ARM)->at_ns = actor->armed_ns;
    return true;
}

void rlx_actor_step(rlx_actor_t *actor, rlx_actor_event_t *event, uint64_t now_ns, rlx_actor_effects_t *effects)
{
    RLX_ASSERT(now_ns >= actor->now_ns);
    actor->now_ns = now_ns;
    effects->n = 0;
    effects->more = false;
    if (event != NULL && event->kind == RLX_EVENT_OPEN) {
        open_request(actor, event);
        return;
    }
    RLX_ASSERT(actor->more == (event == NULL));
    actor->effects = effects;
    if (event != NULL)
        apply(actor, event, now_ns);
    bool done = actor_run_tell(actor);
    done = done && expire(actor, now_ns);
    done = done && dispatch(actor, now_ns);
    done = done && arm(actor);
    effects->more = actor->more = !done;
    actor->effects = NULL;
}
