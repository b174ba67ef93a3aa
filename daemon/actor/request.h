/* The table of requests: who is in which state. The only writer of a request's state. */
#ifndef RLX_DAEMON_ACTOR_REQUEST_H
#define RLX_DAEMON_ACTOR_REQUEST_H

#include "daemon/actor/state.h"

/* The only place that changes a state; asserts that the way is legal. */
void actor_request_move(rlx_actor_t *actor, uint32_t request, rlx_request_state_t to);
/* A new request of `model`, RECEIVING; NONE when the table is full. */
uint32_t actor_request_open(rlx_actor_t *actor, uint32_t model);
/* Gives the id back: FREE, and MODEL_FREE or DRAINED where it was the last. It must be in no queue and no run. */
void actor_request_free(rlx_actor_t *actor, uint32_t request);
/* Tells the client no. It must be in no queue. */
void actor_request_refuse(rlx_actor_t *actor, uint32_t request, rlx_refusal_t refusal, uint64_t wait_ns);

#endif
