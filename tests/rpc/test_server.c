/* A server with methods that behave in the ways a test needs; server_test.py drives it.
 *
 *     rpc_test_server [--unix PATH] [--tls CERT KEY] [--ca CA] [--no-http] [LIMIT=VALUE ...]
 *
 * Prints "port N", serves until SIGTERM (drain: exits when the last call has ended) or SIGINT (close at once). /test/Counters answers with
 * every counter and with what methods saw, as lines "name value". */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "rpc/server/server.h"
#include "tests/rpc/test_http.h"

typedef struct seen {
    uint64_t opened, closed, messages, message_ends, half_closes, bytes, sent, released;
} seen_t;

/* One call's state. The last message received, at most 64 MiB, is kept. */
typedef struct state {
    rlx_rpc_call_t *call;
    uint8_t *data;
    size_t bytes, room;
    uint64_t total;
    uv_timer_t timer;
    bool over;
} state_t;

static rlx_rpc_server_t *server;
static seen_t seen;
static bool done;

static void on_released(void *context)
{
    seen.released++;
    free(context);
}

static void send_copy(rlx_rpc_call_t *call, const void *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes + 1);
    /* In pieces, so that small and large slices meet in one message. */
    rlx_rpc_slice_t slices[4] = {{copy, bytes / 3}, {copy + bytes / 3, 0}, {copy + bytes / 3, bytes > 10 ? 7 : 0}, {0}};
    size_t first = slices[0].bytes + slices[2].bytes;

    if (copy == NULL)
        abort();
    if (bytes > 0)
        memcpy(copy, data, bytes);
    slices[3] = (rlx_rpc_slice_t){copy + first, bytes - first};
    seen.sent++;
    rlx_rpc_call_send(call, slices, 4, on_released, copy);
}

static state_t *state_of(rlx_rpc_call_t *call) { return rlx_rpc_call_context(call); }

static void on_open(rlx_rpc_call_t *call, void *service)
{
    state_t *state = calloc(1, sizeof *state);

    if (state == NULL)
        abort();
    state->call = call;
    uv_timer_init(service, &state->timer);
    state->timer.data = state;
    rlx_rpc_call_set_context(call, state);
    seen.opened++;
}

static bool on_message(rlx_rpc_call_t *call, uint64_t bytes)
{
    state_t *state = state_of(call);

    seen.messages++;
    state->bytes = 0;
    if (state->room < bytes) {
        free(state->data);
        state->data = malloc(bytes);
        state->room = bytes;
    }
    return true;
}

static void on_data(rlx_rpc_call_t *call, const void *data, size_t bytes)
{
    state_t *state = state_of(call);

    if (state->bytes + bytes > state->room)
        abort(); /* more than was announced */
    memcpy(state->data + state->bytes, data, bytes);
    state->bytes += bytes;
    state->total += bytes;
    seen.bytes += bytes;
}

static void on_message_end(rlx_rpc_call_t *call)
{
    (void)call;
    seen.message_ends++;
}

static void on_timer_closed(uv_handle_t *handle)
{
    state_t *state = handle->data;

    free(state->data);
    free(state);
}

static void on_closed(rlx_rpc_call_t *call)
{
    state_t *state = state_of(call);

    seen.closed++;
    uv_close((uv_handle_t *)&state->timer, on_timer_closed);
}

/* Echo: every message at once. */
static void echo_message_end(rlx_rpc_call_t *call)
{
    seen.message_ends++;
    send_copy(call, state_of(call)->data, state_of(call)->bytes);
}

static void finish_ok(rlx_rpc_call_t *call)
{
    seen.half_closes++;
    rlx_rpc_call_finish(call, RLX_OK, NULL);
}

/* Sink: how many bytes came. */
static void sink_half_close(rlx_rpc_call_t *call)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRIu64, state_of(call)->total);
    send_copy(call, text, strlen(text));
    finish_ok(call);
}

/* Hold: for 300 ms nothing is given back to the window. */
static void on_unhold(uv_timer_t *timer)
{
    const state_t *state = timer->data;

    rlx_rpc_call_hold(state->call, false);
}

static void hold_open(rlx_rpc_call_t *call, void *service)
{
    on_open(call, service);
    rlx_rpc_call_hold(call, true);
    uv_timer_start(&state_of(call)->timer, on_unhold, 300, 0);
}

/* Big: the message is a decimal number; the answer has that many bytes. */
static void big_half_close(rlx_rpc_call_t *call)
{
    const state_t *state = state_of(call);
    static uint8_t pattern[1 << 20];
    rlx_rpc_slice_t slices[RLX_RPC_SLICES_MAX];
    char text[32] = {0};
    unsigned long left;
    int n = 0;

    for (size_t i = 0; i < sizeof pattern && pattern[sizeof pattern - 1] == 0; i++)
        pattern[i] = (uint8_t)(i * 7);
    if (state->bytes > 0)
        memcpy(text, state->data, state->bytes < 31 ? state->bytes : 31);
    for (left = strtoul(text, NULL, 10); left > 0 && n < RLX_RPC_SLICES_MAX; n++) {
        slices[n] = (rlx_rpc_slice_t){pattern, left < sizeof pattern ? left : sizeof pattern};
        left -= slices[n].bytes;
    }
    seen.sent++;
    rlx_rpc_call_send(call, slices, n, on_released, NULL);
    finish_ok(call);
}

/* Pieces: slices of 300 bytes and of one in turn, as many as one message may have. */
static void pieces_half_close(rlx_rpc_call_t *call)
{
    static const uint8_t bytes[300];
    rlx_rpc_slice_t slices[RLX_RPC_SLICES_MAX];

    for (int i = 0; i < RLX_RPC_SLICES_MAX; i++)
        slices[i] = (rlx_rpc_slice_t){bytes, i % 2 == 0 ? sizeof bytes : 1};
    for (int i = 0; i < 5; i++)
        rlx_rpc_call_send(call, slices, RLX_RPC_SLICES_MAX, NULL, NULL);
    finish_ok(call);
}

static void fail_half_close(rlx_rpc_call_t *call)
{
    rlx_rpc_call_finish(call, RLX_INVALID_ARGUMENT, "100 % wrong: \xc3\xbc, line\n2");
}

/* FailLate: a message first, so that the error travels in real trailers. */
static void fail_late_half_close(rlx_rpc_call_t *call)
{
    send_copy(call, "partial", 7);
    rlx_rpc_call_finish(call, RLX_DATA_LOSS, "lost \xe2\x82\xac");
}

static bool refuse_message(rlx_rpc_call_t *call, uint64_t bytes)
{
    char text[64];

    snprintf(text, sizeof text, "%" PRIu64 " bytes are not wanted", bytes);
    rlx_rpc_call_finish(call, RLX_FAILED_PRECONDITION, text);
    return false;
}

static void info_half_close(rlx_rpc_call_t *call)
{
    const char *trace = rlx_rpc_call_header(call, "traceparent"), *subject = rlx_rpc_call_subject(call);
    char text[1024];
    uint64_t deadline = rlx_rpc_call_deadline_ns(call);

    snprintf(text, sizeof text, "peer %s\nsubject %s\ntraceparent %s\nx-other %s\nleft_ms %" PRId64 "\nid %" PRIu64 "\n",
             rlx_rpc_call_peer(call), subject != NULL ? subject : "-", trace != NULL ? trace : "-",
             rlx_rpc_call_header(call, "x-other") != NULL ? "kept" : "-",
             deadline == UINT64_MAX ? (int64_t)-1 : (int64_t)(deadline - rlx_clock_ns()) / 1000000, rlx_rpc_call_id(call));
    send_copy(call, text, strlen(text));
    finish_ok(call);
}

static void on_done(void *context)
{
    (void)context;
    done = true;
}

/* Close: the server closes inside a method's callback. */
static void close_half_close(rlx_rpc_call_t *call)
{
    send_copy(call, "never sent", 10);
    rlx_rpc_server_close(server, on_done, NULL);
}

/* Later: answers after 200 ms. */
static void on_later(uv_timer_t *timer)
{
    const state_t *state = timer->data;

    send_copy(state->call, "later", 5);
    rlx_rpc_call_finish(state->call, RLX_OK, NULL);
}

static void later_half_close(rlx_rpc_call_t *call) { uv_timer_start(&state_of(call)->timer, on_later, 200, 0); }

/* Counters does not count itself. */
static void counters_open(rlx_rpc_call_t *call, void *service)
{
    (void)call;
    (void)service;
}

static void counters_closed(rlx_rpc_call_t *call) { (void)call; }

static void counters_half_close(rlx_rpc_call_t *call)
{
    const rlx_rpc_counters_t *c = rlx_rpc_server_counters(server);
    const rlx_histogram_t *time = rlx_rpc_server_time(server);
    rlx_rpc_slice_t slice;
    char text[4096];
    int n = 0;

#define RLX_RPC_COUNTER(id, help) n += snprintf(text + n, sizeof text - (size_t)n, #id " %" PRIu64 "\n", c->id);
    RLX_RPC_COUNTERS(RLX_RPC_COUNTER)
#undef RLX_RPC_COUNTER
    n += snprintf(text + n, sizeof text - (size_t)n,
                  "opened %" PRIu64 "\nclosed %" PRIu64 "\nmessages %" PRIu64 "\nmessage_ends %" PRIu64 "\nhalf_closes %" PRIu64
                  "\nsent %" PRIu64 "\nreleased %" PRIu64 "\nopen_calls %u\nopen_connections %u\nserver_time_count %" PRIu64
                  "\nserver_time_sum %" PRIu64 "\n",
                  seen.opened, seen.closed, seen.messages, seen.message_ends, seen.half_closes, seen.sent, seen.released,
                  rlx_rpc_server_calls(server), rlx_rpc_server_connections(server), time->count, time->sum_ns);
    slice = (rlx_rpc_slice_t){strdup(text), (size_t)n};
    rlx_rpc_call_kernel_ns(call, 1000);
    rlx_rpc_call_send(call, &slice, 1, free, (void *)(uintptr_t)slice.data);
    rlx_rpc_call_finish(call, RLX_OK, NULL);
}

#define KEEPING .message = on_message, .data = on_data, .closed = on_closed
static const rlx_rpc_method_t methods[] = {
    {.path = "/test/Echo", .open = on_open, KEEPING, .message_end = echo_message_end, .half_close = finish_ok},
    {.path = "/test/Sink", .open = on_open, KEEPING, .message_end = on_message_end, .half_close = sink_half_close},
    {.path = "/test/Hold", .open = hold_open, KEEPING, .message_end = on_message_end, .half_close = sink_half_close},
    {.path = "/test/Silent", .open = on_open, KEEPING, .message_end = on_message_end},
    {.path = "/test/Big", .open = on_open, KEEPING, .half_close = big_half_close},
    {.path = "/test/Pieces", .open = on_open, KEEPING, .half_close = pieces_half_close},
    {.path = "/test/Fail", .open = on_open, KEEPING, .half_close = fail_half_close},
    {.path = "/test/FailLate", .open = on_open, KEEPING, .half_close = fail_late_half_close},
    {.path = "/test/Refuse", .open = on_open, .message = refuse_message, .closed = on_closed},
    {.path = "/test/Info", .open = on_open, KEEPING, .half_close = info_half_close},
    {.path = "/test/Later", .open = on_open, KEEPING, .half_close = later_half_close},
    {.path = "/test/Close", .open = on_open, KEEPING, .half_close = close_half_close},
    {.path = "/test/Counters", .open = counters_open, .half_close = counters_half_close, .closed = counters_closed},
    {.path = "/test/Bare", .open = on_open, .closed = on_closed},
};

static void on_signal(uv_signal_t *handle, int number)
{
    (void)handle;
    if (number == SIGINT && !done)
        rlx_rpc_server_close(server, on_done, NULL);
    else
        rlx_rpc_server_drain(server);
}

static bool limit_set(rlx_rpc_limits_t *limits, const char *text)
{
    static const struct {
        const char *name;
        size_t at;
        int bytes;
    } names[] = {
#define LIMIT(name) {#name, offsetof(rlx_rpc_limits_t, name), sizeof limits->name}
        LIMIT(connections_max), LIMIT(streams_max), LIMIT(header_bytes_max), LIMIT(message_bytes_max), LIMIT(output_bytes_max),
        LIMIT(window_bytes), LIMIT(handshake_ms), LIMIT(idle_ms), LIMIT(stall_ms), LIMIT(keepalive_ms),
    };
    const char *equals = strchr(text, '=');

    for (size_t i = 0; equals != NULL && i < sizeof names / sizeof *names; i++) {
        uint64_t value = strtoull(equals + 1, NULL, 10);
        uint32_t value32 = (uint32_t)value;

        if (strncmp(names[i].name, text, (size_t)(equals - text)) != 0)
            continue;
        memcpy((char *)limits + names[i].at, names[i].bytes == 8 ? (void *)&value : (void *)&value32, (size_t)names[i].bytes);
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    rlx_rpc_options_t options = {.loop = loop, .methods = methods, .n_methods = sizeof methods / sizeof *methods, .service = loop,
                                 .limits = rlx_rpc_limits_default, .http = test_http_adopt, .http_context = loop};
    rlx_rpc_tls_t tls = {0};
    rlx_diag_t diag = {0};
    const char *unix_path = NULL;
    uv_signal_t signals[2];
    int port = 0;
    bool draining = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--unix") == 0)
            unix_path = argv[++i];
        else if (strcmp(argv[i], "--ca") == 0)
            tls.client_ca = argv[++i];
        else if (strcmp(argv[i], "--no-http") == 0)
            options.http = NULL;
        else if (strcmp(argv[i], "--tls") == 0) {
            tls.certificate = argv[++i];
            tls.key = argv[++i];
            options.tls = &tls;
        } else if (!limit_set(&options.limits, argv[i])) {
            fprintf(stderr, "unknown argument %s\n", argv[i]);
            return 2;
        }
    }
    if (rlx_rpc_server_create(&options, &server, &diag) != RLX_OK ||
        rlx_rpc_server_listen(server, "127.0.0.1", 0, &port, &diag) != RLX_OK ||
        (unix_path != NULL && rlx_rpc_server_listen_unix(server, unix_path, &diag) != RLX_OK)) {
        rlx_diag_print(&diag, stderr);
        return 1;
    }
    for (int i = 0; i < 2; i++) {
        uv_signal_init(loop, &signals[i]);
        uv_signal_start(&signals[i], on_signal, i == 0 ? SIGTERM : SIGINT);
        uv_unref((uv_handle_t *)&signals[i]);
    }
    printf("port %d\n", port);
    fflush(stdout);
    /* After a drain the loop ends by itself when the last connection is closed; then the server closes. */
    while (uv_run(loop, UV_RUN_DEFAULT) != 0)
        ;
    draining = !done;
    if (draining) {
        rlx_rpc_server_close(server, on_done, NULL);
        uv_run(loop, UV_RUN_DEFAULT);
    }
    for (int i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&signals[i], NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    if (uv_loop_close(loop) != 0) {
        fprintf(stderr, "handles are left in the loop\n");
        return 3;
    }
    printf("opened %" PRIu64 " closed %" PRIu64 " sent %" PRIu64 " released %" PRIu64 "\n", seen.opened, seen.closed, seen.sent,
           seen.released);
    return done && seen.opened == seen.closed && seen.sent == seen.released ? 0 : 4;
}
