/* A request: its headers are checked when they are complete, its messages cut out of the DATA frames. Message bytes are not kept here; they
 * go to the method as they lie in the read buffer. */
#include <inttypes.h>
#include <string.h>

#include "rpc/server/inside.h"

static const char *path_of(const rlx_rpc_call_t *call)
{
    return call->path == NULL ? "" : (const char *)nghttp2_rcbuf_get_buf(call->path).base;
}

/* False: the call was refused. */
static bool headers_check(rlx_rpc_call_t *call)
{
    rlx_rpc_counters_t *counters = &call->conn->server->counters;
    const rlx_rpc_limits_t *limits = &call->conn->server->options.limits;

    if (call->header_bytes > limits->header_bytes_max) {
        counters->headers_oversize++;
        rlx_rpc_call_refuse(call, RLX_E_REQUEST_LARGE, "request headers of %zu bytes (with 32 for each field), at most %u are accepted",
                            call->header_bytes, limits->header_bytes_max);
    } else if (call->content != CONTENT_GRPC || !call->post) {
        counters->content_type_bad++;
        if (call->conn->tls != NULL && call->conn->server->options.http != NULL)
            rlx_rpc_call_downgrade(call); /* ALPN gave h2 to a browser, or to curl */
        else
            rlx_rpc_call_answer(call, "415", RLX_INVALID_ARGUMENT,
                                "over HTTP/2 this port speaks gRPC: POST with content-type application/grpc or application/grpc+proto; "
                                "REST is served over HTTP/1.1");
    } else if (!call->te) {
        rlx_rpc_call_refuse(call, RLX_E_REQUEST_MALFORMED,
                            "the header \"te: trailers\" is missing; a proxy on the way may not carry trailers");
    } else if (call->timeout_bad) {
        rlx_rpc_call_refuse(call, RLX_E_REQUEST_MALFORMED, "grpc-timeout is not one to eight digits and a unit of H M S m u n");
    } else {
        return true;
    }
    return false;
}

void rlx_rpc_call_begin(rlx_rpc_call_t *call)
{
    rlx_rpc_conn_t *conn = call->conn;
    rlx_rpc_counters_t *counters = &conn->server->counters;
    const rlx_rpc_method_t *method;

    call->headers_done = true;
    call->read_ns = conn->read_ns;
    if (!headers_check(call))
        return;
    counters->calls++;
    method = rlx_rpc_method_find(conn->server, path_of(call));
    if (method == NULL) {
        counters->calls_unknown++;
        rlx_rpc_call_refuse(call, RLX_E_METHOD_UNKNOWN, "unknown method %.200s", path_of(call));
        return;
    }
    if (conn->choked) {
        counters->output_full++;
        rlx_rpc_call_refuse(call, RLX_E_SERVER_MEMORY, "%" PRIu64 " bytes of answers on this connection wait to be read, at most %" PRIu64
                            " may", conn->unsent, conn->server->options.limits.output_bytes_max);
        return;
    }
    call->method = method;
    call->closed = false;
    rlx_rpc_conn_timer_touch(conn, conn->read_ns);
    method->open(call, conn->server->options.service);
    if (call->deadline_ns != UINT64_MAX && !call->closed)
        rlx_rpc_call_deadline_start(call);
}

/* The method still listens. */
static bool wanted(const rlx_rpc_call_t *call) { return !call->finished && !call->closed && !rlx_rpc_conn_gone(call->conn); }

static void malformed(rlx_rpc_call_t *call, rlx_error_code_t code, const char *text)
{
    call->conn->server->counters.messages_malformed++;
    rlx_rpc_call_refuse(call, code, "%s", text);
}

static void message_begin(rlx_rpc_call_t *call)
{
    const rlx_rpc_limits_t *limits = &call->conn->server->options.limits;
    const rlx_rpc_method_t *method = call->method;
    uint32_t bytes = rlx_grpc_prefix_bytes(call->prefix);

    call->prefix_got = 0;
    if (call->prefix[0] > 1) {
        malformed(call, RLX_E_REQUEST_MALFORMED, "the first byte before a message is neither 0 nor 1");
    } else if (call->prefix[0] == 1) {
        call->conn->server->counters.messages_malformed++;
        rlx_rpc_call_answer(call, "200", RLX_UNIMPLEMENTED, "compressed messages are not accepted, only grpc-encoding identity");
    } else if (bytes > limits->message_bytes_max) {
        call->conn->server->counters.messages_oversize++;
        rlx_rpc_call_refuse(call, RLX_E_REQUEST_LARGE, "a message of %u bytes, at most %" PRIu64 " are accepted", bytes,
                            limits->message_bytes_max);
    } else {
        call->in_message = true;
        call->message_left = bytes;
        call->messages_in++;
        if (method->message != NULL && !method->message(call, bytes)) {
            if (!call->finished)
                rlx_rpc_call_answer(call, "200", RLX_INTERNAL, "the method did not want the message and gave no reason");
        } else if (bytes > call->conn->window && wanted(call)) {
            rlx_rpc_window_grow(call->conn);
        }
    }
}

/* Returns how many bytes belonged to the prefix. */
static size_t prefix_take(rlx_rpc_call_t *call, const uint8_t *data, size_t bytes)
{
    size_t n = RLX_GRPC_PREFIX - (size_t)call->prefix_got;

    n = n < bytes ? n : bytes;
    memcpy(call->prefix + call->prefix_got, data, n);
    call->prefix_got += (int)n;
    if (call->prefix_got == RLX_GRPC_PREFIX)
        message_begin(call);
    return n;
}

/* Returns how many bytes belonged to the message. */
static size_t message_take(rlx_rpc_call_t *call, const uint8_t *data, size_t bytes)
{
    size_t n = call->message_left < bytes ? (size_t)call->message_left : bytes;

    call->message_left -= n;
    if (n > 0 && call->method->data != NULL)
        call->method->data(call, data, n);
    if (call->message_left == 0) {
        call->in_message = false;
        if (call->method->message_end != NULL && wanted(call))
            call->method->message_end(call);
    }
    return n;
}

void rlx_rpc_call_data_in(rlx_rpc_call_t *call, const uint8_t *data, size_t bytes)
{
    call->read_ns = call->heard_ns = call->conn->read_ns;
    /* What comes for a call that is finished is dropped. An empty message ends as soon as its prefix is complete. */
    while (wanted(call) && (bytes > 0 || (call->in_message && call->message_left == 0))) {
        size_t n = call->in_message ? message_take(call, data, bytes) : prefix_take(call, data, bytes);

        data += n;
        bytes -= n;
    }
}

void rlx_rpc_call_half_close(rlx_rpc_call_t *call)
{
    call->remote_closed = true;
    call->read_ns = call->conn->read_ns;
    if (!wanted(call))
        return;
    if (call->in_message || call->prefix_got > 0)
        malformed(call, RLX_E_REQUEST_MALFORMED, "the request ended in the middle of a message");
    else if (call->method->half_close != NULL)
        call->method->half_close(call);
}
