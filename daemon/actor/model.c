/* See model.h. A number is in use from MODEL_ADD to MODEL_FREE; numbers are the daemon's to give, so a wrong one is its bug, not input. */
#include "daemon/actor/model.h"

#include "base/assert.h"
#include "daemon/actor/estimate.h"

void actor_model_add(rlx_actor_t *actor, uint32_t model, const rlx_actor_model_t *settings)
{
    RLX_ASSERT(model < actor->options.models_max);
    RLX_ASSERT(actor->models[model].state == ACTOR_MODEL_ABSENT);
    actor_model_t *added = &actor->models[model];
    *added = (actor_model_t){.state = ACTOR_MODEL_SERVING, .settings = *settings, .virtual_ns = actor->virtual_ns};
    for (int i = 0; i < ACTOR_PRIORITIES; i++)
        added->lines[i] = (actor_line_t){RLX_ACTOR_NONE, RLX_ACTOR_NONE, 0, RLX_ACTOR_NONE, RLX_ACTOR_NONE, 0};
    actor_estimate_init(added);
}

void actor_model_remove(rlx_actor_t *actor, uint32_t model)
{
    RLX_ASSERT(model < actor->options.models_max);
    RLX_ASSERT(actor->models[model].state == ACTOR_MODEL_SERVING);
    actor->models[model].state = ACTOR_MODEL_LEAVING;
    actor_model_settle(actor, model);
}

void actor_model_settle(rlx_actor_t *actor, uint32_t model)
{
    actor_model_t *leaving = &actor->models[model];

    if (leaving->state != ACTOR_MODEL_LEAVING || leaving->requests > 0)
        return;
    /* A run outlives its requests only inside one COMPLETE, whose members are told before its slot is given back. */
    leaving->state = ACTOR_MODEL_ABSENT;
    actor_emit(actor, RLX_EFFECT_MODEL_FREE)->model = model;
}
