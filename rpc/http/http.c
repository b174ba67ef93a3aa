/* The HTTP/1.1 service: connections in and out of libmicrohttpd, its epoll descriptor and deadlines on the loop, and our own time limits.
 *
 * libmicrohttpd runs without a thread and without a listen socket. Its epoll descriptor is one poll handle; when it has more to do at once
 * (data that it read and did not finish) a timer of zero lets the loop's other handles in between. A suspended connection is outside its
 * epoll set, so ours watches for the peer's leaving. libmicrohttpd has no call that closes a connection: shutdown(2) on the socket makes
 * it do so. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "rpc/http/inside.h"

#define POOL_BYTES ((size_t)64 << 10) /* of a connection: headers and read buffer */
#define RATE_BYTES_PER_S ((uint64_t)16 << 10)
#define SWEEP_MS 1000

uint64_t rlx_http_now_ms(void) { return rlx_clock_ns() / 1000000; }

static void on_timer(uv_timer_t *timer) { rlx_http_run(timer->data); }

static void timer_arm(rlx_http_t *http)
{
    MHD_UNSIGNED_LONG_LONG ms;

    if (MHD_get_timeout(http->daemon, &ms) == MHD_YES)
        uv_timer_start(&http->timer, on_timer, ms, 0);
    else
        uv_timer_stop(&http->timer);
}

void rlx_http_run(rlx_http_t *http)
{
    if (http->stopped)
        return;
    if (http->running) {
        http->again = true;
        return;
    }
    http->running = true;
    do {
        http->again = false;
        MHD_run(http->daemon);
    } while (http->again);
    http->running = false;
    timer_arm(http);
    rlx_http_finish(http);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    rlx_http_run(poll->data);
}

/* Peers of suspended connections left. */
static void on_watch(uv_poll_t *poll, int status, int events)
{
    rlx_http_t *http = poll->data;
    struct epoll_event event[16];
    int n = epoll_wait(http->watch_fd, event, 16, 0);

    (void)status;
    (void)events;
    for (int i = 0; i < n; i++)
        rlx_http_exchange_gone(event[i].data.ptr);
}

/* When the connection must have moved on; UINT64_MAX without a limit. */
static uint64_t http_due(const rlx_http_exchange_t *exchange)
{
    uint64_t allowed = (uint64_t)exchange->http->options.timeout_s * 1000;

    if (exchange->phase == HTTP_PROCESSING || allowed == 0)
        return UINT64_MAX;
    return exchange->since_ms + allowed + exchange->moved * 1000 / RATE_BYTES_PER_S;
}

static void on_sweep(uv_timer_t *timer)
{
    rlx_http_t *http = timer->data;
    uint64_t now = rlx_http_now_ms();

    for (rlx_http_exchange_t *exchange = http->open_list; exchange != NULL; exchange = exchange->next) {
        if (now < http_due(exchange))
            continue;
        http->counters.timeouts += exchange->phase != HTTP_IDLE;
        shutdown(exchange->fd, SHUT_RDWR);
        exchange->since_ms = now; /* once is enough: it closes within the next turn */
    }
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context, enum MHD_ConnectionNotificationCode code)
{
    rlx_http_t *http = context;
    rlx_http_exchange_t *exchange;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        exchange = http->free_list;
        RLX_ASSERT(exchange != NULL); /* adopt looked */
        http->free_list = exchange->next;
        *exchange = (rlx_http_exchange_t){.http = http, .connection = connection, .next = http->open_list, .since_ms = rlx_http_now_ms()};
        if (exchange->next != NULL)
            exchange->next->previous = exchange;
        http->open_list = exchange;
        if (http->n_open++ == 0)
            uv_timer_start(&http->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
        *socket_context = exchange;
        return;
    }
    exchange = *socket_context;
    RLX_ASSERT(!exchange->suspended);
    http->counters.broken += !exchange->heard;
    rlx_http_body_drop(exchange);
    if (exchange->previous != NULL)
        exchange->previous->next = exchange->next;
    else
        http->open_list = exchange->next;
    if (exchange->next != NULL)
        exchange->next->previous = exchange->previous;
    exchange->next = http->free_list;
    http->free_list = exchange;
    if (--http->n_open == 0 && !http->stopped)
        uv_timer_stop(&http->sweep);
}

static void connection_refuse(int fd)
{
    static const char answer[] =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: application/json\r\n"
        "Content-Length: 43\r\n\r\n{\"error\": \"the server has no connections\"}\n";
    char request[4096];

    /* What was sent already is read, or closing would reset the connection and with it the answer. */
    (void)!recv(fd, request, sizeof request, MSG_DONTWAIT);
    (void)!send(fd, answer, sizeof answer - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
}

void rlx_http_adopt(rlx_http_t *http, int fd, bool local)
{
    struct sockaddr_storage address = {0};
    socklen_t bytes = sizeof address;
    rlx_http_exchange_t *exchange;

    if (http->draining || http->closing || http->free_list == NULL) {
        http->counters.connections_refused++;
        connection_refuse(fd);
        return;
    }
    getpeername(fd, (struct sockaddr *)&address, &bytes);
    exchange = http->free_list; /* on_connection takes it */
    if (MHD_add_connection(http->daemon, fd, (struct sockaddr *)&address, bytes) != MHD_YES) {
        http->counters.connections_refused++; /* and the descriptor is closed */
        return;
    }
    exchange->fd = fd;
    exchange->local = local;
    http->counters.connections++;
    rlx_http_run(http);
}

void rlx_http_drain(rlx_http_t *http)
{
    char byte;

    http->draining = true;
    for (rlx_http_exchange_t *exchange = http->open_list; exchange != NULL; exchange = exchange->next)
        if (exchange->phase == HTTP_IDLE && recv(exchange->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
            shutdown(exchange->fd, SHUT_RDWR);
}

static void on_closed(uv_handle_t *handle)
{
    rlx_http_t *http = handle->data;
    void (*done)(void *context) = http->done;
    void *context = http->done_context;

    if (--http->handles > 0)
        return;
    close(http->watch_fd);
    while (http->n_spare > 0)
        munmap(http->spare[--http->n_spare], HTTP_BLOCK);
    free(http->exchanges);
    free(http);
    if (done != NULL)
        done(context);
}

static void handles_close(rlx_http_t *http)
{
    uv_close((uv_handle_t *)&http->timer, on_closed);
    uv_close((uv_handle_t *)&http->sweep, on_closed);
    uv_close((uv_handle_t *)&http->watch, on_closed);
    if (http->handles > 3)
        uv_close((uv_handle_t *)&http->poll, on_closed);
}

void rlx_http_finish(rlx_http_t *http)
{
    if (!http->closing || http->stopped || http->running || http->n_processing > 0)
        return;
    http->stopped = true;
    uv_poll_stop(&http->poll); /* before its descriptor goes */
    MHD_stop_daemon(http->daemon);
    handles_close(http);
}

void rlx_http_close(rlx_http_t *http, void (*done)(void *context), void *context)
{
    http->done = done;
    http->done_context = context;
    http->draining = http->closing = true;
    for (rlx_http_exchange_t *exchange = http->open_list, *next; exchange != NULL; exchange = next) {
        next = exchange->next;
        if (exchange->suspended && !exchange->answered)
            rlx_http_exchange_gone(exchange);
    }
    rlx_http_finish(http);
}

static rlx_status_t daemon_start(rlx_http_t *http)
{
    http->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, rlx_http_on_access,
                                    http, MHD_OPTION_CONNECTION_MEMORY_LIMIT, POOL_BYTES, MHD_OPTION_CONNECTION_MEMORY_INCREMENT,
                                    (size_t)16 << 10, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)http->options.connections_max,
                                    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)http->options.timeout_s, MHD_OPTION_NOTIFY_COMPLETED,
                                    rlx_http_on_completed, http, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
                                    MHD_OPTION_URI_LOG_CALLBACK, rlx_http_on_line, http, MHD_OPTION_END);
    return http->daemon != NULL ? RLX_OK : RLX_UNAVAILABLE;
}

static void handles_open(rlx_http_t *http)
{
    uv_timer_init(http->options.loop, &http->timer);
    uv_timer_init(http->options.loop, &http->sweep);
    uv_poll_init(http->options.loop, &http->watch, http->watch_fd);
    uv_poll_start(&http->watch, UV_READABLE, on_watch);
    http->timer.data = http->sweep.data = http->watch.data = http;
    http->handles = 3;
}

rlx_status_t rlx_http_create(const rlx_http_options_t *options, rlx_http_t **out_http, rlx_diag_t *diag)
{
    rlx_http_t *http = calloc(1, sizeof *http);
    const union MHD_DaemonInfo *info;

    RLX_ASSERT(options->connections_max > 0);
    if (http == NULL || (http->exchanges = calloc(options->connections_max, sizeof *http->exchanges)) == NULL)
        goto fail_memory;
    http->options = *options;
    if (options->bodies_bytes_max == 0)
        http->options.bodies_bytes_max = 4 * options->body_bytes_max;
    for (uint32_t i = options->connections_max; i > 0; i--) {
        http->exchanges[i - 1].next = http->free_list;
        http->free_list = &http->exchanges[i - 1];
    }
    http->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    if (http->watch_fd < 0)
        goto fail_memory;
    if (daemon_start(http) != RLX_OK)
        goto fail_watch;
    info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    handles_open(http);
    if (info == NULL || uv_poll_init(options->loop, &http->poll, info->epoll_fd) != 0) {
        MHD_stop_daemon(http->daemon);
        http->stopped = true;
        handles_close(http); /* frees it */
        return rlx_fail(diag, RLX_E_LISTEN, "the HTTP server cannot join the loop");
    }
    http->handles = 4;
    http->poll.data = http;
    uv_poll_start(&http->poll, UV_READABLE, on_poll);
    *out_http = http;
    return RLX_OK;

fail_watch:
    close(http->watch_fd);
fail_memory:
    if (http != NULL)
        free(http->exchanges);
    free(http);
    return rlx_fail(diag, RLX_E_LISTEN, "the HTTP server cannot start: %s", strerror(errno));
}

uint32_t rlx_http_connections(const rlx_http_t *http) { return http->n_open; }

const rlx_http_counters_t *rlx_http_counters(const rlx_http_t *http) { return &http->counters; }
