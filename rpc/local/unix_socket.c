/* Two programs that start at the same moment on one path: both may find the stale file, one binds, the other is told that it is in use. */
#include "rpc/local/unix_socket.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024

static bool is_socket(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 && S_ISSOCK(info.st_mode);
}

static bool is_stale(const struct sockaddr_un *address)
{
    bool stale;
    int fd;

    if (!is_socket(address->sun_path))
        return false;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    stale = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return stale;
}

static rlx_status_t listen_fail(const char *path, int error, rlx_diag_t *diag)
{
    bool socket = is_socket(path);

    rlx_fail(diag, RLX_E_LISTEN, "cannot listen on unix:%s: %s", path,
             error != EADDRINUSE ? strerror(error) : socket ? "another program listens there" : "a file that is no socket is in the way");
    if (error == EADDRINUSE)
        return rlx_diag_hint(diag, socket ? "Stop it (`ss -lxp` tells which), or configure another path."
                                          : "Move the file away, or configure another path.");
    return rlx_diag_hint(diag, "Make the folder, and let this user write it; or configure another path.");
}

rlx_status_t rlx_unix_listen(const char *path, int *out_fd, rlx_diag_t *diag)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd, error;

    if (strlen(path) >= sizeof address.sun_path)
        return rlx_fail(diag, RLX_E_LISTEN, "the path of a Unix socket has at most %zu bytes, this one %zu: '%.200s'",
                        sizeof address.sun_path - 1, strlen(path), path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (is_stale(&address))
        unlink(path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen(fd, BACKLOG) == 0) {
        *out_fd = fd;
        return RLX_OK;
    }
    error = errno;
    if (fd >= 0)
        close(fd);
    return listen_fail(path, error, diag);
}
