/* A trace: what the program did and when, written to a file while it runs, in Chrome's JSON array form (docs/PROFILING.md), which Perfetto,
 * chrome://tracing and `rlx profile` open.
 *
 * Every thread that tells something has a *track*, a ring of records of its own; one more thread turns records into text and writes them.
 * So telling costs a copy of about 100 bytes: no lock, no system call, no allocation, no waiting. What does not fit (a full ring, a file at
 * its bound) is dropped and counted, and the trace says so. The file is whole at any moment but for its last line: a killed program leaves
 * a trace that opens.
 *
 * A trace exists only with --profiling; without it the pointers to it are NULL and nothing is called. */
#ifndef RLX_TRACE_TRACE_H
#define RLX_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "bundle/program.h"
#include "trace/machine.h"

#define RLX_TRACE_BYTES_DEFAULT ((uint64_t)256 << 20)
#define RLX_TRACE_BYTES_MIN ((uint64_t)64 << 10)
#define RLX_TRACE_TRACKS_MAX 2048 /* more are refused: a program has fewer threads */
#define RLX_TRACE_MODELS_MAX 4096 /* different bundles; steps of further ones are dropped and counted */
#define RLX_TRACE_ID_MAX 256      /* of a request: longer ones are cut */

typedef struct rlx_trace rlx_trace_t;
typedef struct rlx_trace_track rlx_trace_track_t;
typedef struct rlx_trace_model rlx_trace_model_t;

typedef struct rlx_trace_options {
    const char *path;
    const char *program, *version; /* "rlxd", "0.1.0" */
    const char *node;              /* or "" */
    const char *isa;               /* what the machine was measured with */
    int threads;                   /* that run kernels */
    rlx_machine_t machine, one_thread;
    uint64_t bytes_max;            /* of the file; 0: RLX_TRACE_BYTES_DEFAULT */
} rlx_trace_options_t;

/* Creates the file and starts the writer. All strings are copied. */
rlx_status_t rlx_trace_open(const rlx_trace_options_t *options, rlx_trace_t **out_trace, rlx_diag_t *diag);
/* Writes what is there, what was dropped, and the end of the array. No thread may tell anything any more. Fails when the file could not be
 * written: the trace is gone all the same. NULL is no trace. */
rlx_status_t rlx_trace_close(rlx_trace_t *trace, rlx_diag_t *diag);

/* A track of the calling program's, shown by `name`, in the order they are made. Lives until close. Any thread. NULL: there are
 * RLX_TRACE_TRACKS_MAX, or no memory. One thread at a time tells something through it. */
rlx_trace_track_t *rlx_trace_track(rlx_trace_t *trace, const char *name);
uint32_t rlx_trace_track_id(const rlx_trace_track_t *track);

/* The model's names as the trace needs them, copied; the same name, version and digest give the same model. Lives until close. NULL: there
 * are RLX_TRACE_MODELS_MAX, or no memory (counted). Any thread, but not on a hot path. */
const rlx_trace_model_t *rlx_trace_model(rlx_trace_t *trace, const char *name, const char *version, const uint8_t digest[32],
                                         const char *isa, const rlx_program_header_t *program);

/* A number that names a run, or a request. Any thread. */
uint64_t rlx_trace_number(rlx_trace_t *trace);

/* What follows tells something: through a track of the calling thread. Times are rlx_clock_ns(). */

/* A request that has ended. Times that it did not reach are 0. */
typedef struct rlx_trace_request {
    const rlx_trace_model_t *model;
    uint64_t number;    /* of this request */
    uint64_t run;       /* that served it, or 0 */
    const char *id, *traceparent; /* as the client gave them, or "" */
    const char *outcome;          /* RLX_OK's name, or why not: a string that lives for ever */
    int64_t rows;
    uint64_t read_ns, submit_ns, start_ns, end_ns, answer_ns, free_ns;
    uint64_t kernel_ns; /* of its run */
} rlx_trace_request_t;
void rlx_trace_request(rlx_trace_track_t *track, const rlx_trace_request_t *request);

typedef enum rlx_trace_counter { RLX_TRACE_QUEUED, RLX_TRACE_RUNNING, RLX_TRACE_IN_FLIGHT, RLX_TRACE_COUNTERS } rlx_trace_counter_t;
void rlx_trace_count(rlx_trace_track_t *track, rlx_trace_counter_t counter, uint64_t at_ns, uint64_t value);

/* The loop worked for this long without looking at its sockets. */
void rlx_trace_turn(rlx_trace_track_t *track, uint64_t begin_ns, uint64_t end_ns);

#endif
