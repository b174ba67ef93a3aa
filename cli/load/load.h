/* A load on a server, and what it measured: `rlx bench --url`.
 *
 * Closed loop: `concurrency` requests are always open, spread over `connections`; each answer begins the next request, after `think`. Open
 * loop (`rate` > 0): requests are due at fixed times whether or not the server keeps up, and latency counts from the time a request was
 * due, so that a server that stalls can't hide it (coordinated omission); at most `concurrency` are open, the others wait here and their
 * wait counts. One thread, one loop. */
#ifndef RLX_CLI_LOAD_LOAD_H
#define RLX_CLI_LOAD_LOAD_H

#include <stdio.h>

#include "base/histogram.h"
#include "base/npz.h"
#include "cli/cli.h"

#define RLX_LOAD_CONNECTIONS_MAX 4096
#define RLX_LOAD_CONCURRENCY_MAX 65536
#define RLX_LOAD_STATUSES 17 /* gRPC's */

typedef enum rlx_load_memory { RLX_LOAD_IN_MESSAGE, RLX_LOAD_MEMFD, RLX_LOAD_SYSTEM } rlx_load_memory_t;

typedef struct rlx_load_options {
    const char *url, *model, *version, *input; /* input: an .npz file, or NULL */
    const char *memory_socket;
    rlx_compile_options_t shapes;
    int64_t connections, concurrency, batch;
    double duration_s, warmup_s, think_s, rate;
    int64_t timeout_ms;
    rlx_load_memory_t memory;
    int64_t pid; /* a process whose CPU time is told too; 0: none */
} rlx_load_options_t;

typedef struct rlx_load_result {
    rlx_histogram_t answered, refused; /* latency of OK, and of everything else */
    rlx_histogram_t queue, kernel;     /* as the server told; empty when it does not */
    uint64_t status[RLX_LOAD_STATUSES];
    char error[1024]; /* the first message of a failure */
    double seconds;
    uint64_t in_time; /* answers within the measured time: throughput */
    uint64_t late;                            /* open loop: due, and not even sent when the time was up */
    uint64_t connection_min, connection_max;  /* answers of the slowest and the fastest connection */
    double client_cpu_s, server_cpu_s;        /* server: -1 without pid */
    double bytes_out, bytes_in;               /* tensor bytes of one request and its answer */
    int64_t connections, concurrency;         /* as used */
    const char *note;                         /* what had to be done otherwise than asked, or "" */
    char device[64];
} rlx_load_result_t;

rlx_status_t rlx_load_run(const rlx_load_options_t *options, rlx_load_result_t *out_result, rlx_diag_t *diag);
void rlx_load_print(const rlx_load_options_t *options, const rlx_load_result_t *result, FILE *out);
rlx_status_t rlx_load_write_json(const rlx_load_options_t *options, const rlx_load_result_t *result, const char *path, rlx_diag_t *diag);

#endif
