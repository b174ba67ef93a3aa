/* One ModelInferRequest from its first byte until its answer has left, for unary calls and for streams alike.
 *
 *   RECEIVING -> SUBMITTED -> SENDING -> done
 *
 * The owner (a call or a stream) hears `answered` at most once and `ended` when the bytes have left. It may let go at any time
 * (rlx_oip_request_leave): what runs is cancelled, what is being sent ends by itself. Objects come from a free list and keep their memory.
 * Loop thread only. */
#ifndef RLX_DAEMON_OIP_REQUEST_H
#define RLX_DAEMON_OIP_REQUEST_H

#include "daemon/oip/decode.h"
#include "daemon/oip/encode.h"
#include "daemon/oip/inside.h"
#include "rpc/server/server.h"

#define RLX_OIP_REQUESTS_KEPT 256 /* idle objects; more are freed */

typedef enum rlx_oip_state { RLX_OIP_RECEIVING, RLX_OIP_SUBMITTED, RLX_OIP_ANSWERED, RLX_OIP_SENDING, RLX_OIP_ENDED } rlx_oip_state_t;

typedef struct rlx_oip_request rlx_oip_request_t;
typedef struct rlx_oip_owner_ops {
    void (*answered)(rlx_oip_request_t *request, const rlx_infer_answer_t *answer); /* answers with send or fail of this header */
    void (*ended)(rlx_oip_request_t *request);                                      /* its bytes have left; the owner leaves it */
} rlx_oip_owner_ops_t;

struct rlx_oip_request {
    rlx_oip_t *oip;
    rlx_oip_decoder_t decoder;
    rlx_text_t head;
    rlx_oip_state_t state;
    rlx_infer_t *infer; /* SUBMITTED to SENDING; NULL while an error is sent */
    const rlx_oip_owner_ops_t *ops;
    void *owner;        /* NULL: left */
    rlx_oip_request_t *next, *previous; /* the owner's, or the free list's */
};

/* NULL: no memory. */
rlx_oip_request_t *rlx_oip_request_get(rlx_oip_t *oip, const rlx_oip_owner_ops_t *ops, void *owner);
void rlx_oip_request_start(rlx_oip_request_t *request, rlx_rpc_call_t *call, uint64_t bytes);
/* After the last byte. The answer may come, and the request may end, before this returns: do not touch it after success. */
rlx_status_t rlx_oip_request_submit(rlx_oip_request_t *request, rlx_diag_t *diag);
/* In `answered`: the answer goes out on `call`. False: no memory; nothing was sent. */
bool rlx_oip_request_send(rlx_oip_request_t *request, rlx_rpc_call_t *call, const rlx_infer_answer_t *answer, bool streamed);
/* On a stream: the error goes out in the stream, whatever the state before SENDING. */
bool rlx_oip_request_send_error(rlx_oip_request_t *request, rlx_rpc_call_t *call, const rlx_diag_t *diag);
/* Frees those that idle. */
void rlx_oip_requests_free(rlx_oip_t *oip);
/* The owner has nothing more to do with it. */
void rlx_oip_request_leave(rlx_oip_request_t *request);

#endif
