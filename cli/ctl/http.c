/* A request goes out with "Connection: close", so the answer ends with its length, its last chunk, or the connection. */
#include "cli/ctl/http.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

static rlx_status_t connect_fail(const rlx_ctl_server_t *server, int error, rlx_diag_t *diag)
{
    if (error == ETIMEDOUT)
        return rlx_fail(diag, RLX_E_CLIENT_TIMEOUT, "%s does not accept a connection in %d ms", server->text, server->timeout_ms);
    rlx_fail(diag, RLX_E_CONNECT, "cannot reach %s: %s", server->text, strerror(error));
    return rlx_diag_hint(diag, "Check that rlxd runs, and its address (--url, --unix or RLX_URL).");
}

/* Connects within the time; returns 0 or the error. */
static int connect_wait(int fd, const struct sockaddr *address, socklen_t bytes, int timeout_ms)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    socklen_t size = sizeof(int);
    int error = 0, n;

    if (connect(fd, address, bytes) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    do
        n = poll(&wait, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return ETIMEDOUT;
    return n < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 ? errno : error;
}

static rlx_status_t unix_open(const rlx_ctl_server_t *server, int *out_fd, rlx_diag_t *diag)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int error;

    if (strlen(server->endpoint.host) >= sizeof address.sun_path)
        return connect_fail(server, ENAMETOOLONG, diag);
    strcpy(address.sun_path, server->endpoint.host);
    *out_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    error = *out_fd < 0 ? errno : connect_wait(*out_fd, (struct sockaddr *)&address, sizeof address, server->timeout_ms);
    if (error != 0 && *out_fd >= 0)
        close(*out_fd);
    return error == 0 ? RLX_OK : connect_fail(server, error, diag);
}

static rlx_status_t tcp_open(const rlx_ctl_server_t *server, int *out_fd, rlx_diag_t *diag)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    char port[16];
    int rc, error = EHOSTUNREACH;

    snprintf(port, sizeof port, "%d", server->endpoint.port);
    rc = getaddrinfo(server->endpoint.host, port, &hints, &list);
    if (rc != 0)
        return rlx_fail(diag, RLX_E_CONNECT, "host '%s' has no address: %s", server->endpoint.host, gai_strerror(rc));
    for (struct addrinfo *at = list; at != NULL && error != 0; at = at->ai_next) {
        *out_fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        error = *out_fd < 0 ? errno : connect_wait(*out_fd, at->ai_addr, at->ai_addrlen, server->timeout_ms);
        if (error != 0 && *out_fd >= 0)
            close(*out_fd);
    }
    freeaddrinfo(list);
    return error == 0 ? RLX_OK : connect_fail(server, error, diag);
}

static rlx_status_t wait_for(int fd, short events, const rlx_ctl_server_t *server, rlx_diag_t *diag)
{
    struct pollfd wait = {.fd = fd, .events = events};
    int n;

    do
        n = poll(&wait, 1, server->timeout_ms);
    while (n < 0 && errno == EINTR);
    return n > 0 ? RLX_OK : rlx_fail(diag, RLX_E_CLIENT_TIMEOUT, "%s does not answer in %d ms", server->text, server->timeout_ms);
}

static rlx_status_t bytes_send(int fd, const char *data, size_t bytes, const rlx_ctl_server_t *server, rlx_diag_t *diag)
{
    while (bytes > 0) {
        ssize_t n = send(fd, data, bytes, MSG_NOSIGNAL);

        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            RLX_TRY(wait_for(fd, POLLOUT, server, diag));
            continue;
        }
        if (n < 0)
            return connect_fail(server, errno, diag);
        data += n;
        bytes -= (size_t)n;
    }
    return RLX_OK;
}

static rlx_status_t request_send(int fd, const rlx_ctl_server_t *server, const char *method, const char *path, const char *body,
                                 rlx_diag_t *diag)
{
    size_t bytes = body != NULL ? strlen(body) : 0;
    rlx_status_t status;
    rlx_text_t text;

    rlx_text_init(&text, RLX_CTL_ANSWER_MAX);
    rlx_text_printf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nAccept: application/json\r\n", method, path,
                    server->endpoint.kind == RLX_RPC_UNIX ? "localhost" : server->endpoint.host);
    if (body != NULL)
        rlx_text_printf(&text, "Content-Type: application/json\r\nContent-Length: %zu\r\n", bytes);
    rlx_text_puts(&text, "\r\n");
    rlx_text_add(&text, body, bytes);
    status = text.full ? rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory") : bytes_send(fd, text.data, text.bytes, server, diag);
    rlx_text_fini(&text);
    return status;
}

static rlx_status_t answer_read(int fd, const rlx_ctl_server_t *server, rlx_text_t *answer, rlx_diag_t *diag)
{
    for (;;) {
        char *room = rlx_text_reserve(answer, 16384);
        ssize_t n;

        if (room == NULL)
            return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the answer of %s is larger than %zu bytes", server->text, RLX_CTL_ANSWER_MAX);
        n = recv(fd, room, 16384, 0);
        if (n > 0)
            rlx_text_commit(answer, (size_t)n);
        else if (n == 0)
            return RLX_OK;
        else if (errno != EAGAIN && errno != EINTR)
            return connect_fail(server, errno, diag);
        else
            RLX_TRY(wait_for(fd, POLLIN, server, diag));
    }
}

/* The value of a header between `head` and `end`, or NULL. */
static const char *header_find(const char *head, const char *end, const char *name)
{
    size_t n = strlen(name);

    for (const char *line = head; (line = memchr(line, '\n', (size_t)(end - line))) != NULL && line + n + 1 < end;)
        if (strncasecmp(++line, name, n) == 0 && line[n] == ':')
            return line + n + 1 + strspn(line + n + 1, " ");
    return NULL;
}

/* Joins the chunks in place; false when they are broken or cut off. */
static bool chunks_join(char *body, size_t *bytes)
{
    char *from = body, *end = body + *bytes, *to = body, *line;

    for (;;) {
        char *after;
        size_t n;

        line = memchr(from, '\n', (size_t)(end - from));
        if (line == NULL)
            return false;
        n = strtoull(from, &after, 16);
        from = line + 1;
        if (n == 0)
            break;
        if (after == from || n > (size_t)(end - from))
            return false;
        memmove(to, from, n);
        to += n;
        from += n + ((size_t)(end - from) >= n + 2 ? 2 : 0);
    }
    *bytes = (size_t)(to - body);
    return true;
}

static rlx_status_t answer_parse(const rlx_ctl_server_t *server, const rlx_text_t *answer, rlx_ctl_reply_t *out_reply, rlx_diag_t *diag)
{
    char *text = answer->data, *body = answer->bytes > 0 ? memmem(text, answer->bytes, "\r\n\r\n", 4) : NULL;
    const char *length, *coding;
    int code = 0;
    size_t bytes;

    if (body == NULL || sscanf(text, "HTTP/1.%*1[01] %3d", &code) != 1) {
        rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "%s does not answer in HTTP", server->text);
        return rlx_diag_hint(diag, "Is it the port of rlxd? A port with TLS is reached by --unix.");
    }
    body += 4;
    bytes = answer->bytes - (size_t)(body - text);
    length = header_find(text, body, "Content-Length");
    coding = header_find(text, body, "Transfer-Encoding");
    if (coding != NULL && strncasecmp(coding, "chunked", 7) == 0 ? !chunks_join(body, &bytes)
                                                                : length != NULL && strtoull(length, NULL, 10) > bytes)
        return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the answer of %s is cut off", server->text);
    out_reply->code = code;
    out_reply->bytes = bytes;
    out_reply->body = strndup(body, bytes);
    return out_reply->body != NULL ? RLX_OK : rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
}

rlx_status_t rlx_ctl_call(const rlx_ctl_server_t *server, const char *method, const char *path, const char *body,
                          rlx_ctl_reply_t *out_reply,
                          rlx_diag_t *diag)
{
    rlx_text_t answer;
    rlx_status_t status;
    int fd = -1;

    RLX_TRY(server->endpoint.kind == RLX_RPC_UNIX ? unix_open(server, &fd, diag) : tcp_open(server, &fd, diag));
    rlx_text_init(&answer, RLX_CTL_ANSWER_MAX);
    status = request_send(fd, server, method, path, body, diag);
    if (status == RLX_OK)
        status = answer_read(fd, server, &answer, diag);
    close(fd);
    if (status == RLX_OK) {
        rlx_text_add(&answer, "", 1); /* a NUL, so that the head can be scanned as text */
        answer.bytes -= !answer.full;
        status = answer_parse(server, &answer, out_reply, diag);
    }
    rlx_text_fini(&answer);
    return status;
}

void rlx_ctl_reply_fini(rlx_ctl_reply_t *reply)
{
    free(reply->body);
    reply->body = NULL;
}
