/* A profile: what a trace says, summed. Read from the file (read.c), judged (judge.c), shown as a page (page.c).
 *
 * Times are nanoseconds since the trace began. Strings and rows live in the profile's tables and are named by index. One thread. */
#ifndef RLX_CLI_PROFILE_PROFILE_H
#define RLX_CLI_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "cli/profile/table.h"

#define RLX_PROFILE_BYTES_MAX ((size_t)1 << 30) /* of a trace: larger ones are refused */

typedef enum rlx_span_kind { RLX_SPAN_STEP, RLX_SPAN_HELP, RLX_SPAN_RUN, RLX_SPAN_TURN } rlx_span_kind_t;

typedef struct rlx_profile_span {
    uint64_t begin, duration;
    uint32_t track;
    uint32_t of;   /* STEP, HELP: a step; RUN: a model */
    uint32_t kind; /* rlx_span_kind_t */
} rlx_profile_span_t;

typedef enum rlx_verdict { RLX_BOUND_COMPUTE, RLX_BOUND_MEMORY, RLX_BOUND_NETWORK, RLX_BOUND_OVERHEAD, RLX_BOUND_NONE } rlx_verdict_t;

/* What steps did, summed. `busy` and `team`: worker time in tiles, and worker time that was there for them. */
typedef struct rlx_profile_work {
    uint64_t count;
    double ns, busy, team, flops, bytes, tiles;
    double peak_gflop, peak_gbyte; /* what the machine could have done in that time: GF, GB */
    double longest;
} rlx_profile_work_t;

/* How far a work is from the machine's limits, as fractions, and what that means. */
typedef struct rlx_judgement {
    double busy, fma, bandwidth;
    rlx_verdict_t verdict;
    char why[256], knob[512];
} rlx_judgement_t;

typedef struct rlx_profile_step {
    uint32_t model, index;
    uint32_t name, kernel, source; /* texts */
    rlx_profile_work_t work;
    rlx_judgement_t judgement;
} rlx_profile_step_t;

/* All steps of one kernel. */
typedef struct rlx_profile_kernel {
    uint32_t name;
    uint32_t steps;
    rlx_profile_work_t work;
    rlx_judgement_t judgement;
} rlx_profile_kernel_t;

typedef struct rlx_profile_model {
    uint32_t name, version, isa, digest;
    int64_t steps;
} rlx_profile_model_t;

enum { RLX_PHASE_RECEIVING, RLX_PHASE_QUEUED, RLX_PHASE_RUNNING, RLX_PHASE_REPLYING, RLX_PHASES };
typedef struct rlx_profile_request {
    uint64_t number, begin, end;
    uint64_t phase[RLX_PHASES];       /* how long */
    uint64_t phase_begin[RLX_PHASES]; /* while open */
    uint32_t model, id, traceparent, outcome;
    int64_t rows;
    uint64_t run, kernel_ns;
    bool ended;
} rlx_profile_request_t;

typedef struct rlx_profile_point {
    uint32_t counter;
    uint64_t at;
    double value;
} rlx_profile_point_t;

typedef struct rlx_profile {
    const char *path;
    /* The trace's own facts. */
    char program[64], version[64], node[256], isa[64];
    int threads;
    double peak_gflops, peak_gbytes, thread_gflops, thread_gbytes;
    double unix_ms;
    bool truncated; /* the file ends before its end */
    double dropped;
    char note[256]; /* "" or what is missing, for people */

    rlx_texts_t texts;
    RLX_TABLE(rlx_profile_model_t) models;
    RLX_TABLE(rlx_profile_step_t) steps;
    RLX_TABLE(rlx_profile_kernel_t) kernels;
    RLX_TABLE(rlx_profile_span_t) spans;
    RLX_TABLE(rlx_profile_request_t) requests;
    RLX_TABLE(rlx_profile_point_t) points;
    RLX_TABLE(uint32_t) tracks;   /* by track id: its name; texts[0] is "" */
    RLX_TABLE(uint32_t) counters; /* names */
    rlx_index_t step_index, request_index, model_index;

    /* All together (judge.c). */
    rlx_profile_work_t work;
    rlx_judgement_t judgement;
    double window_ns;   /* something was in flight */
    double transfer_ns; /* of it: bytes moved and no run was under way */
    double idle_ns;     /* of it: nothing of both */
    double run_ns;      /* of all runs, added up */
    uint64_t n_runs;
    uint64_t end;       /* of the last event */
} rlx_profile_t;

/* Fails with RLX-1801 and where, when the file is no trace of RLX. A trace that ends early is read as far as it goes, with a note. */
rlx_status_t rlx_profile_read(const char *path, rlx_profile_t *out_profile, rlx_diag_t *diag);
/* The same from memory; `name` stands in diagnoses and on the page. */
rlx_status_t rlx_profile_parse(const char *data, size_t bytes, const char *name, rlx_profile_t *out_profile, rlx_diag_t *diag);
void rlx_profile_free(rlx_profile_t *profile);

/* Sums kernels and judges everything. */
rlx_status_t rlx_profile_judge(rlx_profile_t *profile, rlx_diag_t *diag);
const char *rlx_verdict_name(rlx_verdict_t verdict);

/* The profile as JSON: what the page holds. */
void rlx_profile_data_add(rlx_text_t *out, const rlx_profile_t *profile);
/* Writes the page. */
rlx_status_t rlx_profile_page(const rlx_profile_t *profile, const char *path, rlx_diag_t *diag);

#endif
