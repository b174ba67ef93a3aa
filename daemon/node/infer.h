/* One inference, from any front end (gRPC, stream, REST): the same path, so that each has the same checks, errors and limits.
 *
 *   rlx_infer_begin      names, types and shapes are known: the model is found and checked, memory is there
 *   rlx_infer_input      where the bytes of input i go (the caller writes exactly that many)
 *   rlx_infer_submit     all bytes are there: admission, queue, run
 *   answer (callback)    exactly once after submit, unless cancelled
 *   rlx_infer_release    the answer's bytes have left
 *
 * rlx_infer_abandon ends one that was begun and not submitted; rlx_infer_cancel ends one that was submitted (no answer follows; the memory
 * is given back when the run has stopped). Loop thread only. */
#ifndef RLX_DAEMON_NODE_INFER_H
#define RLX_DAEMON_NODE_INFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/tensor.h"

#define RLX_INFER_PORTS_MAX 256    /* inputs, outputs of a request */
#define RLX_INFER_NAME_MAX 256     /* model, tensor, region names and ids, in bytes with the NUL */

typedef struct rlx_node rlx_node_t;
typedef struct rlx_infer rlx_infer_t;

/* Where a tensor's bytes are. */
typedef struct rlx_infer_place {
    const char *region; /* NULL: in the message; else a registered shared-memory region */
    uint64_t offset, bytes;
} rlx_infer_place_t;

typedef struct rlx_infer_input {
    const char *name;
    const char *datatype; /* as on the wire: "FP32" */
    int rank;
    int64_t dims[RLX_RANK_MAX];
    rlx_infer_place_t place;
    uint64_t bytes_given; /* in the message, where the caller knows it before the bytes (raw contents); UINT64_MAX: unknown */
} rlx_infer_input_t;

typedef struct rlx_infer_output {
    const char *name;
    rlx_infer_place_t place; /* region NULL: in the answer */
} rlx_infer_output_t;

/* All pointers are borrowed for the call of begin. */
typedef struct rlx_infer_head {
    const char *model, *version, *id; /* version "": the one that serves */
    const rlx_infer_input_t *inputs;
    int n_inputs;
    const rlx_infer_output_t *outputs; /* 0: all, in the model's order */
    int n_outputs;
    uint64_t deadline_ns;  /* rlx_clock_ns() time, UINT64_MAX without */
    uint64_t timeout_us;   /* parameter `timeout`; 0: none */
    uint32_t priority;     /* parameter `priority`: 0 default, 1 highest */
    uint64_t read_ns;      /* when its first bytes came */
    const char *trace;     /* traceparent header or NULL */
    const char *preferred_devices, *output_location; /* parameters `rlx_...` (docs/PROTOCOL.md): wishes, or NULL */
} rlx_infer_head_t;

typedef struct rlx_infer_answer_output {
    const char *name;
    rlx_tensor_t tensor;    /* data: NULL when the bytes are in a region */
    uint64_t bytes;
    rlx_infer_place_t place;
} rlx_infer_answer_output_t;

/* Borrowed until rlx_infer_release. */
typedef struct rlx_infer_answer {
    rlx_status_t status;     /* not RLX_OK: diag says why, n_outputs is 0 */
    const rlx_diag_t *diag;
    const char *model, *version, *id;
    const char *device;      /* "cpu:0" */
    const rlx_infer_answer_output_t *outputs;
    int n_outputs;
    uint64_t queue_ns, kernel_ns;
} rlx_infer_answer_t;

typedef void rlx_infer_answer_fn_t(void *context, rlx_infer_t *infer, const rlx_infer_answer_t *answer);

/* Finds the model, checks names, types, shapes and declared maxima, resolves regions, takes memory. On failure there is nothing to undo and
 * the failure is counted. Inputs are numbered as in `head`. */
rlx_status_t rlx_infer_begin(rlx_node_t *node, const rlx_infer_head_t *head, rlx_infer_answer_fn_t *answer, void *context,
                             rlx_infer_t **out_infer, rlx_diag_t *diag);
/* The memory of input `index` and its exact size; NULL (size 0) where the input lies in a region. */
void *rlx_infer_input(rlx_infer_t *infer, int index, uint64_t *out_bytes);
/* The answer may come before this returns. */
void rlx_infer_submit(rlx_infer_t *infer);
/* Why a request that was begun is not submitted: its failure in the statistics. */
typedef enum rlx_abandon {
    RLX_ABANDON_UNCOUNTED, /* it goes on as another, or its failure was counted */
    RLX_ABANDON_MALFORMED, /* what followed the head was refused */
    RLX_ABANDON_GONE,      /* the client left */
} rlx_abandon_t;
void rlx_infer_abandon(rlx_infer_t *infer, rlx_abandon_t why);
void rlx_infer_cancel(rlx_infer_t *infer);
void rlx_infer_release(rlx_infer_t *infer);

/* A request that could not be read up to its model: one more failure in the statistics. (rlx_infer_begin counts its own failures, an
 * unknown model too.) */
void rlx_infer_count_malformed(rlx_node_t *node);

#endif
