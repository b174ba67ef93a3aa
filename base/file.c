/* Whole files by plain system calls. Every failure names path and reason; nothing is left behind after one. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/block.h"

#define FILE_WRITE_MAX ((size_t)1 << 30) /* one write call */
#define FILE_PIECE ((size_t)2 << 20)     /* of a copy: a huge page */
#define FILE_RUNS_MAX 64                 /* parts in one call */

static const uint64_t file_empty;

static rlx_status_t open_failed(const char *path, rlx_diag_t *diag)
{
    return rlx_fail(diag, RLX_E_FILE_OPEN, "cannot open %s: %s", path, strerror(errno));
}

rlx_status_t rlx_file_map(const char *path, rlx_bytes_t *out_file, rlx_diag_t *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    void *data = NULL;
    rlx_status_t status = RLX_OK;

    if (fd < 0)
        return open_failed(path, diag);
    if (fstat(fd, &info) != 0)
        status = open_failed(path, diag);
    else if (!S_ISREG(info.st_mode))
        status = rlx_fail(diag, RLX_E_FILE_OPEN, "cannot open %s: not a regular file", path);
    else if (info.st_size > 0 && (data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
        status = rlx_fail(diag, RLX_E_FILE_OPEN, "cannot map %s: %s", path, strerror(errno));
    close(fd);
    if (status == RLX_OK)
        *out_file = (rlx_bytes_t){data != NULL ? data : &file_empty, (size_t)info.st_size};
    return status;
}

void rlx_file_unmap(rlx_bytes_t *file)
{
    if (file->bytes > 0)
        munmap((void *)file->data, file->bytes);
    *file = (rlx_bytes_t){0};
}

/* Reads `fd` to its end into *data, which grows from `capacity` bytes and is freed by the caller on failure too. */
static rlx_status_t file_drain(int fd, const char *path, size_t capacity, size_t bytes_max, char **data, size_t *out_bytes,
                               rlx_diag_t *diag)
{
    size_t used = 0;

    for (;;) {
        char *grown = *data;
        ssize_t n;

        if (grown == NULL || used + 1 >= capacity) {
            capacity += used;
            grown = *data == NULL ? rlx_block_alloc(capacity) : realloc(*data, capacity);
        }
        if (grown == NULL)
            return rlx_fail(diag, RLX_E_NO_MEMORY, "cannot allocate %zu bytes to read %s", capacity, path);
        *data = grown;
        n = read(fd, grown + used, capacity - used - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return rlx_fail(diag, RLX_E_FILE_OPEN, "cannot read %s: %s", path, strerror(errno));
        if (n == 0)
            break;
        used += (size_t)n;
        if (used > bytes_max)
            return rlx_fail(diag, RLX_E_NO_MEMORY, "%s is larger than the limit of %zu bytes", path, bytes_max);
    }
    (*data)[used] = '\0';
    *out_bytes = used;
    return RLX_OK;
}

rlx_status_t rlx_file_read(const char *path, size_t bytes_max, void **out_data, size_t *out_bytes, rlx_diag_t *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    char *data = NULL;
    rlx_status_t status;

    if (fd < 0)
        return open_failed(path, diag);
    if (fstat(fd, &info) != 0)
        status = open_failed(path, diag);
    else if (S_ISDIR(info.st_mode))
        status = rlx_fail(diag, RLX_E_FILE_OPEN, "cannot read %s: it is a folder", path);
    else if ((uint64_t)info.st_size > bytes_max)
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "%s is larger than the limit of %zu bytes", path, bytes_max);
    else
        status = file_drain(fd, path, (size_t)info.st_size + 4096, bytes_max, &data, out_bytes, diag);
    close(fd);
    if (status != RLX_OK) {
        free(data);
        return status;
    }
    *out_data = data;
    return RLX_OK;
}

bool rlx_fd_write(int fd, const void *data, size_t bytes)
{
    const char *at = data;

    while (bytes > 0) {
        ssize_t n = write(fd, at, bytes < FILE_WRITE_MAX ? bytes : FILE_WRITE_MAX);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Up to FILE_PIECE bytes; fewer at the file's end only. -1: errno says why. */
static ssize_t piece_read(int fd, char *piece, off_t at)
{
    size_t filled = 0;
    ssize_t n;

    while (filled < FILE_PIECE && (n = pread(fd, piece + filled, FILE_PIECE - filled, at + (off_t)filled)) != 0) {
        if (n < 0 && errno != EINTR)
            return -1;
        filled += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)filled;
}

bool rlx_fd_copy(int from, int to)
{
    char *piece = malloc(FILE_PIECE);
    ssize_t n = piece != NULL ? (ssize_t)FILE_PIECE : -1;

    for (off_t at = 0; n == (ssize_t)FILE_PIECE; at += n) {
        n = piece_read(from, piece, at);
        if (n > 0 && !rlx_fd_write(to, piece, (size_t)n))
            n = -1;
    }
    free(piece);
    return n >= 0;
}

/* Many parts by one call: the system then takes whole huge pages of the file at once, wherever parts meet, and keeps it so in its cache. */
static bool parts_write(int fd, const rlx_bytes_t *parts, int n_parts)
{
    struct iovec runs[FILE_RUNS_MAX];
    size_t done = 0; /* of parts[first] */

    for (int first = 0; first < n_parts;) {
        int n = n_parts - first < FILE_RUNS_MAX ? n_parts - first : FILE_RUNS_MAX;
        ssize_t written;

        for (int i = 0; i < n; i++)
            runs[i] = (struct iovec){(void *)(uintptr_t)parts[first + i].data, parts[first + i].bytes};
        runs[0].iov_base = (char *)runs[0].iov_base + done;
        runs[0].iov_len -= done;
        written = writev(fd, runs, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        done += (size_t)written;
        while (first < n_parts && done >= parts[first].bytes)
            done -= parts[first++].bytes;
    }
    return true;
}

/* The descriptor, or -1: errno says why. */
static int file_write_in_place(const char *path, const rlx_bytes_t *parts, int n_parts)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), saved;

    if (fd < 0 || parts_write(fd, parts, n_parts))
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int file_replace(const char *path, const rlx_bytes_t *parts, int n_parts)
{
    char *temporary = NULL;
    int fd, saved;

    if (asprintf(&temporary, "%s.%ld.part", path, (long)getpid()) < 0)
        return -1;
    (void)unlink(temporary); /* a leftover of a killed process with our id */
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 && (!parts_write(fd, parts, n_parts) || rename(temporary, path) != 0)) {
        saved = errno;
        close(fd);
        (void)unlink(temporary);
        errno = saved;
        fd = -1;
    }
    saved = errno;
    free(temporary);
    errno = saved;
    return fd;
}

rlx_status_t rlx_file_write_open(const char *path, const rlx_bytes_t *parts, int n_parts, int *out_fd, rlx_diag_t *diag)
{
    struct stat info;
    bool special = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    int fd = special ? file_write_in_place(path, parts, n_parts) : file_replace(path, parts, n_parts);

    if (fd < 0)
        return rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write %s: %s", path, strerror(errno));
    *out_fd = fd;
    return RLX_OK;
}

rlx_status_t rlx_file_write_parts(const char *path, const rlx_bytes_t *parts, int n_parts, rlx_diag_t *diag)
{
    int fd;

    RLX_TRY(rlx_file_write_open(path, parts, n_parts, &fd, diag));
    if (close(fd) != 0) /* some network file systems tell only now */
        return rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write %s: %s", path, strerror(errno));
    return RLX_OK;
}

rlx_status_t rlx_file_write(const char *path, const void *data, size_t bytes, rlx_diag_t *diag)
{
    rlx_bytes_t part = {data, bytes};

    return rlx_file_write_parts(path, &part, 1, diag);
}
