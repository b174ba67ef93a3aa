/* openat2 with RESOLVE_BENEATH and NO_SYMLINKS, or the same walked by hand on kernels without it. */
#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static rlx_status_t location_check(const char *location, rlx_error_code_t code, const char *what, rlx_diag_t *diag)
{
    if (location == NULL || location[0] == '\0')
        return rlx_fail(diag, code, "%s without a location", what);
    if (location[0] == '/' || strchr(location, '\\') != NULL)
        return rlx_fail(diag, code, "%s location '%s' is not relative to the model's folder", what, location);
    for (const char *part = location; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return rlx_fail(diag, code, "%s location '%s' leaves the model's folder", what, location);
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

rlx_status_t rlx_beneath_open(int dir_fd, const char *location, rlx_error_code_t code, const char *what, int *out_fd, uint64_t *out_bytes,
                              rlx_diag_t *diag)
{
    struct stat st;
    int fd;

    RLX_TRY(location_check(location, code, what, diag));
    fd = beneath_open(dir_fd, location);
    if (fd < 0)
        return rlx_fail(diag, code, "%s '%s' cannot be opened below the model's folder: %s", what, location, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        rlx_fail(diag, code, "%s '%s' is no regular file", what, location);
    else if (st.st_nlink != 1)
        rlx_fail(diag, code, "%s '%s' has %lu names (hard links)", what, location, (unsigned long)st.st_nlink);
    else {
        *out_fd = fd;
        *out_bytes = (uint64_t)st.st_size;
        return RLX_OK;
    }
    close(fd);
    return diag != NULL ? diag->status : RLX_INVALID_ARGUMENT;
}

rlx_status_t rlx_beneath_read(int fd, uint64_t offset, void *out, size_t bytes, rlx_error_code_t code, const char *what, rlx_diag_t *diag)
{
    char *to = out;

    while (bytes > 0) {
        ssize_t n = pread(fd, to, bytes < (1u << 30) ? bytes : 1u << 30, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return rlx_fail(diag, code, "%s cannot be read: %s", what, n < 0 ? strerror(errno) : "it ends early");
        to += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return RLX_OK;
}
