/* A call from its first header to `closed`. Ends exactly once for its method: when its stream closes, or earlier when the deadline or a
 * stall ends it. The struct lives until the stream is closed. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "rpc/server/inside.h"

static _Atomic uint64_t last_id; /* calls of all servers of the process */

static bool slab_add(rlx_rpc_server_t *server)
{
    rlx_rpc_call_slab_t *slab = calloc(1, sizeof *slab);

    if (slab == NULL)
        return false;
    slab->next = server->slabs;
    server->slabs = slab;
    for (size_t i = 0; i < sizeof slab->calls / sizeof *slab->calls; i++) {
        rlx_rpc_call_t *call = &slab->calls[i];

        uv_timer_init(server->options.loop, &call->deadline);
        call->deadline.data = call;
        call->next = server->free_calls;
        server->free_calls = call;
    }
    return true;
}

rlx_rpc_call_t *rlx_rpc_call_get(rlx_rpc_conn_t *conn, int32_t stream)
{
    rlx_rpc_server_t *server = conn->server;
    rlx_rpc_call_t *call;

    if (server->free_calls == NULL && !slab_add(server))
        return NULL;
    call = server->free_calls;
    server->free_calls = call->next;
    memset(call, 0, offsetof(rlx_rpc_call_t, deadline));
    call->conn = conn;
    call->stream = stream;
    call->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
    call->deadline_ns = UINT64_MAX;
    call->closed = true; /* until a method is found */
    call->queue_tail = &call->queue;
    call->next = conn->calls;
    if (conn->calls != NULL)
        conn->calls->prev = call;
    conn->calls = call;
    conn->n_calls++;
    server->n_calls++;
    return call;
}

static void call_put(rlx_rpc_call_t *call)
{
    rlx_rpc_conn_t *conn = call->conn;
    rlx_rpc_server_t *server = conn->server;

    if (call->prev != NULL)
        call->prev->next = call->next;
    else
        conn->calls = call->next;
    if (call->next != NULL)
        call->next->prev = call->prev;
    conn->n_calls--;
    server->n_calls--;
    if (conn->n_calls == 0) {
        conn->idle_ns = rlx_clock_ns();
        if (conn->drain == DRAIN_NO && conn->state == CONN_H2)
            rlx_rpc_conn_timer_touch(conn, conn->idle_ns);
    }
    rlx_rpc_call_headers_drop(call);
    free(call->status_text);
    uv_timer_stop(&call->deadline);
    call->next = server->free_calls;
    server->free_calls = call;
}

static void method_closed(rlx_rpc_call_t *call)
{
    if (call->closed)
        return;
    call->closed = true;
    call->method->closed(call);
}

void rlx_rpc_call_gone(rlx_rpc_call_t *call)
{
    if (!call->finished && call->method != NULL)
        call->conn->server->counters.cancelled++;
    call->finished = call->ended = true;
    while (call->queue != NULL) {
        rlx_rpc_reply_t *message = call->queue;

        call->queue = message->next;
        rlx_rpc_reply_unref(message);
    }
    method_closed(call);
    call_put(call);
}

#define NV(name, value) {(uint8_t *)(name), (uint8_t *)(uintptr_t)(value), strlen(name), strlen(value), \
                         NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE}

static void failed(rlx_rpc_call_t *call, int result)
{
    /* Without memory the connection cannot go on; it closes with the next flush. A stream that closed meanwhile is no failure. */
    if (result == NGHTTP2_ERR_NOMEM)
        call->conn->doomed = true;
}

/* The whole answer is one header block. */
static void trailers_only(rlx_rpc_call_t *call, const char *http_status, const char *text)
{
    char status[12], encoded[STATUS_TEXT_MAX * 3 + 1];
    nghttp2_nv headers[4] = {NV(":status", http_status), NV("content-type", "application/grpc")};
    size_t n = 4;

    snprintf(status, sizeof status, "%d", (int)call->status);
    headers[2] = (nghttp2_nv)NV("grpc-status", status);
    headers[2].flags = NGHTTP2_NV_FLAG_NO_COPY_NAME;
    if (text != NULL && text[0] != '\0') {
        rlx_grpc_message_encode(text, encoded, sizeof encoded);
        headers[3] = (nghttp2_nv)NV("grpc-message", encoded);
        headers[3].flags = NGHTTP2_NV_FLAG_NO_COPY_NAME;
    } else {
        n = 3;
    }
    call->submitted = call->ended = true;
    failed(call, nghttp2_submit_response(call->conn->session, call->stream, headers, n, NULL));
}

static void resume(rlx_rpc_call_t *call)
{
    if (!call->deferred)
        return;
    call->deferred = false;
    failed(call, nghttp2_session_resume_data(call->conn->session, call->stream));
}

void rlx_rpc_call_answer(rlx_rpc_call_t *call, const char *http_status, rlx_status_t status, const char *text)
{
    if (call->finished)
        return;
    call->finished = true;
    call->status = status;
    if (!call->submitted) {
        trailers_only(call, http_status, text);
    } else {
        if (text != NULL && text[0] != '\0')
            call->status_text = strndup(text, STATUS_TEXT_MAX);
        resume(call);
    }
    rlx_rpc_conn_dirty(call->conn);
}

void rlx_rpc_call_finish(rlx_rpc_call_t *call, rlx_status_t status, const char *message)
{
    rlx_rpc_call_answer(call, "200", status, message);
}

void rlx_rpc_call_refuse(rlx_rpc_call_t *call, rlx_error_code_t code, const char *format, ...)
{
    const rlx_error_info_t *info = rlx_error_find((int)code);
    char what[512], text[STATUS_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(text, sizeof text, "RLX-%d: %s. %s", (int)code, what, info->fix);
    rlx_rpc_call_answer(call, "200", info->status, text);
}

void rlx_rpc_call_abort(rlx_rpc_call_t *call, rlx_error_code_t code, const char *text)
{
    if (call->aborted)
        return;
    call->aborted = true;
    if (call->submitted)
        failed(call, nghttp2_submit_rst_stream(call->conn->session, NGHTTP2_FLAG_NONE, call->stream, NGHTTP2_CANCEL));
    else
        rlx_rpc_call_refuse(call, code, "%s", text);
    call->finished = true;
    rlx_rpc_conn_dirty(call->conn);
    method_closed(call); /* last: it may close the server */
}

void rlx_rpc_call_downgrade(rlx_rpc_call_t *call)
{
    call->aborted = call->finished = true;
    failed(call, nghttp2_submit_rst_stream(call->conn->session, NGHTTP2_FLAG_NONE, call->stream, NGHTTP2_HTTP_1_1_REQUIRED));
    rlx_rpc_conn_dirty(call->conn);
}

#define OVERDUE_MS 10

/* An answer that is whole leaves in this turn, unless the peer does not take it: it gets that turn, since a reset would tell less. */
static void on_deadline(uv_timer_t *timer)
{
    rlx_rpc_call_t *call = timer->data;

    if (call->finished && call->submitted && !call->overdue) {
        call->overdue = true;
        uv_timer_start(timer, on_deadline, OVERDUE_MS, 0);
        return;
    }
    call->conn->server->counters.deadlines++;
    rlx_rpc_call_abort(call, RLX_E_DEADLINE_PASSED, "the deadline of the call passed before its answer");
}

void rlx_rpc_call_deadline_start(rlx_rpc_call_t *call)
{
    uv_timer_start(&call->deadline, on_deadline, rlx_rpc_timer_ms(call->conn->server, call->deadline_ns), 0);
}

static void response_begin(rlx_rpc_call_t *call)
{
    static const nghttp2_nv headers[] = {
        {(uint8_t *)":status", (uint8_t *)"200", 7, 3, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE},
        {(uint8_t *)"content-type", (uint8_t *)"application/grpc", 12, 16, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE},
        {(uint8_t *)"grpc-accept-encoding", (uint8_t *)"identity", 20, 8, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE},
    };
    nghttp2_data_provider provider = {.source.ptr = call, .read_callback = rlx_rpc_call_read};

    call->submitted = true;
    failed(call, nghttp2_submit_response(call->conn->session, call->stream, headers, sizeof headers / sizeof *headers, &provider));
}

void rlx_rpc_call_send(rlx_rpc_call_t *call, const rlx_rpc_slice_t *slices, int n_slices, rlx_rpc_release_fn_t *release, void *context)
{
    rlx_rpc_reply_t *message = NULL;
    uint64_t bytes = 0;

    RLX_ASSERT(n_slices >= 0);
    RLX_ASSERT(n_slices <= RLX_RPC_SLICES_MAX);
    for (int i = 0; i < n_slices; i++)
        bytes += slices[i].bytes;
    if (!call->finished && bytes > UINT32_MAX)
        rlx_rpc_call_answer(call, "200", RLX_OUT_OF_RANGE, "the answer is larger than a gRPC message can be (4 GiB)");
    if (!call->finished && (message = rlx_rpc_reply_get(call->conn->server, n_slices)) == NULL)
        rlx_rpc_call_answer(call, "200", RLX_RESOURCE_EXHAUSTED, "no memory for the answer");
    if (message == NULL) {
        if (release != NULL)
            release(context);
        return;
    }
    message->conn = call->conn;
    message->release = release;
    message->context = context;
    message->bytes = message->left = bytes + RLX_GRPC_PREFIX;
    message->n_slices = n_slices;
    if (n_slices > 0)
        memcpy(message->slices, slices, (size_t)n_slices * sizeof *slices);
    rlx_grpc_prefix_encode(message->prefix, (uint32_t)bytes);
    if (call->queue == NULL) {
        call->sent_ns = rlx_clock_ns();
        call->queue_tail = &call->queue;
        rlx_rpc_conn_timer_touch(call->conn, call->sent_ns);
    }
    *call->queue_tail = message;
    call->queue_tail = &message->next;
    call->queued += message->bytes;
    call->conn->unsent += message->bytes;
    if (call->submitted)
        resume(call);
    else
        response_begin(call);
    rlx_rpc_conn_dirty(call->conn);
}

void rlx_rpc_call_set_context(rlx_rpc_call_t *call, void *context) { call->context = context; }
void *rlx_rpc_call_context(const rlx_rpc_call_t *call) { return call->context; }
uint64_t rlx_rpc_call_deadline_ns(const rlx_rpc_call_t *call) { return call->deadline_ns; }
uint64_t rlx_rpc_call_read_ns(const rlx_rpc_call_t *call) { return call->read_ns; }
uint64_t rlx_rpc_call_id(const rlx_rpc_call_t *call) { return call->id; }
void rlx_rpc_call_kernel_ns(rlx_rpc_call_t *call, uint64_t kernel_ns) { call->kernel_ns = kernel_ns; }
const char *rlx_rpc_call_peer(const rlx_rpc_call_t *call) { return call->conn->peer; }
const char *rlx_rpc_call_subject(const rlx_rpc_call_t *call) { return call->conn->tls == NULL ? NULL : rlx_rpc_tls_subject(call->conn); }
