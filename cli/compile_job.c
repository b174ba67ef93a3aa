/* ONNX in, bundle out. The bundle's bytes depend on the model, the options recorded in it and this program's version, on nothing else. */
#include "cli/compile_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/custom_code.h"
#include "ir/annotation.h"
#include "ir/source_digest.h"
#include "kernels/abi.h"
#include "kernels/image.h"

void rlx_compile_job_init(rlx_compile_job_t *out_job) { *out_job = (rlx_compile_job_t){.target = "x86_64", .options.opt_level = 3}; }

rlx_status_t rlx_compile_job_record(rlx_compile_job_t *job, const char *key, const char *value, rlx_diag_t *diag)
{
    if (job->n_recorded == RLX_BUNDLE_OPTIONS_MAX)
        return rlx_fail(diag, RLX_E_USAGE, "more than %d options", RLX_BUNDLE_OPTIONS_MAX);
    job->recorded[job->n_recorded++] = (rlx_bundle_option_t){key, value};
    return RLX_OK;
}

static rlx_status_t target_check(const char *target, rlx_diag_t *diag)
{
    if (strcmp(target, "x86_64") == 0)
        return RLX_OK;
    rlx_fail(diag, RLX_E_USAGE, "target '%s' is not supported by this version", target);
    return rlx_diag_hint(diag, "Supported: x86_64 (AVX2 and AVX-512 code in one bundle, chosen when it is loaded).");
}

static rlx_status_t target_apply(rlx_compile_job_t *job, const char *text, rlx_diag_t *diag)
{
    job->target = text;
    return target_check(text, diag);
}

static rlx_status_t level_apply(rlx_compile_job_t *job, const char *text, rlx_diag_t *diag)
{
    int64_t level;

    RLX_TRY(rlx_cli_int("--opt-level", text, 1, 3, &level, diag));
    job->options.opt_level = (int)level;
    return RLX_OK;
}

static const char *const accuracy_texts[] = {[RLX_ACCURACY_DEFAULT] = "default", [RLX_ACCURACY_CAREFUL] = "careful",
                                             [RLX_ACCURACY_DIRECT] = "direct"};

rlx_status_t rlx_cli_accuracy(const char *text, rlx_accuracy_t *out_accuracy, rlx_diag_t *diag)
{
    for (size_t i = 0; i < sizeof accuracy_texts / sizeof *accuracy_texts; i++)
        if (strcmp(accuracy_texts[i], text) == 0) {
            *out_accuracy = (rlx_accuracy_t)i;
            return RLX_OK;
        }
    return rlx_fail(diag, RLX_E_USAGE, "--accuracy: '%s' is none of default, careful, direct", text);
}

static rlx_status_t accuracy_apply(rlx_compile_job_t *job, const char *text, rlx_diag_t *diag)
{
    return rlx_cli_accuracy(text, &job->options.accuracy, diag);
}

static rlx_status_t shape_apply(rlx_compile_job_t *job, const char *text, rlx_diag_t *diag)
{
    RLX_TRY(rlx_cli_shape(text, &job->options, diag));
    return rlx_compile_job_record(job, "shape", text, diag);
}

static rlx_status_t maxima_apply(rlx_compile_job_t *job, const char *text, rlx_diag_t *diag)
{
    RLX_TRY(rlx_cli_maxima(text, &job->options, diag));
    return rlx_compile_job_record(job, "max", text, diag);
}

static const struct {
    const char *name;
    rlx_status_t (*apply)(rlx_compile_job_t *job, const char *text, rlx_diag_t *diag);
} options[] = {{"target", target_apply}, {"opt-level", level_apply}, {"accuracy", accuracy_apply}, {"shape", shape_apply}, {"max", maxima_apply}};
#define N_OPTIONS (sizeof options / sizeof *options)

bool rlx_compile_job_takes(const char *option)
{
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (strcmp(options[i].name, option) == 0)
            return true;
    return false;
}

rlx_status_t rlx_compile_job_option(rlx_compile_job_t *job, const char *option, const char *text, rlx_diag_t *diag)
{
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (strcmp(options[i].name, option) == 0)
            return options[i].apply(job, text, diag);
    return rlx_fail(diag, RLX_E_USAGE, "unknown option --%s", option);
}

rlx_status_t rlx_compile_job_complete(rlx_compile_job_t *job, rlx_diag_t *diag)
{
    static const char *const level_texts[] = {"", "1", "2", "3"};

    RLX_TRY(rlx_compile_job_record(job, "target", job->target, diag));
    RLX_TRY(rlx_compile_job_record(job, "accuracy", accuracy_texts[job->options.accuracy], diag));
    RLX_TRY(rlx_compile_job_custom_record(job, diag));
    return rlx_compile_job_record(job, "opt-level", level_texts[job->options.opt_level], diag);
}

/* The images built into this program, in the bundle's form, with user code behind them. Entries and `owned` are owned by the caller. */
static rlx_status_t images_take(const rlx_custom_built_t *custom, rlx_bundle_image_t *images, void **owned, int *out_count, rlx_diag_t *diag)
{
    const rlx_kernel_image_t *built = rlx_kernel_images(out_count);

    for (int i = 0; i < *out_count; i++) {
        rlx_bundle_entry_t *entries = calloc(built[i].n_entries + RLX_CUSTOM_MAX, sizeof *entries);

        if (entries == NULL)
            return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
        for (uint32_t k = 0; k < built[i].n_entries; k++)
            entries[k] = (rlx_bundle_entry_t){built[i].entries[k].kernel, built[i].entries[k].offset};
        images[i] = (rlx_bundle_image_t){built[i].isa, built[i].data, built[i].bytes, entries, built[i].n_entries};
        RLX_TRY(rlx_custom_image_extend(custom, i, &images[i], entries, &owned[i], diag));
    }
    return RLX_OK;
}

/* What the bundle records: the options, and what came of them. */
static int options_take(const rlx_compile_job_t *job, const rlx_compiled_t *compiled, rlx_bundle_option_t *options, char number[24])
{
    int n = job->n_recorded;

    memcpy(options, job->recorded, (size_t)n * sizeof *options);
    snprintf(number, 24, "%lld", (long long)compiled->checkpoint_steps);
    if (compiled->checkpoint_steps > 0 && n < RLX_BUNDLE_OPTIONS_MAX)
        options[n++] = (rlx_bundle_option_t){RLX_OPTION_CHECKPOINT, number};
    return n;
}

static rlx_status_t bundle_write(const rlx_compile_job_t *job, const rlx_compiled_t *compiled, const rlx_compile_source_t *source,
                                 const rlx_custom_built_t *custom, const char *path, rlx_diag_t *diag)
{
    rlx_bundle_image_t images[RLX_BUNDLE_SEGMENTS_MAX] = {0};
    void *owned[RLX_BUNDLE_SEGMENTS_MAX] = {0};
    rlx_bundle_option_t options_out[RLX_BUNDLE_OPTIONS_MAX];
    char number[24];
    rlx_bundle_parts_t parts = {
        .name = compiled->name,
        .kernel_abi = RLX_KERNEL_ABI,
        .program = compiled->program,
        .program_bytes = compiled->program_bytes,
        .constants = compiled->constants,
        .constants_bytes = compiled->constants_bytes,
        .ir_text = compiled->ir_text,
        .ir_text_bytes = compiled->ir_text_bytes,
        .options = options_out,
        .n_options = options_take(job, compiled, options_out, number),
        .images = images,
        .source_digest = source->digest,
        .source_signatures = source->signatures.items,
        .n_source_signatures = source->signatures.n,
    };
    char compiler[64];
    rlx_status_t status;

    snprintf(compiler, sizeof compiler, "rlx %s", rlx_cli_version());
    parts.compiler = compiler;
    status = images_take(custom, images, owned, &parts.n_images, diag);
    if (status == RLX_OK)
        status = rlx_bundle_write(path, &parts, diag);
    for (int i = 0; i < parts.n_images; i++) {
        free((void *)images[i].entries);
        free(owned[i]);
    }
    return status;
}

/* The digest of the graph as imported, and the signatures beside the model, which must fit it. */
static rlx_status_t source_take(const char *model, rlx_graph_t *graph, rlx_compile_source_t *out_source, rlx_diag_t *diag)
{
    RLX_TRY(rlx_graph_source_digest(graph, out_source->digest, diag));
    return rlx_compile_job_signatures(model, out_source->digest, &out_source->signatures, diag);
}

/* `out_source` NULL: not asked for. */
static rlx_status_t job_build(const rlx_compile_job_t *job, const rlx_custom_set_t *custom, rlx_compile_source_t *out_source,
                              rlx_compiled_t *out_compiled, rlx_diag_t *diag)
{
    rlx_compile_options_t compile = job->options;
    rlx_graph_t *graph;
    rlx_status_t status;

    compile.custom = custom;
    compile.progress = rlx_cli_progress;
    rlx_cli_progress(NULL, "import");
    RLX_TRY(rlx_model_load_file(job->model, &graph, diag));
    if (diag != NULL && diag->list != NULL)
        rlx_annotations_unfollowed(graph, job->options.opt_level, diag->list);
    status = out_source != NULL ? source_take(job->model, graph, out_source, diag) : RLX_OK;
    if (status == RLX_OK)
        status = rlx_compile_graph(graph, &compile, out_compiled, diag);
    rlx_graph_destroy(graph);
    return status == RLX_OK ? RLX_OK : rlx_diag_at(diag, "%s", job->model);
}

rlx_status_t rlx_compile_job_build(const rlx_compile_job_t *job, const rlx_custom_set_t *custom, rlx_compile_source_t *out_source,
                                   rlx_compiled_t *out_compiled, rlx_diag_t *diag)
{
    return job_build(job, custom, out_source, out_compiled, diag);
}

rlx_status_t rlx_cli_parent_make(const char *path, rlx_diag_t *diag)
{
    const char *slash = strrchr(path, '/');
    char *folder;
    rlx_status_t status;

    if (slash == NULL || slash == path)
        return RLX_OK;
    folder = strndup(path, (size_t)(slash - path));
    if (folder == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    status = rlx_cli_folder_make(folder, diag);
    free(folder);
    return status;
}

rlx_status_t rlx_compile_job_run(const rlx_compile_job_t *job, const char *path, rlx_compile_figures_t *out_figures, rlx_diag_t *diag)
{
    rlx_custom_built_t custom;
    rlx_compiled_t compiled;
    rlx_compile_source_t source;
    rlx_status_t status;

    RLX_TRY(rlx_custom_build(job, &custom, diag));
    if (job_build(job, &custom.set, &source, &compiled, diag) != RLX_OK) {
        rlx_custom_built_fini(&custom);
        return diag->status;
    }
    rlx_cli_progress(NULL, "write");
    status = rlx_cli_parent_make(path, diag);
    if (status == RLX_OK)
        status = bundle_write(job, &compiled, &source, &custom, path, diag);
    rlx_cli_progress(NULL, NULL);
    rlx_custom_built_fini(&custom);
    if (status == RLX_OK) {
        *out_figures = (rlx_compile_figures_t){.n_steps = compiled.n_steps, .n_reorders = compiled.n_reorders,
                                               .constants_bytes = (int64_t)compiled.constants_bytes,
                                               .checkpoint_steps = compiled.checkpoint_steps};
        snprintf(out_figures->independent, sizeof out_figures->independent, "%.63s",
                 compiled.independent != NULL ? compiled.independent : "");
    }
    rlx_compiled_fini(&compiled);
    return status;
}
