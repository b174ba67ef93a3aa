/* ModelInferResponse: small fields into a buffer that the request owns, tensors by reference.
 *
 * Every output has one entry in raw_output_contents, an empty one where its bytes lie in shared memory: clients find entries by position.
 * Parameters: rlx_device, rlx_queue_ns, rlx_kernel_ns; on streams triton_final_response, since each request has one answer. */
#ifndef RLX_DAEMON_OIP_ENCODE_H
#define RLX_DAEMON_OIP_ENCODE_H

#include "base/text.h"
#include "daemon/node/infer.h"
#include "rpc/server/server.h"

#define RLX_OIP_HEAD_MAX ((size_t)8 << 20)

typedef struct rlx_oip_message {
    rlx_rpc_slice_t slices[RLX_RPC_SLICES_MAX];
    int n_slices;
} rlx_oip_message_t;

/* `head` is overwritten; it and the answer's tensors are borrowed by the slices. `streamed`: wrapped in ModelStreamInferResponse. False:
 * no memory. */
bool rlx_oip_encode(rlx_text_t *head, const rlx_infer_answer_t *answer, bool streamed, rlx_oip_message_t *out_message);
/* ModelStreamInferResponse with error_message; model and id tell which request it was. */
bool rlx_oip_encode_error(rlx_text_t *head, const char *text, const char *model, const char *id, rlx_oip_message_t *out_message);

#endif
