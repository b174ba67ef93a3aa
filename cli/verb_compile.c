/* rlx compile: a model in, ONNX or RLX-IR text; a bundle out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/compile_job.h"
#include "cli/compile_targets.h"
#include "cli/custom_code.h"
#include "cli/tune.h"

#define TUNE_BUDGET_S 60

typedef struct compile_request {
    rlx_compile_job_t job;
    rlx_cli_targets_t targets;
    const char *target; /* as given, or NULL */
    bool freestanding, stable, keep, verify_signature;
    const char *trusted_keys;
    const char *output, *key;
    bool uncached;
    bool tune;
    const char *tune_log, *tune_from;
    double tune_s;
    rlx_compile_options_t tune_shapes;
    char tune_digest[65];
} compile_request_t;

static rlx_status_t words_check(const compile_request_t *request, rlx_diag_t *diag)
{
    if (request->verify_signature != (request->trusted_keys != NULL))
        return rlx_fail(diag, RLX_E_USAGE, "compile: --verify-signature and --trusted-keys DIR belong together, and one of them is missing");
    if (request->tune && request->tune_from != NULL)
        return rlx_fail(diag, RLX_E_USAGE, "compile: --tune measures, --tune-from takes what was measured: one of them");
    if (!request->tune && (request->tune_log != NULL || request->tune_s > 0 || request->tune_shapes.n_shapes > 0))
        return rlx_fail(diag, RLX_E_USAGE, "compile: --tune-log, --tune-budget and --tune-shape belong to --tune, which is missing");
    for (int i = 0; i < request->job.n_custom; i++)
        if (rlx_custom_is_object(request->job.custom[i].path) && request->key == NULL) {
            rlx_fail(diag, RLX_E_USAGE, "compile: --custom: %s is code that nobody can read, which goes into signed bundles only",
                     request->job.custom[i].path);
            return rlx_diag_hint(diag, "Add --key FILE.key: whoever signs vouches for it. Or give its source.");
        }
    return RLX_OK;
}

static bool output_is_file(const char *output)
{
    size_t n = strlen(output);

    return n > 5 && strcmp(output + n - 5, ".rlxb") == 0;
}

static rlx_status_t targets_check(compile_request_t *request, rlx_diag_t *diag)
{
    bool c = false;

    RLX_TRY(rlx_cli_targets_parse(request->target, &request->targets, diag));
    for (int i = 0; i < request->targets.n_others; i++)
        c = c || request->targets.others[i] == &rlx_target_c;
    if (request->freestanding && !c)
        return rlx_fail(diag, RLX_E_USAGE, "compile: --freestanding is a form of target c: --target c --freestanding");
    request->targets.freestanding = request->freestanding;
    request->targets.stable = request->stable;
    request->targets.uncached = request->uncached;
    if (request->keep && !request->targets.bundle)
        return rlx_fail(diag, RLX_E_USAGE, "compile: --keep is for x86_64, which --target does not name");
    if (request->keep)
        request->targets.others[request->targets.n_others++] = &rlx_target_keep;
    if (request->targets.n_others > 0 && output_is_file(request->output)) {
        rlx_fail(diag, RLX_E_USAGE, "compile: --output %s is a bundle, and target %s is a folder", request->output,
                 request->targets.others[0]->name);
        return rlx_diag_hint(diag, "Name a folder: --output DIR makes DIR/%s and so on.", request->targets.others[0]->name);
    }
    if (request->job.n_custom > 0 && (request->tune || request->tune_from != NULL))
        return rlx_fail(diag, RLX_E_USAGE, "compile: models with --custom code are not tuned by this version");
    if (!request->targets.bundle && (request->tune || request->tune_from != NULL))
        return rlx_fail(diag, RLX_E_USAGE, "compile: tuning is for x86_64, which --target does not name: it measures on this machine");
    return RLX_OK;
}

static rlx_status_t determinism_take(const char *text, bool *out_stable, rlx_diag_t *diag)
{
    *out_stable = strcmp(text, "stable") == 0;
    if (*out_stable || strcmp(text, "strict") == 0)
        return RLX_OK;
    return rlx_fail(diag, RLX_E_USAGE, "--determinism: '%s' is neither strict nor stable", text);
}

static rlx_status_t words_parse(int argc, char **argv, compile_request_t *request, rlx_diag_t *diag)
{
    static const struct option options[] = {
        {"model", required_argument, NULL, 'm'},     {"target", required_argument, NULL, 't'}, {"output", required_argument, NULL, 'o'},
        {"opt-level", required_argument, NULL, 'O'}, {"shape", required_argument, NULL, 's'},  {"max", required_argument, NULL, 'M'},
        {"accuracy", required_argument, NULL, 'a'},  {"no-cache", no_argument, NULL, 'C'},
        {"tune", no_argument, NULL, 'T'},            {"tune-log", required_argument, NULL, 'l'},
        {"tune-from", required_argument, NULL, 'f'}, {"tune-budget", required_argument, NULL, 'b'},
        {"tune-shape", required_argument, NULL, 'S'}, {"freestanding", no_argument, NULL, 'F'},
        {"determinism", required_argument, NULL, 'D'}, {"keep", no_argument, NULL, 'K'},
        {"key", required_argument, NULL, 'k'}, {"custom", required_argument, NULL, 'c'},
        {"verify-signature", no_argument, NULL, 'v'}, {"trusted-keys", required_argument, NULL, 'r'}, {"trusted", required_argument, NULL, 'r'},
        {0},
    };
    rlx_compile_job_t *job = &request->job;

    *request = (compile_request_t){0};
    rlx_compile_job_init(job);
    for (int option; (option = rlx_cli_option_next(argc, argv, options, diag)) != -1;)
        switch (option) {
        case 'm': job->model = optarg; break;
        case 'o': request->output = optarg; break;
        case 'k': request->key = optarg; break;
        case 'c': RLX_TRY(rlx_compile_job_custom(job, optarg, diag)); break;
        case 'C': request->uncached = true; break;
        case 'v': request->verify_signature = true; break;
        case 'r': request->trusted_keys = optarg; break;
        case 'T': request->tune = true; break;
        case 'l': request->tune_log = optarg; break;
        case 'f': request->tune_from = optarg; break;
        case 'b': RLX_TRY(rlx_cli_seconds("--tune-budget", optarg, &request->tune_s, diag)); break;
        case 'S': RLX_TRY(rlx_cli_shape(optarg, &request->tune_shapes, diag)); break;
        case 't': request->target = optarg; break;
        case 'F': request->freestanding = true; break;
        case 'K': request->keep = true; break;
        case 'D': RLX_TRY(determinism_take(optarg, &request->stable, diag)); break;
        case 'O': RLX_TRY(rlx_compile_job_option(job, "opt-level", optarg, diag)); break;
        case 'a': RLX_TRY(rlx_compile_job_option(job, "accuracy", optarg, diag)); break;
        case 's': RLX_TRY(rlx_compile_job_option(job, "shape", optarg, diag)); break;
        case 'M': RLX_TRY(rlx_compile_job_option(job, "max", optarg, diag)); break;
        default: return diag->status;
        }
    RLX_TRY(rlx_cli_operand(argc, argv, "--model FILE.onnx|FILE.rlx|FILE.rlxir", &job->model, diag));
    if (request->output == NULL)
        request->output = "."; /* MODEL.rlxb here */
    RLX_TRY(words_check(request, diag));
    RLX_TRY(targets_check(request, diag));
    return rlx_compile_job_complete(job, diag);
}

/* FILE.rlxb as it is; else a folder and in it the model's name. Owned by the caller. */
static rlx_status_t output_path(const char *model, const char *output, char **out_path, rlx_diag_t *diag)
{
    const char *slash = strrchr(model, '/'), *stem = slash != NULL ? slash + 1 : model, *dot = strrchr(stem, '.');
    int stem_bytes = (int)(dot != NULL && dot > stem ? (size_t)(dot - stem) : strlen(stem));

    if (output_is_file(output)) {
        *out_path = strdup(output);
        return *out_path != NULL ? RLX_OK : rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    }
    if (asprintf(out_path, "%s/%.*s.rlxb", output, stem_bytes, stem) < 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    return RLX_OK;
}

static void figures_print(const char *path, const rlx_compile_figures_t *figures, uint64_t spent_ns)
{
    printf("%s: %lld steps, ", path, (long long)figures->n_steps);
    if (!figures->cached)
        printf("%lld reorders, ", (long long)figures->n_reorders);
    printf("%.1f MB of constants, %s%.2f s\n", (double)figures->constants_bytes / 1e6, figures->cached ? "compiled before, " : "",
           (double)spent_ns / 1e9);
    if (figures->independent[0] != '\0')
        printf("requests can be batched along '%s'\n", figures->independent);
    if (figures->checkpoint_steps > 0)
        printf("checkpoints every %lld steps (stability_requirement)\n", (long long)figures->checkpoint_steps);
}

static void tune_print(const rlx_tune_figures_t *figures)
{
    printf("tuned: %d of %d kinds of op are cut another way than by default (%d candidates, %d rounds); 1 thread %.3f ms, by default %.3f",
           figures->n_changed, figures->n_keys, figures->n_candidates, figures->n_rounds, figures->alone_ms[1], figures->alone_ms[0]);
    if (figures->n_threads > 1)
        printf("; %d threads %.3f ms, by default %.3f", figures->n_threads, figures->team_ms[1], figures->team_ms[0]);
    printf("\n");
}

/* Measures, and writes the log that --tune-from reads. */
static rlx_status_t tune_measure(const compile_request_t *request, rlx_tuning_t *out_tuning, rlx_diag_t *diag)
{
    double budget_s = request->tune_s > 0 ? request->tune_s : TUNE_BUDGET_S;
    rlx_tune_figures_t figures;
    rlx_text_t log;
    rlx_status_t status;

    rlx_text_init(&log, RLX_TUNE_LOG_MAX);
    status = rlx_tune_measure(&request->job, &request->tune_shapes, budget_s, out_tuning, &figures, &log, diag);
    if (status == RLX_OK)
        tune_print(&figures);
    if (status == RLX_OK && request->tune_log != NULL)
        status = log.full ? rlx_fail(diag, RLX_E_NO_MEMORY, "the log of tuning is too large")
                          : rlx_file_write(request->tune_log, log.data, log.bytes, diag);
    rlx_text_fini(&log);
    return status;
}

/* The table, measured or read; its digest becomes an option of the bundle. */
static rlx_status_t tune_apply(compile_request_t *request, rlx_tuning_t *tuning, rlx_diag_t *diag)
{
    if (request->tune_from != NULL)
        RLX_TRY(rlx_tune_log_read(request->tune_from, tuning, diag));
    else
        RLX_TRY(tune_measure(request, tuning, diag));
    request->job.options.tuning = tuning;
    RLX_TRY(rlx_tuning_digest(tuning, request->tune_digest, diag));
    return rlx_compile_job_record(&request->job, "tune", request->tune_digest, diag);
}

static rlx_status_t bundle_sign(const char *path, const char *key_path, rlx_diag_t *diag)
{
    rlx_secret_key_t key;
    rlx_status_t status;
    int n;

    RLX_TRY(rlx_secret_key_read(key_path, &key, diag));
    status = rlx_bundle_sign(path, path, &key, &n, diag);
    if (status == RLX_OK)
        rlx_cli_signed_print(path, &key.public_key);
    rlx_secret_key_wipe(&key);
    return status;
}

/* A key that cannot be used is found before the work. */
static rlx_status_t key_look(const char *path, rlx_diag_t *diag)
{
    rlx_secret_key_t key;

    if (path == NULL)
        return RLX_OK;
    RLX_TRY(rlx_secret_key_read(path, &key, diag));
    rlx_secret_key_wipe(&key);
    return RLX_OK;
}

/* The bundle, where x86_64 is wanted. */
static rlx_status_t bundle_make(compile_request_t *request, const char *path, rlx_diag_t *diag)
{
    uint64_t start_ns = rlx_clock_ns();
    rlx_compile_figures_t figures;
    rlx_tuning_t tuning = {0};
    rlx_status_t status;

    if (!request->targets.bundle)
        return RLX_OK;
    status = request->tune || request->tune_from != NULL ? tune_apply(request, &tuning, diag) : RLX_OK;
    if (status == RLX_OK)
        status = (request->uncached || request->job.n_custom > 0 ? rlx_compile_job_run : rlx_compile_cached_to)(&request->job, path, &figures, diag);
    if (status == RLX_OK)
        figures_print(path, &figures, rlx_clock_ns() - start_ns);
    request->job.options.tuning = NULL; /* freestanding C is compiled on its own, without it */
    rlx_tuning_fini(&tuning);
    return status;
}

static rlx_status_t compile_run(int argc, char **argv, rlx_diag_t *diag)
{
    compile_request_t request;
    char *path = NULL;
    rlx_status_t status;

    RLX_TRY(words_parse(argc, argv, &request, diag));
    if (request.key != NULL && !request.targets.bundle)
        return rlx_fail(diag, RLX_E_USAGE, "compile: --key signs the bundle, and target x86_64, which is one, is not among the targets");
    RLX_TRY(key_look(request.key, diag));
    if (request.verify_signature)
        RLX_TRY(rlx_cli_source_trusted(request.job.model, request.trusted_keys, diag));
    RLX_TRY(output_path(request.job.model, request.output, &path, diag));
    status = bundle_make(&request, path, diag);
    if (status == RLX_OK)
        status = rlx_cli_targets_make(&request.targets, &request.job, request.targets.bundle ? path : NULL, request.output, diag);
    if (status == RLX_OK && request.key != NULL)
        status = bundle_sign(path, request.key, diag);
    free(path);
    return status;
}

const rlx_verb_t rlx_verb_compile = {
    .name = "compile",
    .summary = "turn a model (ONNX or RLX-IR) into a bundle of native code",
    .help = "rlx compile --model FILE.onnx|FILE.rlx|FILE.rlxir [--output DIR|FILE.rlxb] [options]\n"
            "\n"
            "Options:\n"
            "  --target LIST       one or more of these, by commas, or all:\n"
            "                        x86_64   (the default) the bundle: AVX2 and AVX-512 code, chosen when it is loaded\n"
            "                        c        DIR/c: portable C17 of the model and its kernels, with sizes fixed (--shape)\n"
            "                        llvm     DIR/llvm: the same as LLVM IR, kernel.ll and kernel.bc, for x86-64 with AVX2\n"
            "                        wasm     DIR/wasm: WebAssembly modules with and without SIMD; needs --determinism stable\n"
            "                        aarch64, riscv64  DIR/aarch64 ...: librlx_kernel.a and .so for Linux; for RISC-V with vectors librlx_kernel_rvv\n"
            "  --keep              for x86_64: leaves kernel.c, kernel.h, kernel.ll, kernel.bc and librlx_kernel.so beside the bundle, with sizes\n"
            "                      fixed (--shape)\n"
            "  --determinism D     strict (the default): every target gives the same bits; stable: a target that cannot (wasm) gives bits of its\n"
            "                      own, the same in every engine\n"
            "  --freestanding      with target c: no C library, static arena, for firmware\n"
            "  --opt-level N       1 folding and dead code, 2 fusion, 3 blocked layouts and fast kernels (the default);\n"
            "                      every level gives the same bits\n"
            "  --accuracy A        default: 3x3 convolutions by Winograd's F(4,3) or F(2,3) where that is faster and, with the layer's own\n"
            "                      weights, within 3e-6 (mean) and 5e-5 (maximum) of the exact result, relative to its RMS; careful:\n"
            "                      F(2,3) only, which is as accurate as a direct convolution; direct: none\n"
            "  --shape NAME=DIMS   fixes an input's shape: --shape image=1x3x224x224; ? leaves an axis open; may be repeated\n"
            "  --max SYMBOL=N,...  declares the largest value of a symbol: --max batch=8,width=2048; larger requests are refused\n"
            "  --key NAME.key      signs the bundle (docs/SIGNING.md)\n"
            "  --verify-signature  refuses a source that no trusted key has signed; --trusted-keys DIR holds those keys, files NAME.pub\n"
            "  --custom NAME=FILE  the code of a custom_op: FILE.c, or Fortran (FILE.f90) with bind(C); may be repeated (docs/CUSTOM.md)\n"
            "  --no-cache          compiles even if the same was compiled before, kernels of targets too, and keeps nothing\n"
            "  --tune              measures on this machine which way of cutting each op's work is fastest, and keeps choices and costs in\n"
            "                      the bundle; never changes a bit of the results\n"
            "  --tune-budget S     about how long that may take (default 60 s)\n"
            "  --tune-shape NAME=DIMS  extents to tune with where the model leaves them open (else 1); may be repeated\n"
            "  --tune-log FILE     writes what was measured, as JSON lines\n"
            "  --tune-from FILE    takes choices and costs from such a log instead: the same bundle, byte for byte, without measuring\n"
            "\n"
            "Signatures of the source (FILE.sig beside it, by rlx sign --model) are verified and carried into the bundle, and into the folder of\n"
            "any other target as source.sig.\n"
            "Open dimensions of the model stay open. The same model, options and version give the same bytes, so what was compiled is kept\n"
            "in RLX_CACHE_DIR (or ~/.cache/rlx) and copied when the same is asked for again.\n"
            "\n"
            "Example: rlx compile --model model.onnx --max batch=8 --output model.rlxb\n",
    .run = compile_run,
};
