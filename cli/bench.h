/* What `rlx bench` measured, and how it is shown: a table for people, JSON for programs. */
#ifndef RLX_CLI_BENCH_H
#define RLX_CLI_BENCH_H

#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "cli/session.h"
#include "trace/machine.h"

typedef struct rlx_bench_row {
    const char *kernel; /* borrowed */
    const char *name;   /* the step's; NULL in rows summed by kernel */
    int n_steps;
    double ns;          /* of one run: median over the runs sampled */
    double flops, bytes;
} rlx_bench_row_t;

typedef struct rlx_bench {
    const char *path;
    const rlx_session_t *session;
    rlx_machine_t machine;
    double *latency_ns; /* ascending */
    int64_t n_runs;
    double *traced_ns; /* ascending: of runs told to a trace */
    int64_t n_traced;
    double seconds;   /* of runs, without what was measured between them */
    double fma_gflops; /* median of FMA alone over stretches as long as a run, between the runs; 0: not measured */
    rlx_bench_row_t *steps, *kernels; /* kernels: summed from steps, by descending time */
    int n_steps, n_kernels;
    double flops;
    int64_t arena_bytes;
    size_t constants_bytes, huge_bytes; /* of the bundle: mapped in huge pages after the runs */
} rlx_bench_t;

double rlx_bench_percentile(const rlx_bench_t *bench, double percent); /* ns */
/* Sums `steps` into `kernels`, which has room for RLX_K_END rows. */
void rlx_bench_sum(rlx_bench_t *bench);
void rlx_bench_print(const rlx_bench_t *bench, bool with_steps, FILE *out);
rlx_status_t rlx_bench_write_json(const rlx_bench_t *bench, const char *path, rlx_diag_t *diag);

#endif
