/* The search. Every candidate cut of every op is measured inside the model: trial j compiles the whole model with each op's j-th candidate,
 * trials run in turn, and a step's least time over all rounds is kept, alone and with a team. So what is near in the caches is as it will
 * be, all ops are measured at once, and a disturbance meets all candidates. What won is measured once more against the default, in
 * fresh rounds, and goes back where it does not win again: the best of many noisy numbers is not yet a gain. */
#include "cli/tune.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/tune_trial.h"

#define TRIALS_MAX 16
#define ROUNDS_LEAST 3
#define SEARCH_SHARE 0.7 /* of the budget; the rest confirms */
#define GAIN_WANTED 0.98 /* of the default's time: a smaller gain is no reason */
#define GAIN_CONFIRMED 0.99
#define LOSS_ALLOWED 1.02 /* in one of the modes, for a gain in the other */

typedef struct tune_key {
    rlx_tuning_entry_t entry;
    rlx_op_kind_t kind;
    uint64_t ns[TRIALS_MAX][RLX_TUNE_MODES]; /* by trial: all steps of all ops with this key */
    uint64_t shape[TRIALS_MAX];
} tune_key_t;

typedef struct tuner {
    const rlx_compile_job_t *job;
    const rlx_compile_options_t *shapes;
    rlx_tune_bench_t bench;
    rlx_tune_trial_t trials[TRIALS_MAX];
    int n_trials;
    tune_key_t *keys; /* ascending */
    int n_keys;
    uint64_t start_ns;
    double budget_s;
    int n_rounds;
    rlx_diag_t *diag;
} tuner_t;

static double tuner_seconds(const tuner_t *tuner) { return (double)(rlx_clock_ns() - tuner->start_ns) / 1e9; }

static int key_compare(const void *a, const void *b)
{
    return strcmp(((const tune_key_t *)a)->entry.key, ((const tune_key_t *)b)->entry.key);
}

static int key_search(const void *key, const void *entry) { return strcmp(key, ((const tune_key_t *)entry)->entry.key); }

static tune_key_t *key_find(const tuner_t *tuner, const char *key)
{
    return bsearch(key, tuner->keys, (size_t)tuner->n_keys, sizeof *tuner->keys, key_search);
}

/* The keys of the first trial, each once. */
static rlx_status_t keys_collect(tuner_t *tuner)
{
    const rlx_compiled_t *compiled = &tuner->trials[0].compiled;
    int n = 0;

    tuner->keys = calloc((size_t)compiled->n_steps + 1, sizeof *tuner->keys);
    if (tuner->keys == NULL)
        return rlx_fail(tuner->diag, RLX_E_NO_MEMORY, "out of memory");
    for (int64_t i = 0; i < compiled->n_steps; i++)
        tuner->keys[i] = (tune_key_t){.entry.key = compiled->step_keys[i].key, .kind = compiled->step_keys[i].kind};
    qsort(tuner->keys, (size_t)compiled->n_steps, sizeof *tuner->keys, key_compare);
    for (int64_t i = 0; i < compiled->n_steps; i++)
        if (n == 0 || strcmp(tuner->keys[n - 1].entry.key, tuner->keys[i].entry.key) != 0)
            tuner->keys[n++] = tuner->keys[i];
    for (int i = 0; i < n; i++) {
        tuner->keys[i].entry.key = strdup(tuner->keys[i].entry.key);
        if (tuner->keys[i].entry.key == NULL)
            return rlx_fail(tuner->diag, RLX_E_NO_MEMORY, "out of memory");
        tuner->n_keys = i + 1;
    }
    return RLX_OK;
}

/* The table that a trial compiles with. Entries are borrowed from the keys. */
static rlx_status_t trial_add(tuner_t *tuner, rlx_tune_trial_t *trial)
{
    rlx_tuning_t table = {.entries = calloc((size_t)tuner->n_keys + 1, sizeof *table.entries), .n_entries = tuner->n_keys};
    rlx_status_t status;

    if (table.entries == NULL)
        return rlx_fail(tuner->diag, RLX_E_NO_MEMORY, "out of memory");
    for (int i = 0; i < tuner->n_keys; i++)
        table.entries[i] = tuner->keys[i].entry;
    status = rlx_tune_trial_init(trial, &tuner->bench, tuner->job, &table, tuner->shapes, tuner->diag);
    free(table.entries);
    return status;
}

static rlx_status_t trials_make(tuner_t *tuner)
{
    int most = 1, n;

    RLX_TRY(trial_add(tuner, &tuner->trials[0]));
    tuner->n_trials = 1;
    RLX_TRY(keys_collect(tuner));
    for (int i = 0; i < tuner->n_keys; i++) {
        rlx_cut_candidates(tuner->keys[i].kind, &n);
        most = n > most ? n : most;
    }
    RLX_ASSERT(most <= TRIALS_MAX);
    for (int trial = 1; trial < most; trial++) {
        for (int i = 0; i < tuner->n_keys; i++) {
            const rlx_cut_t *cuts = rlx_cut_candidates(tuner->keys[i].kind, &n);

            tuner->keys[i].entry.cut = cuts[trial < n ? trial : 0];
        }
        RLX_TRY(trial_add(tuner, &tuner->trials[trial]));
        tuner->n_trials = trial + 1;
    }
    return RLX_OK;
}

/* Rounds over the first `n` trials and `other` (may be NULL) until the time is up. */
static rlx_status_t rounds_run(tuner_t *tuner, int n, rlx_tune_trial_t *other, double until_s)
{
    char phase[96];

    for (int round = 0; round < ROUNDS_LEAST || tuner_seconds(tuner) < until_s; round++) {
        snprintf(phase, sizeof phase, "tuning: %s, round %d, %.0f of %.0f s", other == NULL ? "candidates" : "what won", round + 1,
                 tuner_seconds(tuner), tuner->budget_s);
        rlx_cli_progress(NULL, phase);
        for (int i = 0; i < n; i++)
            RLX_TRY(rlx_tune_trial_run(&tuner->trials[i], &tuner->bench, tuner->diag));
        if (other != NULL)
            RLX_TRY(rlx_tune_trial_run(other, &tuner->bench, tuner->diag));
        tuner->n_rounds++;
    }
    return RLX_OK;
}

/* Sums a trial's steps by key into column `column`. */
static void keys_sum(tuner_t *tuner, const rlx_tune_trial_t *trial, int column)
{
    int n_modes = tuner->bench.team != NULL ? 2 : 1;

    for (int i = 0; i < tuner->n_keys; i++) {
        memset(tuner->keys[i].ns[column], 0, sizeof tuner->keys[i].ns[column]);
        tuner->keys[i].shape[column] = 0;
    }
    for (int64_t i = 0; i < trial->compiled.n_steps; i++) {
        tune_key_t *key = key_find(tuner, trial->compiled.step_keys[i].key);

        if (key == NULL)
            continue;
        for (int mode = 0; mode < n_modes; mode++)
            key->ns[column][mode] += trial->best[mode][i];
        key->shape[column] = key->shape[column] * 0x9e3779b97f4a7c15u + rlx_tune_step_shape(trial, i);
    }
}

/* Time of column `a` over that of `b`: the mean of alone and with the team. */
static double key_ratio(const tuner_t *tuner, const tune_key_t *key, int a, int b)
{
    double sum = 0;
    int n_modes = tuner->bench.team != NULL ? 2 : 1;

    for (int mode = 0; mode < n_modes; mode++)
        sum += (double)(key->ns[a][mode] + 1) / (double)(key->ns[b][mode] + 1);
    return sum / n_modes;
}

/* Column `a` costs neither mode anything worth the name. */
static bool key_harmless(const tuner_t *tuner, const tune_key_t *key, int a, int b)
{
    bool harmless = true;

    for (int mode = 0; mode < (tuner->bench.team != NULL ? 2 : 1); mode++)
        harmless = harmless && (double)key->ns[a][mode] <= LOSS_ALLOWED * (double)key->ns[b][mode];
    return harmless;
}

static void keys_choose(tuner_t *tuner)
{
    for (int trial = 0; trial < tuner->n_trials; trial++)
        keys_sum(tuner, &tuner->trials[trial], trial);
    for (int i = 0; i < tuner->n_keys; i++) {
        tune_key_t *key = &tuner->keys[i];
        double best = GAIN_WANTED;
        int n;
        const rlx_cut_t *cuts = rlx_cut_candidates(key->kind, &n);

        key->entry.cut = cuts[0];
        for (int trial = 1; trial < n; trial++) {
            double ratio = key_ratio(tuner, key, trial, 0);

            if (key->shape[trial] == key->shape[0] || ratio >= best || !key_harmless(tuner, key, trial, 0))
                continue;
            best = ratio;
            key->entry.cut = cuts[trial];
        }
    }
}

static bool cut_is_default(const rlx_cut_t *cut)
{
    static const rlx_cut_t none;

    return memcmp(cut, &none, sizeof none) == 0;
}

/* The measured cost of a key's steps over the estimate, from the trial that is cut as the key is. */
static void key_scale(const tuner_t *tuner, tune_key_t *key, const rlx_tune_trial_t *won)
{
    const rlx_tune_trial_t *trial = won != NULL && !cut_is_default(&key->entry.cut) ? won : &tuner->trials[0];
    uint64_t ns[RLX_SCHEDULE_STEPS_MAX] = {0}, estimate[RLX_SCHEDULE_STEPS_MAX] = {0};

    key->entry.n_steps = 0;
    for (int64_t i = 0; i < rlx_tune_steps_planned(trial); i++) {
        const rlx_step_key_t *step = &trial->compiled.step_keys[i];

        if (step->index >= RLX_SCHEDULE_STEPS_MAX || strcmp(step->key, key->entry.key) != 0)
            continue;
        ns[step->index] += trial->best[0][i];
        estimate[step->index] += rlx_tune_step_estimate(trial, i);
        if (step->index >= key->entry.n_steps)
            key->entry.n_steps = step->index + 1;
    }
    for (int i = 0; i < key->entry.n_steps; i++) {
        double scale = estimate[i] == 0 ? 0 : (double)ns[i] / (double)estimate[i] * RLX_COST_SCALE + 0.5;

        key->entry.scale[i] = scale < 1 ? 1 : scale > (double)RLX_COST_SCALE_MAX ? RLX_COST_SCALE_MAX : (uint64_t)scale;
    }
}

/* Winners against the default in fresh rounds. Column 0 becomes the default's fresh times. */
static rlx_status_t winners_confirm(tuner_t *tuner, rlx_tune_trial_t *won, rlx_tune_figures_t *figures)
{
    for (int i = 1; i < tuner->n_trials; i++)
        rlx_tune_trial_fini(&tuner->trials[i]);
    tuner->n_trials = 1;
    RLX_TRY(trial_add(tuner, won));
    rlx_tune_trial_clear(&tuner->trials[0]);
    RLX_TRY(rounds_run(tuner, 1, won, tuner->budget_s));
    keys_sum(tuner, &tuner->trials[0], TRIALS_MAX - 2);
    keys_sum(tuner, won, TRIALS_MAX - 1);
    for (int i = 0; i < tuner->n_keys; i++) {
        tune_key_t *key = &tuner->keys[i];

        if (key_ratio(tuner, key, TRIALS_MAX - 1, TRIALS_MAX - 2) > GAIN_CONFIRMED ||
            !key_harmless(tuner, key, TRIALS_MAX - 1, TRIALS_MAX - 2))
            key->entry.cut = (rlx_cut_t){0};
        figures->n_changed += !cut_is_default(&key->entry.cut);
        key_scale(tuner, key, won);
    }
    for (int i = 0; i < 2; i++) {
        figures->alone_ms[i] = (double)(i == 0 ? &tuner->trials[0] : won)->total[0] / 1e6;
        figures->team_ms[i] = tuner->bench.team != NULL ? (double)(i == 0 ? &tuner->trials[0] : won)->total[1] / 1e6 : 0;
    }
    return RLX_OK;
}

static rlx_status_t tuner_run(tuner_t *tuner, rlx_tune_figures_t *figures)
{
    rlx_tune_trial_t won = {0};
    rlx_status_t status;

    RLX_TRY(rlx_tune_bench_init(&tuner->bench, tuner->diag));
    RLX_TRY(trials_make(tuner));
    RLX_TRY(rounds_run(tuner, tuner->n_trials, NULL, SEARCH_SHARE * tuner->budget_s));
    keys_choose(tuner);
    figures->n_candidates = tuner->n_trials;
    status = winners_confirm(tuner, &won, figures);
    rlx_tune_trial_fini(&won);
    figures->n_keys = tuner->n_keys;
    figures->n_rounds = tuner->n_rounds;
    figures->n_threads = tuner->bench.n_threads;
    return status;
}

static rlx_status_t table_take(tuner_t *tuner, rlx_tuning_t *out_tuning, rlx_text_t *log)
{
    rlx_tuning_t tuning = {.entries = calloc((size_t)tuner->n_keys + 1, sizeof *tuning.entries), .n_entries = tuner->n_keys};

    if (tuning.entries == NULL)
        return rlx_fail(tuner->diag, RLX_E_NO_MEMORY, "out of memory");
    rlx_tune_log_head(log, tuner->bench.kernels.target, tuner->bench.n_threads);
    for (int i = 0; i < tuner->n_keys; i++) {
        rlx_tune_log_entry(log, &tuner->keys[i].entry, tuner->keys[i].kind, (const uint64_t (*)[2])tuner->keys[i].ns);
        tuning.entries[i] = tuner->keys[i].entry;
        tuner->keys[i].entry.key = NULL; /* moved */
    }
    *out_tuning = tuning;
    return RLX_OK;
}

rlx_status_t rlx_tune_measure(const rlx_compile_job_t *job, const rlx_compile_options_t *shapes, double budget_s, rlx_tuning_t *out_tuning,
                              rlx_tune_figures_t *out_figures, rlx_text_t *log, rlx_diag_t *diag)
{
    tuner_t *tuner = calloc(1, sizeof *tuner);
    rlx_tune_figures_t figures = {0};
    rlx_status_t status;

    if (tuner == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    *tuner = (tuner_t){.job = job, .shapes = shapes, .start_ns = rlx_clock_ns(), .budget_s = budget_s, .diag = diag};
    status = tuner_run(tuner, &figures);
    if (status == RLX_OK)
        status = table_take(tuner, out_tuning, log);
    rlx_cli_progress(NULL, NULL);
    rlx_tune_bench_fini(&tuner->bench); /* its inputs are described by the first trial's program */
    for (int i = 0; i < TRIALS_MAX; i++)
        rlx_tune_trial_fini(&tuner->trials[i]);
    for (int i = 0; i < tuner->n_keys; i++)
        free(tuner->keys[i].entry.key);
    free(tuner->keys);
    free(tuner);
    if (status == RLX_OK)
        *out_figures = figures;
    return status;
}

void rlx_tuning_fini(rlx_tuning_t *tuning)
{
    for (int i = 0; i < tuning->n_entries; i++)
        free(tuning->entries[i].key);
    free(tuning->entries);
    *tuning = (rlx_tuning_t){0};
}
