/* See link.h. Draws from the generator in a fixed order, so that one fault less in the settings does not change all the others. */
#include "sim/link.h"

static void deliver(sim_world_t *world, sim_link_t *link, sim_event_t event, bool in_order)
{
    uint64_t at_ns = world->now_ns + rlx_prng_between(&world->prng, link->delay_min_ns, link->delay_max_ns);

    if (in_order) {
        at_ns = at_ns > link->last_ns ? at_ns : link->last_ns;
        link->last_ns = at_ns;
    }
    sim_schedule(world, at_ns - world->now_ns, event);
}

bool sim_link_send(sim_world_t *world, sim_link_t *link, sim_event_t event)
{
    bool lost = rlx_prng_chance(&world->prng, link->loss_per_mille);
    bool repeated = rlx_prng_chance(&world->prng, link->repeat_per_mille);
    bool overtakes = rlx_prng_chance(&world->prng, link->overtake_per_mille);

    if (link->stream) {
        link->broken = link->broken || lost;
        if (!link->broken)
            deliver(world, link, event, true);
        return !link->broken;
    }
    if (lost)
        return false;
    deliver(world, link, event, !overtakes);
    if (repeated)
        deliver(world, link, event, false);
    return true;
}
