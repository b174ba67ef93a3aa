/* Groups of waiting requests that may run together: one model, priority and batch key. A request that is never batched (key 0, or rows
 * enough for a run) is a group by itself. A group exists while it has members. */
#ifndef RLX_DAEMON_ACTOR_GROUP_H
#define RLX_DAEMON_ACTOR_GROUP_H

#include "daemon/actor/state.h"

/* Puts a request into its group; true when it now has enough for a run. */
bool actor_group_join(rlx_actor_t *actor, uint32_t request);
void actor_group_leave(rlx_actor_t *actor, uint32_t request);

#endif
