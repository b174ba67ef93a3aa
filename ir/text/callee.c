/* Functions that a remote_call names (ir/text/builder.h). Their graphs are made for the types of their outputs only, and thrown away. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/text/builder.h"
#include "ir/text/load.h"

#define CALL_DEPTH_MAX 4
#define NAME_BYTES_MAX 200

/* Constant extents only: a function of another cluster has its own symbols. */
static bool types_take(const rlx_graph_t *callee, rlx_graph_t *graph, int n, rlx_value_t *const *results)
{
    for (int i = 0; i < n; i++) {
        int64_t dims[RLX_RANK_MAX];

        if (results[i] == NULL)
            continue;
        if (i >= callee->n_outputs || !rlx_value_dims_const(callee, callee->outputs[i], dims))
            return false;
        results[i]->dtype = callee->outputs[i]->dtype;
        results[i]->rank = callee->outputs[i]->rank;
        for (int k = 0; k < results[i]->rank; k++)
            results[i]->dims[k] = rlx_expr_const(graph->exprs, dims[k]);
    }
    return true;
}

static const rlx_syntax_function_t *module_find(const rlx_text_builder_t *builder, const char *name)
{
    for (int i = 0; i < builder->syntax->n_modules; i++) {
        const rlx_syntax_function_t *module = builder->syntax->modules[i];

        if (module != builder->function && module->name != NULL && strcmp(module->name, name) == 0)
            return module;
    }
    return NULL;
}

static bool is_plain(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    size_t bytes = strlen(name);

    return bytes > 0 && bytes < NAME_BYTES_MAX && name[0] != '.' && strspn(name, letters) == bytes;
}

/* The graph of NAME.rlx or NAME.rlxir beside the text. */
static bool file_build(const rlx_text_builder_t *builder, const char *name, rlx_diag_list_t *findings, rlx_graph_t **out)
{
    static const char *const ends[] = {".rlx", ".rlxir"};
    const char *slash = strrchr(builder->syntax->path, '/');
    int folder = slash != NULL ? (int)(slash - builder->syntax->path) + 1 : 0;

    for (size_t i = 0; is_plain(name) && i < sizeof ends / sizeof ends[0]; i++) {
        char *path;
        bool done;

        if (asprintf(&path, "%.*s%s%s", folder, builder->syntax->path, name, ends[i]) < 0)
            abort();
        done = access(path, R_OK) == 0 && rlx_text_load_callee(path, builder->depth + 1, findings, out) == RLX_OK;
        free(path);
        if (done)
            return true;
    }
    return false;
}

bool rlx_text_callee_types(rlx_text_builder_t *builder, const char *name, int n, rlx_value_t *const *results)
{
    const rlx_syntax_function_t *module = module_find(builder, name);
    rlx_diag_list_t findings;
    rlx_graph_t *callee = NULL;
    bool done;

    if (builder->depth >= CALL_DEPTH_MAX)
        return false;
    rlx_diag_list_init(&findings, 1);
    done = module != NULL ? rlx_text_module_build(builder->syntax, module, builder->depth + 1, &findings, &callee) == RLX_OK
                          : file_build(builder, name, &findings, &callee);
    done = done && types_take(callee, builder->graph, n, results);
    rlx_graph_destroy(callee);
    rlx_diag_list_fini(&findings);
    return done;
}
