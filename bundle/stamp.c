/* Stamps: "this file was fully hashed, and has not changed since". A stamp is a small file under RLX_CACHE_DIR that names device, inode,
 * ctime, size and the digest of the manifest, which covers every segment. It is trusted only when folder and file belong to this user and
 * nobody else may write them. A file that changed less than two seconds before it was hashed gets none: its ctime could not tell a later
 * change apart. All of it is best effort: without a stamp the file is hashed again. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "bundle/format.h"

#define SETTLED_S 2

typedef struct stamp {
    char magic[8];
    uint64_t device, inode, ctime_s, ctime_ns, bytes;
    uint8_t manifest_digest[RLX_BUNDLE_DIGEST];
} stamp_t;

_Static_assert(sizeof(stamp_t) == 80, "file format");

static bool stamp_make(int fd, const uint8_t *manifest_digest, stamp_t *out_stamp)
{
    struct stat info;

    if (fstat(fd, &info) != 0)
        return false;
    memset(out_stamp, 0, sizeof *out_stamp);
    memcpy(out_stamp->magic, "RLXstmp1", 8);
    out_stamp->device = (uint64_t)info.st_dev;
    out_stamp->inode = (uint64_t)info.st_ino;
    out_stamp->ctime_s = (uint64_t)info.st_ctim.tv_sec;
    out_stamp->ctime_ns = (uint64_t)info.st_ctim.tv_nsec;
    out_stamp->bytes = (uint64_t)info.st_size;
    memcpy(out_stamp->manifest_digest, manifest_digest, RLX_BUNDLE_DIGEST);
    return true;
}

static bool ours_alone(int fd)
{
    struct stat info;

    return fstat(fd, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The cache folder, made if need be; -1 when there is none to trust. */
static int cache_open(void)
{
    const char *path = getenv("RLX_CACHE_DIR");
    int fd;

    if (path == NULL || path[0] == '\0')
        return -1;
    mkdir(path, 0700); /* it may exist */
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && !ours_alone(fd)) {
        close(fd);
        return -1;
    }
    return fd;
}

static void stamp_name(const stamp_t *stamp, char out_name[80])
{
    uint8_t digest[RLX_BUNDLE_DIGEST];

    rlx_digest_blake2b(stamp, sizeof *stamp, digest);
    memcpy(out_name, "stamp-", 6);
    rlx_digest_hex(digest, 16, out_name + 6);
}

bool rlx_bundle_stamp_holds(int fd, const uint8_t *manifest_digest)
{
    stamp_t want, have;
    char name[80];
    int folder = cache_open(), file = -1;
    bool holds = false;

    if (folder >= 0 && stamp_make(fd, manifest_digest, &want)) {
        stamp_name(&want, name);
        file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        holds = file >= 0 && ours_alone(file) && read(file, &have, sizeof have) == (ssize_t)sizeof have &&
                memcmp(&want, &have, sizeof want) == 0;
    }
    if (file >= 0)
        close(file);
    if (folder >= 0)
        close(folder);
    return holds;
}

void rlx_bundle_stamp_leave(int fd, const uint8_t *manifest_digest)
{
    stamp_t stamp;
    char name[80], partial[112];
    struct timespec now;
    int folder = cache_open(), file;

    if (folder < 0)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    if (stamp_make(fd, manifest_digest, &stamp) && (int64_t)stamp.ctime_s + SETTLED_S < (int64_t)now.tv_sec) {
        stamp_name(&stamp, name);
        snprintf(partial, sizeof partial, "%s.%d.tmp", name, (int)getpid());
        file = openat(folder, partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file >= 0) {
            bool written = write(file, &stamp, sizeof stamp) == (ssize_t)sizeof stamp;

            close(file);
            if (!written || renameat(folder, partial, folder, name) != 0)
                unlinkat(folder, partial, 0);
        }
    }
    close(folder);
}
