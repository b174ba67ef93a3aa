/* Copies of bundle files. What is verified is the copy itself, before it takes its place: damage to either file is found, and the stamp left
 * for the copy speaks of bytes that this process has hashed. Blocks are shared with the original where the file system can (reflinks), so
 * that a large copy costs neither time nor disk; never by hard links: a change of one file is not a change of the other. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/format.h"

/* All of `from` into the empty `to`. False: errno says why. */
static bool bytes_copy(int from, int to)
{
    struct stat info;
    off_t at = 0;

    if (ioctl(to, FICLONE, from) == 0)
        return true;
    if (fstat(from, &info) != 0)
        return false;
    while (at < info.st_size) {
        ssize_t n = sendfile(to, from, &at, (size_t)(info.st_size - at));

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO; /* cut meanwhile */
        if (n <= 0)
            return false;
    }
    return true;
}

static rlx_status_t copy_make(int from, const char *temporary, int *out_fd, rlx_diag_t *diag)
{
    int fd;

    (void)unlink(temporary); /* a leftover of a killed process with our id */
    fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    *out_fd = fd;
    if (fd < 0 || !bytes_copy(from, fd))
        return rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write %s: %s", temporary, strerror(errno));
    return RLX_OK;
}

/* The verified copy, changed by the caller and opened again: nothing but its header is another. */
static rlx_status_t copy_change(int fd, const char *temporary, rlx_bundle_change_fn_t *change, void *context, rlx_bundle_t **bundle,
                                rlx_diag_t *diag)
{
    RLX_TRY(change(context, fd, diag));
    rlx_bundle_close(*bundle);
    *bundle = NULL;
    return rlx_bundle_open(temporary, RLX_BUNDLE_NO_STAMP | RLX_BUNDLE_SKIP_CODE | RLX_BUNDLE_VOUCHED, bundle, diag);
}

static rlx_status_t copy_place(int from, const char *temporary, const char *to, rlx_bundle_change_fn_t *change, void *context,
                               rlx_bundle_t **out_bundle, rlx_diag_t *diag)
{
    rlx_bundle_t *bundle = NULL;
    int fd = -1;
    rlx_status_t status = copy_make(from, temporary, &fd, diag);

    if (status == RLX_OK)
        status = rlx_bundle_open(temporary, RLX_BUNDLE_NO_STAMP | RLX_BUNDLE_SKIP_CODE, &bundle, diag);
    if (status == RLX_OK && change != NULL)
        status = copy_change(fd, temporary, change, context, &bundle, diag);
    if (status == RLX_OK && rename(temporary, to) != 0)
        status = rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write %s: %s", to, strerror(errno));
    if (status == RLX_OK) {
        rlx_bundle_stamp_written(fd, rlx_bundle_manifest_digest(bundle));
        *out_bundle = bundle;
    } else {
        rlx_bundle_close(bundle);
        (void)unlink(temporary);
    }
    if (fd >= 0)
        close(fd);
    return status;
}

rlx_status_t rlx_bundle_copy(const char *from, const char *to, rlx_bundle_t **out_bundle, rlx_diag_t *diag)
{
    return rlx_bundle_copy_changed(from, to, NULL, NULL, out_bundle, diag);
}

rlx_status_t rlx_bundle_copy_changed(const char *from, const char *to, rlx_bundle_change_fn_t *change, void *context,
                                     rlx_bundle_t **out_bundle, rlx_diag_t *diag)
{
    struct stat info;
    char *temporary;
    rlx_status_t status;
    int fd;

    if (stat(to, &info) == 0 && !S_ISREG(info.st_mode))
        return rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write %s: not a regular file", to);
    fd = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return rlx_fail(diag, RLX_E_FILE_OPEN, "cannot open bundle %s: %s", from, strerror(errno));
    if (asprintf(&temporary, "%s.%ld.part", to, (long)getpid()) < 0) {
        close(fd);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a path");
    }
    status = copy_place(fd, temporary, to, change, context, out_bundle, diag);
    if (status != RLX_OK && diag != NULL && strcmp(diag->where, temporary) == 0)
        snprintf(diag->where, sizeof diag->where, "%.255s", from); /* what is wrong with the copy is wrong with it */
    free(temporary);
    close(fd);
    return status;
}
