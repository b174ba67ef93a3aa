/* The runs: what the workers do now. A run's number is free again when all its requests have been told. */
#ifndef RLX_DAEMON_ACTOR_RUN_H
#define RLX_DAEMON_ACTOR_RUN_H

#include "daemon/actor/state.h"

/* Every run under way is brief (RLX_ACTOR_BRIEF_NS), and none is long overdue. */
bool actor_run_all_brief(const rlx_actor_t *actor, uint64_t now_ns);
/* Starts a run with `first` and companions on a free worker. */
void actor_run_start(rlx_actor_t *actor, uint32_t first, uint64_t now_ns);
/* The client of a RUNNING request is gone. */
void actor_run_cancel(rlx_actor_t *actor, uint32_t request);
/* The worker is free again; the requests are told by actor_run_tell, as far as there is room: false when some are left. */
void actor_run_complete(rlx_actor_t *actor, uint32_t run, uint64_t busy_ns, uint64_t now_ns);
bool actor_run_tell(rlx_actor_t *actor);
/* Expected time until all that runs has ended, added up. */
uint64_t actor_run_remaining_ns(const rlx_actor_t *actor, uint64_t now_ns);

#endif
