/* Room for effects inside a step. */
#ifndef RLX_DAEMON_ACTOR_STEP_H
#define RLX_DAEMON_ACTOR_STEP_H

#include "daemon/actor/state.h"

/* There is room for one more act (ACTOR_ACT_EFFECTS). */
bool actor_step_room(const rlx_actor_t *actor);

#endif
