/* The program comes from the bundle where one was made, else from a compile of its own. */
#include "cli/compile_targets.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/custom_code.h"

#define REPORT_MAX ((size_t)1 << 20)
#define OBJECTS_MAX 8192
#define OBJECTS_BYTES_MAX ((uint64_t)256 << 20)

/* Targets that will come, and what each will be. */
static const struct {
    const char *name, *what;
} absent[] = {{"cuda", "PTX and cubin for NVIDIA's devices"}, {"rocm", "code objects for AMD's devices"}, {"opencl", "OpenCL C for any device"},
              {"vulkan", "SPIR-V for any device"}, {"metal", "Metal shaders for Apple's devices"}, {"fpga", "VHDL with its DMA channels"}};
/* What people call those that are there. */
static const struct {
    const char *said, *name;
} aliases[] = {{"x86-64", "x86_64"}, {"amd64", "x86_64"}, {"x64", "x86_64"}, {"arm64", "aarch64"}, {"armv8", "aarch64"}, {"riscv", "riscv64"},
               {"rv64gc", "riscv64"}, {"wasm32", "wasm"}, {"webassembly", "wasm"}, {"llvm-ir", "llvm"}, {"c17", "c"}};

static bool is_word(const char *word, const char *name, int bytes)
{
    return strlen(word) == (size_t)bytes && memcmp(word, name, (size_t)bytes) == 0;
}

static rlx_status_t unknown_fail(const char *name, int bytes, rlx_diag_t *diag)
{
    int count;
    const rlx_target_t *const *list = rlx_target_list(&count);
    char names[256] = "x86_64";
    bool found = false;

    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (is_word(absent[i].name, name, bytes)) {
            rlx_fail(diag, RLX_E_TARGET_UNKNOWN, "target '%s' (%s) is not there yet", absent[i].name, absent[i].what);
            found = true;
        }
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (is_word(aliases[i].said, name, bytes)) {
            rlx_fail(diag, RLX_E_TARGET_UNKNOWN, "'%s' is no target", aliases[i].said);
            return rlx_diag_hint(diag, "Did you mean '%s'?", aliases[i].name);
        }
    if (!found)
        rlx_fail(diag, RLX_E_TARGET_UNKNOWN, "'%.*s' is no target", bytes > 64 ? 64 : bytes, name);
    for (int i = 0; i < count; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), ", %s", list[i]->name);
    return rlx_diag_hint(diag, "There are: %s; several as --target a,b, or all.", names);
}

static void other_add(rlx_cli_targets_t *targets, const rlx_target_t *target)
{
    for (int i = 0; i < targets->n_others; i++)
        if (targets->others[i] == target)
            return;
    targets->others[targets->n_others++] = target;
}

static rlx_status_t name_take(const char *name, int bytes, rlx_cli_targets_t *targets, rlx_diag_t *diag)
{
    int count;
    const rlx_target_t *const *list = rlx_target_list(&count);
    bool found = false;

    targets->all = targets->all || (bytes == 3 && memcmp(name, "all", 3) == 0);
    if (targets->all || (bytes == 6 && memcmp(name, "x86_64", 6) == 0))
        targets->bundle = found = true;
    for (int i = 0; i < count; i++)
        if (targets->all || (strlen(list[i]->name) == (size_t)bytes && memcmp(list[i]->name, name, (size_t)bytes) == 0)) {
            other_add(targets, list[i]);
            found = true;
        }
    return found ? RLX_OK : unknown_fail(name, bytes, diag);
}

rlx_status_t rlx_cli_targets_parse(const char *text, rlx_cli_targets_t *out_targets, rlx_diag_t *diag)
{
    rlx_cli_targets_t targets = {.bundle = text == NULL};

    for (const char *at = text; at != NULL;) {
        const char *comma = strchr(at, ',');

        RLX_TRY(name_take(at, comma != NULL ? (int)(comma - at) : (int)strlen(at), &targets, diag));
        at = comma != NULL ? comma + 1 : NULL;
    }
    *out_targets = targets;
    return RLX_OK;
}

/* ---- making ---- */

typedef struct program {
    const void *data, *constants;
    size_t constants_bytes;
    rlx_bundle_t *bundle;
    rlx_compiled_t compiled;
    rlx_compile_source_t source;
} program_t;

/* Constraints of targets' code, by target. A chain of element-wise ops runs block by block through scratch: 2 KB for each of its values,
 * which small machines would rather have for the model. */
static const rlx_constraint_t freestanding = {.target = "c --freestanding", .chain_scratch_max = 24 << 10};

static void source_of_bundle(const rlx_bundle_t *bundle, rlx_compile_source_t *out_source)
{
    const rlx_bundle_signature_t *items = rlx_bundle_source_signatures(bundle, &out_source->signatures.n);

    memcpy(out_source->digest, rlx_bundle_source_digest(bundle), sizeof out_source->digest);
    for (int i = 0; i < out_source->signatures.n; i++)
        out_source->signatures.items[i] = items[i];
}

static rlx_status_t program_open(const rlx_compile_job_t *job, const char *bundle, program_t *out_program, rlx_diag_t *diag)
{
    program_t program = {0};

    if (bundle != NULL) {
        RLX_TRY(rlx_bundle_open(bundle, RLX_BUNDLE_SKIP_CODE, &program.bundle, diag));
        program.data = rlx_bundle_program(program.bundle);
        program.constants = rlx_bundle_constants(program.bundle, &program.constants_bytes);
        source_of_bundle(program.bundle, &program.source);
    } else {
        rlx_custom_built_t custom;
        rlx_status_t status;

        RLX_TRY(rlx_custom_build(job, &custom, diag)); /* what the bundle would take, no more and no less */
        status = rlx_compile_job_build(job, &custom.set, &program.source, &program.compiled, diag);
        rlx_cli_progress(NULL, NULL);
        rlx_custom_built_fini(&custom);
        RLX_TRY(status);
        program.data = program.compiled.program;
        program.constants = program.compiled.constants;
        program.constants_bytes = program.compiled.constants_bytes;
    }
    memset(program.source.signatures.comments, 0, sizeof program.source.signatures.comments); /* a bundle has none */
    *out_program = program;
    return RLX_OK;
}

static void program_close(program_t *program)
{
    if (program->bundle != NULL)
        rlx_bundle_close(program->bundle);
    rlx_compiled_fini(&program->compiled);
}

typedef struct maker {
    const rlx_target_t *target;
    rlx_target_job_t job;
    const rlx_compile_source_t *source;
    char folder[4096];
    rlx_target_figures_t figures;
    rlx_diag_t diag;
    rlx_status_t status;
    uint64_t spent_ns;
    pthread_t thread;
    bool started;
} maker_t;

/* The signatures of the source go along, as source.sig. */
static rlx_status_t signatures_write(const char *folder, const rlx_compile_source_t *source, rlx_diag_t *diag)
{
    char path[4200];

    snprintf(path, sizeof path, "%s/source.sig", folder);
    if (source->signatures.n > 0)
        return rlx_source_signatures_write(path, source->digest, &source->signatures, diag);
    (void)unlink(path); /* of an earlier compile */
    return RLX_OK;
}

static void *maker_run(void *context)
{
    maker_t *maker = context;
    uint64_t start_ns = rlx_clock_ns();

    maker->status = maker->target->make(&maker->job, &maker->figures, &maker->diag);
    if (maker->status == RLX_OK && maker->target != &rlx_target_keep) {
        maker->status = signatures_write(maker->folder, maker->source, &maker->diag);
        maker->figures.n_files += maker->source->signatures.n > 0;
    }
    maker->spent_ns = rlx_clock_ns() - start_ns;
    return NULL;
}

static void maker_print(const maker_t *maker)
{
    if (maker->status == RLX_OK)
        printf("%s: %lld files, arena %.1f KB, %.1f MB of constants, %.2f s\n", maker->folder, (long long)maker->figures.n_files,
               (double)maker->figures.arena_bytes / 1e3, (double)maker->figures.constants_bytes / 1e6, (double)maker->spent_ns / 1e9);
    else
        printf("%s: left out: %s\n", maker->target->name, maker->diag.message);
}

static void makers_run(maker_t *makers, int count)
{
    for (int i = 0; i < count; i++)
        makers[i].started = pthread_create(&makers[i].thread, NULL, maker_run, &makers[i]) == 0;
    for (int i = 0; i < count; i++)
        if (makers[i].started)
            pthread_join(makers[i].thread, NULL);
        else
            maker_run(&makers[i]);
}

static void maker_init(maker_t *maker, const rlx_target_t *target, const rlx_target_job_t *job, const rlx_compile_source_t *source,
                       const char *folder)
{
    *maker = (maker_t){.target = target, .job = *job, .source = source};
    if (target == &rlx_target_keep)
        snprintf(maker->folder, sizeof maker->folder, "%s", folder);
    else
        snprintf(maker->folder, sizeof maker->folder, "%s/%s", folder, target->name);
    maker->job.folder = maker->folder;
}

/* Everything is made and told before the first failure is returned: with "all" a target that cannot be is no failure. */
static rlx_status_t others_make(const rlx_cli_targets_t *targets, const rlx_target_job_t *job, const rlx_compile_source_t *source,
                                const char *folder, rlx_diag_t *diag)
{
    maker_t *makers = calloc((size_t)targets->n_others, sizeof *makers);
    rlx_status_t status = RLX_OK;

    if (makers == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    for (int i = 0; i < targets->n_others; i++)
        maker_init(&makers[i], targets->others[i], job, source, folder);
    makers_run(makers, targets->n_others);
    for (int i = 0; i < targets->n_others; i++) {
        bool failed = makers[i].status != RLX_OK && !(targets->all && makers[i].diag.code == RLX_E_TARGET_MODEL);

        if (!failed || targets->n_others > 1)
            maker_print(&makers[i]);
        if (!failed || status != RLX_OK)
            continue;
        status = makers[i].status;
        *diag = makers[i].diag;
        if (diag->where[0] == '\0')
            rlx_diag_at(diag, "target %s", makers[i].target->name);
    }
    free(makers);
    return status;
}

/* The file's name without folders; `out_stem`: and without its ending. */
static const char *model_names(const char *path, size_t bytes, char *out_stem)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path, *dot = strrchr(name, '.');
    int n = (int)(dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name));

    snprintf(out_stem, bytes, "%.*s", n, name);
    return name;
}

/* One program for all of `targets`: under the constraints of target c where it is freestanding. */
static rlx_status_t targets_make(const rlx_cli_targets_t *targets, const rlx_compile_job_t *job, const char *bundle, const char *folder,
                                 rlx_text_t *report, rlx_diag_t *diag)
{
    char stem[64], compiler[64];
    rlx_custom_source_t sources[RLX_CUSTOM_MAX];
    rlx_target_job_t made = {.stem = stem, .compiler = compiler, .freestanding = targets->freestanding, .stable = targets->stable,
                             .objects = targets->objects, .report = ""};
    program_t program;
    rlx_status_t status;

    RLX_TRY(program_open(job, bundle, &program, diag));
    if (report->bytes > 0) {
        printf("undone for this target:\n%.*s", (int)report->bytes, report->data);
        rlx_text_add(report, "", 1);
        made.report = report->data;
    }
    made.model = model_names(job->model, sizeof stem, stem);
    snprintf(compiler, sizeof compiler, "rlx %s", rlx_cli_version());
    for (int i = 0; i < job->n_custom; i++)
        sources[i] = (rlx_custom_source_t){job->custom[i].name, job->custom[i].path};
    made.custom = sources;
    made.n_custom = job->n_custom;
    made.program = program.data;
    made.constants = program.constants;
    made.constants_bytes = program.constants_bytes;
    status = rlx_cli_folder_make(folder, diag);
    if (status == RLX_OK)
        status = others_make(targets, &made, &program.source, folder, diag);
    if (status != RLX_OK)
        (void)rmdir(folder); /* goes when nothing was made in it */
    program_close(&program);
    return status;
}

/* Freestanding C, whose program may be another than that of all other targets. */
static rlx_status_t freestanding_make(const rlx_cli_targets_t *targets, const rlx_compile_job_t *job, const char *folder, rlx_diag_t *diag)
{
    rlx_cli_targets_t alone = {.all = targets->all, .others = {&rlx_target_c}, .n_others = 1, .freestanding = true,
                               .objects = targets->objects};
    rlx_constraint_t constraint = freestanding;
    rlx_compile_job_t constrained = *job;
    rlx_text_t report;
    rlx_status_t status;

    rlx_text_init(&report, REPORT_MAX);
    constraint.report = &report;
    constrained.options.constraint = &constraint;
    status = targets_make(&alone, &constrained, NULL, folder, &report, diag);
    rlx_text_fini(&report);
    return status;
}

static rlx_status_t all_make(const rlx_cli_targets_t *targets, const rlx_compile_job_t *job, const char *bundle, const char *folder,
                             rlx_diag_t *diag)
{
    rlx_cli_targets_t rest = *targets;
    rlx_text_t report;

    if (targets->freestanding) {
        RLX_TRY(freestanding_make(targets, job, folder, diag));
        rest.freestanding = false;
        rest.n_others = 0;
        for (int i = 0; i < targets->n_others; i++)
            if (targets->others[i] != &rlx_target_c)
                rest.others[rest.n_others++] = targets->others[i];
    }
    if (rest.n_others == 0)
        return RLX_OK;
    rlx_text_init(&report, 0);
    return targets_make(&rest, job, bundle, folder, &report, diag);
}

rlx_status_t rlx_cli_targets_make(const rlx_cli_targets_t *targets, const rlx_compile_job_t *job, const char *bundle, const char *folder,
                                  rlx_diag_t *diag)
{
    rlx_cli_targets_t cached = *targets;
    char *objects = NULL;
    rlx_status_t status;

    if (!targets->uncached && targets->n_others > 0 && rlx_cli_cache_folder("objects", &objects, NULL) == RLX_OK)
        cached.objects = objects;
    status = all_make(&cached, job, bundle, folder, diag);
    if (cached.objects != NULL)
        rlx_cli_cache_trim(objects, ".o", OBJECTS_MAX, OBJECTS_BYTES_MAX);
    free(objects);
    return status;
}
