/* See script.h. */
#include "tests/actor/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

script_t *script_new(uint32_t requests_max, uint32_t workers)
{
    return script_new_ahead(requests_max, workers, 0);
}

script_t *script_new_ahead(uint32_t requests_max, uint32_t workers, uint32_t ahead)
{
    script_t *script = calloc(1, sizeof *script);
    rlx_actor_options_t options = {.requests_max = requests_max, .models_max = 8, .workers = workers, .ahead = ahead};

    assert_non_null(script);
    script->actor = rlx_actor_create(&options);
    assert_non_null(script->actor);
    script_model(script, 0, 4, 0, 0);
    return script;
}

void script_free(script_t *script)
{
    rlx_actor_destroy(script->actor);
    free(script);
}

void script_at(script_t *script, uint64_t ms)
{
    script->now_ns = ms * MS;
}

static void say(script_t *script, const char *format, ...)
{
    size_t length = strlen(script->said);
    va_list arguments;

    if (length > 0)
        length += (size_t)snprintf(script->said + length, sizeof script->said - length, ", ");
    assert_true(length + 1 < sizeof script->said);
    va_start(arguments, format);
    vsnprintf(script->said + length, sizeof script->said - length, format, arguments);
    va_end(arguments);
}

static void say_run(script_t *script, const rlx_actor_effect_t *effect)
{
    char members[1024] = "";

    for (uint32_t i = 0; i < effect->n; i++)
        snprintf(members + strlen(members), sizeof members - strlen(members), "%s%u", i > 0 ? " " : "", effect->requests[i]);
    say(script, "run %u [%s]%s%s%s", effect->run, members, effect->alone ? " alone" : "", effect->brief ? " brief" : "",
        effect->tiny ? " tiny" : "");
}

static void say_effect(script_t *script, const rlx_actor_effect_t *effect)
{
    switch (effect->kind) {
    case RLX_EFFECT_RUN: say_run(script, effect); break;
    case RLX_EFFECT_CANCEL_RUN: say(script, "cancel %u", effect->run); break;
    case RLX_EFFECT_REPLY: say(script, "reply %u", effect->request); break;
    case RLX_EFFECT_REFUSE:
        say(script, "refuse %u %s", effect->request, rlx_refusal_name(effect->refusal));
        break;
    case RLX_EFFECT_FREE: say(script, "free %u", effect->request); break;
    case RLX_EFFECT_ARM: say(script, "arm %llu", (unsigned long long)(effect->at_ns / MS)); break;
    case RLX_EFFECT_MODEL_FREE: say(script, "model_free %u", effect->model); break;
    case RLX_EFFECT_DRAINED: say(script, "drained"); break;
    }
}

static void step(script_t *script, rlx_actor_event_t *event)
{
    static rlx_actor_effects_t effects;

    do {
        rlx_actor_step(script->actor, event, script->now_ns, &effects);
        for (int i = 0; i < effects.n; i++)
            say_effect(script, &effects.effect[i]);
        event = NULL;
    } while (effects.more);
}

void script_model(script_t *script, uint32_t model, uint32_t queue_max, uint32_t rows_max, uint64_t delay_ms)
{
    rlx_actor_event_t event = {.kind = RLX_EVENT_MODEL_ADD, .model = model,
        .settings = {.queue_max = queue_max, .rows_max = rows_max, .batch_delay_ns = delay_ms * MS}};

    step(script, &event);
}

uint32_t script_open(script_t *script, uint32_t model)
{
    rlx_actor_event_t event = {.kind = RLX_EVENT_OPEN, .model = model};

    step(script, &event);
    assert_int_equal(event.request == RLX_ACTOR_NONE, event.refusal != RLX_REFUSAL_NONE);
    if (event.request == RLX_ACTOR_NONE)
        say(script, "closed %s", rlx_refusal_name(event.refusal));
    return event.request;
}

static void submit(script_t *script, uint32_t request, uint64_t cost, uint64_t within, uint32_t rows, uint64_t key, uint32_t priority)
{
    rlx_actor_event_t event = {.kind = RLX_EVENT_SUBMIT, .request = request, .rows = rows, .batch_key = key, .cost_ns = cost * MS,
        .deadline_ns = within == 0 ? RLX_ACTOR_NEVER : script->now_ns + within * MS, .priority = priority};

    step(script, &event);
}

void script_submit(script_t *script, uint32_t request, uint64_t cost, uint64_t within)
{
    submit(script, request, cost, within, 1, 0, 0);
}

uint32_t script_ask_all(script_t *script, uint32_t model, uint64_t cost, uint64_t within, uint32_t rows, uint64_t key, uint32_t priority)
{
    uint32_t request = script_open(script, model);

    assert_int_not_equal(request, RLX_ACTOR_NONE);
    submit(script, request, cost, within, rows, key, priority);
    return request;
}

uint32_t script_ask_brief(script_t *script, uint32_t model)
{
    uint32_t request = script_open(script, model);
    rlx_actor_event_t event = {.kind = RLX_EVENT_SUBMIT, .request = request, .rows = 1, .cost_ns = RLX_ACTOR_BRIEF_NS / 2,
        .deadline_ns = RLX_ACTOR_NEVER};

    assert_int_not_equal(request, RLX_ACTOR_NONE);
    step(script, &event);
    return request;
}

uint32_t script_ask(script_t *script, uint32_t model, uint64_t cost, uint64_t within)
{
    return script_ask_all(script, model, cost, within, 1, 0, 0);
}

void script_complete_ns(script_t *script, uint32_t run, uint64_t busy_ns)
{
    rlx_actor_event_t event = {.kind = RLX_EVENT_COMPLETE, .run = run, .busy_ns = busy_ns};

    step(script, &event);
}

void script_complete(script_t *script, uint32_t run, uint64_t busy)
{
    script_complete_ns(script, run, busy * MS);
}

void script_send(script_t *script, rlx_actor_event_kind_t kind, uint32_t subject)
{
    rlx_actor_event_t event = {.kind = kind, .request = subject, .model = subject};

    step(script, &event);
}

void script_expect(script_t *script, const char *said)
{
    assert_string_equal(script->said, said);
    script->said[0] = '\0';
}

void script_state(const script_t *script, uint32_t request, const char *state)
{
    rlx_request_view_t view = {.state = RLX_REQUEST_FREE};

    rlx_actor_request(script->actor, request, &view);
    assert_string_equal(rlx_request_state_name(view.state), state);
}

void script_forget(script_t *script)
{
    script->said[0] = '\0';
}
