/* rlx-sim: plays scenarios under virtual time.
 *
 *   rlx-sim --list
 *   rlx-sim [--scenario NAME] --seeds N | A..B     all seeds, failures, what was reached, figures, one digest over all
 *   rlx-sim [--scenario NAME] --trace SEED         one seed with its trace
 *
 * Options of the scenarios of the state service: --nodes N, --replicas N, --heartbeat MS, --minutes N (simulated), --faults all | none |
 * NAME,NAME... (all: each seed draws some of them). Without --scenario it is "cluster". Exit code: 0 all rules held, 1 one was broken (the
 * seed is named, its history made shorter), 2 usage. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gss/core/mutant.h"
#include "sim/cluster.h"
#include "sim/scenario.h"

#define FAILURES_SHOWN 10
#define SEEDS_FOR_ALL 1000

static const sim_scenario_t *const scenarios[] = {
    &sim_scenario_node, &sim_scenario_fair, &sim_scenario_overload, &sim_scenario_cluster, &sim_scenario_crash, &sim_scenario_third,
    &sim_scenario_join, &sim_scenario_stall, &sim_scenario_traffic,
};
#define N_SCENARIOS ((int)(sizeof scenarios / sizeof *scenarios))

typedef struct totals {
    uint64_t seeds, failures, events, digest;
} totals_t;

typedef struct command {
    const sim_scenario_t *scenario;
    uint64_t first, last;
    bool trace, until_failure, no_minimise;
} command_t;

static int usage(void)
{
    fprintf(stderr, "usage: rlx-sim [--scenario NAME] --seeds N|A..B|--trace SEED [--nodes N] [--replicas N] [--heartbeat MS] [--minutes N]\n"
                    "               [--faults all|none|NAME,...] [--until-failure] [--no-minimise] | --list\n");
    return 2;
}

static bool play(const command_t *command, uint64_t seed, uint64_t *reached, totals_t *totals)
{
    sim_world_t world;
    bool failed;

    sim_world_init(&world, seed, reached, command->trace);
    command->scenario->play(&world);
    totals->seeds++;
    totals->events += world.events;
    totals->digest = (totals->digest ^ world.digest) * 0x9e3779b97f4a7c15u;
    failed = world.failed;
    if (failed && ++totals->failures <= FAILURES_SHOWN)
        printf("seed %" PRIu64 " %s\n", seed, world.failure);
    sim_world_fini(&world);
    fflush(stdout);
    return !failed;
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

static int run(const command_t *command)
{
    const sim_scenario_t *scenario = command->scenario;
    uint64_t *reached = calloc(2 * ((size_t)scenario->n_counters + 1), sizeof *reached);
    totals_t totals = {0};
    bool minimised = command->no_minimise || scenario->minimise == NULL, goes_on = true;

    if (reached == NULL)
        return 3;
    for (uint64_t seed = command->first; seed <= command->last && goes_on; seed++) {
        bool good = play(command, seed, reached, &totals);
        if (!good && !minimised)
            scenario->minimise(seed, reached + scenario->n_counters + 1);
        minimised |= !good; /* one history is enough to read */
        goes_on = good || !command->until_failure;
    }
    int missing = show_reached(scenario, reached, totals.seeds >= SEEDS_FOR_ALL);
    bool in_bounds = scenario->report == NULL || scenario->report();
    printf("%s: %" PRIu64 " seeds, %" PRIu64 " failed, %d not reached, %" PRIu64 " events, digest %016" PRIx64 "\n", scenario->name,
           totals.seeds, totals.failures, missing, totals.events, totals.digest);
    free(reached);
    return totals.failures > 0 || missing > 0 || !in_bounds;
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

/* "N": 1..N. */
static bool parse_seeds(const char *text, uint64_t *out_first, uint64_t *out_last)
{
    const char *rest;

    if (!parse_number(text, &rest, out_first))
        return false;
    if (*rest == '\0') {
        *out_last = *out_first;
        *out_first = 1;
    } else if (strncmp(rest, "..", 2) != 0 || !parse_number(rest + 2, &rest, out_last)) {
        return false;
    }
    return *rest == '\0' && *out_first <= *out_last && *out_last < UINT64_MAX;
}

static bool parse_bounded(const char *text, uint32_t least, uint32_t most, uint32_t *out_number)
{
    const char *rest;
    uint64_t number;

    if (!parse_number(text, &rest, &number) || *rest != '\0' || number < least || number > most)
        return false;
    *out_number = (uint32_t)number;
    return true;
}

static bool parse_faults(const char *text)
{
    static const char *const names[] = {
#define X(id, name, text) name,
        CLUSTER_FAULT_LIST(X)
#undef X
    };
    cluster_config.faults = strcmp(text, "all") == 0 ? (1u << CLUSTER_FAULTS) - 1 : 0;
    if (cluster_config.faults != 0 || strcmp(text, "none") == 0)
        return true;
    cluster_config.all_faults = true;
    while (*text != '\0') {
        size_t bytes = strcspn(text, ",");
        int found = -1;
        for (int i = 0; i < CLUSTER_FAULTS; i++)
            if (strlen(names[i]) == bytes && strncmp(names[i], text, bytes) == 0)
                found = i;
        if (found < 0)
            return false;
        cluster_config.faults |= 1u << found;
        text += bytes + (text[bytes] == ',');
    }
    return true;
}

static const sim_scenario_t *find(const char *name)
{
    for (int i = 0; i < N_SCENARIOS; i++)
        if (strcmp(scenarios[i]->name, name) == 0)
            return scenarios[i];
    fprintf(stderr, "rlx-sim: no scenario '%s'; --list shows them\n", name);
    return NULL;
}

#ifdef RLX_GSS_MUTANTS
static const char *const mutants[] = {"none",
#define X(id, name, text) name,
    RLX_GSS_MUTANT_LIST(X)
#undef X
};

static bool parse_mutant(const char *text)
{
    for (int i = 0; i < RLX_GSS_MUTANT_COUNT; i++)
        if (strcmp(mutants[i], text) == 0) {
            rlx_gss_mutant = (rlx_gss_mutant_t)i;
            return true;
        }
    return false;
}
#endif

/* One option and its value. */
static bool parse_option(const char *option, const char *value, command_t *command)
{
    const char *rest;

    if (strcmp(option, "--scenario") == 0)
        return (command->scenario = find(value)) != NULL;
    if (strcmp(option, "--seeds") == 0)
        return parse_seeds(value, &command->first, &command->last);
    if (strcmp(option, "--trace") == 0) {
        command->trace = true;
        return parse_number(value, &rest, &command->first) && *rest == '\0' && parse_number(value, &rest, &command->last);
    }
    if (strcmp(option, "--nodes") == 0)
        return parse_bounded(value, 4, CLUSTER_NODES_MAX, &cluster_config.nodes);
    if (strcmp(option, "--replicas") == 0)
        return parse_bounded(value, 1, CLUSTER_REPLICAS_MAX, &cluster_config.replicas);
    if (strcmp(option, "--heartbeat") == 0)
        return parse_bounded(value, 100, 10000, &cluster_config.heartbeat_ms);
    if (strcmp(option, "--minutes") == 0)
        return parse_bounded(value, 1, 600, &cluster_config.minutes);
    if (strcmp(option, "--faults") == 0)
        return parse_faults(value);
#ifdef RLX_GSS_MUTANTS
    if (strcmp(option, "--mutant") == 0)
        return parse_mutant(value);
#endif
    return false;
}

static bool parse(int argc, char **argv, command_t *command)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--until-failure") == 0)
            command->until_failure = true;
        else if (strcmp(argv[i], "--no-minimise") == 0)
            command->no_minimise = true;
        else if (i + 1 == argc || !parse_option(argv[i], argv[i + 1], command))
            return false;
        else
            i++;
    }
    return command->last > 0 || command->trace;
}

int main(int argc, char **argv)
{
    command_t command = {.scenario = &sim_scenario_cluster};

    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < N_SCENARIOS; i++)
            printf("%-10s %s\n", scenarios[i]->name, scenarios[i]->help);
        return 0;
    }
#ifdef RLX_GSS_MUTANTS
    if (argc == 2 && strcmp(argv[1], "--mutants") == 0) {
        for (int i = 1; i < RLX_GSS_MUTANT_COUNT; i++)
            printf("%s\n", mutants[i]);
        return 0;
    }
#endif
    if (!parse(argc, argv, &command))
        return usage();
    return run(&command);
}
