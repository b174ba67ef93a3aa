/* Messages between two places, and what may happen to them. A datagram link loses, repeats, delays and overtakes; a stream keeps order,
 * and a loss on it is a broken connection: everything sent later is lost as well. */
#ifndef RLX_SIM_LINK_H
#define RLX_SIM_LINK_H

#include "sim/world.h"

typedef struct sim_link {
    uint32_t loss_per_mille, repeat_per_mille, overtake_per_mille;
    uint64_t delay_min_ns, delay_max_ns;
    bool stream;
    /* State: */
    uint64_t last_ns; /* arrival of the last message that kept its order */
    bool broken;      /* a stream that lost something, or that was cut */
} sim_link_t;

/* Schedules `event` for its arrival: never, once, or (datagrams) twice. False when it is lost. */
bool sim_link_send(sim_world_t *world, sim_link_t *link, sim_event_t event);

#endif
