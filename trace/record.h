/* Inside of the trace: the records of rings, and what the writer knows. */
#ifndef RLX_TRACE_RECORD_H
#define RLX_TRACE_RECORD_H

#include <pthread.h>

#include "base/text.h"
#include "trace/ring.h"
#include "trace/trace.h"

typedef enum rlx_record_kind {
    RLX_RECORD_STEP = 1, RLX_RECORD_PART, RLX_RECORD_RUN, RLX_RECORD_REQUEST, RLX_RECORD_COUNTER, RLX_RECORD_TURN
} rlx_record_kind_t;

typedef struct rlx_record_step {
    rlx_ring_head_t head;
    uint32_t track, step;
    const rlx_trace_model_t *model;
    uint64_t run, begin_ns, end_ns, busy_ns, cost_ns;
    int64_t tiles, flops, bytes;
    uint32_t team, workers; /* members that could and that did take tiles */
} rlx_record_step_t;

/* Tiles that a helper took. */
typedef struct rlx_record_part {
    rlx_ring_head_t head;
    uint32_t track, step;
    const rlx_trace_model_t *model;
    uint64_t run, begin_ns, end_ns;
    int64_t tiles;
} rlx_record_part_t;

typedef struct rlx_record_run {
    rlx_ring_head_t head;
    uint32_t track, requests;
    const rlx_trace_model_t *model;
    uint64_t run, begin_ns, end_ns, kernel_ns;
    int64_t rows;
    const char *outcome;
} rlx_record_run_t;

/* `request.id` and `request.traceparent` stand in `text`, each with its NUL. */
typedef struct rlx_record_request {
    rlx_ring_head_t head;
    rlx_trace_request_t request;
    uint32_t id_bytes;
    char text[];
} rlx_record_request_t;

typedef struct rlx_record_counter {
    rlx_ring_head_t head;
    uint64_t at_ns, value;
    uint32_t counter;
} rlx_record_counter_t;

typedef struct rlx_record_turn {
    rlx_ring_head_t head;
    uint32_t track;
    uint64_t begin_ns, end_ns;
} rlx_record_turn_t;

struct rlx_trace_track {
    rlx_ring_t ring;
    rlx_trace_t *trace;
    uint32_t id;
    char name[64];
    bool told; /* its name is in the file; the writer's */
};

/* Prepared text of one step: `"name":...` and `"kernel":...,"source":...` as JSON. */
typedef struct rlx_trace_step_text {
    uint32_t name, args; /* offsets in text */
    uint32_t name_bytes, args_bytes;
} rlx_trace_step_text_t;

struct rlx_trace_model {
    struct rlx_trace_model *next;
    char *name, *version, *isa;
    uint8_t digest[32];
    rlx_text_t text; /* the label as a JSON string first */
    uint32_t label_bytes, n_steps;
    rlx_trace_step_text_t *steps;
    bool told;
};

struct rlx_trace {
    rlx_trace_options_t options; /* strings are copies */
    int fd;
    uint32_t pid;
    uint64_t start_ns, bytes_max;
    pthread_t thread;
    pthread_mutex_t lock; /* of the tables below; hot paths never take it */
    pthread_cond_t stopped;
    bool stop;
    rlx_trace_track_t *tracks[RLX_TRACE_TRACKS_MAX];
    uint32_t n_tracks;
    rlx_trace_model_t *models; /* newest first */
    uint32_t n_models;
    _Atomic uint64_t numbers;
    _Atomic uint64_t models_refused;
    /* Of the writer. */
    uint32_t n_seen; /* tracks that it knows */
    rlx_text_t out;
    uint64_t written, events, dropped_full, dropped_told;
    uint64_t rss_told, sample_ns;
    int failed; /* errno of the first write that failed */
};

/* trace/write.c: the writer's thread. */
void *rlx_trace_writer_main(void *trace);
void rlx_trace_write_begin(rlx_trace_t *trace);
/* trace/model.c */
rlx_trace_model_t *rlx_trace_model_make(const char *name, const char *version, const uint8_t digest[32], const char *isa,
                                        uint32_t nth, const rlx_program_header_t *program); /* `nth` of this name; NULL: no memory */
void rlx_trace_model_free(rlx_trace_model_t *model);
/* trace/sample.c: resident bytes of this process; 0: unknown. */
uint64_t rlx_trace_resident_bytes(void);

#endif
