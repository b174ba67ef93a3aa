/* Checks and what they print (cli/verify_check.h). */
#include "cli/verify_check.h"

#include <stdio.h>
#include <string.h>

#include "base/closest.h"
#include "ir/check.h"

rlx_status_t rlx_cli_checks_parse(const char *text, rlx_cli_checks_t *out_checks, rlx_diag_t *diag)
{
    static const char *const words[] = {"memory_coherence", "distributed_scheduling", "all"};
    bool all = strcmp(text, words[2]) == 0;
    rlx_closest_t closest;

    *out_checks = (rlx_cli_checks_t){.coherence = all || strcmp(text, words[0]) == 0, .distribution = all || strcmp(text, words[1]) == 0};
    if (out_checks->coherence || out_checks->distribution)
        return RLX_OK;
    rlx_closest_init(&closest, text, strlen(text));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        rlx_closest_offer(&closest, words[i]);
    rlx_fail(diag, RLX_E_USAGE, "--check: '%s' is none of memory_coherence, distributed_scheduling, all", text);
    return closest.best != NULL ? rlx_diag_hint(diag, "Did you mean '%s'?", closest.best) : diag->status;
}

static void result_print(const char *path, const char *check, const rlx_check_figures_t *figures, int errors, int warnings)
{
    printf("%s: %s: %d operator%s, %d error%s, %d warning%s\n", path, check, figures->n_ops, figures->n_ops == 1 ? "" : "s", errors,
           errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
}

rlx_status_t rlx_cli_checks_make(const rlx_cli_checks_t *checks, const char *path, const rlx_graph_t *graph, rlx_diag_t *diag)
{
    rlx_diag_list_t *list = diag->list;
    int errors = list->n_errors, warnings = list->n_warnings;

    if (checks->coherence) {
        rlx_check_figures_t figures = {0};

        rlx_check_coherence(graph, list, &figures);
        result_print(path, "memory_coherence", &figures, list->n_errors - errors, list->n_warnings - warnings);
        errors = list->n_errors;
        warnings = list->n_warnings;
    }
    if (checks->distribution) {
        rlx_check_figures_t figures = {0};

        rlx_check_distribution(graph, list, &figures);
        result_print(path, "distributed_scheduling", &figures, list->n_errors - errors, list->n_warnings - warnings);
        printf("  not checked: whether the devices exist, their capacity, and the links between them\n");
        if (figures.n_remote > 0)
            printf("  not checked: the clusters that %d remote_call%s names\n", figures.n_remote, figures.n_remote == 1 ? "" : "s");
        if (figures.n_pipeline > 0)
            printf("  not checked: the credits between the stages of %d pipeline%s\n", figures.n_pipeline, figures.n_pipeline == 1 ? "" : "s");
    }
    return list->n_errors > 0 ? rlx_diag_list_close(list, diag) : RLX_OK;
}
