/* Questions about the server itself, and about what it does not have. */
#include "daemon/node/extensions.h"
#include "daemon/oip/handlers.h"
#include "proto/wire.h"

void rlx_oip_server_live(rlx_oip_unary_t *unary, const ProtobufCMessage *request)
{
    (void)request;
    rlx_wire_bool(&unary->out, 1, true);
    rlx_oip_unary_reply(unary);
}

void rlx_oip_server_ready(rlx_oip_unary_t *unary, const ProtobufCMessage *request)
{
    const char *reason;

    (void)request;
    rlx_wire_bool(&unary->out, 1, rlx_node_ready(unary->node, &reason));
    rlx_oip_unary_reply(unary);
}

void rlx_oip_server_metadata(rlx_oip_unary_t *unary, const ProtobufCMessage *request)
{
    (void)request;
    rlx_wire_string(&unary->out, 1, "rlx");
    rlx_wire_string(&unary->out, 2, RLX_VERSION);
#define RLX_EXTENSION(name) rlx_wire_string(&unary->out, 3, name);
    RLX_EXTENSIONS(RLX_EXTENSION)
#undef RLX_EXTENSION
    rlx_oip_unary_reply(unary);
}

void rlx_oip_no_cuda(rlx_oip_unary_t *unary, const ProtobufCMessage *request)
{
    (void)request;
    rlx_oip_unary_lacks(unary, "this server has no CUDA shared memory", "Use system shared memory, or a sealed memfd (docs/PROTOCOL.md).");
}

void rlx_oip_no_trace(rlx_oip_unary_t *unary, const ProtobufCMessage *request)
{
    (void)request;
    rlx_oip_unary_lacks(unary, "tracing is not set by clients", "Start the server with --profiling; the trace opens in Perfetto.");
}

void rlx_oip_no_log(rlx_oip_unary_t *unary, const ProtobufCMessage *request)
{
    (void)request;
    rlx_oip_unary_lacks(unary, "the log is not set by clients", "Set it in the server's configuration.");
}
