/* rlx run: serves models on this machine. Models in source form are compiled first, through the cache; then this process becomes rlxd. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/compile_job.h"
#include "cli/program.h"

#define MODELS_MAX 256

typedef struct run_words {
    char **words; /* of rlxd: words[0] is its name, NULL-terminated */
    int n_words;
    char *models[MODELS_MAX];
    int n_models;
    bool verify_signature; /* said on the command line; a configuration may say so too, and rlxd refuses then */
    rlx_compile_job_t job; /* options of models that are compiled */
} run_words_t;

/* "--name=value" or "--name value": the value, and the position moves. NULL: the word is another. */
static const char *value_of(const char *name, int argc, char **argv, int *index)
{
    size_t n = strlen(name);
    const char *word = argv[*index];

    if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, name, n) != 0)
        return NULL;
    if (word[2 + n] == '=')
        return word + 3 + n;
    if (word[2 + n] != '\0' || *index + 1 >= argc)
        return NULL;
    ++*index;
    return argv[*index];
}

/* A name as the repository would give it: the file's, without folder and ending. */
static char *name_of(const char *path, const char *ending)
{
    const char *slash = strrchr(path, '/'), *stem = slash != NULL ? slash + 1 : path;

    return strndup(stem, strlen(stem) - strlen(ending));
}

static rlx_status_t model_compile(const run_words_t *run, const char *name, const char *path, char **out_word, rlx_diag_t *diag)
{
    rlx_compile_job_t job = run->job;
    char *bundle = NULL;
    int n;

    job.model = path;
    if (run->verify_signature) {
        rlx_fail(diag, RLX_E_BUNDLE_UNTRUSTED, "run: %s would be compiled here, and what is compiled here nobody has signed", path);
        return rlx_diag_hint(diag, "`rlx compile --key NAME.key` compiles and signs; give the bundle that it makes.");
    }
    RLX_TRY(rlx_compile_cached(&job, &bundle, diag));
    n = asprintf(out_word, "--model=%s=%s", name, bundle);
    free(bundle);
    return n >= 0 ? RLX_OK : rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
}

/* "[NAME=]FILE" as rlxd's word. */
static rlx_status_t model_word(const run_words_t *run, const char *text, char **out_word, rlx_diag_t *diag)
{
    const char *equals = strchr(text, '='), *slash = strchr(text, '/');
    bool named = equals != NULL && (slash == NULL || equals < slash);
    const char *path = named ? equals + 1 : text;
    static const char *const sources[] = {".onnx", ".rlx", ".rlxir"};
    const char *end = NULL;
    char *name;
    rlx_status_t status;

    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        end = rlx_cli_ends_with(path, sources[i]) ? sources[i] : end;
    if (end == NULL)
        return asprintf(out_word, "--model=%s", text) >= 0 ? RLX_OK : rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    name = named ? strndup(text, (size_t)(equals - text)) : name_of(path, end);
    if (name == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    status = model_compile(run, name, path, out_word, diag);
    free(name);
    return status;
}

/* Takes the options that concern models; all others are rlxd's. */
static rlx_status_t words_take(int argc, char **argv, run_words_t *run, rlx_diag_t *diag)
{
    static const char *const compile_options[] = {"target", "opt-level", "accuracy", "shape", "max"};

    for (int i = 1; i < argc; i++) {
        const char *value = value_of("model", argc, argv, &i);
        bool taken = value != NULL;

        if (taken && run->n_models == MODELS_MAX)
            return rlx_fail(diag, RLX_E_USAGE, "run: more than %d models", MODELS_MAX);
        if (taken)
            run->models[run->n_models++] = (char *)value;
        for (size_t k = 0; !taken && k < sizeof compile_options / sizeof *compile_options; k++) {
            value = value_of(compile_options[k], argc, argv, &i);
            taken = value != NULL;
            if (taken)
                RLX_TRY(rlx_compile_job_option(&run->job, compile_options[k], value, diag));
        }
        run->verify_signature |= !taken && strcmp(argv[i], "--verify-signature") == 0;
        if (!taken)
            run->words[run->n_words++] = argv[i];
    }
    return rlx_compile_job_complete(&run->job, diag);
}

static rlx_status_t run_run(int argc, char **argv, rlx_diag_t *diag)
{
    run_words_t run = {0};
    char path[4096];
    rlx_status_t status;

    run.words = calloc((size_t)argc + MODELS_MAX + 2, sizeof *run.words);
    if (run.words == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    rlx_compile_job_init(&run.job);
    run.words[run.n_words++] = "rlxd";
    status = words_take(argc, argv, &run, diag);
    if (status == RLX_OK)
        status = rlx_cli_program_find("run", "rlxd", "../daemon/rlxd", path, sizeof path, diag);
    for (int i = 0; status == RLX_OK && i < run.n_models; i++)
        status = model_word(&run, run.models[i], &run.words[run.n_words++], diag);
    rlx_cli_progress(NULL, NULL);
    if (status == RLX_OK) {
        execv(path, run.words);
        status = rlx_fail(diag, RLX_E_FILE_OPEN, "run: cannot start %s: %s", path, strerror(errno));
    }
    free(run.words);
    return status;
}

const rlx_verb_t rlx_verb_run = {
    .name = "run",
    .summary = "serve models on this machine",
    .help = "rlx run --config FILE --model MODEL [options]\n"
            "\n"
            "Serves models to clients of the Open Inference Protocol (gRPC and REST on one port) until it is stopped with Ctrl-C.\n"
            "\n"
            "Options:\n"
            "  --model [NAME=]FILE a bundle (.rlxb), or an ONNX model, which is compiled first; may be repeated\n"
            "  --config FILE       configuration; without it: 127.0.0.1:8080 and the machine's CPU\n"
            "  --opt-level, --accuracy, --shape, --max, --target   how ONNX models are compiled, as `rlx compile` takes them\n"
            "  --verify-signature  refuses bundles that no trusted key has signed; --trusted-keys DIR holds those keys, files NAME.pub\n"
            "  all options of rlxd: --devices auto, --port N, --models DIR, --profiling FILE ...; `rlxd --help` lists them\n"
            "\n"
            "Compiled models are kept in RLX_CACHE_DIR (or ~/.cache/rlx) under a name made of the model's bytes, the options and this\n"
            "program's own bytes, and used again while none of them changes.\n"
            "\n"
            "Example: rlx run --model model.onnx --max batch=8 --port 8080\n",
    .run = run_run,
};
