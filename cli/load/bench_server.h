/* A server of our own for the time of a benchmark: `rlx bench --config C --model M`. */
#ifndef RLX_CLI_LOAD_BENCH_SERVER_H
#define RLX_CLI_LOAD_BENCH_SERVER_H

#include <sys/types.h>

#include "base/diag.h"

typedef struct rlx_bench_server {
    pid_t pid;
    char url[256];
    char model[256]; /* the name under which it is served */
} rlx_bench_server_t;

/* Runs `rlx run` with the configuration and the model (a file, or NAME=FILE) on a free port, and waits until it serves. */
rlx_status_t rlx_bench_server_start(const char *config, const char *model, rlx_bench_server_t *out_server, rlx_diag_t *diag);
void rlx_bench_server_stop(rlx_bench_server_t *server);

#endif
