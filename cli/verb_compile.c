/* rlx compile: ONNX in, bundle out.
 *
 * The bundle's bytes depend on the model, the options recorded in it and this program's version, on nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bundle/bundle.h"
#include "cli/cli.h"
#include "kernels/abi.h"
#include "kernels/image.h"

typedef struct compile_request {
    const char *model, *output, *target;
    rlx_compile_options_t options;
    /* Texts of options that change the result, as recorded in the bundle. */
    rlx_bundle_option_t recorded[RLX_BUNDLE_OPTIONS_MAX];
    int n_recorded;
} compile_request_t;

static rlx_status_t request_record(compile_request_t *request, const char *key, const char *value, rlx_diag_t *diag)
{
    if (request->n_recorded == RLX_BUNDLE_OPTIONS_MAX)
        return rlx_fail(diag, RLX_E_USAGE, "more than %d options", RLX_BUNDLE_OPTIONS_MAX);
    request->recorded[request->n_recorded++] = (rlx_bundle_option_t){key, value};
    return RLX_OK;
}

static rlx_status_t target_check(const char *target, rlx_diag_t *diag)
{
    if (strcmp(target, "x86_64") == 0)
        return RLX_OK;
    rlx_fail(diag, RLX_E_USAGE, "target '%s' is not supported by this version", target);
    return rlx_diag_hint(diag, "Supported: x86_64 (AVX2 and AVX-512 code in one bundle, chosen when it is loaded).");
}

static rlx_status_t option_apply(compile_request_t *request, int option, rlx_diag_t *diag)
{
    int64_t level;

    switch (option) {
    case 'm': request->model = optarg; return RLX_OK;
    case 'o': request->output = optarg; return RLX_OK;
    case 't': request->target = optarg; return target_check(optarg, diag);
    case 'O':
        RLX_TRY(rlx_cli_int("--opt-level", optarg, 1, 3, &level, diag));
        request->options.opt_level = (int)level;
        return RLX_OK;
    case 's':
        RLX_TRY(rlx_cli_shape(optarg, &request->options, diag));
        return request_record(request, "shape", optarg, diag);
    case 'M':
        RLX_TRY(rlx_cli_maxima(optarg, &request->options, diag));
        return request_record(request, "max", optarg, diag);
    default: return diag->status;
    }
}

static rlx_status_t request_parse(int argc, char **argv, compile_request_t *request, rlx_diag_t *diag)
{
    static const struct option options[] = {
        {"model", required_argument, NULL, 'm'},     {"target", required_argument, NULL, 't'}, {"output", required_argument, NULL, 'o'},
        {"opt-level", required_argument, NULL, 'O'}, {"shape", required_argument, NULL, 's'},  {"max", required_argument, NULL, 'M'},
        {0},
    };
    static const char *const level_texts[] = {"", "1", "2", "3"};

    *request = (compile_request_t){.target = "x86_64", .options.opt_level = 3};
    for (int option; (option = rlx_cli_option_next(argc, argv, options, diag)) != -1;)
        RLX_TRY(option_apply(request, option, diag));
    RLX_TRY(rlx_cli_operand(argc, argv, "--model FILE.onnx", &request->model, diag));
    if (request->output == NULL) {
        rlx_fail(diag, RLX_E_USAGE, "compile: --output DIR or FILE.rlxb is missing");
        return rlx_diag_hint(diag, "`rlx help compile` shows how it is called.");
    }
    RLX_TRY(request_record(request, "target", request->target, diag));
    return request_record(request, "opt-level", level_texts[request->options.opt_level], diag);
}

/* Makes the folder that `path` lies in. */
static rlx_status_t parent_make(const char *path, rlx_diag_t *diag)
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

/* FILE.rlxb as it is; else a folder and in it the model's name. Folders are made if missing. Owned by the caller. */
static rlx_status_t output_path(const compile_request_t *request, char **out_path, rlx_diag_t *diag)
{
    const char *slash = strrchr(request->model, '/'), *stem = slash != NULL ? slash + 1 : request->model, *dot = strrchr(stem, '.');
    size_t n = strlen(request->output);
    int stem_bytes = (int)(dot != NULL && dot > stem ? (size_t)(dot - stem) : strlen(stem));

    if (n > 5 && strcmp(request->output + n - 5, ".rlxb") == 0) {
        *out_path = strdup(request->output);
        return *out_path != NULL ? parent_make(*out_path, diag) : rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    }
    RLX_TRY(rlx_cli_folder_make(request->output, diag));
    if (asprintf(out_path, "%s/%.*s.rlxb", request->output, stem_bytes, stem) < 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    return RLX_OK;
}

/* The images built into this program, in the bundle's form. Entries live until the process ends. */
static rlx_status_t images_take(rlx_bundle_image_t *images, int *out_count, rlx_diag_t *diag)
{
    const rlx_kernel_image_t *built = rlx_kernel_images(out_count);

    for (int i = 0; i < *out_count; i++) {
        rlx_bundle_entry_t *entries = calloc(built[i].n_entries + 1, sizeof *entries);

        if (entries == NULL)
            return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
        for (uint32_t k = 0; k < built[i].n_entries; k++)
            entries[k] = (rlx_bundle_entry_t){built[i].entries[k].kernel, built[i].entries[k].offset};
        images[i] = (rlx_bundle_image_t){built[i].isa, built[i].data, built[i].bytes, entries, built[i].n_entries};
    }
    return RLX_OK;
}

static rlx_status_t bundle_write(const compile_request_t *request, const rlx_compiled_t *compiled, const char *path, rlx_diag_t *diag)
{
    rlx_bundle_image_t images[RLX_BUNDLE_SEGMENTS_MAX] = {0};
    rlx_bundle_parts_t parts = {
        .name = compiled->name,
        .kernel_abi = RLX_KERNEL_ABI,
        .program = compiled->program,
        .program_bytes = compiled->program_bytes,
        .constants = compiled->constants,
        .constants_bytes = compiled->constants_bytes,
        .ir_text = compiled->ir_text,
        .ir_text_bytes = compiled->ir_text_bytes,
        .options = request->recorded,
        .n_options = request->n_recorded,
        .images = images,
    };
    char compiler[64];
    rlx_status_t status;

    snprintf(compiler, sizeof compiler, "rlx %s", rlx_cli_version());
    parts.compiler = compiler;
    status = images_take(images, &parts.n_images, diag);
    if (status == RLX_OK)
        status = rlx_bundle_write(path, &parts, diag);
    for (int i = 0; i < parts.n_images; i++)
        free((void *)images[i].entries);
    return status;
}

static rlx_status_t model_compile(const compile_request_t *request, rlx_compiled_t *out_compiled, rlx_diag_t *diag)
{
    rlx_graph_t *graph;
    rlx_status_t status;

    rlx_cli_progress(NULL, "import");
    RLX_TRY(rlx_onnx_import_file(request->model, &graph, diag));
    status = rlx_compile_graph(graph, &request->options, out_compiled, diag);
    rlx_graph_destroy(graph);
    return status == RLX_OK ? RLX_OK : rlx_diag_at(diag, "%s", request->model);
}

static rlx_status_t compile_run(int argc, char **argv, rlx_diag_t *diag)
{
    uint64_t start_ns = rlx_clock_ns();
    compile_request_t request;
    rlx_compiled_t compiled;
    char *path = NULL;
    rlx_status_t status;

    RLX_TRY(request_parse(argc, argv, &request, diag));
    request.options.progress = rlx_cli_progress;
    RLX_TRY(model_compile(&request, &compiled, diag));
    status = output_path(&request, &path, diag);
    if (status == RLX_OK) {
        rlx_cli_progress(NULL, "write");
        status = bundle_write(&request, &compiled, path, diag);
    }
    rlx_cli_progress(NULL, NULL);
    if (status == RLX_OK)
        printf("%s: %lld steps, %lld reorders, %.1f MB of constants, %.2f s\n", path, (long long)compiled.n_steps,
               (long long)compiled.n_reorders, (double)compiled.constants_bytes / 1e6, (double)(rlx_clock_ns() - start_ns) / 1e9);
    free(path);
    rlx_compiled_fini(&compiled);
    return status;
}

const rlx_verb_t rlx_verb_compile = {
    .name = "compile",
    .summary = "turn an ONNX model into a bundle of native code",
    .help = "rlx compile --model FILE.onnx --output DIR|FILE.rlxb [options]\n"
            "\n"
            "Options:\n"
            "  --target NAME       x86_64 (the default): AVX2 and AVX-512 code, chosen when the bundle is loaded\n"
            "  --opt-level N       1 folding and dead code, 2 fusion, 3 blocked layouts and fast kernels (the default);\n"
            "                      every level gives the same bits\n"
            "  --shape NAME=DIMS   fixes an input's shape: --shape image=1x3x224x224; ? leaves an axis open; may be repeated\n"
            "  --max SYMBOL=N,...  declares the largest value of a symbol: --max batch=8,width=2048; larger requests are refused\n"
            "\n"
            "Open dimensions of the model stay open. The same model, options and version give the same bytes.\n"
            "\n"
            "Example: rlx compile --model model.onnx --max batch=8 --output model.rlxb\n",
    .run = compile_run,
};
