/* rlx dump: shows a model as the compiler sees it after a pass, or what a bundle holds. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bundle/bundle.h"
#include "cli/cli.h"
#include "cli/compile_job.h"
#include "cli/explain_print.h"
#include "cli/graph_svg.h"
#include "cli/program_text.h"
#include "ir/text/load.h"

static const char *const passes[] = {"import", "canonicalise", "algorithm", "schedule", "fuse", "layout", "lower"};
static const struct {
    const char *name;
    void (*print)(const rlx_graph_t *graph, FILE *out);
} formats[] = {{"text", rlx_graph_dump}, {"dot", rlx_graph_dump_dot}, {"svg", rlx_graph_svg_print}};

typedef struct dump_request {
    const char *model, *after, *output;
    int format;
    bool explain, json;
    rlx_compile_options_t options;
} dump_request_t;

static rlx_status_t after_parse(const char *text, dump_request_t *request, rlx_diag_t *diag)
{
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        if (strcmp(passes[i], text) == 0) {
            request->after = passes[i];
            return RLX_OK;
        }
    rlx_fail(diag, RLX_E_USAGE, "--after: there is no pass '%s'", text);
    return rlx_diag_hint(diag, "Passes, in order: import, canonicalise, algorithm, schedule, fuse, layout, lower.");
}

static rlx_status_t format_parse(const char *text, dump_request_t *request, rlx_diag_t *diag)
{
    request->json = strcmp(text, "json") == 0;
    for (int i = 0; i < (int)(sizeof formats / sizeof *formats); i++)
        if (strcmp(formats[i].name, text) == 0) {
            request->format = i;
            return RLX_OK;
        }
    return request->json ? RLX_OK : rlx_fail(diag, RLX_E_USAGE, "--format: '%s' is none of text, dot, svg, json", text);
}

static rlx_status_t request_parse(int argc, char **argv, dump_request_t *request, rlx_diag_t *diag)
{
    static const struct option options[] = {
        {"model", required_argument, NULL, 'm'},  {"after", required_argument, NULL, 'a'},     {"format", required_argument, NULL, 'f'},
        {"output", required_argument, NULL, 'o'}, {"opt-level", required_argument, NULL, 'O'}, {"shape", required_argument, NULL, 's'},
        {"max", required_argument, NULL, 'M'},    {"accuracy", required_argument, NULL, 'A'},
        {"explain", no_argument, NULL, 'e'},      {0},
    };
    int64_t level;

    *request = (dump_request_t){.after = "import", .options.opt_level = 3};
    for (int option; (option = rlx_cli_option_next(argc, argv, options, diag)) != -1;)
        switch (option) {
        case 'm': request->model = optarg; break;
        case 'e': request->explain = true; break;
        case 'o': request->output = optarg; break;
        case 'a': RLX_TRY(after_parse(optarg, request, diag)); break;
        case 'f': RLX_TRY(format_parse(optarg, request, diag)); break;
        case 's': RLX_TRY(rlx_cli_shape(optarg, &request->options, diag)); break;
        case 'M': RLX_TRY(rlx_cli_maxima(optarg, &request->options, diag)); break;
        case 'A': RLX_TRY(rlx_cli_accuracy(optarg, &request->options.accuracy, diag)); break;
        case 'O':
            RLX_TRY(rlx_cli_int("--opt-level", optarg, 1, 3, &level, diag));
            request->options.opt_level = (int)level;
            break;
        default: return diag->status;
        }
    RLX_TRY(rlx_cli_operand(argc, argv, "FILE.onnx, FILE.rlxir or FILE.rlxb", &request->model, diag));
    if (request->json != request->explain && (request->json || request->format != 0))
        return rlx_fail(diag, RLX_E_USAGE, request->json ? "--format json goes with --explain" : "--explain is printed as text or json");
    if (strcmp(request->after, "lower") == 0 && request->format != 0)
        return rlx_fail(diag, RLX_E_USAGE, "--after lower is a program, which has no picture: use --format text");
    return RLX_OK;
}

static bool is_bundle(const char *path)
{
    size_t n = strlen(path);

    return n > 5 && strcmp(path + n - 5, ".rlxb") == 0;
}

/* The IR that was compiled, then the program. */
static rlx_status_t bundle_dump(const dump_request_t *request, FILE *out, rlx_diag_t *diag)
{
    rlx_bundle_t *bundle;
    const char *text;
    size_t bytes;

    if (request->explain)
        return rlx_fail(diag, RLX_E_USAGE, "a bundle does not hold why it was compiled so: --explain takes the model");
    if (request->format != 0)
        return rlx_fail(diag, RLX_E_USAGE, "a bundle is dumped as text only; pictures are made from the model");
    RLX_TRY(rlx_bundle_open(request->model, RLX_BUNDLE_SKIP_CODE, &bundle, diag));
    text = rlx_bundle_ir_text(bundle, &bytes);
    if (strcmp(request->after, "lower") == 0)
        rlx_program_print(rlx_bundle_program(bundle), out);
    else
        fwrite(text, 1, bytes, out);
    rlx_bundle_close(bundle);
    return RLX_OK;
}

/* A pass that the optimisation level leaves out shows the graph as it was then. */
static const char *pass_run_at(const dump_request_t *request)
{
    if (request->options.opt_level < 3 && strcmp(request->after, "layout") == 0)
        return request->options.opt_level == 2 ? "fuse" : "algorithm";
    if ((request->options.opt_level < 2 && strcmp(request->after, "fuse") == 0) ||
        (request->options.opt_level < 3 && strcmp(request->after, "schedule") == 0))
        return "algorithm";
    return request->after;
}

/* To FILE.rlxir: a text that compiles, its large constants beside it. */
static bool writes_text(const dump_request_t *request)
{
    return request->output != NULL && request->format == 0 && strcmp(request->after, "lower") != 0 && rlx_path_is_text(request->output);
}

/* The model itself needs no passes, and may be one that cannot be compiled. */
static rlx_status_t import_dump(const dump_request_t *request, const rlx_graph_t *graph, FILE *out, rlx_diag_t *diag)
{
    if (writes_text(request))
        return rlx_graph_text_write(graph, request->output, diag);
    formats[request->format].print(graph, out);
    return RLX_OK;
}

static rlx_status_t passes_dump(const dump_request_t *request, rlx_graph_t *graph, FILE *out, rlx_diag_t *diag)
{
    rlx_compile_options_t options = request->options;
    rlx_compiled_t compiled;
    rlx_status_t status;

    options.dump_after = pass_run_at(request);
    options.dump_path = writes_text(request) ? request->output : NULL;
    options.dump_out = out;
    options.dump = formats[request->format].print;
    status = rlx_compile_graph(graph, &options, &compiled, diag);
    if (status == RLX_OK) {
        if (strcmp(request->after, "lower") == 0)
            rlx_program_print(compiled.program, out);
        rlx_compiled_fini(&compiled);
    }
    return status;
}

/* Compiles, and tells why so. */
static rlx_status_t explain_dump(const dump_request_t *request, rlx_graph_t *graph, FILE *out, rlx_diag_t *diag)
{
    rlx_compile_options_t options = request->options;
    rlx_compiled_t compiled;
    rlx_status_t status;

    options.explain = rlx_explain_create();
    status = rlx_compile_graph(graph, &options, &compiled, diag);
    if (status == RLX_OK) {
        rlx_explain_print(options.explain, request->json, out);
        rlx_compiled_fini(&compiled);
    }
    rlx_explain_destroy(options.explain);
    return status;
}

static rlx_status_t model_dump(const dump_request_t *request, FILE *out, rlx_diag_t *diag)
{
    bool plain = request->options.n_shapes == 0 && request->options.n_maxima == 0;
    rlx_graph_t *graph;
    rlx_status_t status;

    RLX_TRY(rlx_model_load_file(request->model, &graph, diag));
    if (request->explain)
        status = explain_dump(request, graph, out, diag);
    else if (strcmp(request->after, "import") == 0 && plain)
        status = import_dump(request, graph, out, diag);
    else
        status = passes_dump(request, graph, out, diag);
    rlx_graph_destroy(graph);
    return status == RLX_OK ? RLX_OK : rlx_diag_at(diag, "%s", request->model);
}

static rlx_status_t dump_run(int argc, char **argv, rlx_diag_t *diag)
{
    dump_request_t request;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out;
    rlx_status_t status;

    RLX_TRY(request_parse(argc, argv, &request, diag));
    out = open_memstream(&text, &bytes);
    if (out == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    status = is_bundle(request.model) ? bundle_dump(&request, out, diag) : model_dump(&request, out, diag);
    fclose(out);
    /* What was dumped before a later pass failed helps to find out why. */
    if (request.output == NULL)
        fwrite(text, 1, bytes, stdout);
    else if (status == RLX_OK && !writes_text(&request))
        status = rlx_file_write(request.output, text, bytes, diag);
    free(text);
    return status;
}

const rlx_verb_t rlx_verb_dump = {
    .name = "dump",
    .summary = "show a model after a pass, as text or as a picture",
    .help = "rlx dump FILE.onnx|FILE.rlx|FILE.rlxir|FILE.rlxb [options]\n"
            "\n"
            "Options:\n"
            "  --after PASS    import (the default), canonicalise, algorithm, schedule, fuse, layout, or lower (the program that is run)\n"
            "  --explain       instead of the model: why it is compiled so, one decision a line, with its rule and what would change it\n"
            "  --format F      text (the default), dot (Graphviz), svg (a picture); with --explain text or json\n"
            "  --output FILE   writes there instead of to standard output; to FILE.rlxir: with large constants in FILE.safetensors beside it,\n"
            "                  a text that `rlx compile` takes\n"
            "  --opt-level N, --accuracy A, --shape NAME=DIMS, --max SYMBOL=N   as for `rlx compile`\n"
            "\n"
            "Examples: rlx dump model.onnx --explain | grep fusion\n"
            "          rlx dump model.onnx --after fuse --format svg --output model.svg\n",
    .run = dump_run,
};
