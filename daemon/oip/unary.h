/* Calls of small messages: collects a message, checks and unpacks it (proto/unpack.h), hands it to its handler, sends what the handler
 * wrote. For everything but inference. Loop thread only.
 *
 * A handler answers once with reply or fail, now or later (then it says `wait` first, and the object lives until it answers, also when the
 * client went away meanwhile). Handlers of streams get every message of the call and use send; the call ends when the client half-closes.
 */
#ifndef RLX_DAEMON_OIP_UNARY_H
#define RLX_DAEMON_OIP_UNARY_H

#include "base/text.h"
#include "daemon/oip/inside.h"
#include "daemon/oip/stage.h"
#include "proto/unpack.h"

#define RLX_OIP_SMALL_MAX ((size_t)1 << 20)    /* a message; above: refused with both numbers */
#define RLX_OIP_REPLY_MAX ((size_t)16 << 20)   /* an answer; above: refused */

typedef struct rlx_oip_unary rlx_oip_unary_t;
typedef void rlx_oip_handler_fn_t(rlx_oip_unary_t *unary, const ProtobufCMessage *request);

typedef struct rlx_oip_unary_ops {
    const char *name; /* "ModelReady" */
    const ProtobufCMessageDescriptor *request;
    const rlx_guard_message_t *schema;
    rlx_oip_handler_fn_t *handle;
    bool streams;     /* many messages, many answers */
} rlx_oip_unary_ops_t;

struct rlx_oip_unary {
    rlx_rpc_call_t *call; /* NULL: over */
    rlx_oip_t *oip;
    rlx_node_t *node; /* its */
    const rlx_oip_unary_ops_t *ops;
    rlx_oip_stage_t message;
    rlx_text_t out;       /* the answer: written by the handler */
    bool got_message, answered, waiting;
    void (*closed)(rlx_oip_unary_t *unary); /* set by a handler that keeps the call open */
    void *keeps;
};

/* The callbacks of rlx_rpc_method_t. */
void rlx_oip_unary_open(rlx_rpc_call_t *call, void *service, const rlx_oip_unary_ops_t *ops);
bool rlx_oip_unary_message(rlx_rpc_call_t *call, uint64_t bytes);
void rlx_oip_unary_data(rlx_rpc_call_t *call, const void *data, size_t bytes);
void rlx_oip_unary_message_end(rlx_rpc_call_t *call);
void rlx_oip_unary_half_close(rlx_rpc_call_t *call);
void rlx_oip_unary_closed(rlx_rpc_call_t *call);

/* The answer comes later. */
void rlx_oip_unary_wait(rlx_oip_unary_t *unary);
void rlx_oip_unary_reply(rlx_oip_unary_t *unary); /* sends `out` and ends the call */
void rlx_oip_unary_fail(rlx_oip_unary_t *unary, const rlx_diag_t *diag);
void rlx_oip_unary_send(rlx_oip_unary_t *unary);  /* sends `out`; the call goes on */

#endif
