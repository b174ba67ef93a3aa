/* How long a run will take: the compiler's cost, corrected per model by what runs really took. Integers only. */
#ifndef RLX_DAEMON_ACTOR_ESTIMATE_H
#define RLX_DAEMON_ACTOR_ESTIMATE_H

#include "daemon/actor/state.h"

#define ACTOR_COST_MAX (1ull << 44)        /* 4.9 hours; larger costs count as that */
#define ACTOR_PROBE_NS (1000ull * 1000000) /* an estimate older than this is stale */

void actor_estimate_init(actor_model_t *model);
/* Expected time of `cost_ns` on one worker: the mean. */
uint64_t actor_estimate_mean(const actor_model_t *model, uint64_t cost_ns);
/* The same with two mean deviations on top: most runs are shorter. */
uint64_t actor_estimate_safe(const actor_model_t *model, uint64_t cost_ns);
/* Expected time of a run that is alone and has all `workers`. Until one was seen it is taken to be as fast as can be. */
uint64_t actor_estimate_alone(const actor_model_t *model, uint64_t cost_ns, uint32_t workers);
/* `cost_ns` is brief (RLX_ACTOR_BRIEF_NS) by what was measured, not by the table alone. */
bool actor_estimate_tiny(const actor_model_t *model, uint64_t cost_ns);
/* A run of `cost_ns` took `busy_ns`. `team`: workers that it may have had. On one it would have taken between busy_ns and team *
 * busy_ns. */
void actor_estimate_learn(actor_model_t *model, uint64_t cost_ns, uint64_t busy_ns, uint32_t team, uint64_t now_ns);

#endif
