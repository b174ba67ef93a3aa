/* See turn.h. A model with waiting requests is in exactly one of two heaps: `ripe` by virtual time, `unripe` by the time it gets ripe. */
#include "daemon/actor/turn.h"

#include "base/assert.h"
#include "daemon/actor/queue.h"

/* Others that are looked at one by one in an estimate; the rest is bounded from above. */
#define LOOK_MAX 32

/* Where a model stands: one that competes where it is; one that was idle, or waited for companions, has saved up nothing. */
static uint64_t start_ns(const rlx_actor_t *actor, uint32_t model)
{
    uint64_t own = actor->models[model].virtual_ns;

    return actor->ripe.places[model] != 0 || own > actor->virtual_ns ? own : actor->virtual_ns;
}

void actor_turn_update(rlx_actor_t *actor, uint32_t model)
{
    actor_model_t *held = &actor->models[model];
    uint64_t ripe_ns = actor_queue_ripe_ns(actor, model);

    if (ripe_ns == RLX_ACTOR_NEVER && actor_queue_count(held) == 0) {
        actor_heap_remove(&actor->ripe, model);
        actor_heap_remove(&actor->unripe, model);
        return;
    }
    held->virtual_ns = start_ns(actor, model);
    if (ripe_ns <= actor->now_ns) {
        actor_heap_remove(&actor->unripe, model);
        actor_heap_set(&actor->ripe, model, held->virtual_ns);
    } else {
        actor_heap_remove(&actor->ripe, model);
        actor_heap_set(&actor->unripe, model, ripe_ns);
    }
}

uint32_t actor_turn_next(rlx_actor_t *actor, uint64_t now_ns)
{
    while (actor->unripe.n > 0 && actor_heap_top(&actor->unripe).key <= now_ns)
        actor_turn_update(actor, actor_heap_top(&actor->unripe).item);
    if (actor->ripe.n > 0)
        return actor_heap_top(&actor->ripe).item;
    return actor->unripe.n > 0 ? actor_heap_top(&actor->unripe).item : RLX_ACTOR_NONE;
}

static void stand(rlx_actor_t *actor, uint32_t model, uint64_t virtual_ns)
{
    actor->models[model].virtual_ns = virtual_ns;
    if (actor->ripe.places[model] != 0)
        actor_heap_set(&actor->ripe, model, virtual_ns);
}

void actor_turn_charge(rlx_actor_t *actor, uint32_t model, uint64_t expected_ns)
{
    actor_model_t *served = &actor->models[model];

    if (served->virtual_ns > actor->virtual_ns)
        actor->virtual_ns = served->virtual_ns;
    else
        served->virtual_ns = start_ns(actor, model);
    stand(actor, model, actor_add(served->virtual_ns, expected_ns));
}

void actor_turn_correct(rlx_actor_t *actor, uint32_t model, uint64_t expected_ns, uint64_t busy_ns)
{
    uint64_t own = actor->models[model].virtual_ns;
    uint64_t charged = expected_ns < own ? own - expected_ns : 0;

    stand(actor, model, actor_add(charged, busy_ns));
    /* Whoever comes now must not stand behind one that competes and got less than it was charged. */
    if (actor->ripe.places[model] != 0 && actor->models[model].virtual_ns < actor->virtual_ns)
        actor->virtual_ns = actor->models[model].virtual_ns;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t actor_turn_others_ns(const rlx_actor_t *actor, uint32_t model, uint64_t ahead_ns)
{
    const actor_heap_t *heaps[] = {&actor->ripe, &actor->unripe};
    uint64_t until = actor_add(start_ns(actor, model), ahead_ns), before = 0, seen = actor->models[model].waiting_ns;
    uint32_t looked = 0;

    for (int h = 0; h < 2; h++)
        for (uint32_t i = 0; i < heaps[h]->n && looked < LOOK_MAX; i++, looked++) {
            const actor_model_t *other = &actor->models[heaps[h]->entries[i].item];
            if (heaps[h]->entries[i].item == model)
                continue;
            seen = actor_add(seen, other->waiting_ns);
            before = actor_add(before, other->virtual_ns < until ? smaller(other->waiting_ns, until - other->virtual_ns) : 0);
        }
    return actor_add(before, actor->waiting_ns - seen);
}
