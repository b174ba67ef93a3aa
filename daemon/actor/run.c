/* See run.h. At most `workers` runs; the active ones form a list, oldest first. */
#include "daemon/actor/run.h"

#include <string.h>

#include "base/assert.h"
#include "daemon/actor/batch.h"
#include "daemon/actor/estimate.h"
#include "daemon/actor/queue.h"
#include "daemon/actor/request.h"
#include "daemon/actor/step.h"
#include "daemon/actor/turn.h"

#define LATE_FACTOR 8 /* brief runs that wait for one another need not be done within one's time */

static uint32_t take(rlx_actor_t *actor)
{
    uint32_t index = actor->runs_free;
    actor_run_t *run = &actor->runs[index];

    actor->runs_free = run->next;
    run->prev = actor->runs_tail;
    run->next = RLX_ACTOR_NONE;
    *(actor->runs_tail == RLX_ACTOR_NONE ? &actor->runs_head : &actor->runs[actor->runs_tail].next) = index;
    actor->runs_tail = index;
    actor->n_running++;
    return index;
}

static void unlink_run(rlx_actor_t *actor, const actor_run_t *run)
{
    *(run->prev == RLX_ACTOR_NONE ? &actor->runs_head : &actor->runs[run->prev].next) = run->next;
    *(run->next == RLX_ACTOR_NONE ? &actor->runs_tail : &actor->runs[run->next].prev) = run->prev;
    actor->n_running--;
}

/* One that was expected to be brief and is not counts as long. */
bool actor_run_all_brief(const rlx_actor_t *actor, uint64_t now_ns)
{
    if (actor->n_long > 0)
        return false;
    return actor->runs_head == RLX_ACTOR_NONE || now_ns - actor->runs[actor->runs_head].start_ns < LATE_FACTOR * RLX_ACTOR_BRIEF_NS;
}

void actor_run_start(rlx_actor_t *actor, uint32_t first, uint64_t now_ns)
{
    uint32_t model = actor->requests[first].model, index = take(actor);
    actor_run_t *run = &actor->runs[index];
    rlx_actor_effect_t *effect = actor_emit(actor, RLX_EFFECT_RUN);

    run->n = actor_batch_take(actor, first, now_ns, run->requests, &run->cost_ns);
    run->cancelled = run->ended = 0;
    run->model = model;
    run->start_ns = now_ns;
    run->active = true;
    run->alone = actor->n_running == 1 && actor->waiting == 0;
    /* Who waits for it has taken its helpers away: on one worker, even if it is alone now. */
    run->expected_ns = actor_estimate_mean(&actor->models[model], run->cost_ns);
    run->brief = run->expected_ns < RLX_ACTOR_BRIEF_NS;
    actor->n_long += !run->brief;
    actor->models[model].runs++;
    actor_turn_charge(actor, model, run->expected_ns);
    for (uint32_t i = 0; i < run->n; i++) {
        actor_request_move(actor, run->requests[i], RLX_REQUEST_RUNNING);
        actor->requests[run->requests[i]].run = index;
    }
    if (run->n > 1)
        actor->view.batched_requests += run->n;
    effect->run = index;
    effect->model = model;
    effect->expected_ns = run->alone ? actor_estimate_alone(&actor->models[model], run->cost_ns, actor->options.workers) : run->expected_ns;
    effect->n = run->n;
    effect->alone = run->alone;
    effect->brief = run->brief && actor_run_all_brief(actor, now_ns);
    effect->tiny = run->n == 1 && actor_estimate_tiny(&actor->models[model], run->cost_ns);
    memcpy(effect->requests, run->requests, run->n * sizeof *run->requests);
}

void actor_run_cancel(rlx_actor_t *actor, uint32_t request)
{
    uint32_t index = actor->requests[request].run;
    actor_run_t *run = &actor->runs[index];

    RLX_ASSERT(run->active);
    actor_request_move(actor, request, RLX_REQUEST_CANCELLING);
    if (++run->cancelled < run->n)
        return;
    rlx_actor_effect_t *effect = actor_emit(actor, RLX_EFFECT_CANCEL_RUN);
    effect->run = index;
    effect->model = run->model;
}

void actor_run_complete(rlx_actor_t *actor, uint32_t index, uint64_t busy_ns, uint64_t now_ns)
{
    RLX_ASSERT(index < actor->options.workers + actor->options.ahead);
    RLX_ASSERT(actor->runs[index].active);
    RLX_ASSERT(actor->ending == RLX_ACTOR_NONE);
    actor_run_t *run = &actor->runs[index];
    actor_model_t *model = &actor->models[run->model];

    run->active = false;
    actor->n_long -= !run->brief;
    model->runs--;
    unlink_run(actor, run);
    actor_turn_correct(actor, run->model, run->expected_ns, busy_ns);
    if (run->cancelled < run->n) { /* A run that was stopped says nothing about its length. */
        actor_estimate_learn(model, run->cost_ns, busy_ns, run->alone ? actor->options.workers : 1, now_ns);
        actor_queue_revalue(actor, run->model);
    }
    actor->view.completed_runs++;
    actor->ending = index;
}

bool actor_run_tell(rlx_actor_t *actor)
{
    if (actor->ending == RLX_ACTOR_NONE)
        return true;
    actor_run_t *run = &actor->runs[actor->ending];
    for (; run->ended < run->n; run->ended++) {
        uint32_t request = run->requests[run->ended];
        if (!actor_step_room(actor))
            return false;
        actor->requests[request].run = RLX_ACTOR_NONE;
        if (actor->requests[request].state == RLX_REQUEST_CANCELLING) {
            actor_request_free(actor, request);
            continue;
        }
        actor_request_move(actor, request, RLX_REQUEST_REPLYING);
        actor->view.replied++;
        rlx_actor_effect_t *effect = actor_emit(actor, RLX_EFFECT_REPLY);
        effect->request = request;
        effect->run = actor->ending;
    }
    run->next = actor->runs_free;
    actor->runs_free = actor->ending;
    actor->ending = RLX_ACTOR_NONE;
    return true;
}

/* One that is late is expected to take as long again as it is late, but not longer than it was expected to take at all. */
static uint64_t remaining_ns(const actor_run_t *run, uint64_t now_ns)
{
    uint64_t end_ns = actor_add(run->start_ns, run->expected_ns);
    uint64_t late_ns = now_ns > end_ns ? now_ns - end_ns : 0;

    if (run->cancelled == run->n)
        return 0; /* It stops at its next step. */
    if (now_ns < end_ns)
        return end_ns - now_ns;
    return late_ns < run->expected_ns ? late_ns : run->expected_ns;
}

uint64_t actor_run_remaining_ns(const rlx_actor_t *actor, uint64_t now_ns)
{
    uint64_t sum = 0;

    for (uint32_t i = actor->runs_head; i != RLX_ACTOR_NONE; i = actor->runs[i].next)
        sum = actor_add(sum, remaining_ns(&actor->runs[i], now_ns));
    return sum;
}
