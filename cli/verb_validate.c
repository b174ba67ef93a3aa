/* rlx validate: is a text, or the IR of a bundle, of this version's schema, and does it mean something? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bundle/bundle.h"
#include "cli/cli.h"
#include "ir/compile.h"
#include "ir/text/build.h"
#include "ir/text/load.h"
#include "ir/text/version.h"

typedef struct validate_request {
    const char *model;
    bool strict;
} validate_request_t;

static rlx_status_t request_parse(int argc, char **argv, validate_request_t *request, rlx_diag_t *diag)
{
    static const struct option options[] = {{"model", required_argument, NULL, 'm'}, {"ir", required_argument, NULL, 'm'},
                                            {"strict", no_argument, NULL, 's'}, {0}};

    *request = (validate_request_t){0};
    for (int option; (option = rlx_cli_option_next(argc, argv, options, diag)) != -1;)
        switch (option) {
        case 'm': request->model = optarg; break;
        case 's': request->strict = true; break;
        default: return diag->status;
        }
    return rlx_cli_operand(argc, argv, "FILE.rlx, FILE.rlxir, FILE.rlxb or FILE.onnx", &request->model, diag);
}

/* An old text survives by being upgraded, but not in silence where that was asked for. */
static void drift_check(const rlx_syntax_t *syntax, rlx_diag_list_t *findings)
{
    if (syntax->written == RLX_SCHEMA_VERSION || findings->n_errors > 0)
        return;
    if (syntax->written == 0)
        rlx_finding_hint(rlx_report(findings, RLX_E_SCHEMA_VERSION, (rlx_span_t){1, 1, 0}, "the text names no schema version"),
                         "Write `rlx.ir %d;` first, or @rlx.module(version=%d); `rlx dump` does.", RLX_SCHEMA_VERSION, RLX_SCHEMA_VERSION);
    else
        rlx_finding_expected(rlx_report(findings, RLX_E_SCHEMA_VERSION, syntax->version_span, "the text has schema version %d", syntax->written),
                             "%d", RLX_SCHEMA_VERSION);
}

static int64_t ops_count(const rlx_graph_t *graph)
{
    int64_t n = graph->n_ops;

    for (const rlx_op_t *op = graph->first; op != NULL; op = op->next)
        for (int i = 0; i < op->n_bodies; i++)
            n += ops_count(op->bodies[i]);
    return n;
}

static void graph_print(const char *path, const rlx_graph_t *graph)
{
    printf("%s: valid; module '%s', schema version %d, %lld operators, %d inputs, %d outputs\n", path, graph->name, RLX_SCHEMA_VERSION,
           (long long)ops_count(graph), graph->n_inputs, graph->n_outputs);
}

static rlx_status_t text_validate(const validate_request_t *request, rlx_diag_t *diag)
{
    rlx_graph_t *graph;
    rlx_syntax_t *syntax;
    rlx_status_t status;
    size_t bytes;
    void *text;

    RLX_TRY(rlx_file_read(request->model, RLX_SYNTAX_FILE_MAX, &text, &bytes, diag));
    syntax = rlx_text_parse(request->model, text, bytes, diag->list);
    if (request->strict)
        drift_check(syntax, diag->list);
    if (diag->list->n_errors == 0 || !rlx_cli_ends_with(request->model, ".rlx")) /* a broken text may have more errors to tell of */
        status = rlx_syntax_build(syntax, diag->list, &graph);
    else
        status = RLX_INVALID_ARGUMENT;
    if (status == RLX_OK) {
        graph_print(request->model, graph);
        rlx_graph_destroy(graph);
    } else {
        status = rlx_diag_list_close(diag->list, diag);
    }
    rlx_syntax_destroy(syntax);
    free(text);
    return status;
}

/* The IR of a bundle is read, not built: its constants lie elsewhere. */
static rlx_status_t bundle_validate(const validate_request_t *request, rlx_diag_t *diag)
{
    rlx_bundle_t *bundle;
    rlx_syntax_t *syntax;
    const char *ir;
    size_t bytes;
    char *text;

    RLX_TRY(rlx_bundle_open(request->model, RLX_BUNDLE_SKIP_CODE, &bundle, diag));
    ir = rlx_bundle_ir_text(bundle, &bytes);
    text = malloc(bytes + 1);
    if (text == NULL) {
        rlx_bundle_close(bundle);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    }
    memcpy(text, ir, bytes);
    text[bytes] = '\0';
    syntax = rlx_text_parse(request->model, text, bytes, diag->list);
    if (request->strict)
        drift_check(syntax, diag->list);
    if (diag->list->n_errors == 0)
        printf("%s: valid; a bundle whose IR has schema version %d\n", request->model, syntax->written);
    rlx_syntax_destroy(syntax);
    free(text);
    rlx_bundle_close(bundle);
    return rlx_diag_list_close(diag->list, diag);
}

static rlx_status_t model_validate(const validate_request_t *request, rlx_diag_t *diag)
{
    rlx_graph_t *graph;

    RLX_TRY(rlx_model_load_file(request->model, &graph, diag));
    graph_print(request->model, graph);
    rlx_graph_destroy(graph);
    return RLX_OK;
}

static rlx_status_t validate_run(int argc, char **argv, rlx_diag_t *diag)
{
    validate_request_t request;

    RLX_TRY(request_parse(argc, argv, &request, diag));
    if (rlx_cli_ends_with(request.model, ".rlxb"))
        return bundle_validate(&request, diag);
    return rlx_path_is_text(request.model) ? text_validate(&request, diag) : model_validate(&request, diag);
}

const rlx_verb_t rlx_verb_validate = {
    .name = "validate",
    .summary = "check that a text or model is well formed",
    .help = "rlx validate FILE.rlx|FILE.rlxir|FILE.rlxb|FILE.onnx [--strict]\n"
            "\n"
            "Reads the file, resolves every name, infers every shape and checks every rule, and prints all that is wrong, with line and column.\n"
            "A text of an older schema version is upgraded, with a note; one without a version is read as the current one.\n"
            "\n"
            "Options:\n"
            "  --strict   refuses a text that does not name this program's schema version\n"
            "\n"
            "Exit codes: 0 valid, 1 refused, 2 command line not understood.\n",
    .run = validate_run,
};
