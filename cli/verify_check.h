/* rlx verify --check: the checks of ir/check.h by name. One thread. */
#ifndef RLX_CLI_VERIFY_CHECK_H
#define RLX_CLI_VERIFY_CHECK_H

#include "base/diag_list.h"
#include "ir/graph.h"

typedef struct rlx_cli_checks {
    bool coherence, distribution;
} rlx_cli_checks_t;

/* memory_coherence, distributed_scheduling or all. */
rlx_status_t rlx_cli_checks_parse(const char *text, rlx_cli_checks_t *out_checks, rlx_diag_t *diag);
/* Makes them, prints what was checked and what was not, and fails where there are errors. diag->list takes the findings. */
rlx_status_t rlx_cli_checks_make(const rlx_cli_checks_t *checks, const char *path, const rlx_graph_t *graph, rlx_diag_t *diag);

#endif
