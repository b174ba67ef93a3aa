/* Copies of bundle files. What is verified is the copy itself, before it takes its place: damage to either file is found, and the stamp left
 * for the copy speaks of bytes that this process has hashed, or copied while a stamp vouched for them. Blocks are shared with the original
 * where the file system can (reflinks), so that a large copy costs neither time nor disk; never by hard links: a change of one file is not a
 * change of the other. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "bundle/format.h"

/* All of `from` into the empty `to`. False: errno says why. */
static bool bytes_copy(int from, int to) { return ioctl(to, FICLONE, from) == 0 || rlx_fd_copy(from, to); }

/* Does a stamp vouch for the open file? Then its bytes were hashed, by this user, and have not changed up to the moment of `out_seen`. */
static bool source_vouched(int from, rlx_bundle_seen_t *out_seen, uint8_t out_digest[RLX_BUNDLE_DIGEST])
{
    rlx_bundle_header_t header;

    if (!rlx_bundle_seen_look(from, out_seen) || !out_seen->owned || pread(from, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return false;
    memcpy(out_digest, header.manifest_digest, RLX_BUNDLE_DIGEST);
    return rlx_bundle_stamp_holds(out_seen, out_digest);
}

/* Opens the copy. It is hashed, unless a stamp vouched for the source, which is the same file with the same times after the copy as before. */
static rlx_status_t copy_open(int from, const char *temporary, const rlx_bundle_seen_t *vouched, const uint8_t *digest, rlx_bundle_t **out_bundle,
                              rlx_diag_t *diag)
{
    unsigned flags = RLX_BUNDLE_NO_STAMP | RLX_BUNDLE_SKIP_CODE;
    rlx_bundle_t *bundle;

    if (vouched != NULL && rlx_bundle_seen_same(from, vouched))
        flags |= RLX_BUNDLE_VOUCHED;
    RLX_TRY(rlx_bundle_open(temporary, flags, &bundle, diag));
    if ((flags & RLX_BUNDLE_VOUCHED) != 0 && memcmp(rlx_bundle_manifest_digest(bundle), digest, RLX_BUNDLE_DIGEST) != 0) {
        rlx_bundle_close(bundle);
        return rlx_fail(diag, RLX_E_BUNDLE_DIGEST, "the copy is another bundle than the one that was looked at");
    }
    *out_bundle = bundle;
    return RLX_OK;
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
    uint8_t digest[RLX_BUNDLE_DIGEST];
    rlx_bundle_t *bundle = NULL;
    rlx_bundle_seen_t seen;
    int fd = -1;
    bool vouched = change == NULL && source_vouched(from, &seen, digest); /* whoever signs hashes */
    rlx_status_t status = copy_make(from, temporary, &fd, diag);

    if (status == RLX_OK)
        status = copy_open(from, temporary, vouched ? &seen : NULL, digest, &bundle, diag);
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
