/* sd_notify by hand: one connected datagram socket. */
#include "daemon/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int socket_open(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    int fd;

    if ((path[0] != '/' && path[0] != '@') || n >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, path, n);
    if (path[0] == '@') /* an abstract name */
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, bytes) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* 0 where the watchdog is off or meant for another process. */
static uint64_t watchdog_read(void)
{
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

    if (us == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
        return 0;
    return strtoull(us, NULL, 10);
}

void rlx_notify_init(rlx_notify_t *out_notify)
{
    const char *path = getenv("NOTIFY_SOCKET");

    memset(out_notify, 0, sizeof *out_notify);
    out_notify->fd = path != NULL ? socket_open(path) : -1;
    out_notify->watchdog_us = out_notify->fd >= 0 ? watchdog_read() : 0;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void rlx_notify_fini(rlx_notify_t *notify)
{
    if (notify->fd >= 0)
        close(notify->fd);
    notify->fd = -1;
}

/* True when it is sent, or never will be. */
static bool text_send(const rlx_notify_t *notify, const char *text)
{
    return send(notify->fd, text, strlen(text), MSG_NOSIGNAL) >= 0 || (errno != EAGAIN && errno != ENOBUFS && errno != EINTR);
}

bool rlx_notify_retry(rlx_notify_t *notify)
{
    int sent = 0;

    while (sent < notify->n_waiting && text_send(notify, notify->waiting[sent]))
        sent++;
    notify->n_waiting -= sent;
    memmove(notify->waiting[0], notify->waiting[sent], (size_t)notify->n_waiting * sizeof notify->waiting[0]);
    return notify->n_waiting > 0;
}

void rlx_notify_state(rlx_notify_t *notify, const char *format, ...)
{
    va_list args;

    if (notify->fd < 0)
        return;
    if (notify->n_waiting == RLX_NOTIFY_WAITING_MAX)
        memmove(notify->waiting[0], notify->waiting[1], (size_t)--notify->n_waiting * sizeof notify->waiting[0]);
    va_start(args, format);
    vsnprintf(notify->waiting[notify->n_waiting++], RLX_NOTIFY_BYTES, format, args);
    va_end(args);
    (void)rlx_notify_retry(notify);
}

void rlx_notify_hint(rlx_notify_t *notify, const char *format, ...)
{
    char text[RLX_NOTIFY_BYTES];
    va_list args;

    if (notify->fd < 0 || rlx_notify_retry(notify)) /* never before a state that waits */
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)text_send(notify, text);
}
