/* ModelStreamInferResponse, taken apart: whose answer it is, and where the answer or the error lies. Borrowed from the bytes. */
#ifndef RLX_RPC_MESSAGE_STREAM_ANSWER_H
#define RLX_RPC_MESSAGE_STREAM_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rlx_stream_answer {
    const char *error; /* error_message, no NUL behind it */
    size_t error_bytes;
    const uint8_t *data; /* infer_response */
    size_t bytes;
    bool has_number; /* its id is a decimal number */
    uint64_t number;
} rlx_stream_answer_t;

/* False: no such message. Of fields that come twice the last counts, as protobuf says. What is inside of infer_response is checked by who
 * reads it (infer_answer.h); here only its id is looked for. */
bool rlx_stream_answer_read(const void *data, size_t bytes, rlx_stream_answer_t *out_answer);

#endif
