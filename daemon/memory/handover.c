/* The server's side of the hand-over. Descriptors come by our own recvmsg (libuv 1.44 leaks them on its error paths): every one that is
 * received is either moved into a region or closed, on all paths. */
#include "daemon/memory/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "rpc/local/handover.h"
#include "rpc/local/unix_socket.h"

#define FDS_MAX 4          /* room in the control buffer: more than one is an error anyway, the kernel closes what does not fit */
#define REQUESTS_PER_TURN 16
#define REGIONS_PER_OWNER (RLX_REGIONS_MAX / 2)
#define SWEEP_MS 2500
#define BACK_OFF_MS 100    /* when there are no descriptors left: the listener rests, it would be ready all the time */

typedef struct connection {
    struct connection *next, *previous;
    rlx_handover_t *handover;
    uv_poll_t poll;
    int fd;
    uint64_t owner, progress_ns; /* when its last whole request came */
    int n_regions;
    /* The request under way. */
    char bytes[sizeof(rlx_handover_request_t) + RLX_HANDOVER_NAME_MAX];
    size_t have;
    int memfd, n_fds; /* memfd: -1 or the first of n_fds received */
} connection_t;

struct rlx_handover {
    uv_loop_t *loop;
    rlx_regions_t *regions;
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    int fd;
    uv_poll_t listener;
    uv_timer_t sweep, back_off;
    connection_t *connections;
    int n_connections;  /* open or closing */
    int handles;        /* of the hand-over itself, while it closes */
    uint64_t owners;
    rlx_handover_counters_t counters;
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

static void close_end(rlx_handover_t *handover)
{
    if (!handover->closing || handover->n_connections > 0 || handover->handles > 0)
        return;
    handover->closed(handover->closed_context);
    free(handover);
}

static void on_connection_closed(uv_handle_t *handle)
{
    connection_t *connection = handle->data;
    rlx_handover_t *handover = connection->handover;

    close(connection->fd);
    free(connection);
    handover->n_connections--;
    close_end(handover);
}

static void connection_close(connection_t *connection)
{
    rlx_handover_t *handover = connection->handover;

    if (uv_is_closing((uv_handle_t *)&connection->poll))
        return;
    if (connection->memfd >= 0)
        close(connection->memfd);
    connection->memfd = -1;
    rlx_regions_remove_owner(handover->regions, connection->owner);
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    if (connection->previous != NULL)
        connection->previous->next = connection->next;
    else
        handover->connections = connection->next;
    uv_close((uv_handle_t *)&connection->poll, on_connection_closed);
}

/* Sends the outcome; false: the client does not read. */
static bool answer_send(connection_t *connection, rlx_status_t status, const rlx_diag_t *diag)
{
    char bytes[sizeof(rlx_handover_answer_t) + sizeof diag->message + 16];
    char *text = bytes + sizeof(rlx_handover_answer_t);
    rlx_handover_answer_t answer = {.magic = RLX_HANDOVER_MAGIC, .version = RLX_HANDOVER_VERSION, .status = (uint16_t)status};
    size_t total;

    if (status != RLX_OK)
        answer.message_bytes = (uint32_t)snprintf(text, sizeof bytes - sizeof answer, "RLX-%d: %s", (int)diag->code, diag->message);
    memcpy(bytes, &answer, sizeof answer);
    total = sizeof answer + answer.message_bytes;
    return send(connection->fd, bytes, total, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)total;
}

static rlx_status_t request_do(connection_t *connection, int op, const char *name, rlx_diag_t *diag)
{
    rlx_handover_t *handover = connection->handover;
    int memfd = connection->memfd;
    rlx_status_t status;

    connection->memfd = -1;
    if (op == RLX_HANDOVER_RELEASE) {
        status = rlx_regions_remove_owned(handover->regions, name, connection->owner, diag);
        connection->n_regions -= status == RLX_OK;
        handover->counters.released += status == RLX_OK;
        return status;
    }
    if (connection->n_regions >= REGIONS_PER_OWNER) {
        close(memfd);
        return rlx_fail(diag, RLX_E_SERVER_MEMORY, "this connection has handed over %d regions, no more can be", REGIONS_PER_OWNER);
    }
    status = rlx_regions_add_memfd(handover->regions, name, memfd, connection->owner, diag);
    connection->n_regions += status == RLX_OK;
    handover->counters.handed_over += status == RLX_OK;
    return status;
}

/* How many bytes the request has in all, as far as that is known; 0: it is malformed. */
static size_t request_bytes(const connection_t *connection)
{
    rlx_handover_request_t request;

    if (connection->have < sizeof request)
        return sizeof request;
    memcpy(&request, connection->bytes, sizeof request);
    if (request.magic != RLX_HANDOVER_MAGIC || request.version != RLX_HANDOVER_VERSION || request.reserved != 0 ||
        (request.op != RLX_HANDOVER_GIVE && request.op != RLX_HANDOVER_RELEASE) || request.name_bytes < 1 ||
        request.name_bytes > RLX_HANDOVER_NAME_MAX)
        return 0;
    return sizeof request + request.name_bytes;
}

/* A whole request. False: malformed, or its answer cannot be sent. */
static bool request_serve(connection_t *connection)
{
    rlx_handover_counters_t *counters = &connection->handover->counters;
    rlx_handover_request_t request;
    char name[RLX_HANDOVER_NAME_MAX + 1];
    rlx_diag_t diag = {0};
    rlx_status_t status;

    memcpy(&request, connection->bytes, sizeof request);
    memcpy(name, connection->bytes + sizeof request, request.name_bytes);
    name[request.name_bytes] = '\0';
    if (strlen(name) != request.name_bytes || connection->n_fds != (request.op == RLX_HANDOVER_GIVE)) {
        counters->malformed++;
        return false;
    }
    status = request_do(connection, request.op, name, &diag);
    counters->denied += status != RLX_OK;
    connection->have = 0;
    connection->n_fds = 0;
    connection->progress_ns = rlx_clock_ns();
    if (answer_send(connection, status, &diag))
        return true;
    counters->unread++;
    return false;
}

/* Keeps the first descriptor of a request, closes any other. */
static void descriptors_take(connection_t *connection, struct msghdr *message)
{
    for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control != NULL; control = CMSG_NXTHDR(message, control)) {
        if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; at + sizeof(int) <= control->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int fd;

            memcpy(&fd, CMSG_DATA(control) + at, sizeof fd);
            if (connection->n_fds++ == 0)
                connection->memfd = fd;
            else
                close(fd);
        }
    }
    if (message->msg_flags & MSG_CTRUNC)
        connection->n_fds = FDS_MAX + 1; /* some were dropped: surely too many */
}

/* Reads at most what the request under way still needs. 1: some bytes; 0: none now; -1: over. */
static int request_read(connection_t *connection, size_t wanted)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control;
    struct iovec piece = {connection->bytes + connection->have, wanted - connection->have};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(connection->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
    descriptors_take(connection, &message);
    connection->have += (size_t)n;
    return n > 0 ? 1 : -1;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    connection_t *connection = poll->data;
    int served = 0;

    (void)events;
    while (status == 0 && served < REQUESTS_PER_TURN) {
        size_t wanted = request_bytes(connection);
        int got;

        if (wanted == 0) {
            connection->handover->counters.malformed++;
            break;
        }
        if (connection->have == wanted) {
            if (!request_serve(connection))
                break;
            served++;
            continue;
        }
        got = request_read(connection, wanted);
        if (got == 0)
            return;
        if (got < 0)
            break;
    }
    if (served < REQUESTS_PER_TURN)
        connection_close(connection);
}

static void connection_open(rlx_handover_t *handover, int fd)
{
    connection_t *connection = handover->n_connections < RLX_HANDOVER_CONNECTIONS_MAX ? calloc(1, sizeof *connection) : NULL;

    if (connection == NULL || uv_poll_init(handover->loop, &connection->poll, fd) != 0) {
        handover->counters.refused++;
        free(connection);
        close(fd);
        return;
    }
    handover->counters.accepted++;
    handover->n_connections++;
    connection->handover = handover;
    connection->fd = fd;
    connection->memfd = -1;
    connection->owner = ++handover->owners;
    connection->progress_ns = rlx_clock_ns();
    connection->poll.data = connection;
    connection->next = handover->connections;
    if (connection->next != NULL)
        connection->next->previous = connection;
    handover->connections = connection;
    uv_poll_start(&connection->poll, UV_READABLE, on_readable);
}

static void on_acceptable(uv_poll_t *poll, int status, int events);

static void on_back_off(uv_timer_t *timer)
{
    rlx_handover_t *handover = timer->data;

    uv_poll_start(&handover->listener, UV_READABLE, on_acceptable);
}

static void on_acceptable(uv_poll_t *poll, int status, int events)
{
    rlx_handover_t *handover = poll->data;

    (void)events;
    for (int i = 0; status == 0 && i < REQUESTS_PER_TURN; i++) {
        int fd = accept4(handover->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            connection_open(handover, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            handover->counters.refused++;
            uv_poll_stop(&handover->listener);
            uv_timer_start(&handover->back_off, on_back_off, BACK_OFF_MS, 0);
        }
        return;
    }
}

static void on_sweep(uv_timer_t *timer)
{
    rlx_handover_t *handover = timer->data;
    uint64_t now = rlx_clock_ns();

    for (connection_t *connection = handover->connections, *next; connection != NULL; connection = next) {
        next = connection->next;
        if ((connection->n_regions > 0 && connection->have == 0) ||
            now - connection->progress_ns < (uint64_t)RLX_HANDOVER_IDLE_MS * 1000000)
            continue;
        handover->counters.idle++;
        connection_close(connection);
    }
}

rlx_status_t rlx_handover_create(uv_loop_t *loop, rlx_regions_t *regions, const char *path, rlx_handover_t **out_handover, rlx_diag_t *diag)
{
    rlx_handover_t *handover = calloc(1, sizeof *handover);
    rlx_status_t status;

    if (handover == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the hand-over");
    handover->loop = loop;
    handover->regions = regions;
    status = rlx_unix_listen(path, &handover->fd, diag);
    if (status == RLX_OK && uv_poll_init(loop, &handover->listener, handover->fd) != 0) {
        close(handover->fd);
        status = rlx_fail(diag, RLX_E_LISTEN, "the event loop takes no more handles");
    }
    if (status != RLX_OK) {
        free(handover);
        return status;
    }
    snprintf(handover->path, sizeof handover->path, "%s", path);
    uv_timer_init(loop, &handover->sweep);
    uv_timer_init(loop, &handover->back_off);
    handover->listener.data = handover->sweep.data = handover->back_off.data = handover;
    uv_timer_start(&handover->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
    uv_poll_start(&handover->listener, UV_READABLE, on_acceptable);
    uv_unref((uv_handle_t *)&handover->sweep);
    *out_handover = handover;
    return RLX_OK;
}

const rlx_handover_counters_t *rlx_handover_counters(const rlx_handover_t *handover) { return &handover->counters; }

static void on_closed(uv_handle_t *handle)
{
    rlx_handover_t *handover = handle->data;

    if (handle == (uv_handle_t *)&handover->listener)
        close(handover->fd);
    handover->handles--;
    close_end(handover);
}

void rlx_handover_close(rlx_handover_t *handover, void (*done)(void *context), void *context)
{
    RLX_ASSERT(!handover->closing);
    handover->closing = true;
    handover->closed = done;
    handover->closed_context = context;
    handover->handles = 3;
    unlink(handover->path);
    while (handover->connections != NULL)
        connection_close(handover->connections);
    uv_close((uv_handle_t *)&handover->listener, on_closed);
    uv_close((uv_handle_t *)&handover->sweep, on_closed);
    uv_close((uv_handle_t *)&handover->back_off, on_closed);
}
