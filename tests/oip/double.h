/* A node and a connection that only record: what daemon/node/infer.h and rpc/server/server.h promise, for tests of the protocol alone.
 *
 * The node serves any model but "missing". Inputs get exactly the bytes that type and shape need, each in a block of its own, so that a
 * sanitizer sees the first byte beyond. Nothing runs: the test answers. */
#ifndef RLX_TESTS_OIP_DOUBLE_H
#define RLX_TESTS_OIP_DOUBLE_H

#include "daemon/node/infer.h"
#include "daemon/node/node.h"
#include "rpc/server/server.h"

struct rlx_infer {
    rlx_infer_head_t head; /* strings of it: copies below */
    char model[RLX_INFER_NAME_MAX], version[RLX_INFER_NAME_MAX], id[RLX_INFER_NAME_MAX], devices[RLX_INFER_NAME_MAX];
    rlx_infer_input_t inputs[RLX_INFER_PORTS_MAX];
    rlx_infer_output_t outputs[RLX_INFER_PORTS_MAX];
    char names[4][RLX_INFER_NAME_MAX], regions[4][RLX_INFER_NAME_MAX], output_names[4][RLX_INFER_NAME_MAX];
    void *memory[RLX_INFER_PORTS_MAX];
    uint64_t bytes[RLX_INFER_PORTS_MAX];
    rlx_infer_answer_fn_t *answer;
    void *context;
    bool submitted;
};

/* Totals since reset. */
typedef struct rlx_double {
    int begun, abandoned, submitted, cancelled, released, malformed;
    rlx_infer_t *pending[4096]; /* submitted and not answered, in order */
    int n_pending;
    bool answer_at_once;        /* inside submit */
} rlx_double_t;
extern rlx_double_t rlx_double;

void rlx_double_reset(void); /* everything begun must be over */
int rlx_double_open(void);   /* begun and not over */
void rlx_double_free(rlx_infer_t *infer);
/* Answers one with an output "y" FP32 [n] at `data`, or with `status`. */
void rlx_double_answer(rlx_infer_t *infer, rlx_status_t status, float *data, int64_t n);

struct rlx_rpc_call {
    void *context;
    const rlx_rpc_method_t *method;
    bool held, finished, closed;
    rlx_status_t status;
    char message[4096];
    uint8_t *sent[4096]; /* messages */
    size_t sent_bytes[4096];
    int n_sent;
    bool keep;           /* bytes are kept until rlx_double_flush */
    rlx_rpc_release_fn_t *release[4096];
    void *release_context[4096];
    int n_release;
};
rlx_rpc_call_t *rlx_double_call(const rlx_rpc_method_t *method);
void rlx_double_message(rlx_rpc_call_t *call, const void *data, size_t bytes, size_t piece);
void rlx_double_flush(rlx_rpc_call_t *call);
void rlx_double_close(rlx_rpc_call_t *call); /* closes it if it is not, and frees it */

#endif
