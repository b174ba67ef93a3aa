/* The forms of `rlx bench` that load a server: one that runs (--url), or one that is started for it (--config). */
#ifndef RLX_CLI_LOAD_BENCH_URL_H
#define RLX_CLI_LOAD_BENCH_URL_H

#include "cli/cli.h"

rlx_status_t rlx_bench_url(int argc, char **argv, rlx_diag_t *diag);

#endif
