/* The waiting requests: per model and priority one line, oldest first; inside it groups of equal batch key. Push, remove: O(1), and
 * O(log n) for deadlines and turns. */
#ifndef RLX_DAEMON_ACTOR_QUEUE_H
#define RLX_DAEMON_ACTOR_QUEUE_H

#include "daemon/actor/state.h"

/* The request (RECEIVING, its submit fields set) waits from now on: QUEUED, or BATCHING while its group has room in a run. */
void actor_queue_push(rlx_actor_t *actor, uint32_t request);
/* It waits no more. Its state is the caller's to move. */
void actor_queue_remove(rlx_actor_t *actor, uint32_t request);
/* The request of `model` that goes next; NONE when none waits. High before normal; then the oldest, but a full group before a request that
 * may still wait for companions. */
uint32_t actor_queue_next(const rlx_actor_t *actor, uint32_t model, uint64_t now_ns);
/* When no request of `model` should wait for companions any more: 0 when one is ready now, RLX_ACTOR_NEVER when none waits. */
uint64_t actor_queue_ripe_ns(const rlx_actor_t *actor, uint32_t model);
static inline uint32_t actor_queue_count(const actor_model_t *model)
{
    return model->lines[0].n + model->lines[1].n;
}
/* The model's estimate changed: what waits is worth something else now. */
void actor_queue_revalue(rlx_actor_t *actor, uint32_t model);

#endif
