/* See world.h. */
#include "sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ENTRIES_MAX 1000000

void sim_world_init(sim_world_t *world, uint64_t seed, uint64_t *reached, bool print)
{
    *world = (sim_world_t){.seed = seed, .reached = reached, .print = print, .digest = 0xcbf29ce484222325u};
    rlx_prng_init(&world->prng, seed);
}

void sim_world_fini(sim_world_t *world)
{
    free(world->entries);
    world->entries = NULL;
}

static bool before(const sim_entry_t *x, const sim_entry_t *y)
{
    return x->at_ns != y->at_ns ? x->at_ns < y->at_ns : x->order < y->order;
}

static void grow(sim_world_t *world)
{
    size_t wanted = world->entries_max == 0 ? 64 : 2 * world->entries_max;
    sim_entry_t *entries = wanted > 2 * ENTRIES_MAX ? NULL : realloc(world->entries, wanted * sizeof *entries);

    if (entries == NULL) {
        fprintf(stderr, "rlx-sim: seed %" PRIu64 ": more than %d events wait\n", world->seed, ENTRIES_MAX);
        exit(3);
    }
    world->entries = entries;
    world->entries_max = wanted;
}

void sim_schedule(sim_world_t *world, uint64_t delay_ns, sim_event_t event)
{
    sim_entry_t entry = {.at_ns = world->now_ns + delay_ns, .order = world->order++, .event = event};

    if (world->n_entries == world->entries_max)
        grow(world);
    size_t at = world->n_entries++;
    for (; at > 0 && before(&entry, &world->entries[(at - 1) / 2]); at = (at - 1) / 2)
        world->entries[at] = world->entries[(at - 1) / 2];
    world->entries[at] = entry;
}

bool sim_next(sim_world_t *world, sim_event_t *out_event)
{
    if (world->failed || world->n_entries == 0)
        return false;
    sim_entry_t first = world->entries[0], last = world->entries[--world->n_entries];
    size_t at = 0;
    for (size_t child = 1; child < world->n_entries; child = 2 * at + 1) {
        if (child + 1 < world->n_entries && before(&world->entries[child + 1], &world->entries[child]))
            child++;
        if (!before(&world->entries[child], &last))
            break;
        world->entries[at] = world->entries[child];
        at = child;
    }
    world->entries[at] = last;
    world->now_ns = first.at_ns;
    world->events++;
    *out_event = first.event;
    return true;
}

static void digest(sim_world_t *world, uint64_t value)
{
    world->digest = (world->digest ^ value) * 0x9e3779b97f4a7c15u;
    world->digest ^= world->digest >> 29;
}

void sim_fold(sim_world_t *world, uint64_t value) { digest(world, value); }

void sim_trace(sim_world_t *world, const char *what, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t word = 0;

    for (const char *at = what; *at != '\0'; at++)
        word = word * 31 + (unsigned char)*at;
    digest(world, world->now_ns);
    digest(world, word);
    digest(world, a);
    digest(world, b);
    digest(world, c);
    digest(world, d);
    if (world->print)
        printf("%12" PRIu64 "  %-14s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", world->now_ns, what, a, b, c, d);
}

bool sim_check(sim_world_t *world, bool holds, const char *rule, uint64_t a, uint64_t b)
{
    if (holds || world->failed)
        return holds;
    world->failed = true;
    snprintf(world->failure, sizeof world->failure, "at %" PRIu64 " ns: broken: %s (%" PRIu64 ", %" PRIu64 ")", world->now_ns, rule, a, b);
    if (world->print)
        printf("%s\n", world->failure);
    return false;
}
