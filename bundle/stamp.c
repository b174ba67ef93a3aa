/* Stamps: "this file was fully hashed, and has not changed since". A stamp is a small file under RLX_CACHE_DIR that names device, inode,
 * ctime, size, the digest of the manifest, which covers every segment, and the boot of this machine: what the disk really kept is known only
 * while it was not cut off. It is trusted only when folder and file belong to this user and nobody else may write them.
 *
 * A change later than the look at the file must show in its ctime. File systems take that from the kernel's coarse clock, so it must have
 * ticked since the last change: then any later change has a later ctime. A file system that may count otherwise (a server's clock, whole
 * seconds) must have been at rest for SETTLED_S. All of it is best effort: without a stamp the file is hashed again. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "bundle/format.h"

#define SETTLED_S 2
#define TICK_NS_MAX 10000000 /* of CLOCK_REALTIME_COARSE: 100 Hz at the slowest */
#define BOOT_BYTES 36

typedef struct stamp {
    char magic[8];
    uint64_t device, inode, ctime_s, ctime_ns, bytes;
    uint8_t manifest_digest[RLX_BUNDLE_DIGEST];
    char boot[BOOT_BYTES], zeros[4];
} stamp_t;

_Static_assert(sizeof(stamp_t) == 120, "file format");

/* File systems of this machine whose ctime has the kernel's own resolution. */
static bool fine_grained(int fd, const struct stat *info)
{
    static const uint32_t magics[] = {0xef53 /* ext4 */, 0x58465342 /* xfs */, 0x9123683e /* btrfs */, 0x01021994 /* tmpfs */,
                                      0x794c7630 /* overlay */, 0xf2f52010 /* f2fs */};
    struct statfs fs;

    if (info->st_ctim.tv_nsec % 1000000 == 0 || fstatfs(fd, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if ((uint32_t)fs.f_type == magics[i])
            return true;
    return false;
}

static bool before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

bool rlx_bundle_seen_look(int fd, rlx_bundle_seen_t *out_seen)
{
    struct timespec now;
    struct stat info;

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (fstat(fd, &info) != 0)
        return false;
    *out_seen = (rlx_bundle_seen_t){
        .device = (uint64_t)info.st_dev,
        .inode = (uint64_t)info.st_ino,
        .ctime_s = (uint64_t)info.st_ctim.tv_sec,
        .ctime_ns = (uint64_t)info.st_ctim.tv_nsec,
        .bytes = (uint64_t)info.st_size,
        .settled = info.st_ctim.tv_sec + SETTLED_S < now.tv_sec || (before(&info.st_ctim, &now) && fine_grained(fd, &info)),
        .owned = (info.st_uid == geteuid() || info.st_uid == 0) && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0,
    };
    return true;
}

bool rlx_bundle_seen_same(int fd, const rlx_bundle_seen_t *seen)
{
    rlx_bundle_seen_t now;

    return rlx_bundle_seen_look(fd, &now) && now.device == seen->device && now.inode == seen->inode && now.ctime_s == seen->ctime_s &&
           now.ctime_ns == seen->ctime_ns && now.bytes == seen->bytes;
}

static bool boot_read(char out[BOOT_BYTES])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    bool whole = fd >= 0 && read(fd, out, BOOT_BYTES) == BOOT_BYTES;

    if (fd >= 0)
        close(fd);
    return whole;
}

static bool stamp_make(const rlx_bundle_seen_t *seen, const uint8_t *manifest_digest, stamp_t *out_stamp)
{
    memset(out_stamp, 0, sizeof *out_stamp);
    memcpy(out_stamp->magic, "RLXstmp2", 8);
    out_stamp->device = seen->device;
    out_stamp->inode = seen->inode;
    out_stamp->ctime_s = seen->ctime_s;
    out_stamp->ctime_ns = seen->ctime_ns;
    out_stamp->bytes = seen->bytes;
    memcpy(out_stamp->manifest_digest, manifest_digest, RLX_BUNDLE_DIGEST);
    return boot_read(out_stamp->boot);
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

bool rlx_bundle_stamp_holds(const rlx_bundle_seen_t *seen, const uint8_t *manifest_digest)
{
    stamp_t want, have;
    char name[80];
    int folder = cache_open(), file = -1;
    bool holds = false;

    if (folder >= 0 && stamp_make(seen, manifest_digest, &want)) {
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

void rlx_bundle_stamp_leave(int fd, const rlx_bundle_seen_t *seen, const uint8_t *manifest_digest)
{
    stamp_t stamp;
    char name[80], partial[112];
    int folder, file;

    if (!seen->settled || !rlx_bundle_seen_same(fd, seen) || (folder = cache_open()) < 0)
        return;
    if (stamp_make(seen, manifest_digest, &stamp)) {
        stamp_name(&stamp, name);
        snprintf(partial, sizeof partial, "%s.%d.tmp", name, (int)getpid());
        file = openat(folder, partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file >= 0) {
            bool written = rlx_fd_write(file, &stamp, sizeof stamp);

            close(file);
            if (!written || renameat(folder, partial, folder, name) != 0)
                unlinkat(folder, partial, 0);
        }
    }
    close(folder);
}

void rlx_bundle_stamp_written(int fd, const uint8_t *manifest_digest)
{
    const char *cache = getenv("RLX_CACHE_DIR");
    rlx_bundle_seen_t written, settled;
    struct timespec tick = {0, TICK_NS_MAX / 8};

    if (cache == NULL || cache[0] == '\0' || !rlx_bundle_seen_look(fd, &written) || !written.owned)
        return;
    settled = written;
    for (int waits = 0; waits < 16 && !settled.settled; waits++) {
        nanosleep(&tick, NULL);
        if (!rlx_bundle_seen_look(fd, &settled))
            return;
    }
    settled.ctime_s = written.ctime_s;
    settled.ctime_ns = written.ctime_ns;
    rlx_bundle_stamp_leave(fd, &settled, manifest_digest);
}
