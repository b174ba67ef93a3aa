/* The table of models: which numbers serve, and when one that leaves is out of use. */
#ifndef RLX_DAEMON_ACTOR_MODEL_H
#define RLX_DAEMON_ACTOR_MODEL_H

#include "daemon/actor/state.h"

void actor_model_add(rlx_actor_t *actor, uint32_t model, const rlx_actor_model_t *settings);
void actor_model_remove(rlx_actor_t *actor, uint32_t model);
/* MODEL_FREE when it leaves and nothing uses it any more. */
void actor_model_settle(rlx_actor_t *actor, uint32_t model);

#endif
