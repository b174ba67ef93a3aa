/* ModelInferRequest, written: everything but tensor data in one buffer, tensor data by reference between its parts. */
#ifndef RLX_RPC_MESSAGE_INFER_REQUEST_H
#define RLX_RPC_MESSAGE_INFER_REQUEST_H

#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "rpc/slice.h"

typedef struct rlx_infer_parameter {
    const char *name;
    const char *string; /* NULL: `number` */
    int64_t number;
} rlx_infer_parameter_t;

/* An input, or an output that is asked for (then datatype and dims are not used). */
typedef struct rlx_infer_tensor {
    const char *name, *datatype; /* "FP32" */
    int rank;
    const int64_t *dims;
    const void *data;
    uint64_t bytes;
    const char *region; /* NULL: in the message */
    uint64_t offset;    /* in the region */
} rlx_infer_tensor_t;

typedef struct rlx_infer_call {
    const char *model, *version, *id; /* version and id may be NULL */
    const rlx_infer_tensor_t *inputs;
    int n_inputs;
    const rlx_infer_tensor_t *outputs; /* none: all of the model's */
    int n_outputs;
    const rlx_infer_parameter_t *parameters;
    int n_parameters;
} rlx_infer_call_t;

/* Keeps its memory from one request to the next. */
typedef struct rlx_infer_request {
    rlx_text_t text;
    rlx_rpc_slice_t *slices;
    int n_slices, slices_capacity;
    uint64_t bytes; /* of all slices */
} rlx_infer_request_t;

void rlx_infer_request_init(rlx_infer_request_t *request);
void rlx_infer_request_fini(rlx_infer_request_t *request);
/* The slices are valid until the next encode; tensor data stays borrowed. Above 2^32 - 1 bytes: RESOURCE_EXHAUSTED. */
rlx_status_t rlx_infer_request_encode(rlx_infer_request_t *request, const rlx_infer_call_t *call, rlx_diag_t *diag);

#endif
