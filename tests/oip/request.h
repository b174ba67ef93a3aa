/* Requests as protobuf-c writes them, for tests. */
#ifndef RLX_TESTS_OIP_REQUEST_H
#define RLX_TESTS_OIP_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "proto/oip.pb-c.h"

/* A request that is being made. Everything is borrowed from the caller and static tables; one at a time. */
typedef struct rlx_request_draft {
    Inference__ModelInferRequest message;
    Inference__ModelInferRequest__InferInputTensor inputs[4], *input_list[4];
    Inference__ModelInferRequest__InferRequestedOutputTensor outputs[4], *output_list[4];
    Inference__InferTensorContents contents[4];
    ProtobufCBinaryData raw[4];
    int64_t shape[4][8];
} rlx_request_draft_t;

void rlx_draft_init(rlx_request_draft_t *draft, const char *model, const char *id);
/* Adds an input of shape [n] or, with m > 0, [n, m]; returns its number. */
int rlx_draft_input(rlx_request_draft_t *draft, const char *name, const char *datatype, int64_t n, int64_t m);
void rlx_draft_raw(rlx_request_draft_t *draft, const void *data, size_t bytes);
/* Bytes of the message; static memory of 1 MiB, overwritten by the next call. */
const uint8_t *rlx_draft_pack(const rlx_request_draft_t *draft, size_t *out_bytes);

#endif
