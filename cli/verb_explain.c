/* rlx explain CODE: the row of the error table, in words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static void error_print(const rlx_error_info_t *info)
{
    printf("RLX-%04d: %s (%s)\n\n", (int)info->code, info->title, rlx_status_name(info->status));
    printf("cause  %s\nfix    %s\n", info->cause, info->fix);
}

static rlx_status_t explain_run(int argc, char **argv, rlx_diag_t *diag)
{
    static const struct option options[] = {{0}};
    const rlx_error_info_t *info;
    const char *text = NULL;
    char *end;
    int count;

    if (rlx_cli_option_next(argc, argv, options, diag) != -1)
        return diag->status;
    if (optind == argc) {
        info = rlx_error_table(&count);
        for (int i = 0; i < count; i++)
            printf("RLX-%04d  %s\n", (int)info[i].code, info[i].title);
        return RLX_OK;
    }
    RLX_TRY(rlx_cli_operand(argc, argv, "CODE", &text, diag));
    info = rlx_error_find((int)strtol(strncasecmp(text, "RLX-", 4) == 0 ? text + 4 : text, &end, 10));
    if (info == NULL || *end != '\0') {
        rlx_fail(diag, RLX_E_USAGE, "'%s' is no error code", text);
        return rlx_diag_hint(diag, "`rlx explain` lists all codes.");
    }
    error_print(info);
    return RLX_OK;
}

const rlx_verb_t rlx_verb_explain = {
    .name = "explain",
    .summary = "say what an error code means and what to do",
    .help = "rlx explain [CODE]\n"
            "\n"
            "Prints title, cause and fix of an error code such as RLX-1104. Without CODE: the list of all codes.\n",
    .run = explain_run,
};
