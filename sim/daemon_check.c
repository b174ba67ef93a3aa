/* The rules, one function per kind of effect. Written from the specification; the actor's tables are looked at only through actor.h. */
#include "sim/daemon.h"

static bool check(sim_daemon_t *daemon, bool holds, const char *rule, uint64_t a, uint64_t b)
{
    return sim_check(daemon->world, holds, rule, a, b);
}

static void leave_queue(sim_daemon_t *daemon, sim_request_t *request)
{
    daemon->waiting--;
    daemon->models[request->model].waiting--;
}

/* May run with others of its key. */
static bool may_batch(const sim_daemon_t *daemon, const sim_request_t *request)
{
    return request->key != 0 && request->rows < daemon->models[request->model].settings.rows_max;
}

/* One that goes to a worker: it waits, its client is there, its deadline is ahead, and nobody of its model had a better right. */
static void check_member(sim_daemon_t *daemon, uint32_t request, uint32_t model, uint64_t key)
{
    const sim_request_t *held = &daemon->requests[request];
    uint64_t now_ns = daemon->world->now_ns;

    check(daemon, request < daemon->touched && held->phase == SIM_WAITING && !held->gone, "only a request that waits is run", request,
          held->phase);
    check(daemon, held->deadline_ns > now_ns, "no request is run whose deadline has passed", request, held->deadline_ns);
    check(daemon, held->model == model, "a run has requests of one model", request, held->model);
    check(daemon, held->key == key, "batch keys are never mixed", request, held->key);
    for (uint32_t i = 0; i < daemon->touched; i++) {
        const sim_request_t *other = &daemon->requests[i];
        if (other->phase != SIM_WAITING || other->gone || other->model != model || i == request)
            continue;
        check(daemon, other->priority <= held->priority, "high priority goes before normal", request, i);
        bool alike = may_batch(daemon, other) == may_batch(daemon, held) && (other->key == key || !may_batch(daemon, held));
        check(daemon, other->priority != held->priority || !alike || other->submitted > held->submitted,
              "equal keys go in their order, and so do those that are never batched", request, i);
    }
}

static void run(sim_daemon_t *daemon, const rlx_actor_effect_t *effect)
{
    sim_run_t *started = &daemon->runs[effect->run];
    uint64_t rows = 0;

    if (!check(daemon, effect->run < daemon->options.workers + daemon->options.ahead && !started->active, "a run's number is free",
               effect->run, 0) ||
        !check(daemon, effect->n >= 1 && effect->n <= RLX_ACTOR_BATCH_MAX, "a run has requests", effect->run, effect->n))
        return;
    uint64_t key = daemon->requests[effect->requests[0]].key;
    *started = (sim_run_t){.active = true, .n = effect->n, .model = effect->model, .serial = ++daemon->serial, .alone = effect->alone,
        .start_ns = daemon->world->now_ns};
    for (uint32_t i = 0; i < effect->n; i++) {
        sim_request_t *member = &daemon->requests[effect->requests[i]];
        check_member(daemon, effect->requests[i], effect->model, key);
        leave_queue(daemon, member);
        member->phase = SIM_RUNNING;
        member->run = effect->run;
        rows += member->rows;
        started->requests[i] = effect->requests[i];
        sim_reach(daemon->world, SIM_REACHED_STATE_RUNNING);
    }
    check(daemon, daemon->running < daemon->options.workers || effect->brief, "only brief runs go ahead of the workers", effect->run,
          daemon->running);
    daemon->running++;
    sim_trace(daemon->world, "run", effect->run, effect->requests[0], effect->n, effect->alone);
    check(daemon, effect->n == 1 || key != 0, "key 0 runs by itself", effect->run, effect->n);
    check(daemon, effect->n == 1 || rows <= daemon->models[effect->model].settings.rows_max, "a run has at most rows_max rows",
          effect->run, rows);
    check(daemon, effect->alone == (daemon->running == 1 && daemon->waiting == 0), "alone: nothing else runs or waits", daemon->running,
          daemon->waiting);
    sim_reach(daemon->world, SIM_REACHED_RUNS);
    if (effect->n > 1)
        sim_reach(daemon->world, SIM_REACHED_RUNS_BATCHED);
    if (effect->alone)
        sim_reach(daemon->world, SIM_REACHED_RUNS_ALONE);
    daemon->ops->started(daemon, effect->run);
}

static void cancel_run(sim_daemon_t *daemon, const rlx_actor_effect_t *effect)
{
    sim_run_t *stopped = &daemon->runs[effect->run];

    check(daemon, stopped->active && !stopped->stopped, "a run is stopped once", effect->run, 0);
    for (uint32_t i = 0; i < stopped->n; i++)
        check(daemon, daemon->requests[stopped->requests[i]].gone, "a run is stopped when all its clients are gone", effect->run, i);
    stopped->stopped = true;
    sim_trace(daemon->world, "stop", effect->run, 0, 0, 0);
    sim_reach(daemon->world, SIM_REACHED_RUNS_STOPPED);
    daemon->ops->stopped(daemon, effect->run);
}

static void answer(sim_daemon_t *daemon, uint32_t request, rlx_refusal_t refusal)
{
    sim_request_t *held = &daemon->requests[request];

    check(daemon, !held->gone, "a client that is gone gets no answer", request, 0);
    held->answers++;
    check(daemon, held->answers == 1, "exactly one answer", request, held->answers);
    held->phase = SIM_REPLYING;
    sim_reach(daemon->world, SIM_REACHED_STATE_REPLYING);
    daemon->ops->answered(daemon, request, refusal);
}

static void reply(sim_daemon_t *daemon, const rlx_actor_effect_t *effect)
{
    sim_request_t *held = &daemon->requests[effect->request];

    sim_trace(daemon->world, "reply", effect->request, 0, 0, 0);
    check(daemon, effect->request < daemon->touched && held->phase == SIM_ENDED, "an answer follows a run", effect->request, held->phase);
    daemon->replied++;
    sim_reach(daemon->world, SIM_REACHED_GONE_FREE);
    if (daemon->world->now_ns > held->deadline_ns)
        sim_reach(daemon->world, SIM_REACHED_LATE);
    answer(daemon, effect->request, RLX_REFUSAL_NONE);
}

/* A refusal of a request that has an id has a reason that we can see. */
static void check_reason(sim_daemon_t *daemon, uint32_t request, rlx_refusal_t refusal)
{
    const sim_request_t *held = &daemon->requests[request];
    const sim_model_t *model = &daemon->models[held->model];
    uint64_t now_ns = daemon->world->now_ns;

    switch (refusal) {
    case RLX_REFUSAL_QUEUE_FULL: /* `waiting` counts this one, too. */
        check(daemon, held->submitted_ns == now_ns, "a full queue is told at once", request, 0);
        check(daemon, model->waiting > model->settings.queue_max && daemon->running >= daemon->options.workers, "the queue is full",
              model->waiting, daemon->running);
        break;
    case RLX_REFUSAL_DEADLINE_PASSED:
        check(daemon, held->deadline_ns <= now_ns, "the deadline has passed", request, held->deadline_ns);
        break;
    case RLX_REFUSAL_DEADLINE_UNREACHABLE:
        check(daemon, held->deadline_ns > now_ns && held->deadline_ns != RLX_ACTOR_NEVER, "there is a deadline ahead", request,
              held->deadline_ns);
        break;
    default:
        check(daemon, false, "an open request is not refused for this", request, refusal);
    }
}

void sim_daemon_closed(sim_daemon_t *daemon, uint32_t model, rlx_refusal_t refusal)
{
    bool known = model < daemon->options.models_max && daemon->models[model].serving;
    rlx_refusal_t reason = daemon->draining ? RLX_REFUSAL_DRAINING : !known ? RLX_REFUSAL_MODEL_GONE : RLX_REFUSAL_TABLE_FULL;

    daemon->refused[refusal]++;
    sim_reach(daemon->world, SIM_REACHED_REFUSED_NONE + (int)refusal);
    check(daemon, refusal == reason, "opening is refused for the right reason", refusal, reason);
    check(daemon, reason != RLX_REFUSAL_TABLE_FULL || daemon->open == daemon->options.requests_max, "the table is full", daemon->open, 0);
}

static void refuse(sim_daemon_t *daemon, const rlx_actor_effect_t *effect)
{
    uint32_t request = effect->request;

    sim_trace(daemon->world, "refuse", request, effect->refusal, effect->wait_ns, effect->model);
    daemon->refused[effect->refusal]++;
    sim_reach(daemon->world, SIM_REACHED_REFUSED_NONE + (int)effect->refusal);
    bool waits = request < daemon->touched && daemon->requests[request].phase == SIM_WAITING;
    if (!check(daemon, waits, "only what waits is refused", request, 0))
        return;
    check_reason(daemon, request, effect->refusal);
    if (daemon->requests[request].submitted_ns < daemon->world->now_ns)
        sim_reach(daemon->world, SIM_REACHED_LATE_REFUSALS);
    leave_queue(daemon, &daemon->requests[request]);
    answer(daemon, request, effect->refusal);
}

static void free_request(sim_daemon_t *daemon, const rlx_actor_effect_t *effect)
{
    sim_request_t *held = &daemon->requests[effect->request];

    sim_trace(daemon->world, "free", effect->request, 0, 0, 0);
    if (!check(daemon, effect->request < daemon->touched && held->phase != SIM_NOWHERE, "an id is freed once", effect->request, 0))
        return;
    check(daemon, held->phase != SIM_RUNNING, "what runs is not freed", effect->request, 0);
    check(daemon, held->answers == 1 || held->gone || held->abandoned, "no client is left without an answer", effect->request, held->phase);
    held->phase = SIM_NOWHERE;
    daemon->models[held->model].requests--;
    daemon->open--;
    sim_reach(daemon->world, SIM_REACHED_STATE_FREE);
}

static void model_free(sim_daemon_t *daemon, const rlx_actor_effect_t *effect)
{
    sim_model_t *model = &daemon->models[effect->model];

    sim_trace(daemon->world, "model_free", effect->model, 0, 0, 0);
    check(daemon, model->leaving && model->requests == 0, "a model is free when nothing uses it", effect->model, model->requests);
    model->leaving = false;
    daemon->ops->model_free(daemon, effect->model);
}

void sim_daemon_effect(sim_daemon_t *daemon, const rlx_actor_effect_t *effect)
{
    switch (effect->kind) {
    case RLX_EFFECT_RUN:
        run(daemon, effect);
        break;
    case RLX_EFFECT_CANCEL_RUN:
        cancel_run(daemon, effect);
        break;
    case RLX_EFFECT_REPLY:
        reply(daemon, effect);
        break;
    case RLX_EFFECT_REFUSE:
        refuse(daemon, effect);
        break;
    case RLX_EFFECT_FREE:
        free_request(daemon, effect);
        break;
    case RLX_EFFECT_ARM:
        sim_trace(daemon->world, "arm", effect->at_ns, 0, 0, 0);
        daemon->armed_ns = effect->at_ns;
        daemon->ops->armed(daemon, effect->at_ns);
        break;
    case RLX_EFFECT_MODEL_FREE:
        model_free(daemon, effect);
        break;
    case RLX_EFFECT_DRAINED:
        sim_trace(daemon->world, "drained", 0, 0, 0, 0);
        check(daemon, daemon->draining && !daemon->drained && daemon->open == 0, "drained once, when nothing is open", daemon->open, 0);
        daemon->drained = true;
        sim_reach(daemon->world, SIM_REACHED_DRAINED);
        break;
    }
}

static rlx_request_state_t expected_state(const sim_request_t *request, rlx_request_state_t seen)
{
    switch (request->phase) {
    case SIM_NOWHERE: return RLX_REQUEST_FREE;
    case SIM_RECEIVING: return RLX_REQUEST_RECEIVING;
    case SIM_WAITING: return seen == RLX_REQUEST_BATCHING ? RLX_REQUEST_BATCHING : RLX_REQUEST_QUEUED;
    case SIM_RUNNING: return request->gone ? RLX_REQUEST_CANCELLING : RLX_REQUEST_RUNNING;
    default: return RLX_REQUEST_REPLYING;
    }
}

void sim_daemon_check_books(sim_daemon_t *daemon)
{
    for (uint32_t i = 0; i < daemon->touched; i++) {
        rlx_request_view_t view = {.state = RLX_REQUEST_FREE};
        rlx_actor_request(daemon->actor, i, &view);
        check(daemon, view.state == expected_state(&daemon->requests[i], view.state), "the state that is shown is the state", i,
              view.state);
    }
    check(daemon, daemon->waiting == 0 || daemon->running >= daemon->options.workers, "nothing waits while a worker is free",
          daemon->waiting, daemon->running);
    for (uint32_t i = 0; i < daemon->options.models_max; i++) {
        const sim_model_t *model = &daemon->models[i];
        check(daemon, model->waiting <= model->settings.queue_max, "a queue holds what it may", i, model->waiting);
        check(daemon, rlx_actor_waiting(daemon->actor, i) == model->waiting, "what waits is counted", i, model->waiting);
    }
}

void sim_daemon_check_rest(sim_daemon_t *daemon)
{
    uint64_t soonest_ns = RLX_ACTOR_NEVER;

    sim_daemon_check_books(daemon);
    for (uint32_t i = 0; i < daemon->touched; i++)
        if (daemon->requests[i].phase == SIM_WAITING && daemon->requests[i].deadline_ns < soonest_ns)
            soonest_ns = daemon->requests[i].deadline_ns;
    check(daemon, soonest_ns > daemon->world->now_ns, "nothing waits whose deadline has passed", soonest_ns, 0);
    check(daemon, daemon->armed_ns <= soonest_ns, "the timer is armed in time", daemon->armed_ns, soonest_ns);
}
