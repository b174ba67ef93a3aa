/* External data: files beside the model. A location is relative, stays below the model's folder and passes through no link: openat2 with
 * RESOLVE_BENEATH and NO_SYMLINKS, or the same walked by hand on kernels without it. Only regular files with one name are read (a hard
 * link could stand for a file elsewhere). */
#include "ir/onnx/model.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static rlx_status_t location_check(const char *location, rlx_diag_t *diag)
{
    if (location == NULL || location[0] == '\0')
        return rlx_fail(diag, RLX_E_ONNX_EXTERNAL, "external data without a location");
    if (location[0] == '/' || strchr(location, '\\') != NULL)
        return rlx_fail(diag, RLX_E_ONNX_EXTERNAL, "external data location '%s' is not relative to the model's folder", location);
    for (const char *part = location; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return rlx_fail(diag, RLX_E_ONNX_EXTERNAL, "external data location '%s' leaves the model's folder", location);
    }
    return RLX_OK;
}

/* One component at a time, none of which may be a link. `location` has no ".." (location_check). */
static int walk_open(int dir_fd, const char *location)
{
    char part[256];
    int fd = dup(dir_fd);

    while (fd >= 0) {
        size_t n = strcspn(location, "/");
        bool last = location[n] == '\0';
        int next;

        if (n >= sizeof part) {
            close(fd);
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(part, location, n);
        part[n] = '\0';
        next = openat(fd, n == 0 ? "." : part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (last ? 0 : O_DIRECTORY));
        close(fd);
        fd = next;
        if (last)
            break;
        location += n + 1;
    }
    return fd;
}

static int beneath_open(int dir_fd, const char *location)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    long fd = syscall(SYS_openat2, dir_fd, location, &how, sizeof how);

    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return (int)fd;
    return walk_open(dir_fd, location);
}

static rlx_status_t file_check(int fd, const char *location, uint64_t offset, size_t bytes, rlx_diag_t *diag)
{
    struct stat st;
    uint64_t end;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return rlx_fail(diag, RLX_E_ONNX_EXTERNAL, "external data '%s' is no regular file", location);
    if (st.st_nlink != 1)
        return rlx_fail(diag, RLX_E_ONNX_EXTERNAL, "external data '%s' has %lu names (hard links)", location, (unsigned long)st.st_nlink);
    if (__builtin_add_overflow(offset, (uint64_t)bytes, &end) || end > (uint64_t)st.st_size)
        return rlx_fail(diag, RLX_E_ONNX_EXTERNAL, "external data '%s' has %lld bytes; offset %llu and length %zu reach past its end",
                        location, (long long)st.st_size, (unsigned long long)offset, bytes);
    return RLX_OK;
}

static rlx_status_t file_read(int fd, const char *location, uint64_t offset, char *out, size_t bytes, rlx_diag_t *diag)
{
    while (bytes > 0) {
        ssize_t n = pread(fd, out, bytes < (1u << 30) ? bytes : 1u << 30, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return rlx_fail(diag, RLX_E_ONNX_EXTERNAL, "external data '%s' cannot be read: %s", location,
                            n < 0 ? strerror(errno) : "it ends early");
        out += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return RLX_OK;
}

rlx_status_t rlx_onnx_external_read(int dir_fd, const char *location, uint64_t offset, void *out, size_t bytes, rlx_diag_t *diag)
{
    rlx_status_t status;
    int fd;

    if (dir_fd < 0)
        return rlx_fail(diag, RLX_E_ONNX_EXTERNAL, "the model has external data, and no folder to read it from");
    RLX_TRY(location_check(location, diag));
    fd = beneath_open(dir_fd, location);
    if (fd < 0)
        return rlx_fail(diag, RLX_E_ONNX_EXTERNAL, "external data '%s' cannot be opened below the model's folder: %s", location,
                        strerror(errno));
    status = file_check(fd, location, offset, bytes, diag);
    if (status == RLX_OK)
        status = file_read(fd, location, offset, out, bytes, diag);
    close(fd);
    return status;
}
