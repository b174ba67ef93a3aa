/* Who is let in: a request that cannot be answered in time is told at once, so that no work is done for nobody. */
#ifndef RLX_DAEMON_ACTOR_ADMISSION_H
#define RLX_DAEMON_ACTOR_ADMISSION_H

#include "daemon/actor/state.h"

/* The request's submit fields are set and it does not wait yet. NONE: it may wait. */
rlx_refusal_t actor_admission_decide(rlx_actor_t *actor, uint32_t request, uint64_t now_ns, uint64_t *out_wait_ns);
/* The same question at its turn: NONE: it may start now. */
rlx_refusal_t actor_admission_start(const rlx_actor_t *actor, uint32_t request, uint64_t now_ns);
/* Expected time of `cost_ns` of `model`: careful while others compete for the workers, for then a run that ends too late is somebody else's
 * loss; the mean otherwise, of a run with all workers where nothing else runs. */
uint64_t actor_admission_own_ns(const rlx_actor_t *actor, uint32_t model, uint64_t cost_ns);

#endif
