/* The scenarios. One is a function that plays one seed in a fresh world and checks the rules while it goes. */
#ifndef RLX_SIM_SCENARIO_H
#define RLX_SIM_SCENARIO_H

#include "sim/world.h"

typedef struct sim_scenario {
    const char *name, *help;
    void (*play)(sim_world_t *world);
    const char *const *counters; /* names of what can be reached, in the order of sim_reach's index */
    int n_counters;
    bool all_reached; /* every counter must rise over a thousand seeds or more */
} sim_scenario_t;

extern const sim_scenario_t sim_scenario_node;     /* node.c */
extern const sim_scenario_t sim_scenario_fair;     /* fair.c */
extern const sim_scenario_t sim_scenario_overload; /* overload.c */

#endif
