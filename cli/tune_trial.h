/* A compiled variant of a model, ready to be measured. Internal to tuning. */
#ifndef RLX_CLI_TUNE_TRIAL_H
#define RLX_CLI_TUNE_TRIAL_H

#include "cli/session.h"
#include "cli/tune.h"

#define RLX_TUNE_MODES 2 /* alone, with the team */

/* What trials share. */
typedef struct rlx_tune_bench {
    rlx_kernel_table_t kernels;
    void *code; /* the mapped image */
    size_t code_bytes;
    rlx_team_t *team; /* NULL: one thread is all there is */
    int n_threads;
    void *constants; /* 64-byte aligned: of every trial, since cuts do not change them */
    size_t constants_bytes;
    rlx_session_t session; /* of the first trial: names of inputs */
    rlx_io_t *inputs;
} rlx_tune_bench_t;

typedef struct rlx_tune_trial {
    rlx_compiled_t compiled;
    rlx_model_t *model;
    rlx_plan_t *plan;
    rlx_io_t *outputs;
    uint64_t *step_ns;               /* scratch of one run */
    uint64_t *best[RLX_TUNE_MODES];  /* by step: the least of all rounds */
    uint64_t total[RLX_TUNE_MODES];  /* of the model, likewise */
} rlx_tune_trial_t;

/* Finds this machine's kernels and starts a team. */
rlx_status_t rlx_tune_bench_init(rlx_tune_bench_t *bench, rlx_diag_t *diag);
void rlx_tune_bench_fini(rlx_tune_bench_t *bench);
/* Compiles with `tuning` and makes it ready. The first trial makes inputs and constants for all. */
rlx_status_t rlx_tune_trial_init(rlx_tune_trial_t *trial, rlx_tune_bench_t *bench, const rlx_compile_job_t *job, const rlx_tuning_t *tuning,
                                 const rlx_compile_options_t *shapes, rlx_diag_t *diag);
void rlx_tune_trial_fini(rlx_tune_trial_t *trial);
/* One round: a run in each mode. */
rlx_status_t rlx_tune_trial_run(rlx_tune_trial_t *trial, rlx_tune_bench_t *bench, rlx_diag_t *diag);
/* Forgets what was measured. */
void rlx_tune_trial_clear(rlx_tune_trial_t *trial);
/* What decides a step's work beside its operands, as a number: equal for equal kernels, parameters and tiles. */
uint64_t rlx_tune_step_shape(const rlx_tune_trial_t *trial, int64_t step);
/* Steps before any extent depends on data: those of region 0, which stand first. Only their estimates are known. */
int64_t rlx_tune_steps_planned(const rlx_tune_trial_t *trial);
/* The step's estimated time without any measurement: at least 1 ns. */
uint64_t rlx_tune_step_estimate(const rlx_tune_trial_t *trial, int64_t step);

#endif
