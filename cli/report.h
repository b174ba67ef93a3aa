/* How a run's errors and warnings are printed, on standard error: for people, or (--diagnostics json) for editors. */
#ifndef RLX_CLI_REPORT_H
#define RLX_CLI_REPORT_H

#include "base/diag_list.h"

typedef struct rlx_cli_report {
    rlx_diag_format_t format;
    int errors_max; /* 0: the default */
} rlx_cli_report_t;

/* Takes `--diagnostics text|json` and `--max-errors N`, which every verb has, out of the command line. */
rlx_status_t rlx_cli_report_options(int *argc, char **argv, rlx_cli_report_t *report, rlx_diag_t *diag);
/* Prints what readers of texts found, and `diag` (NULL: the run succeeded) unless it is one of these findings. Nothing where there is nothing,
 * but with JSON: there an editor gets an object each time. */
void rlx_cli_report(rlx_diag_list_t *list, const rlx_diag_t *diag, rlx_diag_format_t format);

#endif
