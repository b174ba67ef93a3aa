/* Between files, trees and graphs (ir/text/load.h). */
#include "ir/text/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ir/compile.h"
#include "ir/module/module.h"
#include "ir/text/build.h"
#include "ir/text/builder.h"
#include "ir/text/export.h"
#include "ir/text/external.h"
#include "ir/text/print.h"
#include "ir/text/read.h"
#include "ir/text/version.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);

    return n > k && strcmp(text + n - k, end) == 0;
}

bool rlx_path_is_text(const char *path) { return ends_with(path, ".rlx") || ends_with(path, ".rlxir"); }

rlx_syntax_t *rlx_text_parse(const char *path, const char *text, size_t bytes, rlx_diag_list_t *findings)
{
    rlx_syntax_t *syntax;

    rlx_diag_list_source(findings, path, text, bytes);
    if (bytes > RLX_SYNTAX_FILE_MAX) {
        rlx_report(findings, RLX_E_TEXT_LIMIT, RLX_SPAN_NONE, "the text has %zu bytes; the limit is %d", bytes, RLX_SYNTAX_FILE_MAX);
        return rlx_syntax_create(path);
    }
    syntax = ends_with(path, ".rlx") ? rlx_module_read(path, text, bytes, findings) : rlx_ssa_read(path, text, bytes, findings);
    if (findings->n_errors == 0)
        rlx_syntax_upgrade(syntax, findings);
    return syntax;
}

static void syntax_destroy(void *syntax) { rlx_syntax_destroy(syntax); }

static rlx_status_t text_load(const char *path, const char *text, size_t bytes, int depth, rlx_diag_list_t *findings, rlx_graph_t **out_graph,
                              rlx_diag_t *diag)
{
    rlx_syntax_t *syntax = rlx_text_parse(path, text, bytes, findings);
    const rlx_syntax_function_t *module = syntax->n_modules > 0 ? syntax->modules[syntax->n_modules - 1] : NULL;

    bool sound = findings->n_errors == 0 || !ends_with(path, ".rlx");

    if (module == NULL && findings->n_errors == 0)
        rlx_report(findings, RLX_E_SYNTAX, RLX_SPAN_NONE, "the text has no module");
    if (module != NULL && sound && rlx_text_module_build(syntax, module, depth, findings, out_graph) == RLX_OK) {
        rlx_graph_keep(*out_graph, syntax, syntax_destroy);
        return RLX_OK;
    }
    rlx_syntax_destroy(syntax);
    return rlx_diag_list_close(findings, diag);
}

rlx_status_t rlx_text_load(const char *path, const char *text, size_t bytes, rlx_diag_list_t *findings, rlx_graph_t **out_graph, rlx_diag_t *diag)
{
    return text_load(path, text, bytes, 0, findings, out_graph, diag);
}

rlx_status_t rlx_text_load_callee(const char *path, int depth, rlx_diag_list_t *findings, rlx_graph_t **out_graph)
{
    rlx_status_t status;
    size_t bytes;
    void *text;

    RLX_TRY(rlx_file_read(path, RLX_SYNTAX_FILE_MAX, &text, &bytes, NULL));
    status = text_load(path, text, bytes, depth, findings, out_graph, NULL);
    free(text);
    return status;
}

rlx_status_t rlx_text_load_file(const char *path, rlx_diag_list_t *findings, rlx_graph_t **out_graph, rlx_diag_t *diag)
{
    rlx_status_t status;
    size_t bytes;
    void *text;

    RLX_TRY(rlx_file_read(path, RLX_SYNTAX_FILE_MAX, &text, &bytes, diag));
    status = rlx_text_load(path, text, bytes, findings, out_graph, diag);
    free(text);
    return status;
}

rlx_status_t rlx_model_load_file(const char *path, rlx_graph_t **out_graph, rlx_diag_t *diag)
{
    rlx_diag_list_t own;
    rlx_status_t status;

    if (!rlx_path_is_text(path))
        return rlx_onnx_import_file(path, out_graph, diag);
    if (diag != NULL && diag->list != NULL)
        return rlx_text_load_file(path, diag->list, out_graph, diag);
    rlx_diag_list_init(&own, 1);
    status = rlx_text_load_file(path, &own, out_graph, diag);
    rlx_diag_list_fini(&own);
    return status;
}

static void graph_destroy(void *graph) { rlx_graph_destroy(graph); }

rlx_status_t rlx_graph_canonicalise_text(rlx_graph_t **graph, rlx_diag_t *diag)
{
    rlx_syntax_t *syntax = rlx_syntax_export(*graph);
    rlx_diag_list_t findings;
    rlx_graph_t *made;
    rlx_status_t status;

    rlx_diag_list_init(&findings, 0);
    status = rlx_syntax_build(syntax, &findings, &made);
    if (status == RLX_OK) {
        made->text = (*graph)->text != NULL ? rlx_graph_strdup(made, (*graph)->text) : NULL;
        rlx_graph_keep(made, *graph, graph_destroy);
        rlx_graph_keep(made, syntax, syntax_destroy);
        *graph = made;
    } else {
        rlx_diag_list_close(&findings, diag);
        rlx_syntax_destroy(syntax);
    }
    rlx_diag_list_fini(&findings);
    return status;
}

/* The file of constants beside `path`: its ending replaced. Owned by the caller. */
static char *constants_path(const char *path)
{
    static const char end[] = ".safetensors";
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path, *dot = strrchr(name, '.');
    size_t stem = dot != NULL && dot > name ? (size_t)(dot - path) : strlen(path);
    char *made = malloc(stem + sizeof end);

    if (made == NULL)
        abort();
    memcpy(made, path, stem);
    memcpy(made + stem, end, sizeof end);
    return made;
}

rlx_status_t rlx_graph_text_write(const rlx_graph_t *graph, const char *path, rlx_diag_t *diag)
{
    rlx_syntax_t *syntax = rlx_syntax_export(graph);
    char *beside = constants_path(path), *text = NULL;
    const char *slash = strrchr(beside, '/');
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    bool written;
    rlx_status_t status;

    if (out == NULL)
        abort();
    status = rlx_syntax_externalise(syntax, slash != NULL ? slash + 1 : beside, beside, &written, diag);
    rlx_ssa_print(syntax, out);
    if (fclose(out) != 0)
        abort();
    if (status == RLX_OK)
        status = rlx_file_write(path, text, bytes, diag);
    free(text);
    free(beside);
    rlx_syntax_destroy(syntax);
    return status;
}
