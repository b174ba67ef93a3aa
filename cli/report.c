/* Both options are taken out before a verb sees its arguments, so no verb has to know them. */
#include "cli/report.h"

#include <string.h>

#include "cli/cli.h"

/* The value of `--NAME VALUE` or `--NAME=VALUE` at argv[i], and how many arguments that takes; 0: another argument. */
static int option_at(int argc, char **argv, int i, const char *name, const char **out_value)
{
    size_t bytes = strlen(name);

    if (strncmp(argv[i], name, bytes) != 0 || (argv[i][bytes] != '\0' && argv[i][bytes] != '='))
        return 0;
    if (argv[i][bytes] == '=') {
        *out_value = argv[i] + bytes + 1;
        return 1;
    }
    *out_value = i + 1 < argc ? argv[i + 1] : NULL;
    return *out_value != NULL ? 2 : 1;
}

static rlx_status_t format_set(rlx_cli_report_t *report, const char *value, rlx_diag_t *diag)
{
    if (value != NULL && strcmp(value, "json") == 0)
        report->format = RLX_DIAG_JSON;
    else if (value == NULL || strcmp(value, "text") != 0)
        return rlx_fail(diag, RLX_E_USAGE, "--diagnostics: '%s' is neither text nor json", value != NULL ? value : "");
    return RLX_OK;
}

static rlx_status_t errors_set(rlx_cli_report_t *report, const char *value, rlx_diag_t *diag)
{
    int64_t errors_max;

    if (value == NULL)
        return rlx_fail(diag, RLX_E_USAGE, "option --max-errors needs a value");
    RLX_TRY(rlx_cli_int("--max-errors", value, 1, RLX_DIAG_ERRORS_CAP, &errors_max, diag));
    report->errors_max = (int)errors_max;
    return RLX_OK;
}

rlx_status_t rlx_cli_report_options(int *argc, char **argv, rlx_cli_report_t *report, rlx_diag_t *diag)
{
    int kept = 1;

    for (int i = 1, taken; i < *argc; i += taken) {
        const char *value = NULL;

        if (strcmp(argv[i], "--") == 0) {
            while (i < *argc)
                argv[kept++] = argv[i++];
            break;
        }
        if ((taken = option_at(*argc, argv, i, "--diagnostics", &value)) > 0)
            RLX_TRY(format_set(report, value, diag));
        else if ((taken = option_at(*argc, argv, i, "--max-errors", &value)) > 0)
            RLX_TRY(errors_set(report, value, diag));
        else {
            argv[kept++] = argv[i];
            taken = 1;
        }
    }
    *argc = kept;
    argv[kept] = NULL;
    return RLX_OK;
}

void rlx_cli_report(rlx_diag_list_t *list, const rlx_diag_t *diag, rlx_diag_format_t format)
{
    bool apart = diag != NULL && list->n_errors == 0; /* else it is the first of the list's errors */
    bool placed = apart && rlx_diag_list_where(list, diag->where).line > 0; /* a later pass found it in the text */

    if (apart && (placed || format == RLX_DIAG_JSON))
        rlx_report_diag(list, diag, RLX_SPAN_NONE);
    if (format == RLX_DIAG_JSON || list->n_findings > 0)
        rlx_diag_list_print(list, format, stderr);
    if (format != RLX_DIAG_JSON && apart && !placed)
        rlx_diag_print(diag, stderr);
}
