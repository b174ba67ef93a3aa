/* An echo of the Open Inference Protocol's shape on rpc/server/server.h, for measuring the RPC layer without daemon, models and kernels.
 *
 *     echo_server [--port N] [--unix PATH] [--tls CERT KEY [CA]] [--window BYTES] [--spin]
 *
 * ModelInfer answers with the first raw input of the request, by reference, once the whole message is here (one copy out of the read
 * buffer, as the daemon's slots do). --spin polls the sockets without ever sleeping. SIGUSR1 clears the histogram of server time, SIGUSR2
 * prints it with the counters, SIGTERM drains. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/server/server.h"

typedef struct echo {
    struct echo *next;
    uint8_t *data, head[128];
    size_t bytes, room, head_bytes;
} echo_t;

typedef struct bench {
    rlx_rpc_server_t *server;
    rlx_histogram_t before;
    rlx_rpc_counters_t counted;
    echo_t *free_echoes;
    bool ended;
} bench_t;

static bench_t bench;

static echo_t *echo_get(void)
{
    echo_t *echo = bench.free_echoes;

    if (echo == NULL)
        return calloc(1, sizeof *echo);
    bench.free_echoes = echo->next;
    return echo;
}

static void echo_put(void *context)
{
    echo_t *echo = context;

    echo->next = bench.free_echoes;
    bench.free_echoes = echo;
}

static void on_open(rlx_rpc_call_t *call, void *service)
{
    (void)service;
    rlx_rpc_call_set_context(call, NULL);
}

static bool on_message(rlx_rpc_call_t *call, uint64_t bytes)
{
    echo_t *echo = echo_get();

    if (echo == NULL || (echo->room < bytes && (free(echo->data), echo->data = malloc(bytes), echo->room = bytes, echo->data == NULL))) {
        rlx_rpc_call_finish(call, RLX_RESOURCE_EXHAUSTED, "no memory");
        return false;
    }
    echo->bytes = 0;
    rlx_rpc_call_set_context(call, echo);
    return true;
}

static void on_data(rlx_rpc_call_t *call, const void *data, size_t bytes)
{
    echo_t *echo = rlx_rpc_call_context(call);

    memcpy(echo->data + echo->bytes, data, bytes);
    echo->bytes += bytes;
}

static size_t varint(uint8_t *out, uint64_t value)
{
    size_t n = 0;

    for (; value > 127; value >>= 7)
        out[n++] = (uint8_t)(value | 128);
    out[n++] = (uint8_t)value;
    return n;
}

static bool varint_take(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;

        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

/* raw_input_contents is field 7. */
static bool raw_find(const echo_t *echo, rlx_rpc_slice_t *out)
{
    const uint8_t *at = echo->data, *end = at + echo->bytes;
    uint64_t tag, value;

    *out = (rlx_rpc_slice_t){"", 0};
    while (at < end) {
        if (!varint_take(&at, end, &tag) || !varint_take(&at, end, &value) || (tag & 7) == 1 || (tag & 7) > 2)
            return false;
        if ((tag & 7) == 0)
            continue;
        if (value > (uint64_t)(end - at))
            return false;
        if (tag >> 3 == 7)
            *out = (rlx_rpc_slice_t){at, (size_t)value};
        at += value;
    }
    return true;
}

/* model_name, one output of the request's bytes, raw_output_contents. */
static void head_write(echo_t *echo, uint64_t bytes)
{
    static const uint8_t begin[] = "\x0a\x04""echo", output[] = "\x0a\x04out0\x12\x05UINT8";
    uint8_t shape[10], *at = echo->head;
    size_t n = varint(shape, bytes);

    memcpy(at, begin, sizeof begin - 1);
    at += sizeof begin - 1;
    *at++ = 0x2a;
    *at++ = (uint8_t)(sizeof output - 1 + 2 + n);
    memcpy(at, output, sizeof output - 1);
    at += sizeof output - 1;
    *at++ = 0x1a;
    *at++ = (uint8_t)n;
    memcpy(at, shape, n);
    at += n;
    *at++ = 0x32;
    at += varint(at, bytes);
    echo->head_bytes = (size_t)(at - echo->head);
}

static void on_half_close(rlx_rpc_call_t *call)
{
    echo_t *echo = rlx_rpc_call_context(call);
    rlx_rpc_slice_t slices[2];

    if (echo == NULL || !raw_find(echo, &slices[1])) {
        rlx_rpc_call_finish(call, RLX_INVALID_ARGUMENT, "not one ModelInferRequest");
        return;
    }
    rlx_rpc_call_set_context(call, NULL);
    head_write(echo, slices[1].bytes);
    slices[0] = (rlx_rpc_slice_t){echo->head, echo->head_bytes};
    rlx_rpc_call_send(call, slices, 2, echo_put, echo);
    rlx_rpc_call_finish(call, RLX_OK, NULL);
}

static void on_closed(rlx_rpc_call_t *call)
{
    if (rlx_rpc_call_context(call) != NULL)
        echo_put(rlx_rpc_call_context(call));
}

/* What the histogram got since SIGUSR1. */
static void window_take(rlx_histogram_t *out_window)
{
    const rlx_histogram_t *now = rlx_rpc_server_time(bench.server);

    *out_window = *now;
    out_window->count -= bench.before.count;
    out_window->sum_ns -= bench.before.sum_ns;
    for (int i = 0; i < RLX_HISTOGRAM_BUCKETS; i++)
        out_window->bucket[i] -= bench.before.bucket[i];
}

static void print(void)
{
    static rlx_histogram_t time;
    const rlx_rpc_counters_t *counters = rlx_rpc_server_counters(bench.server);
    double n;

    window_take(&time);
    n = time.count > 0 ? (double)time.count : 1;
    printf("SRV req=%" PRIu64 " read/req=%.2f write/req=%.2f server us p50=%.1f p99=%.1f mean=%.1f\n", time.count,
           (double)(counters->reads - bench.counted.reads) / n, (double)(counters->writes - bench.counted.writes) / n,
           rlx_histogram_percentile(&time, 50) / 1000, rlx_histogram_percentile(&time, 99) / 1000, rlx_histogram_mean(&time) / 1000);
    fflush(stdout);
}

static void on_done(void *context) { *(bool *)context = true; }

static void on_signal(uv_signal_t *signal, int number)
{
    (void)signal;
    if (number == SIGUSR1) {
        bench.before = *rlx_rpc_server_time(bench.server);
        bench.counted = *rlx_rpc_server_counters(bench.server);
    } else if (number == SIGUSR2) {
        print();
    } else {
        rlx_rpc_server_close(bench.server, on_done, &bench.ended);
    }
}

static const rlx_rpc_method_t methods[] = {
    {.path = "/inference.GRPCInferenceService/ModelInfer", .open = on_open, .message = on_message, .data = on_data,
     .half_close = on_half_close, .closed = on_closed},
};

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    rlx_rpc_options_t options = {.loop = loop, .methods = methods, .n_methods = 1, .limits = rlx_rpc_limits_default};
    rlx_rpc_tls_t tls = {0};
    rlx_diag_t diag = {0};
    const char *unix_path = NULL;
    int port = 7000;
    bool spin = false;
    static const int numbers[] = {SIGUSR1, SIGUSR2, SIGTERM, SIGINT};
    uv_signal_t signals[4];

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--port") == 0 && i + 1 < argc)
            port = atoi(argv[++i]);
        else if (strcmp(argv[i], "--unix") == 0 && i + 1 < argc)
            unix_path = argv[++i];
        else if (strcmp(argv[i], "--window") == 0 && i + 1 < argc)
            options.limits.window_bytes = (uint32_t)atoi(argv[++i]);
        else if (strcmp(argv[i], "--spin") == 0)
            spin = true;
        else if (strcmp(argv[i], "--tls") == 0 && i + 2 < argc) {
            tls.certificate = argv[++i];
            tls.key = argv[++i];
            tls.client_ca = i + 1 < argc && argv[i + 1][0] != '-' ? argv[++i] : NULL;
            options.tls = &tls;
        } else {
            fprintf(stderr, "usage: echo_server [--port N] [--unix PATH] [--tls CERT KEY [CA]] [--window BYTES] [--spin]\n");
            return 2;
        }
    }
    if (rlx_rpc_server_create(&options, &bench.server, &diag) != RLX_OK ||
        rlx_rpc_server_listen(bench.server, "127.0.0.1", port, &port, &diag) != RLX_OK ||
        (unix_path != NULL && rlx_rpc_server_listen_unix(bench.server, unix_path, &diag) != RLX_OK)) {
        rlx_diag_print(&diag, stderr);
        return 1;
    }
    for (int i = 0; i < 4; i++) {
        uv_signal_init(loop, &signals[i]);
        uv_signal_start(&signals[i], on_signal, numbers[i]);
    }
    printf("listening on 127.0.0.1:%d\n", port);
    fflush(stdout);
    while (!bench.ended)
        uv_run(loop, spin ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    return 0;
}
