/* rlx-sim: plays scenarios under virtual time.
 *
 *   rlx-sim --list
 *   rlx-sim --scenario NAME --seeds A..B     all seeds, failures, what was reached, one digest over all
 *   rlx-sim --scenario NAME --trace SEED     one seed with its trace
 *
 * Exit code: 0 all rules held, 1 one was broken (the seed is named), 2 usage. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scenario.h"

#define FAILURES_SHOWN 10
#define SEEDS_FOR_ALL 1000

static const sim_scenario_t *const scenarios[] = {&sim_scenario_node, &sim_scenario_fair, &sim_scenario_overload};
#define N_SCENARIOS ((int)(sizeof scenarios / sizeof *scenarios))

typedef struct totals {
    uint64_t seeds, failures, events, digest;
} totals_t;

static int usage(void)
{
    fprintf(stderr, "usage: rlx-sim --scenario NAME --seeds A..B | --scenario NAME --trace SEED | --list\n");
    return 2;
}

static void play(const sim_scenario_t *scenario, uint64_t seed, uint64_t *reached, bool print, totals_t *totals)
{
    sim_world_t world;

    sim_world_init(&world, seed, reached, print);
    scenario->play(&world);
    totals->seeds++;
    totals->events += world.events;
    totals->digest = (totals->digest ^ world.digest) * 0x9e3779b97f4a7c15u;
    if (world.failed && ++totals->failures <= FAILURES_SHOWN)
        printf("seed %" PRIu64 " %s\n", seed, world.failure);
    sim_world_fini(&world);
}

/* Prints the counters; returns how many that must rise did not. */
static int show_reached(const sim_scenario_t *scenario, const uint64_t *reached, bool demand)
{
    int missing = 0;

    for (int i = 0; i < scenario->n_counters; i++) {
        bool fails = demand && scenario->all_reached && reached[i] == 0;
        printf("  %-28s %12" PRIu64 "%s\n", scenario->counters[i], reached[i], fails ? "  NEVER REACHED" : "");
        missing += fails;
    }
    return missing;
}

static int run(const sim_scenario_t *scenario, uint64_t first, uint64_t last, bool trace)
{
    uint64_t *reached = calloc((size_t)scenario->n_counters + 1, sizeof *reached);
    totals_t totals = {0};

    if (reached == NULL)
        return 3;
    for (uint64_t seed = first; seed <= last; seed++)
        play(scenario, seed, reached, trace, &totals);
    int missing = show_reached(scenario, reached, totals.seeds >= SEEDS_FOR_ALL);
    printf("%s: %" PRIu64 " seeds, %" PRIu64 " failed, %d not reached, %" PRIu64 " events, digest %016" PRIx64 "\n", scenario->name,
           totals.seeds, totals.failures, missing, totals.events, totals.digest);
    free(reached);
    return totals.failures > 0 || missing > 0;
}

static bool parse_number(const char *text, const char **out_rest, uint64_t *out_number)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    *out_number = strtoull(text, &end, 10);
    *out_rest = end;
    return true;
}

static bool parse_seeds(const char *text, uint64_t *out_first, uint64_t *out_last)
{
    const char *rest;

    if (!parse_number(text, &rest, out_first) || strncmp(rest, "..", 2) != 0 || !parse_number(rest + 2, &rest, out_last))
        return false;
    return *rest == '\0' && *out_first <= *out_last && *out_last < UINT64_MAX;
}

static const sim_scenario_t *find(const char *name)
{
    for (int i = 0; i < N_SCENARIOS; i++)
        if (strcmp(scenarios[i]->name, name) == 0)
            return scenarios[i];
    fprintf(stderr, "rlx-sim: no scenario '%s'; --list shows them\n", name);
    return NULL;
}

int main(int argc, char **argv)
{
    uint64_t first, last;
    const char *rest;

    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < N_SCENARIOS; i++)
            printf("%-10s %s\n", scenarios[i]->name, scenarios[i]->help);
        return 0;
    }
    if (argc != 5 || strcmp(argv[1], "--scenario") != 0)
        return usage();
    const sim_scenario_t *scenario = find(argv[2]);
    if (scenario == NULL)
        return 2;
    if (strcmp(argv[3], "--seeds") == 0 && parse_seeds(argv[4], &first, &last))
        return run(scenario, first, last, false);
    if (strcmp(argv[3], "--trace") == 0 && parse_number(argv[4], &rest, &first) && *rest == '\0')
        return run(scenario, first, first, true);
    return usage();
}
