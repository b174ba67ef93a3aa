/* Bytes of a client against the server's HTTP/2 and gRPC path, over a socket pair.
 *
 * Byte 0 of the input: bit 0 puts the preface and SETTINGS in front, bit 1 sets the peer's windows to zero, bits 2-3 choose how the bytes
 * are cut (all, 1, 7, 1000). Whatever comes: every call that was opened is closed, every answer released, every connection gone. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "rpc/server/inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const uint8_t preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
static const uint8_t zero_window[] = {0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0};

static uv_loop_t loop;
static rlx_rpc_server_t *server;
static uint64_t opened, closed, sent, released;
static uint8_t answer[70000];
static const char peer_name[PEER_BYTES] = "fuzz";

static void on_open(rlx_rpc_call_t *call, void *service)
{
    (void)service;
    rlx_rpc_call_set_context(call, NULL);
    opened++;
}

static void on_closed(rlx_rpc_call_t *call)
{
    (void)call;
    closed++;
}

static void on_released(void *context)
{
    (void)context;
    released++;
}

static bool on_message(rlx_rpc_call_t *call, uint64_t bytes)
{
    (void)call;
    (void)bytes;
    return true;
}

static void on_data(rlx_rpc_call_t *call, const void *data, size_t bytes)
{
    volatile uint8_t last = ((const uint8_t *)data)[bytes - 1]; /* the sanitizer sees whether it is there */

    (void)call;
    (void)last;
}

/* Answers each message with one of many sizes and slices. */
static void on_message_end(rlx_rpc_call_t *call)
{
    size_t bytes = (size_t)(rlx_rpc_call_id(call) * 7919 % sizeof answer);
    rlx_rpc_slice_t slices[3] = {{answer, bytes / 2}, {answer, 0}, {answer + bytes / 2, bytes - bytes / 2}};

    sent++;
    rlx_rpc_call_send(call, slices, 3, on_released, NULL);
}

static void on_half_close(rlx_rpc_call_t *call) { rlx_rpc_call_finish(call, RLX_NOT_FOUND, "not \xff there"); }

static bool on_unwanted(rlx_rpc_call_t *call, uint64_t bytes)
{
    (void)bytes;
    rlx_rpc_call_finish(call, RLX_INVALID_ARGUMENT, NULL);
    return false;
}

static void hold_open(rlx_rpc_call_t *call, void *service)
{
    on_open(call, service);
    rlx_rpc_call_hold(call, true);
}

static void release_half_close(rlx_rpc_call_t *call)
{
    rlx_rpc_call_hold(call, false);
    rlx_rpc_call_finish(call, RLX_OK, NULL);
}

static const rlx_rpc_method_t methods[] = {
    {.path = "/a", .open = on_open, .message = on_message, .data = on_data, .message_end = on_message_end, .half_close = on_half_close,
     .closed = on_closed},
    {.path = "/b", .open = on_open, .message = on_unwanted, .closed = on_closed},
    {.path = "/c", .open = hold_open, .data = on_data, .half_close = release_half_close, .closed = on_closed},
};

static void on_http(void *context, int fd, bool local)
{
    (void)context, (void)local;
    close(fd);
}

static void server_start(void)
{
    rlx_rpc_options_t options = {.loop = &loop, .methods = methods, .n_methods = 3, .limits = rlx_rpc_limits_default, .http = on_http};

    options.limits.message_bytes_max = 100000;
    options.limits.output_bytes_max = 200000;
    options.limits.header_bytes_max = 2000;
    options.limits.streams_max = 20;
    uv_loop_init(&loop);
    RLX_ASSERT(rlx_rpc_server_create(&options, &server, NULL) == RLX_OK);
}

static void turn(int peer)
{
    static uint8_t sink[1 << 18];

    uv_run(&loop, UV_RUN_NOWAIT);
    while (recv(peer, sink, sizeof sink, MSG_DONTWAIT) > 0)
        ;
}

static void feed(int peer, const uint8_t *data, size_t bytes, size_t piece)
{
    while (bytes > 0 && server->n_conns > 0) {
        ssize_t n = send(peer, data, bytes < piece ? bytes : piece, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno != EAGAIN)
            return;
        if (n > 0) {
            data += n;
            bytes -= (size_t)n;
        }
        turn(peer);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const size_t pieces[] = {SIZE_MAX, 1, 7, 1000};
    int pair[2];

    if (server == NULL)
        server_start();
    if (bytes < 1 || bytes > 65536 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
        return 0;
    rlx_rpc_conn_open(server, pair[0], peer_name, false, false);
    if (data[0] & 1)
        feed(pair[1], preface, sizeof preface, SIZE_MAX); /* its NUL is the last byte of SETTINGS' stream id */
    if (data[0] & 2)
        feed(pair[1], zero_window, sizeof zero_window, SIZE_MAX);
    feed(pair[1], data + 1, bytes - 1, pieces[data[0] >> 2 & 3]);
    turn(pair[1]);
    close(pair[1]);
    for (int i = 0; server->n_conns > 0; i++) {
        RLX_ASSERT(i < 100);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    RLX_ASSERT(server->n_calls == 0);
    RLX_ASSERT(opened == closed);
    RLX_ASSERT(sent == released);
    return 0;
}
