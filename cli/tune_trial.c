/* One variant of a model in memory: compiled, its kernels mapped from this program's own images, run and timed. See cli/tune_trial.h. */
#include "cli/tune_trial.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/digest.h"
#include "cli/bench_input.h"
#include "cli/cli.h"
#include "kernels/image.h"

/* The first image that this machine runs, as a bundle would map it. */
static rlx_status_t code_map(rlx_tune_bench_t *bench, rlx_diag_t *diag)
{
    int n;
    const rlx_kernel_image_t *images = rlx_kernel_images(&n), *image = NULL;

    for (int i = n - 1; i >= 0; i--)
        if (rlx_isa_runs(images[i].isa))
            image = &images[i];
    if (image == NULL)
        return rlx_fail(diag, RLX_E_BUNDLE_TARGET, "this machine runs none of the kernels of this program: nothing to measure");
    bench->code = mmap(NULL, image->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bench->code == MAP_FAILED) {
        bench->code = NULL;
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for kernels");
    }
    bench->code_bytes = image->bytes;
    memcpy(bench->code, image->data, image->bytes);
    if (mprotect(bench->code, image->bytes, PROT_READ | PROT_EXEC) != 0)
        return rlx_fail(diag, RLX_E_BUNDLE_TARGET, "this system does not let a program run code that it wrote: nothing can be measured");
    bench->kernels.target = image->isa;
    for (uint32_t i = 0; i < image->n_entries; i++)
        bench->kernels.entry[image->entries[i].kernel] = (rlx_kernel_fn_t *)((uintptr_t)bench->code + image->entries[i].offset);
    return RLX_OK;
}

rlx_status_t rlx_tune_bench_init(rlx_tune_bench_t *bench, rlx_diag_t *diag)
{
    int n_cpus = rlx_cpus_allowed();
    rlx_status_t status;

    *bench = (rlx_tune_bench_t){.n_threads = n_cpus > RLX_CLI_THREADS_MAX ? RLX_CLI_THREADS_MAX : n_cpus};
    status = code_map(bench, diag);
    if (status == RLX_OK && bench->n_threads > 1)
        status = rlx_team_create(bench->n_threads, &bench->team, diag);
    if (status != RLX_OK)
        rlx_tune_bench_fini(bench);
    return status;
}

void rlx_tune_bench_fini(rlx_tune_bench_t *bench)
{
    if (bench->inputs != NULL)
        rlx_bench_inputs_free(&bench->session, bench->inputs);
    if (bench->team != NULL)
        rlx_team_destroy(bench->team);
    if (bench->code != NULL)
        munmap(bench->code, bench->code_bytes);
    free(bench->constants);
    *bench = (rlx_tune_bench_t){0};
}

/* Constants of the first trial stay, in a place with the alignment they have in a bundle; those of others must be the same. */
static rlx_status_t constants_share(rlx_tune_bench_t *bench, rlx_compiled_t *compiled, rlx_diag_t *diag)
{
    size_t bytes = compiled->constants_bytes;
    rlx_status_t status = RLX_OK;

    if (bench->constants == NULL) {
        bench->constants = aligned_alloc(RLX_BUNDLE_PAGE, (bytes / RLX_BUNDLE_PAGE + 1) * RLX_BUNDLE_PAGE);
        if (bench->constants == NULL)
            return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for constants");
        if (bytes > 0)
            memcpy(bench->constants, compiled->constants, bytes);
        bench->constants_bytes = bytes;
    }
    if (bytes != bench->constants_bytes || (bytes > 0 && memcmp(bench->constants, compiled->constants, bytes) != 0))
        status = rlx_fail(diag, RLX_E_INTERNAL, "another cut changed the constants");
    free(compiled->constants);
    compiled->constants = NULL;
    return status;
}

static rlx_status_t trial_open(rlx_tune_trial_t *trial, rlx_tune_bench_t *bench, const rlx_compile_options_t *shapes, rlx_diag_t *diag)
{
    rlx_compiled_t *compiled = &trial->compiled;
    const rlx_program_header_t *program = compiled->program;

    RLX_TRY(rlx_program_check(compiled->program, compiled->program_bytes, compiled->constants_bytes, diag));
    RLX_TRY(constants_share(bench, compiled, diag));
    RLX_TRY(rlx_model_create(compiled->program, bench->constants, &bench->kernels, &trial->model, diag));
    if (bench->inputs == NULL) {
        bench->session = (rlx_session_t){.model = trial->model, .program = program};
        if (rlx_bench_inputs_make(&bench->session, shapes, &bench->inputs, diag) != RLX_OK)
            return diag->status;
    }
    if (rlx_plan_get(trial->model, bench->inputs, &trial->plan, diag) != RLX_OK)
        return rlx_diag_hint(diag, "Tuning makes up inputs. Give open extents with --tune-shape NAME=DIMS.");
    trial->outputs = calloc(program->outputs.count + 1, sizeof *trial->outputs);
    trial->step_ns = calloc(program->steps.count + 1, sizeof *trial->step_ns);
    for (int mode = 0; mode < RLX_TUNE_MODES; mode++)
        trial->best[mode] = calloc(program->steps.count + 1, sizeof *trial->best[mode]);
    if (trial->outputs == NULL || trial->step_ns == NULL || trial->best[0] == NULL || trial->best[1] == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    rlx_tune_trial_clear(trial);
    return RLX_OK;
}

rlx_status_t rlx_tune_trial_init(rlx_tune_trial_t *trial, rlx_tune_bench_t *bench, const rlx_compile_job_t *job, const rlx_tuning_t *tuning,
                                 const rlx_compile_options_t *shapes, rlx_diag_t *diag)
{
    rlx_compile_job_t tuned = *job;
    rlx_status_t status;

    *trial = (rlx_tune_trial_t){0};
    tuned.options.tuning = tuning;
    RLX_TRY(rlx_compile_job_build(&tuned, NULL, NULL, &trial->compiled, diag));
    status = trial_open(trial, bench, shapes, diag);
    if (status != RLX_OK)
        rlx_tune_trial_fini(trial);
    return status;
}

void rlx_tune_trial_fini(rlx_tune_trial_t *trial)
{
    const rlx_program_header_t *program = trial->compiled.program;

    for (uint64_t i = 0; trial->outputs != NULL && i < program->outputs.count; i++)
        free(trial->outputs[i].tensor.data);
    free(trial->outputs);
    free(trial->step_ns);
    free(trial->best[0]);
    free(trial->best[1]);
    if (trial->plan != NULL)
        rlx_plan_release(trial->plan);
    if (trial->model != NULL)
        rlx_model_release(trial->model);
    rlx_compiled_fini(&trial->compiled);
    *trial = (rlx_tune_trial_t){0};
}

void rlx_tune_trial_clear(rlx_tune_trial_t *trial)
{
    for (int mode = 0; mode < RLX_TUNE_MODES; mode++) {
        trial->total[mode] = UINT64_MAX;
        for (int64_t i = 0; i < trial->compiled.n_steps; i++)
            trial->best[mode][i] = UINT64_MAX;
    }
}

rlx_status_t rlx_tune_trial_run(rlx_tune_trial_t *trial, rlx_tune_bench_t *bench, rlx_diag_t *diag)
{
    for (int mode = 0; mode < (bench->team != NULL ? 2 : 1); mode++) {
        rlx_run_stats_t stats = {.step_ns = trial->step_ns};
        uint64_t start = rlx_clock_ns(), total;

        RLX_TRY(rlx_run(trial->plan, mode == 1 ? bench->team : NULL, bench->inputs, trial->outputs, NULL, &stats, diag));
        total = rlx_clock_ns() - start;
        if (total < trial->total[mode])
            trial->total[mode] = total;
        for (int64_t i = 0; i < trial->compiled.n_steps; i++)
            if (trial->step_ns[i] < trial->best[mode][i])
                trial->best[mode][i] = trial->step_ns[i];
    }
    return RLX_OK;
}

uint64_t rlx_tune_step_shape(const rlx_tune_trial_t *trial, int64_t step)
{
    const rlx_program_header_t *program = trial->compiled.program;
    const rlx_program_step_t *steps = RLX_PROGRAM_TABLE(rlx_program_step_t, program, steps), *one = &steps[step];
    const int64_t *params = RLX_PROGRAM_TABLE(int64_t, program, params) + one->params;
    const rlx_program_patch_t *patches = RLX_PROGRAM_TABLE(rlx_program_patch_t, program, patches) + one->patches;
    int64_t words[RLX_PARAM_MAX + 3] = {one->kernel, rlx_plan_number(trial->plan, &one->tiles), rlx_plan_number(trial->plan, &one->scratch)};
    uint64_t digest[2];

    for (uint32_t i = 0; i < one->n_params; i++)
        words[3 + i] = params[i];
    for (uint32_t i = 0; i < one->n_patches; i++) {
        rlx_ref_t ref = {.slot = patches[i].slot};

        words[3 + patches[i].index] = rlx_plan_number(trial->plan, &ref);
    }
    rlx_digest_xxh3(words, (3 + one->n_params) * sizeof *words, digest);
    return digest[0];
}

uint64_t rlx_tune_step_estimate(const rlx_tune_trial_t *trial, int64_t step)
{
    const rlx_program_header_t *program = trial->compiled.program;
    const rlx_program_cost_t *cost = &RLX_PROGRAM_TABLE(rlx_program_cost_t, program, costs)[step];
    int64_t flops = rlx_plan_number(trial->plan, &cost->flops) / RLX_COST_FLOPS_PER_NS;
    int64_t bytes = rlx_plan_number(trial->plan, &cost->bytes) / RLX_COST_BYTES_PER_NS, ns = flops > bytes ? flops : bytes;

    return ns > 1 ? (uint64_t)ns : 1;
}

int64_t rlx_tune_steps_planned(const rlx_tune_trial_t *trial)
{
    const rlx_program_header_t *program = trial->compiled.program;

    return RLX_PROGRAM_TABLE(rlx_program_region_t, program, regions)[0].n_steps;
}
