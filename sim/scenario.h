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
    /* May be NULL. After a seed failed: plays it again with less and less, and prints what is left of it. */
    void (*minimise)(uint64_t seed, uint64_t *reached);
    bool (*report)(void); /* may be NULL. After all seeds: prints figures over them; false when one is out of its bound */
} sim_scenario_t;

extern const sim_scenario_t sim_scenario_node;     /* node.c */
extern const sim_scenario_t sim_scenario_fair;     /* fair.c */
extern const sim_scenario_t sim_scenario_overload; /* overload.c */

extern const sim_scenario_t sim_scenario_cluster;  /* cluster_play.c */
extern const sim_scenario_t sim_scenario_crash;    /* cluster_bounds.c, and so the next ones */
extern const sim_scenario_t sim_scenario_third;
extern const sim_scenario_t sim_scenario_join;
extern const sim_scenario_t sim_scenario_stall;
extern const sim_scenario_t sim_scenario_traffic;

#endif
