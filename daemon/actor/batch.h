/* Who runs together. */
#ifndef RLX_DAEMON_ACTOR_BATCH_H
#define RLX_DAEMON_ACTOR_BATCH_H

#include "daemon/actor/state.h"

/* Takes `first` and companions of its group out of the queue, oldest first, into requests[]: at most rows_max rows, and only so many that
 * the run still ends before every member's deadline. Returns how many; out_cost_ns: of all. */
uint32_t actor_batch_take(rlx_actor_t *actor, uint32_t first, uint64_t now_ns, uint32_t requests[RLX_ACTOR_BATCH_MAX],
                          uint64_t *out_cost_ns);

#endif
