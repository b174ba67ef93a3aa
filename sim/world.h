/* A world under virtual time: a clock that only events move, one seeded generator, a queue of events, a trace, and what was reached. One
 * thread. The same scenario and seed give the same events in the same order on every machine; the digest of the trace proves it. */
#ifndef RLX_SIM_WORLD_H
#define RLX_SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prng.h"

#define SIM_US 1000ull
#define SIM_MS 1000000ull

/* What happens: the scenario numbers its kinds and gives the arguments their meaning. */
typedef struct sim_event {
    uint32_t kind;
    uint64_t a, b, c;
} sim_event_t;

typedef struct sim_entry {
    uint64_t at_ns, order;
    sim_event_t event;
} sim_entry_t;

typedef struct sim_world {
    uint64_t now_ns, seed, events;
    rlx_prng_t prng;
    sim_entry_t *entries; /* heap by (time, order of scheduling) */
    size_t n_entries, entries_max;
    uint64_t order;
    uint64_t digest;    /* of everything traced */
    bool print;         /* the trace goes to stdout, too */
    uint64_t *reached;  /* counters of the scenario, summed over seeds */
    bool failed;
    char failure[256];
} sim_world_t;

void sim_world_init(sim_world_t *world, uint64_t seed, uint64_t *reached, bool print);
void sim_world_fini(sim_world_t *world);

/* Happens `delay_ns` from now. Events of one moment happen in the order in which they were scheduled. Ends the program when the queue
 * passes a million: a scenario that grows without end is broken. */
void sim_schedule(sim_world_t *world, uint64_t delay_ns, sim_event_t event);
/* The next event; moves the clock. False when there is none, or a check failed. */
bool sim_next(sim_world_t *world, sim_event_t *out_event);

/* One line of the trace: a word and up to four numbers. */
void sim_trace(sim_world_t *world, const char *what, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
/* A number into the digest, without a line of the trace. */
void sim_fold(sim_world_t *world, uint64_t value);
/* The scenario's counter `index` rises. */
static inline void sim_reach(sim_world_t *world, int index)
{
    world->reached[index]++;
}
/* A rule of the specification. The first breach of a seed is kept and ends it. Returns `holds`. */
bool sim_check(sim_world_t *world, bool holds, const char *rule, uint64_t a, uint64_t b);

#endif
