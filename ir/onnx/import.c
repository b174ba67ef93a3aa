/* The ONNX front end's entry points (ir/compile.h): file to bytes, bytes to model, model to graph. A file is read, not mapped: a file that
 * shrinks under a mapping would end the process. */
#include "ir/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/onnx/import.h"
#include "ir/text/load.h"

static rlx_status_t opsets_check(rlx_onnx_import_t *import, const rlx_onnx_opset_t *opsets, int n)
{
    for (int i = 0; i < n; i++) {
        if (opsets[i].domain[0] != '\0')
            continue;
        if (opsets[i].version < RLX_ONNX_OPSET_MIN || opsets[i].version > RLX_ONNX_OPSET_MAX)
            return rlx_fail(import->diag, RLX_E_ONNX_OPSET, "the model uses opset %lld; supported are %d to %d",
                            (long long)opsets[i].version, RLX_ONNX_OPSET_MIN, RLX_ONNX_OPSET_MAX);
    }
    return RLX_OK;
}

static rlx_status_t functions_index(rlx_onnx_import_t *import)
{
    for (int i = 0; i < import->model->n_functions; i++) {
        rlx_onnx_function_t *function = &import->model->functions[i];
        const char *key = rlx_graph_printf(import->graph, "%s:%s", function->domain, function->name);

        if (!rlx_onnx_names_add(&import->functions, key, function))
            return rlx_fail(import->diag, RLX_E_ONNX_GRAPH, "function '%s' of domain '%s' is defined twice", function->name,
                            function->domain);
        RLX_TRY(opsets_check(import, function->opsets, function->n_opsets));
    }
    return RLX_OK;
}

/* A graph output is a value under the model's name: an alias or a constant is copied. */
static rlx_status_t output_make(rlx_onnx_import_t *import, const rlx_onnx_scope_t *scope, const char *name)
{
    rlx_value_t *value = rlx_onnx_names_get(&scope->names, name);
    rlx_value_t *copy;
    rlx_op_t *op;

    if (value == NULL)
        return rlx_fail(import->diag, RLX_E_ONNX_GRAPH, "graph output '%s' is not defined", name);
    if ((value->producer != NULL || value->is_input) && !value->is_output && strcmp(value->name, name) == 0) {
        rlx_graph_output(import->graph, value);
        return RLX_OK;
    }
    copy = rlx_graph_value(import->graph, name, RLX_DTYPE_NONE);
    op = rlx_graph_op(import->graph, NULL, RLX_OP_identity, name, 1, &value, 1, &copy);
    op->source = rlx_graph_printf(import->graph, "graph output '%s'", name);
    RLX_TRY(rlx_op_infer(import->graph, op, import->diag));
    if (strcmp(value->name, name) == 0) { /* a constant: the copy takes its name over */
        value->name = copy->name;
        copy->name = name;
    }
    rlx_graph_output(import->graph, copy);
    return RLX_OK;
}

static rlx_status_t outputs_make(rlx_onnx_import_t *import, const rlx_onnx_scope_t *scope)
{
    const rlx_onnx_model_t *model = import->model;

    if (model->n_outputs == 0)
        return rlx_fail(import->diag, RLX_E_ONNX_GRAPH, "the graph has no outputs");
    for (int i = 0; i < model->n_outputs; i++) {
        for (int k = 0; k < i; k++)
            if (strcmp(model->outputs[i].name, model->outputs[k].name) == 0)
                return rlx_fail(import->diag, RLX_E_ONNX_GRAPH, "graph output '%s' stands twice", model->outputs[i].name);
        RLX_TRY(output_make(import, scope, model->outputs[i].name));
    }
    return RLX_OK;
}

static rlx_status_t graph_make(rlx_onnx_import_t *import, rlx_onnx_scope_t *scope)
{
    if (import->model->has_sparse)
        return rlx_fail(import->diag, RLX_E_ONNX_OPERATOR, "sparse initializers are not supported");
    RLX_TRY(opsets_check(import, import->model->opsets, import->model->n_opsets));
    RLX_TRY(functions_index(import));
    RLX_TRY(rlx_onnx_inputs_make(import, scope));
    RLX_TRY(rlx_onnx_nodes_convert(import, scope, import->model->nodes, import->model->n_nodes));
    return outputs_make(import, scope);
}

/* One attempt: `choices` says which branch the Ifs take that are decided at import; `out_choices` how many there were. */
static rlx_status_t bytes_import_once(rlx_onnx_bytes_t bytes, int dir_fd, const char *file, unsigned choices, int *out_choices,
                                      rlx_graph_t **out_graph, rlx_diag_t *diag)
{
    rlx_onnx_model_t model;
    rlx_onnx_import_t import = {.graph = rlx_graph_create("model"),
                                .model = &model,
                                .diag = diag,
                                .choices = choices,
                                .file = file,
                                .dir_fd = dir_fd,
                                .const_budget = RLX_ONNX_CONST_BYTES_MAX,
                                .node_budget = RLX_ONNX_NODES_MAX};
    rlx_onnx_scope_t scope = {.place = ""};
    rlx_status_t status = rlx_onnx_model_parse(import.graph, bytes, &model, import.diag);

    if (status == RLX_OK) {
        import.graph->name = model.graph_name[0] != '\0' ? model.graph_name : "model";
        status = graph_make(&import, &scope);
    }
    rlx_onnx_names_fini(&scope.names);
    rlx_onnx_names_fini(&import.functions);
    *out_choices = import.n_choices;
    if (status != RLX_OK) {
        rlx_diag_at(import.diag, "%s", file);
        rlx_graph_destroy(import.graph);
        return status;
    }
    *out_graph = import.graph;
    return RLX_OK;
}

/* Where branches of an If differ in rank, the model makes sense with one of them only: tried in turn (convert_if.c). */
static rlx_status_t bytes_import(rlx_onnx_bytes_t bytes, int dir_fd, const char *file, rlx_graph_t **out_graph, rlx_diag_t *diag)
{
    rlx_diag_t first = {0}, other = {0};
    int n_choices = 0, ignored;
    rlx_status_t status = bytes_import_once(bytes, dir_fd, file, 0, &n_choices, out_graph, &first);

    for (unsigned choices = 1; status != RLX_OK && choices < 1u << n_choices; choices++) {
        other = (rlx_diag_t){0};
        status = bytes_import_once(bytes, dir_fd, file, choices, &ignored, out_graph, &other);
    }
    if (status == RLX_OK)
        return rlx_graph_canonicalise_text(out_graph, diag);
    if (diag != NULL)
        *diag = first;
    return first.status;
}

rlx_status_t rlx_onnx_import(const void *data, size_t bytes, const char *base_dir, rlx_graph_t **out_graph, rlx_diag_t *diag)
{
    int dir_fd = base_dir != NULL ? open(base_dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    rlx_status_t status;

    if (base_dir != NULL && dir_fd < 0)
        return rlx_fail(diag, RLX_E_FILE_OPEN, "folder '%s' cannot be opened: %s", base_dir, strerror(errno));
    status = bytes_import((rlx_onnx_bytes_t){data, bytes}, dir_fd, "model", out_graph, diag);
    if (dir_fd >= 0)
        close(dir_fd);
    return status;
}

static rlx_status_t file_read(int fd, const char *path, rlx_onnx_bytes_t *out_bytes, rlx_diag_t *diag)
{
    struct stat st;
    uint8_t *data;
    size_t have = 0;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return rlx_fail(diag, RLX_E_FILE_OPEN, "'%s' is no regular file", path);
    if (st.st_size > RLX_ONNX_CONST_BYTES_MAX)
        return rlx_fail(diag, RLX_E_ONNX_LIMIT, "'%s' has %lld bytes; the limit is %lld", path, (long long)st.st_size,
                        (long long)RLX_ONNX_CONST_BYTES_MAX);
    data = malloc((size_t)st.st_size + 1);
    if (data == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for '%s' (%lld bytes)", path, (long long)st.st_size);
    while (have < (size_t)st.st_size) {
        ssize_t n = read(fd, data + have, (size_t)st.st_size - have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    *out_bytes = (rlx_onnx_bytes_t){data, have};
    return RLX_OK;
}

/* The folder that holds `path`, opened; external data is looked up below it. */
static int folder_open(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    int fd = folder != NULL ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

    free(folder);
    return fd;
}

rlx_status_t rlx_onnx_import_file(const char *path, rlx_graph_t **out_graph, rlx_diag_t *diag)
{
    rlx_onnx_bytes_t bytes = {0};
    rlx_status_t status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), dir_fd;

    if (fd < 0)
        return rlx_fail(diag, RLX_E_FILE_OPEN, "'%s' cannot be opened: %s", path, strerror(errno));
    status = file_read(fd, path, &bytes, diag);
    close(fd);
    if (status != RLX_OK)
        return status;
    dir_fd = folder_open(path);
    status = bytes_import(bytes, dir_fd, path, out_graph, diag);
    if (dir_fd >= 0)
        close(dir_fd);
    free((void *)bytes.data);
    return status;
}
