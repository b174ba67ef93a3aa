/* See admission.h. Expected wait = (what runs + what waits ahead in the model's line + what others get meanwhile, in fair turns) /
 * workers. It must fit with a quarter to spare: a request let in should not be refused at its turn. */
#include "daemon/actor/admission.h"

#include "daemon/actor/estimate.h"
#include "daemon/actor/queue.h"
#include "daemon/actor/run.h"
#include "daemon/actor/turn.h"

#define WAIT_MARGIN 4

static bool has_idle(const rlx_actor_t *actor)
{
    return actor->n_running < actor->options.workers;
}

uint64_t actor_admission_own_ns(const rlx_actor_t *actor, uint32_t model, uint64_t cost_ns)
{
    const actor_model_t *held = &actor->models[model];

    if (actor->waiting > 1 || !has_idle(actor))
        return actor_estimate_safe(held, cost_ns);
    return actor->n_running == 0 ? actor_estimate_alone(held, cost_ns, actor->options.workers) : actor_estimate_mean(held, cost_ns);
}

static uint64_t wait_ns(const rlx_actor_t *actor, const actor_request_t *request, uint64_t now_ns)
{
    const actor_model_t *model = &actor->models[request->model];
    uint64_t cost_ns = model->lines[1].cost_ns + (request->priority == 0 ? model->lines[0].cost_ns : 0);

    if (has_idle(actor))
        return 0; /* Nothing waits while a worker idles. */
    uint64_t ahead_ns = actor_estimate_mean(model, cost_ns);
    uint64_t others_ns = actor_turn_others_ns(actor, request->model, ahead_ns);
    return actor_add(actor_run_remaining_ns(actor, now_ns), actor_add(ahead_ns, others_ns)) / actor->options.workers;
}

/* An estimate that refuses every request would never be measured again: now and then one that would disturb nobody is let in. */
static bool may_probe(const rlx_actor_t *actor, const actor_model_t *model, uint64_t now_ns)
{
    return has_idle(actor) && model->runs == 0 && model->one.samples > 0 && now_ns - model->one.measured_ns > ACTOR_PROBE_NS;
}

rlx_refusal_t actor_admission_decide(rlx_actor_t *actor, uint32_t request, uint64_t now_ns, uint64_t *out_wait_ns)
{
    actor_request_t *asking = actor_request_at(actor, request);
    const actor_model_t *model = &actor->models[asking->model];

    *out_wait_ns = wait_ns(actor, asking, now_ns);
    if (asking->deadline_ns <= now_ns)
        return RLX_REFUSAL_DEADLINE_PASSED;
    if (!has_idle(actor) && actor_queue_count(model) >= model->settings.queue_max)
        return RLX_REFUSAL_QUEUE_FULL;
    if (asking->deadline_ns == RLX_ACTOR_NEVER)
        return RLX_REFUSAL_NONE;
    uint64_t end_ns = actor_add(now_ns, actor_admission_own_ns(actor, asking->model, asking->cost_ns));
    end_ns = actor_add(end_ns, actor_add(*out_wait_ns, *out_wait_ns / WAIT_MARGIN));
    if (end_ns <= asking->deadline_ns)
        return RLX_REFUSAL_NONE;
    asking->probe = may_probe(actor, model, now_ns);
    return asking->probe ? RLX_REFUSAL_NONE : RLX_REFUSAL_DEADLINE_UNREACHABLE;
}

rlx_refusal_t actor_admission_start(const rlx_actor_t *actor, uint32_t request, uint64_t now_ns)
{
    const actor_request_t *starting = &actor->requests[request];

    if (starting->deadline_ns == RLX_ACTOR_NEVER || starting->probe)
        return RLX_REFUSAL_NONE;
    uint64_t end_ns = actor_add(now_ns, actor_admission_own_ns(actor, starting->model, starting->cost_ns));
    return end_ns <= starting->deadline_ns ? RLX_REFUSAL_NONE : RLX_REFUSAL_DEADLINE_UNREACHABLE;
}
