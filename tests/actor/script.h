/* A daemon for one actor, in a few words: sends events and writes every effect down as text, so that a test reads as a list of what was
 * done and what came of it. Times are milliseconds. */
#ifndef RLX_TESTS_ACTOR_SCRIPT_H
#define RLX_TESTS_ACTOR_SCRIPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/actor/actor.h"

#define MS 1000000ull

typedef struct script {
    rlx_actor_t *actor;
    uint64_t now_ns;
    char said[8192]; /* effects since the last expect */
} script_t;

script_t *script_new(uint32_t requests_max, uint32_t workers); /* model 0 serves: queue of 4, not batched; 1 to 7 may be added */
script_t *script_new_ahead(uint32_t requests_max, uint32_t workers, uint32_t ahead); /* brief runs ahead of the workers */
void script_free(script_t *script);
void script_at(script_t *script, uint64_t ms);
void script_model(script_t *script, uint32_t model, uint32_t queue_max, uint32_t rows_max, uint64_t delay_ms);
uint32_t script_open(script_t *script, uint32_t model);
/* Opens and submits one of `cost` ms that must end `within` ms (0: no deadline). Returns its id. */
uint32_t script_ask(script_t *script, uint32_t model, uint64_t cost, uint64_t within);
/* One that is over before a worker could be woken for it. */
uint32_t script_ask_brief(script_t *script, uint32_t model);
/* The same with everything. */
uint32_t script_ask_all(script_t *script, uint32_t model, uint64_t cost, uint64_t within, uint32_t rows, uint64_t key, uint32_t priority);
void script_submit(script_t *script, uint32_t request, uint64_t cost, uint64_t within);
void script_complete(script_t *script, uint32_t run, uint64_t busy);
void script_complete_ns(script_t *script, uint32_t run, uint64_t busy_ns);
/* ABANDON, CANCEL, REPLIED; TIMER, DRAIN; MODEL_REMOVE. */
void script_send(script_t *script, rlx_actor_event_kind_t kind, uint32_t subject);

/* What was said since the last time: "run 0 [0 1] alone brief", "reply 0", "refuse 3 queue_full", "closed model_gone", "free 2", "arm 20",
 * "cancel 0", "model_free 1", "drained", with ", " between. */
void script_expect(script_t *script, const char *said);
void script_forget(script_t *script); /* what was said until now is not looked at */
void script_state(const script_t *script, uint32_t request, const char *state);

#endif
