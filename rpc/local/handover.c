/* Blocking calls on a socket with time-outs: a daemon that does not answer costs its caller HANDOVER_TIMEOUT_MS and no more. */
#include "rpc/local/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define HANDOVER_TIMEOUT_MS 5000
#define MESSAGE_MAX 4095

rlx_status_t rlx_handover_memory(const char *name, uint64_t bytes, int *out_fd, void **out_address, rlx_diag_t *diag)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *address;

    if (fd < 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memfd: %s", strerror(errno));
    if (bytes == 0 || bytes > INT64_MAX || ftruncate(fd, (off_t)bytes) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
        rlx_fail(diag, RLX_E_NO_MEMORY, "no shared memory of %llu bytes: %s", (unsigned long long)bytes, strerror(errno));
        close(fd);
        return diag->status;
    }
    address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED) {
        rlx_fail(diag, RLX_E_NO_MEMORY, "cannot map %llu bytes: %s", (unsigned long long)bytes, strerror(errno));
        close(fd);
        return diag->status;
    }
    *out_fd = fd;
    *out_address = address;
    return RLX_OK;
}

rlx_status_t rlx_handover_connect(const char *path, int *out_socket, rlx_diag_t *diag)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval timeout = {HANDOVER_TIMEOUT_MS / 1000, HANDOVER_TIMEOUT_MS % 1000 * 1000};
    int fd;

    if (strlen(path) >= sizeof address.sun_path)
        return rlx_fail(diag, RLX_E_ENDPOINT, "the path of the memory socket has more than 107 bytes: %.120s", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return rlx_fail(diag, RLX_E_CONNECT, "no socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        rlx_fail(diag, RLX_E_CONNECT, "memory socket %s: %s", path, strerror(errno));
        rlx_diag_hint(diag, "Shared memory needs an rlxd on this machine; give its memory socket if it is not %s.", RLX_HANDOVER_SOCKET);
        close(fd);
        return diag->status;
    }
    *out_socket = fd;
    return RLX_OK;
}

static rlx_status_t socket_failed(rlx_diag_t *diag, ssize_t rc)
{
    return rlx_fail(diag, RLX_E_CONNECT, "memory socket: %s",
                    rc == 0                                   ? "the server closed the connection"
                    : errno == EAGAIN || errno == EWOULDBLOCK ? "no answer in time"
                                                              : strerror(errno));
}

static rlx_status_t request_send(int socket, int op, const char *name, int fd, rlx_diag_t *diag)
{
    rlx_handover_request_t request = {.magic = RLX_HANDOVER_MAGIC, .version = RLX_HANDOVER_VERSION, .op = (uint16_t)op,
                                      .name_bytes = (uint32_t)strlen(name)};
    struct iovec pieces[] = {{&request, sizeof request}, {(void *)name, request.name_bytes}};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    ssize_t rc;

    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        *CMSG_FIRSTHDR(&message) = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &fd, sizeof fd);
    }
    do
        rc = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (rc < 0 && errno == EINTR);
    if (rc < 0)
        return socket_failed(diag, rc);
    if ((size_t)rc != sizeof request + request.name_bytes) /* 271 bytes into an empty buffer */
        return rlx_fail(diag, RLX_E_CONNECT, "memory socket: the request was cut");
    return RLX_OK;
}

static rlx_status_t bytes_receive(int socket, void *to, size_t bytes, rlx_diag_t *diag)
{
    for (size_t have = 0; have < bytes;) {
        ssize_t rc = recv(socket, (char *)to + have, bytes - have, 0);

        if (rc < 0 && errno == EINTR)
            continue;
        if (rc <= 0)
            return socket_failed(diag, rc);
        have += (size_t)rc;
    }
    return RLX_OK;
}

rlx_status_t rlx_handover_call(int socket, int op, const char *name, int fd, rlx_diag_t *diag)
{
    rlx_handover_answer_t answer;
    char message[MESSAGE_MAX + 1], *text = message;
    long code = 0;
    int known;

    if (name[0] == '\0' || strlen(name) > RLX_HANDOVER_NAME_MAX)
        return rlx_fail(diag, RLX_E_REGION_RANGE, "the name of a region has 1 to %d bytes", RLX_HANDOVER_NAME_MAX);
    RLX_TRY(request_send(socket, op, name, fd, diag));
    RLX_TRY(bytes_receive(socket, &answer, sizeof answer, diag));
    if (answer.magic != RLX_HANDOVER_MAGIC || answer.version != RLX_HANDOVER_VERSION || answer.message_bytes > MESSAGE_MAX)
        return rlx_fail(diag, RLX_E_ANSWER_MALFORMED, "the memory socket answers in another protocol");
    RLX_TRY(bytes_receive(socket, message, answer.message_bytes, diag));
    message[answer.message_bytes] = '\0';
    if (answer.status == 0)
        return RLX_OK;
    if (strncmp(message, "RLX-", 4) == 0)
        code = strtol(message + 4, &text, 10);
    known = rlx_error_find((int)code) != NULL;
    return rlx_fail(diag, known ? (rlx_error_code_t)code : RLX_E_REGION_FILE, "%s",
                    known && text[0] == ':' && text[1] == ' ' ? text + 2 : message);
}

bool rlx_handover_alive(int socket)
{
    char byte;
    ssize_t rc = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return rc < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}
