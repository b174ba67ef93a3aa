/* rlx init NAME: a project folder that works at once. Never writes into a folder that holds anything. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/npz.h"
#include "cli/cli.h"
#include "cli/onnx_sample.h"

static const char script[] =
    "#!/bin/sh\n"
    "# Compiles models/tiny.onnx and runs it on inputs/one.npz. RLX names the program; by default the one that made this project.\n"
    "set -eu\n"
    "cd \"$(dirname \"$0\")\"\n"
    "rlx=${RLX:-$(command -v rlx || echo '%s')}\n"
    "\"$rlx\" compile --model models/tiny.onnx --target x86_64 --max batch=8 --output build/tiny.rlxb\n"
    "\"$rlx\" infer build/tiny.rlxb --input inputs/one.npz --output build/out.npz\n";

static const char serve_script[] =
    "#!/bin/sh\n"
    "# Serves models/tiny.onnx on http://127.0.0.1:8080 until Ctrl-C. Options are passed on: ./serve.sh --port 9000\n"
    "set -eu\n"
    "cd \"$(dirname \"$0\")\"\n"
    "rlx=${RLX:-$(command -v rlx || echo '%s')}\n"
    "exec \"$rlx\" run --config configs/local.yaml --model models/tiny.onnx --max batch=8 \"$@\"\n";

static const char ask_script[] =
    "#!/bin/sh\n"
    "# Asks the server that ./serve.sh started: one picture of 64 pixels. RLX_URL names another address.\n"
    "set -eu\n"
    "url=${RLX_URL:-http://127.0.0.1:8080}\n"
    "pixels=$(seq -s , 1 64)\n"
    "curl -sS --fail-with-body \"$url/v2/models/%s/infer\" \\\n"
    "    -d \"{\\\"inputs\\\":[{\\\"name\\\":\\\"image\\\",\\\"datatype\\\":\\\"FP32\\\",\\\"shape\\\":[1,1,8,8],"
    "\\\"data\\\":[$pixels]}]}\"\n"
    "echo\n";

static const char local_config[] =
    "# Read by serve.sh. `rlxd --help-config` lists every key.\n"
    "cluster:\n"
    "  mode: \"standalone\"\n"
    "nodes:\n"
    "  - id: \"%s\"\n"
    "    host: \"127.0.0.1\"\n"
    "    port: 8080\n"
    "    devices: auto\n";

static const char readme[] =
    "# %s\n"
    "\n"
    "    ./compile-and-infer.sh\n"
    "\n"
    "compiles `models/tiny.onnx` into one bundle of native code, `build/tiny.rlxb`, and runs it on `inputs/one.npz`; the result is\n"
    "`build/out.npz`.\n"
    "\n"
    "    ./serve.sh      # in another terminal: ./ask.sh\n"
    "\n"
    "serves it on http://127.0.0.1:8080 (gRPC and REST of the Open Inference Protocol v2); the same address in a browser shows its state.\n"
    "\n"
    "- `configs/local.yaml`: where it serves, and on what.\n"
    "- `models/tiny.onnx`: a small classifier of 8x8 pictures with an open batch. Its weights are random: put your own\n"
    "  model in its place.\n"
    "- `inputs/one.npz`: one array per model input, by name. From Python: `numpy.savez(\"inputs/one.npz\", image=array)`.\n"
    "\n"
    "Next:\n"
    "\n"
    "    rlx dump models/tiny.onnx                                  # the model as the compiler reads it\n"
    "    rlx dump models/tiny.onnx --after fuse --format svg --output tiny.svg\n"
    "    rlx bench build/tiny.rlxb --shape image=8x1x8x8            # time per kernel\n"
    "    rlx help                                                   # the rest\n";

static rlx_status_t folder_check(const char *name, rlx_diag_t *diag)
{
    DIR *folder = opendir(name);
    struct dirent *entry;
    int n = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (folder != NULL)
        closedir(folder);
    if (n > 0) {
        rlx_fail(diag, RLX_E_FILE_WRITE, "folder %s exists and is not empty", name);
        return rlx_diag_hint(diag, "Choose another name; nothing was written.");
    }
    return rlx_cli_folder_make(name, diag);
}

/* Writes DIR/FILE, making FILE's folder. */
static rlx_status_t project_write(const char *project, const char *file, const void *data, size_t bytes, mode_t mode, rlx_diag_t *diag)
{
    char *path = NULL, *slash;
    rlx_status_t status;

    if (asprintf(&path, "%s/%s", project, file) < 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    slash = strrchr(path, '/');
    *slash = '\0';
    status = rlx_cli_folder_make(path, diag);
    *slash = '/';
    if (status == RLX_OK)
        status = rlx_file_write(path, data, bytes, diag);
    if (status == RLX_OK && chmod(path, mode) != 0)
        status = rlx_fail(diag, RLX_E_FILE_WRITE, "cannot set the permissions of %s", path);
    free(path);
    return status;
}

static rlx_status_t project_text(const char *project, const char *file, const char *format, const char *word, mode_t mode, rlx_diag_t *diag)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    const char *hole = strstr(format, "%s");
    rlx_status_t status;

    if (out == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    fwrite(format, 1, (size_t)(hole - format), out);
    fputs(word, out);
    fputs(hole + 2, out);
    fclose(out);
    status = project_write(project, file, text, bytes, mode, diag);
    free(text);
    return status;
}

static rlx_status_t project_model(const char *project, rlx_diag_t *diag)
{
    size_t bytes;
    void *model = rlx_onnx_sample(&bytes);
    rlx_status_t status = project_write(project, "models/tiny.onnx", model, bytes, 0644, diag);

    free(model);
    return status;
}

static rlx_status_t project_input(const char *project, rlx_diag_t *diag)
{
    float pixels[RLX_SAMPLE_SIDE * RLX_SAMPLE_SIDE];
    rlx_npz_array_t array = {.name = RLX_SAMPLE_INPUT,
                             .tensor = {.dtype = RLX_F32, .rank = 4, .dims = {1, 1, RLX_SAMPLE_SIDE, RLX_SAMPLE_SIDE}, .data = pixels}};
    char *path = NULL;
    rlx_status_t status;

    for (int i = 0; i < RLX_SAMPLE_SIDE * RLX_SAMPLE_SIDE; i++)
        pixels[i] = (float)(i % 7) / 7.0f;
    RLX_TRY(project_write(project, "inputs/one.npz", "", 0, 0644, diag));
    if (asprintf(&path, "%s/inputs/one.npz", project) < 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    status = rlx_npz_write(path, &array, 1, diag);
    free(path);
    return status;
}

static rlx_status_t init_run(int argc, char **argv, rlx_diag_t *diag)
{
    static const struct option options[] = {{0}};
    const char *name = NULL, *slash;
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);

    if (rlx_cli_option_next(argc, argv, options, diag) != -1)
        return diag->status;
    RLX_TRY(rlx_cli_operand(argc, argv, "NAME", &name, diag));
    program[n > 0 ? n : 0] = '\0';
    if (n <= 0 || strchr(program, '\'') != NULL)
        strcpy(program, "rlx");
    slash = strrchr(name, '/');
    RLX_TRY(folder_check(name, diag));
    RLX_TRY(project_model(name, diag));
    RLX_TRY(project_input(name, diag));
    RLX_TRY(project_text(name, "compile-and-infer.sh", script, program, 0755, diag));
    RLX_TRY(project_text(name, "serve.sh", serve_script, program, 0755, diag));
    RLX_TRY(project_text(name, "ask.sh", ask_script, "tiny", 0755, diag));
    RLX_TRY(project_text(name, "configs/local.yaml", local_config, "node-0", 0644, diag));
    RLX_TRY(project_text(name, "README.md", readme, slash != NULL && slash[1] != '\0' ? slash + 1 : name, 0644, diag));
    printf("%s: made; now run %s/compile-and-infer.sh, or %s/serve.sh\n", name, name, name);
    return RLX_OK;
}

const rlx_verb_t rlx_verb_init = {
    .name = "init",
    .summary = "make a project that works at once",
    .help = "rlx init NAME\n"
            "\n"
            "Makes folder NAME with a small ONNX model, an input, scripts that compile, run and serve it, a configuration, and a README.\n",
    .run = init_run,
};
