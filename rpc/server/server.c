/* The server as a whole: creation, drain, close, and the loop's hooks that send what replies queued. */
#include "rpc/server/server.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "rpc/server/inside.h"

const rlx_rpc_limits_t rlx_rpc_limits_default = {
    .connections_max = 1024,
    .streams_max = 1000,
    .header_bytes_max = 16 * 1024,
    .message_bytes_max = 128u * 1024 * 1024,
    .output_bytes_max = 64u * 1024 * 1024,
    .window_bytes = 1024 * 1024,
    .handshake_ms = 10 * 1000,
    .idle_ms = 3600 * 1000,
    .stall_ms = 30 * 1000,
    .keepalive_ms = 20 * 1000,
};

static uint32_t path_hash(const char *path)
{
    uint32_t hash = 2166136261u;

    for (; *path != '\0'; path++)
        hash = (hash ^ (uint8_t)*path) * 16777619u;
    return hash;
}

static rlx_status_t methods_index(rlx_rpc_server_t *server, rlx_diag_t *diag)
{
    uint32_t n = 16;

    while (n < (uint32_t)server->options.n_methods * 2)
        n *= 2;
    server->methods = calloc(n, sizeof *server->methods);
    if (server->methods == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a table of %d methods", server->options.n_methods);
    server->methods_mask = n - 1;
    for (int i = 0; i < server->options.n_methods; i++) {
        const rlx_rpc_method_t *method = &server->options.methods[i];
        uint32_t at = path_hash(method->path) & server->methods_mask;

        RLX_ASSERT(method->open != NULL);
        RLX_ASSERT(method->closed != NULL);
        while (server->methods[at] != NULL) {
            RLX_ASSERT(strcmp(server->methods[at]->path, method->path) != 0);
            at = (at + 1) & server->methods_mask;
        }
        server->methods[at] = method;
    }
    return RLX_OK;
}

const rlx_rpc_method_t *rlx_rpc_method_find(const rlx_rpc_server_t *server, const char *path)
{
    uint32_t at = path_hash(path) & server->methods_mask;

    while (server->methods[at] != NULL && strcmp(server->methods[at]->path, path) != 0)
        at = (at + 1) & server->methods_mask;
    return server->methods[at];
}

static void on_prepare(uv_prepare_t *prepare) { rlx_rpc_server_flush(prepare->data); }
static void on_check(uv_check_t *check) { rlx_rpc_server_flush(check->data); }

/* Check sends what this turn's reads and completions queued, prepare what its timers did, before the loop sleeps. */
static void hooks_start(rlx_rpc_server_t *server)
{
    uv_loop_t *loop = server->options.loop;

    uv_prepare_init(loop, &server->prepare);
    uv_check_init(loop, &server->check);
    uv_timer_init(loop, &server->listen_again);
    server->prepare.data = server->check.data = server->listen_again.data = server;
    server->handles = 3;
    uv_prepare_start(&server->prepare, on_prepare);
    uv_check_start(&server->check, on_check);
    uv_unref((uv_handle_t *)&server->prepare);
    uv_unref((uv_handle_t *)&server->check);
}

static void server_free(rlx_rpc_server_t *server)
{
    while (server->free_conns != NULL) {
        rlx_rpc_conn_t *next = server->free_conns->next;

        free(server->free_conns);
        server->free_conns = next;
    }
    while (server->slabs != NULL) {
        rlx_rpc_call_slab_t *next = server->slabs->next;

        free(server->slabs);
        server->slabs = next;
    }
    for (int i = 0; i < 2; i++) {
        rlx_rpc_reply_t *message = i == 0 ? server->free_small : server->free_large;

        while (message != NULL) {
            rlx_rpc_reply_t *next = message->next;

            free(message);
            message = next;
        }
    }
    while (server->free_batches != NULL) {
        rlx_rpc_batch_t *next = server->free_batches->next;

        free(server->free_batches);
        server->free_batches = next;
    }
    free(server->batch);
    free(server->buffer);
    free(server->plain);
    free(server->cipher);
    free(server->methods);
    if (server->tls != NULL)
        rlx_rpc_tls_destroy(server->tls);
    nghttp2_session_callbacks_del(server->callbacks);
    nghttp2_option_del(server->option);
    if (server->reserve_fd >= 0)
        close(server->reserve_fd);
    free(server);
}

static rlx_status_t memory_get(rlx_rpc_server_t *server, rlx_diag_t *diag)
{
    bool tls = server->options.tls != NULL;

    server->batch = rlx_rpc_batch_get(server);
    server->buffer = aligned_alloc(4096, READ_BYTES);
    if (tls) {
        server->plain = aligned_alloc(4096, READ_BYTES);
        server->cipher = aligned_alloc(4096, CIPHER_BYTES);
    }
    if (server->batch == NULL || server->buffer == NULL || (tls && (server->plain == NULL || server->cipher == NULL)))
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the server's buffers");
    return RLX_OK;
}

static rlx_status_t server_prepare(rlx_rpc_server_t *server, rlx_diag_t *diag)
{
    RLX_TRY(memory_get(server, diag));
    RLX_TRY(methods_index(server, diag));
    RLX_TRY(rlx_rpc_h2_create(server, diag));
    if (server->options.tls != NULL)
        RLX_TRY(rlx_rpc_tls_create(server->options.tls, &server->tls, diag));
    server->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (server->reserve_fd < 0)
        return rlx_fail(diag, RLX_E_LISTEN, "no file descriptor is left at start");
    return RLX_OK;
}

rlx_status_t rlx_rpc_server_create(const rlx_rpc_options_t *options, rlx_rpc_server_t **out_server, rlx_diag_t *diag)
{
    rlx_rpc_server_t *server = calloc(1, sizeof *server);
    rlx_status_t status;

    if (server == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a server");
    server->options = *options;
    rlx_histogram_clear(&server->time);
    server->reserve_fd = -1;
    /* HTTP/2 counts windows in 31 bits and begins at 65535. */
    if (server->options.limits.window_bytes < 65535)
        server->options.limits.window_bytes = 65535;
    server->window_large = (uint64_t)server->options.limits.window_bytes * WINDOW_LARGE;
    if (server->window_large > INT32_MAX)
        server->window_large = INT32_MAX;
    status = server_prepare(server, diag);
    if (status != RLX_OK) {
        server_free(server);
        return status;
    }
    hooks_start(server);
    *out_server = server;
    return RLX_OK;
}

void rlx_rpc_server_flush(rlx_rpc_server_t *server)
{
    if (server->flushing || server->receiving)
        return; /* Whoever is in there comes here on the way out. */
    server->flushing = true;
    while (server->dirty != NULL) {
        rlx_rpc_conn_t *conn = server->dirty;

        server->dirty = conn->dirty_next;
        conn->dirty = false;
        rlx_rpc_conn_flush(conn);
    }
    server->flushing = false;
}

void rlx_rpc_server_drain(rlx_rpc_server_t *server)
{
    rlx_rpc_conn_t *next;

    if (server->draining)
        return;
    server->draining = true;
    rlx_rpc_listeners_close(server);
    for (rlx_rpc_conn_t *conn = server->conns; conn != NULL; conn = next) {
        next = conn->next;
        rlx_rpc_conn_drain(conn);
    }
}

void rlx_rpc_server_handle_closed(rlx_rpc_server_t *server)
{
    void (*done)(void *context) = server->done;
    void *context = server->done_context;

    RLX_ASSERT(server->handles > 0);
    if (--server->handles > 0 || !server->tail_closed)
        return;
    RLX_ASSERT(server->n_conns == 0);
    RLX_ASSERT(server->n_calls == 0);
    server_free(server);
    if (done != NULL)
        done(context);
}

static void on_handle_closed(uv_handle_t *handle) { rlx_rpc_server_handle_closed(handle->data); }
static void on_call_timer_closed(uv_handle_t *handle)
{
    const rlx_rpc_call_t *call = handle->data;

    rlx_rpc_server_handle_closed((rlx_rpc_server_t *)call->context);
}

void rlx_rpc_server_tail(rlx_rpc_server_t *server)
{
    if (!server->closing || server->n_conns > 0 || server->tail_closed)
        return;
    server->tail_closed = true;
    for (rlx_rpc_call_slab_t *slab = server->slabs; slab != NULL; slab = slab->next)
        for (size_t i = 0; i < sizeof slab->calls / sizeof *slab->calls; i++) {
            slab->calls[i].context = server; /* all are free by now */
            server->handles++;
            uv_close((uv_handle_t *)&slab->calls[i].deadline, on_call_timer_closed);
        }
    uv_close((uv_handle_t *)&server->prepare, on_handle_closed);
    uv_close((uv_handle_t *)&server->check, on_handle_closed);
    uv_close((uv_handle_t *)&server->listen_again, on_handle_closed);
}

void rlx_rpc_server_close(rlx_rpc_server_t *server, void (*done)(void *context), void *context)
{
    rlx_rpc_conn_t *next;

    RLX_ASSERT(!server->closing);
    server->closing = server->draining = true;
    server->done = done;
    server->done_context = context;
    rlx_rpc_listeners_close(server);
    for (rlx_rpc_conn_t *conn = server->conns; conn != NULL; conn = next) {
        next = conn->next;
        rlx_rpc_conn_close(conn);
    }
    rlx_rpc_server_tail(server);
}

uint32_t rlx_rpc_server_calls(const rlx_rpc_server_t *server) { return server->n_calls; }
uint32_t rlx_rpc_server_connections(const rlx_rpc_server_t *server) { return server->n_conns; }
const rlx_rpc_counters_t *rlx_rpc_server_counters(const rlx_rpc_server_t *server) { return &server->counters; }
const rlx_histogram_t *rlx_rpc_server_time(const rlx_rpc_server_t *server) { return &server->time; }
