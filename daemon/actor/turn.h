/* Whose turn it is: models share the workers fairly by the time they use. Start-time fair queueing: a model's virtual time grows with the
 * work it gets, the smallest has the next turn, and one that was idle starts where the others are. So while two models both wait, the work
 * they got differs by at most two runs per worker, and a flood on one delays another's first request by one run at most. (Deficit round
 * robin gives the same shares, but needs a quantum as large as the largest cost to stay O(1), and then long bursts.) O(log models). */
#ifndef RLX_DAEMON_ACTOR_TURN_H
#define RLX_DAEMON_ACTOR_TURN_H

#include "daemon/actor/state.h"

/* What waits for `model` changed. */
void actor_turn_update(rlx_actor_t *actor, uint32_t model);
/* The model that may use a free worker; NONE when nothing waits. One whose requests may all still wait for companions goes only if there is
 * no other. */
uint32_t actor_turn_next(rlx_actor_t *actor, uint64_t now_ns);
/* `model` starts work of `expected_ns`; later: it took `busy_ns` instead. */
void actor_turn_charge(rlx_actor_t *actor, uint32_t model, uint64_t expected_ns);
void actor_turn_correct(rlx_actor_t *actor, uint32_t model, uint64_t expected_ns, uint64_t busy_ns);
/* Expected work of other models that goes before the moment when `model` will have got `ahead_ns` more. */
uint64_t actor_turn_others_ns(const rlx_actor_t *actor, uint32_t model, uint64_t ahead_ns);

#endif
