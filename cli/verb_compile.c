/* rlx compile: ONNX in, bundle out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/compile_job.h"

static rlx_status_t words_parse(int argc, char **argv, rlx_compile_job_t *job, const char **out_output, bool *out_cached, rlx_diag_t *diag)
{
    static const struct option options[] = {
        {"model", required_argument, NULL, 'm'},     {"target", required_argument, NULL, 't'}, {"output", required_argument, NULL, 'o'},
        {"opt-level", required_argument, NULL, 'O'}, {"shape", required_argument, NULL, 's'},  {"max", required_argument, NULL, 'M'},
        {"accuracy", required_argument, NULL, 'a'},  {"no-cache", no_argument, NULL, 'C'},
        {0},
    };

    rlx_compile_job_init(job);
    *out_output = NULL;
    *out_cached = true;
    for (int option; (option = rlx_cli_option_next(argc, argv, options, diag)) != -1;)
        switch (option) {
        case 'm': job->model = optarg; break;
        case 'o': *out_output = optarg; break;
        case 'C': *out_cached = false; break;
        case 't': RLX_TRY(rlx_compile_job_option(job, "target", optarg, diag)); break;
        case 'O': RLX_TRY(rlx_compile_job_option(job, "opt-level", optarg, diag)); break;
        case 'a': RLX_TRY(rlx_compile_job_option(job, "accuracy", optarg, diag)); break;
        case 's': RLX_TRY(rlx_compile_job_option(job, "shape", optarg, diag)); break;
        case 'M': RLX_TRY(rlx_compile_job_option(job, "max", optarg, diag)); break;
        default: return diag->status;
        }
    RLX_TRY(rlx_cli_operand(argc, argv, "--model FILE.onnx", &job->model, diag));
    if (*out_output == NULL) {
        rlx_fail(diag, RLX_E_USAGE, "compile: --output DIR or FILE.rlxb is missing");
        return rlx_diag_hint(diag, "`rlx help compile` shows how it is called.");
    }
    return rlx_compile_job_complete(job, diag);
}

/* FILE.rlxb as it is; else a folder and in it the model's name. Owned by the caller. */
static rlx_status_t output_path(const char *model, const char *output, char **out_path, rlx_diag_t *diag)
{
    const char *slash = strrchr(model, '/'), *stem = slash != NULL ? slash + 1 : model, *dot = strrchr(stem, '.');
    size_t n = strlen(output);
    int stem_bytes = (int)(dot != NULL && dot > stem ? (size_t)(dot - stem) : strlen(stem));

    if (n > 5 && strcmp(output + n - 5, ".rlxb") == 0) {
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
}

static rlx_status_t compile_run(int argc, char **argv, rlx_diag_t *diag)
{
    uint64_t start_ns = rlx_clock_ns();
    rlx_compile_figures_t figures;
    rlx_compile_job_t job;
    const char *output;
    char *path = NULL;
    rlx_status_t status;
    bool cached;

    RLX_TRY(words_parse(argc, argv, &job, &output, &cached, diag));
    RLX_TRY(output_path(job.model, output, &path, diag));
    status = (cached ? rlx_compile_cached_to : rlx_compile_job_run)(&job, path, &figures, diag);
    if (status == RLX_OK)
        figures_print(path, &figures, rlx_clock_ns() - start_ns);
    free(path);
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
            "  --accuracy A        default: 3x3 convolutions by Winograd's F(4,3) or F(2,3) where that is faster and, with the layer's own\n"
            "                      weights, within 3e-6 (mean) and 5e-5 (maximum) of the exact result, relative to its RMS; careful:\n"
            "                      F(2,3) only, which is as accurate as a direct convolution; direct: none\n"
            "  --shape NAME=DIMS   fixes an input's shape: --shape image=1x3x224x224; ? leaves an axis open; may be repeated\n"
            "  --max SYMBOL=N,...  declares the largest value of a symbol: --max batch=8,width=2048; larger requests are refused\n"
            "  --no-cache          compiles even if the same was compiled before, and keeps nothing\n"
            "\n"
            "Open dimensions of the model stay open. The same model, options and version give the same bytes, so what was compiled is kept\n"
            "in RLX_CACHE_DIR (or ~/.cache/rlx) and copied when the same is asked for again.\n"
            "\n"
            "Example: rlx compile --model model.onnx --max batch=8 --output model.rlxb\n",
    .run = compile_run,
};
