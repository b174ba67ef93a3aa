#include "tests/rpc/test_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

typedef struct exchange {
    uv_poll_t poll;
    int fd;
    size_t bytes, left;
    char request[1 << 16];
} exchange_t;

static void on_closed(uv_handle_t *handle) { free(handle->data); }

static void exchange_end(exchange_t *exchange)
{
    uv_close((uv_handle_t *)&exchange->poll, on_closed);
    close(exchange->fd);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    static const char block[65536];
    exchange_t *exchange = poll->data;

    (void)status;
    (void)events;
    while (exchange->left > 0) {
        ssize_t n = send(exchange->fd, block, exchange->left < sizeof block ? exchange->left : sizeof block, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break;
        exchange->left -= (size_t)n;
    }
    exchange_end(exchange);
}

/* "GET /big/N" is answered with N zeros. */
static void answer(exchange_t *exchange)
{
    char head[256];

    *strstr(exchange->request, "\r\n") = '\0';
    sscanf(exchange->request, "GET /big/%zu", &exchange->left);
    snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
             exchange->left > 0 ? exchange->left : strlen(exchange->request));
    send(exchange->fd, head, strlen(head), MSG_NOSIGNAL);
    if (exchange->left == 0)
        send(exchange->fd, exchange->request, strlen(exchange->request), MSG_NOSIGNAL);
    uv_poll_start(&exchange->poll, UV_WRITABLE, on_writable);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    exchange_t *exchange = poll->data;
    ssize_t n = recv(exchange->fd, exchange->request + exchange->bytes, sizeof exchange->request - 1 - exchange->bytes, MSG_DONTWAIT);

    (void)status;
    (void)events;
    if (n > 0)
        exchange->bytes += (size_t)n;
    exchange->request[exchange->bytes] = '\0';
    if (n > 0 && strstr(exchange->request, "\r\n\r\n") != NULL)
        answer(exchange);
    else if (n <= 0 || exchange->bytes + 1 == sizeof exchange->request)
        exchange_end(exchange);
}

void test_http_adopt(void *loop, int fd, bool local)
{
    exchange_t *exchange = calloc(1, sizeof *exchange);

    (void)local;
    if (exchange == NULL) {
        close(fd);
        return;
    }
    exchange->fd = fd;
    uv_poll_init(loop, &exchange->poll, fd);
    exchange->poll.data = exchange;
    uv_poll_start(&exchange->poll, UV_READABLE, on_readable);
}
