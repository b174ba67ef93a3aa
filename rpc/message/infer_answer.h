/* ModelInferResponse, read as its bytes come: tensor data goes straight to where the caller wants it, everything else is small and kept.
 *
 * Bounds: OUTPUTS_MAX outputs, RLX_RANK_MAX extents, TEXT_BYTES_MAX of names; above: INTERNAL, "answer not understood". Typed contents are
 * refused: a request with raw contents is answered with raw contents. Keeps its memory from one answer to the next. */
#ifndef RLX_RPC_MESSAGE_INFER_ANSWER_H
#define RLX_RPC_MESSAGE_INFER_ANSWER_H

#include "base/diag.h"
#include "base/tensor.h"
#include "base/text.h"
#include "proto/guard.h"

#define RLX_INFER_OUTPUTS_MAX 256

typedef struct rlx_infer_output_view {
    const char *name, *datatype; /* set by rlx_infer_answer_end */
    int rank;
    int64_t dims[RLX_RANK_MAX];
    bool in_region;
    void *data; /* as placed; NULL: none came */
    uint64_t bytes;
    size_t name_at, datatype_at; /* in the text */
} rlx_infer_output_view_t;

typedef struct rlx_infer_answer_reader rlx_infer_answer_reader_t;
/* Where `bytes` bytes of tensor data go. `name` is NULL when data come before the list of outputs. NULL: refused, with `diag` set. */
typedef void *rlx_infer_place_fn_t(void *context, int index, const char *name, uint64_t bytes, rlx_diag_t *diag);

struct rlx_infer_answer_reader {
    /* The answer: valid after rlx_infer_answer_end. */
    const char *model, *version, *id, *device; /* "" when not told */
    uint64_t queue_ns, kernel_ns;
    bool has_times;
    rlx_infer_output_view_t *outputs;
    int n_outputs;
    /* The reader's. */
    rlx_infer_place_fn_t *place;
    void *context;
    rlx_guard_t guard;
    rlx_text_t text;
    size_t model_at, version_at, id_at, device_at, key_at;
    bool in_output;
    int outputs_capacity, n_raw, raw_capacity, cursor;
    struct {
        void *data;
        uint64_t bytes;
        int output; /* -1: not known when it came */
    } *raw;
};

void rlx_infer_answer_init(rlx_infer_answer_reader_t *reader);
void rlx_infer_answer_fini(rlx_infer_answer_reader_t *reader);
void rlx_infer_answer_begin(rlx_infer_answer_reader_t *reader, uint64_t bytes, rlx_infer_place_fn_t *place, void *context);
rlx_status_t rlx_infer_answer_feed(rlx_infer_answer_reader_t *reader, const void *data, size_t bytes, rlx_diag_t *diag);
/* All bytes were fed. */
rlx_status_t rlx_infer_answer_end(rlx_infer_answer_reader_t *reader, rlx_diag_t *diag);

#endif
