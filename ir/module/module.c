/* Parse, then run. */
#include "ir/module/module.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ir/module/evaluate.h"
#include "ir/module/parse.h"

/* The folder that a text stands in, or -1. */
static int folder_open(rlx_syntax_t *syntax, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *folder = slash == NULL ? "." : slash == path ? "/" : rlx_syntax_strndup(syntax, path, (size_t)(slash - path));

    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

rlx_syntax_t *rlx_module_read(const char *path, const char *text, size_t bytes, rlx_diag_list_t *findings)
{
    rlx_syntax_t *syntax = rlx_syntax_create(path);
    rlx_tree_t *tree = rlx_module_parse(syntax, text, bytes, findings);
    int folder = folder_open(syntax, path);

    rlx_module_evaluate(syntax, tree, folder, findings);
    if (folder >= 0)
        close(folder);
    return syntax;
}
