/* See daemon.h. Each function notes what the daemon did in the books, then lets the actor answer. */
#include "sim/daemon.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

const char *const sim_daemon_counters[SIM_REACHED_COUNT] = {
#define X(id, text) text,
    SIM_REACHED_LIST(X)
#undef X
};

void sim_daemon_init(sim_daemon_t *daemon, sim_world_t *world, const rlx_actor_options_t *options, const sim_daemon_ops_t *ops,
                     void *context)
{
    RLX_ASSERT(options->requests_max <= SIM_REQUESTS_MAX);
    RLX_ASSERT(options->workers + options->ahead <= SIM_RUNS_MAX);
    RLX_ASSERT(options->models_max <= SIM_MODELS_MAX);
    memset(daemon, 0, offsetof(sim_daemon_t, effects));
    memset(daemon->requests, 0, options->requests_max * sizeof *daemon->requests);
    memset(daemon->runs, 0, sizeof *daemon - offsetof(sim_daemon_t, runs));
    daemon->world = world;
    daemon->options = *options;
    daemon->ops = ops;
    daemon->context = context;
    daemon->armed_ns = RLX_ACTOR_NEVER;
    daemon->actor = rlx_actor_create(options);
    if (daemon->actor == NULL)
        exit(3);
}

void sim_daemon_fini(sim_daemon_t *daemon)
{
    rlx_actor_destroy(daemon->actor);
}

static void step(sim_daemon_t *daemon, rlx_actor_event_t *event)
{
    rlx_actor_step(daemon->actor, event, daemon->world->now_ns, &daemon->effects);
    for (;;) {
        for (int i = 0; i < daemon->effects.n && !daemon->world->failed; i++)
            sim_daemon_effect(daemon, &daemon->effects.effect[i]);
        if (!daemon->effects.more)
            break;
        sim_reach(daemon->world, SIM_REACHED_MORE);
        rlx_actor_step(daemon->actor, NULL, daemon->world->now_ns, &daemon->effects);
    }
    if (!daemon->world->failed)
        sim_daemon_check_rest(daemon);
}

static void note_state(sim_daemon_t *daemon, uint32_t request)
{
    rlx_request_view_t view;

    if (rlx_actor_request(daemon->actor, request, &view))
        sim_reach(daemon->world, SIM_REACHED_STATE_FREE + (int)view.state);
}

void sim_daemon_model_add(sim_daemon_t *daemon, uint32_t model, const rlx_actor_model_t *settings)
{
    rlx_actor_event_t event = {.kind = RLX_EVENT_MODEL_ADD, .model = model, .settings = *settings};

    sim_trace(daemon->world, "model_add", model, settings->queue_max, settings->rows_max, settings->batch_delay_ns);
    daemon->models[model] = (sim_model_t){.serving = true, .settings = *settings};
    step(daemon, &event);
}

void sim_daemon_model_remove(sim_daemon_t *daemon, uint32_t model)
{
    rlx_actor_event_t event = {.kind = RLX_EVENT_MODEL_REMOVE, .model = model};

    sim_trace(daemon->world, "model_remove", model, daemon->models[model].requests, 0, 0);
    daemon->models[model].serving = false;
    daemon->models[model].leaving = true;
    if (daemon->models[model].requests > 0)
        sim_reach(daemon->world, SIM_REACHED_MODELS_LEFT);
    step(daemon, &event);
}

uint32_t sim_daemon_open(sim_daemon_t *daemon, uint32_t model)
{
    rlx_actor_event_t event = {.kind = RLX_EVENT_OPEN, .model = model};

    rlx_actor_step(daemon->actor, &event, daemon->world->now_ns, &daemon->effects);
    sim_trace(daemon->world, "open", event.request, model, event.refusal, 0);
    sim_check(daemon->world, daemon->effects.n == 0 && !daemon->effects.more, "opening emits nothing", model, 0);
    if (event.request == RLX_ACTOR_NONE) {
        sim_daemon_closed(daemon, model, event.refusal);
        return RLX_ACTOR_NONE;
    }
    sim_request_t *request = &daemon->requests[event.request];
    bool fresh = event.request < daemon->options.requests_max && request->phase == SIM_NOWHERE;
    if (!sim_check(daemon->world, fresh, "an id is given once", event.request, 0))
        return RLX_ACTOR_NONE;
    sim_check(daemon->world, daemon->models[model].serving && !daemon->draining, "only what serves is opened", model, 0);
    *request = (sim_request_t){.phase = SIM_RECEIVING, .model = model, .serial = ++daemon->serial, .opened_ns = daemon->world->now_ns,
        .deadline_ns = RLX_ACTOR_NEVER};
    daemon->touched = event.request >= daemon->touched ? event.request + 1 : daemon->touched;
    daemon->models[model].requests++;
    daemon->open++;
    daemon->opened++;
    note_state(daemon, event.request);
    sim_daemon_check_books(daemon);
    return event.request;
}

void sim_daemon_submit(sim_daemon_t *daemon, uint32_t request, const rlx_actor_event_t *settings)
{
    sim_request_t *held = &daemon->requests[request];
    rlx_actor_event_t event = *settings;

    event.kind = RLX_EVENT_SUBMIT;
    event.request = request;
    sim_trace(daemon->world, "submit", request, event.rows, event.cost_ns, event.deadline_ns);
    sim_reach(daemon->world, SIM_REACHED_REFUSED_NONE);
    held->phase = SIM_WAITING;
    held->rows = event.rows;
    held->key = event.batch_key;
    held->priority = event.priority > 0;
    held->cost_ns = event.cost_ns;
    held->deadline_ns = event.deadline_ns;
    held->submitted = ++daemon->submitted;
    held->submitted_ns = daemon->world->now_ns;
    daemon->waiting++;
    daemon->models[held->model].waiting++;
    step(daemon, &event);
    note_state(daemon, request);
}

static void send(sim_daemon_t *daemon, rlx_actor_event_kind_t kind, const char *what, uint32_t request)
{
    rlx_actor_event_t event = {.kind = kind, .request = request};

    sim_trace(daemon->world, what, request, 0, 0, 0);
    step(daemon, &event);
}

void sim_daemon_abandon(sim_daemon_t *daemon, uint32_t request)
{
    daemon->requests[request].abandoned = true;
    sim_reach(daemon->world, SIM_REACHED_ABANDONED);
    send(daemon, RLX_EVENT_ABANDON, "abandon", request);
}

void sim_daemon_cancel(sim_daemon_t *daemon, uint32_t request)
{
    sim_request_t *held = &daemon->requests[request];
    rlx_request_view_t view = {.state = RLX_REQUEST_FREE};

    rlx_actor_request(daemon->actor, request, &view);
    sim_reach(daemon->world, SIM_REACHED_GONE_FREE + (int)view.state);
    if (!held->gone && held->phase != SIM_REPLYING) {
        daemon->refused[RLX_REFUSAL_CANCELLED]++;
        sim_reach(daemon->world, SIM_REACHED_REFUSED_CANCELLED);
    }
    held->gone = true;
    if (held->phase == SIM_WAITING) {
        daemon->waiting--;
        daemon->models[held->model].waiting--;
    }
    send(daemon, RLX_EVENT_CANCEL, "cancel", request);
    note_state(daemon, request);
}

void sim_daemon_replied(sim_daemon_t *daemon, uint32_t request)
{
    send(daemon, RLX_EVENT_REPLIED, "replied", request);
}

void sim_daemon_complete(sim_daemon_t *daemon, uint32_t run, uint64_t busy_ns)
{
    sim_run_t *held = &daemon->runs[run];
    rlx_actor_event_t event = {.kind = RLX_EVENT_COMPLETE, .run = run, .busy_ns = busy_ns};
    uint32_t gone = 0;

    sim_trace(daemon->world, "complete", run, busy_ns, 0, 0);
    for (uint32_t i = 0; i < held->n; i++) {
        daemon->requests[held->requests[i]].phase = SIM_ENDED;
        gone += daemon->requests[held->requests[i]].gone;
    }
    if (gone > 0 && gone < held->n)
        sim_reach(daemon->world, SIM_REACHED_RUNS_MIXED);
    daemon->models[held->model].busy_ns += busy_ns;
    held->active = false;
    daemon->running--;
    daemon->completed++;
    /* The run's number may be given to the next run within the step, so its members are looked at by their phase. */
    step(daemon, &event);
    for (uint32_t i = 0; i < daemon->touched; i++)
        sim_check(daemon->world, daemon->requests[i].phase != SIM_ENDED, "a completed run's requests are told in that step", i, run);
}

void sim_daemon_timer(sim_daemon_t *daemon)
{
    daemon->armed_ns = RLX_ACTOR_NEVER;
    sim_reach(daemon->world, SIM_REACHED_TIMERS);
    send(daemon, RLX_EVENT_TIMER, "timer", 0);
}

void sim_daemon_drain(sim_daemon_t *daemon)
{
    daemon->draining = true;
    send(daemon, RLX_EVENT_DRAIN, "drain", 0);
}

void sim_daemon_check_end(sim_daemon_t *daemon)
{
    sim_world_t *world = daemon->world;
    rlx_actor_view_t view;

    rlx_actor_look(daemon->actor, &view);
    sim_check(world, daemon->open == 0 && view.in_state[RLX_REQUEST_FREE] == daemon->options.requests_max, "no id is leaked", daemon->open,
              view.in_state[RLX_REQUEST_FREE]);
    sim_check(world, daemon->running == 0 && view.runs == 0, "no run is leaked", daemon->running, view.runs);
    sim_check(world, !daemon->draining || daemon->drained, "the drain ends", 0, 0);
    for (uint32_t i = 0; i < daemon->options.models_max; i++)
        sim_check(world, !daemon->models[i].leaving, "a model that leaves is told free", i, daemon->models[i].requests);
    sim_check(world, view.opened == daemon->opened && view.submitted == daemon->submitted, "requests are counted once", view.opened,
              view.submitted);
    sim_check(world, view.replied == daemon->replied && view.completed_runs == daemon->completed, "answers are counted once", view.replied,
              daemon->replied);
    for (uint32_t i = 1; i < RLX_REFUSAL_COUNT; i++)
        sim_check(world, view.refused[i] == daemon->refused[i], "refusals are counted once", i, view.refused[i]);
}
