/* Target: ModelInferRequest on the wire, in pieces, through a call and through a stream (tests/oip/double.h stands in for node and
 * connection). The first byte chooses how it is cut. Whatever happens, every inference that began must end. */
#include <stdlib.h>

#include "daemon/oip/methods.h"
#include "tests/oip/double.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void call_feed(const rlx_rpc_method_t *method, const uint8_t *data, size_t bytes, size_t piece)
{
    rlx_rpc_call_t *call = rlx_double_call(method);

    rlx_double_message(call, data, bytes, piece);
    if (!call->finished)
        method->half_close(call);
    for (int i = 0; rlx_double.n_pending > 0; i++)
        rlx_double_answer(rlx_double.pending[0], i % 2 == 0 ? RLX_OK : RLX_RESOURCE_EXHAUSTED, NULL, 0);
    if (!call->finished)
        abort();
    rlx_double_close(call);
    rlx_double_reset(); /* aborts when something is left */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    size_t piece;

    if (bytes < 1)
        return 0;
    piece = data[0] == 0 ? bytes : data[0];
    call_feed(&rlx_oip_model_infer, data + 1, bytes - 1, piece);
    call_feed(&rlx_oip_model_stream_infer, data + 1, bytes - 1, piece);
    return 0;
}
