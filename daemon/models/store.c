/* Trust: DIGEST.ok and from-ID are believed since only this user can write the folder. A source that changed only just before it was read
 * gets no from-ID: its ctime could not tell a later change apart. Our own copy gets its stamp at once: nobody changes it. */
#include "daemon/models/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"

#define NS_PER_S INT64_C(1000000000)
#define SETTLED_COARSE_NS (2 * NS_PER_S)     /* file systems that count seconds */
#define SETTLED_FINE_NS (NS_PER_S / 10)      /* those that count the clock's ticks */
#define HEX (2 * RLX_BUNDLE_DIGEST)

struct rlx_store {
    int folder;
    char path[4096];
};

typedef struct stamp {
    char magic[8];
    uint64_t device, inode, ctime_s, ctime_ns, mtime_s, mtime_ns, bytes;
} stamp_t;

static stamp_t stamp_of(const struct stat *info)
{
    stamp_t stamp = {.magic = "RLXstor1", .device = (uint64_t)info->st_dev, .inode = (uint64_t)info->st_ino,
                     .ctime_s = (uint64_t)info->st_ctim.tv_sec, .ctime_ns = (uint64_t)info->st_ctim.tv_nsec,
                     .mtime_s = (uint64_t)info->st_mtim.tv_sec, .mtime_ns = (uint64_t)info->st_mtim.tv_nsec,
                     .bytes = (uint64_t)info->st_size};

    return stamp;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    stamp_t one = stamp_of(a), other = stamp_of(b);

    return memcmp(&one, &other, sizeof one) == 0;
}

static rlx_status_t folder_take(rlx_store_t *store, rlx_diag_t *diag)
{
    struct stat info;

    if (mkdir(store->path, 0700) != 0 && errno != EEXIST)
        return rlx_fail(diag, RLX_E_FILE_WRITE, "cannot make the store '%s': %s", store->path, strerror(errno));
    store->folder = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store->folder < 0 || fstat(store->folder, &info) != 0)
        return rlx_fail(diag, RLX_E_FILE_OPEN, "cannot open the store '%s': %s", store->path, strerror(errno));
    if (info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return RLX_OK;
    rlx_fail(diag, RLX_E_FILE_WRITE, "the store '%s' belongs to another user, or others may write it", store->path);
    return rlx_diag_hint(diag, "chown it to the user that runs rlxd and chmod it to 0700.");
}

rlx_status_t rlx_store_open(const char *folder, rlx_store_t **out_store, rlx_diag_t *diag)
{
    rlx_store_t *store = calloc(1, sizeof *store);
    rlx_status_t status;

    if (store == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a store");
    store->folder = -1;
    if (snprintf(store->path, sizeof store->path, "%s", folder) >= (int)sizeof store->path)
        status = rlx_fail(diag, RLX_E_FILE_WRITE, "the path of the store is longer than %zu bytes", sizeof store->path - 1);
    else
        status = folder_take(store, diag);
    if (status != RLX_OK) {
        rlx_store_close(store);
        return status;
    }
    *out_store = store;
    return RLX_OK;
}

void rlx_store_close(rlx_store_t *store)
{
    if (store == NULL)
        return;
    if (store->folder >= 0)
        close(store->folder);
    free(store);
}

/* Reads a small file whole; false unless it has exactly `bytes`. */
static bool small_read(const rlx_store_t *store, const char *name, void *data, size_t bytes)
{
    char rest;
    int fd = openat(store->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool whole = fd >= 0 && read(fd, data, bytes) == (ssize_t)bytes && read(fd, &rest, 1) == 0;

    if (fd >= 0)
        close(fd);
    return whole;
}

/* Best effort: without it the bundle is hashed again next time. */
static void small_write(const rlx_store_t *store, const char *name, const void *data, size_t bytes)
{
    char partial[160];
    int fd;

    snprintf(partial, sizeof partial, "%s.%d.tmp", name, (int)getpid());
    unlinkat(store->folder, partial, 0);
    fd = openat(store->folder, partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    if (write(fd, data, bytes) != (ssize_t)bytes || renameat(store->folder, partial, store->folder, name) != 0)
        unlinkat(store->folder, partial, 0);
    close(fd);
}

static void source_name(const struct stat *info, char out_name[64])
{
    stamp_t stamp = stamp_of(info);
    uint8_t digest[RLX_BLAKE2B_BYTES];

    rlx_digest_blake2b(&stamp, sizeof stamp, digest);
    memcpy(out_name, "from-", 5);
    rlx_digest_hex(digest, 16, out_name + 5);
}

/* Is our copy there, and as it was when it was hashed? */
static bool copy_holds(const rlx_store_t *store, const char *hex)
{
    char name[HEX + 8];
    struct stat info;
    stamp_t want, have;

    if (strspn(hex, "0123456789abcdef") != HEX)
        return false;
    snprintf(name, sizeof name, "%s.rlxb", hex);
    if (fstatat(store->folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
        return false;
    want = stamp_of(&info);
    snprintf(name, sizeof name, "%s.ok", hex);
    return small_read(store, name, &have, sizeof have) && memcmp(&want, &have, sizeof want) == 0;
}

static rlx_status_t copy_open(const rlx_store_t *store, const char *hex, rlx_bundle_t **out_bundle, rlx_diag_t *diag)
{
    char path[sizeof store->path + HEX + 8];

    snprintf(path, sizeof path, "%s/%s.rlxb", store->path, hex);
    return rlx_bundle_open(path, RLX_BUNDLE_VOUCHED | RLX_BUNDLE_NO_STAMP, out_bundle, diag);
}

static rlx_status_t bytes_copy(int from, int to, const char *path, rlx_diag_t *diag)
{
    if (!rlx_fd_copy(from, to))
        return rlx_fail(diag, RLX_E_FILE_WRITE, "cannot copy '%s' into the store: %s", path, strerror(errno));
    if (fchmod(to, 0444) != 0 || fsync(to) != 0)
        return rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write to the store: %s", strerror(errno));
    return RLX_OK;
}

/* Gives the nameless copy its name and stamp. A copy that is there but does not hold is replaced. */
static void copy_name(const rlx_store_t *store, int copy, const char *hex)
{
    char name[HEX + 8], own[64];
    struct stat info;
    stamp_t stamp;

    if (copy_holds(store, hex))
        return;
    snprintf(name, sizeof name, "%s.rlxb", hex);
    snprintf(own, sizeof own, "/proc/self/fd/%d", copy);
    unlinkat(store->folder, name, 0);
    if (linkat(AT_FDCWD, own, store->folder, name, AT_SYMLINK_FOLLOW) != 0 || fstat(copy, &info) != 0)
        return; /* served all the same, copied again next time */
    fsync(store->folder);
    stamp = stamp_of(&info);
    snprintf(name, sizeof name, "%s.ok", hex);
    small_write(store, name, &stamp, sizeof stamp);
}

/* Has the file rested long enough that a later change gives another ctime? */
static bool is_settled(const struct stat *source)
{
    bool fine = source->st_ctim.tv_nsec % 1000000 != 0;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (now.tv_sec - source->st_ctim.tv_sec) * NS_PER_S + now.tv_nsec - source->st_ctim.tv_nsec >
           (fine ? SETTLED_FINE_NS : SETTLED_COARSE_NS);
}

static void source_remember(const rlx_store_t *store, const struct stat *source, const char *hex)
{
    char name[64];

    source_name(source, name);
    small_write(store, name, hex, HEX);
}

/* Copies, hashes, names. */
static rlx_status_t copy_make(rlx_store_t *store, int source, const struct stat *info, const char *path, rlx_bundle_t **out_bundle,
                              rlx_diag_t *diag)
{
    char own[64], hex[HEX + 1];
    struct stat after;
    rlx_status_t status;
    bool settled = is_settled(info); /* before the first byte is read */
    int copy = openat(store->folder, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

    if (copy < 0)
        return rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write to the store '%s': %s", store->path, strerror(errno));
    status = bytes_copy(source, copy, path, diag);
    snprintf(own, sizeof own, "/proc/self/fd/%d", copy);
    if (status == RLX_OK)
        status = rlx_bundle_open(own, RLX_BUNDLE_NO_STAMP, out_bundle, diag);
    if (status != RLX_OK && diag != NULL)
        diag->where[0] = '\0'; /* our nameless file; the caller adds the source */
    if (status == RLX_OK) {
        rlx_digest_hex(rlx_bundle_file_digest(*out_bundle), RLX_BUNDLE_DIGEST, hex);
        copy_name(store, copy, hex);
        if (settled && fstat(source, &after) == 0 && same_file(info, &after)) /* nobody wrote to it meanwhile */
            source_remember(store, info, hex);
    }
    close(copy);
    return status;
}

rlx_status_t rlx_store_take(rlx_store_t *store, const char *path, rlx_bundle_t **out_bundle, rlx_diag_t *diag)
{
    char name[64], hex[HEX + 1] = "";
    struct stat info;
    rlx_status_t status;
    int source = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us */

    if (source < 0 || fstat(source, &info) != 0 || !S_ISREG(info.st_mode)) {
        status = rlx_fail(diag, RLX_E_FILE_OPEN, "cannot open bundle: %s", source < 0 ? strerror(errno) : "not a regular file");
        rlx_diag_at(diag, "%s", path);
        if (source >= 0)
            close(source);
        return status;
    }
    source_name(&info, name);
    if (small_read(store, name, hex, HEX) && copy_holds(store, hex) && copy_open(store, hex, out_bundle, NULL) == RLX_OK) {
        close(source);
        return RLX_OK;
    }
    status = copy_make(store, source, &info, path, out_bundle, diag);
    if (status != RLX_OK)
        rlx_diag_at(diag, "%s", path);
    close(source);
    return status;
}

static void copy_delete(const rlx_store_t *store, const char *hex)
{
    char name[HEX + 8];

    snprintf(name, sizeof name, "%s.ok", hex);
    unlinkat(store->folder, name, 0);
    snprintf(name, sizeof name, "%s.rlxb", hex);
    unlinkat(store->folder, name, 0);
}

/* from-ID of a bundle that is gone, and what a crash left. */
static bool is_stale(const rlx_store_t *store, const char *name)
{
    char hex[HEX + 1] = "", own[32];

    if (strstr(name, ".tmp") != NULL) { /* not one that is being written */
        snprintf(own, sizeof own, ".%d.tmp", (int)getpid());
        return strstr(name, own) == NULL;
    }
    return strncmp(name, "from-", 5) == 0 && (!small_read(store, name, hex, HEX) || !copy_holds(store, hex));
}

static DIR *folder_open(const rlx_store_t *store)
{
    int fd = openat(store->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;

    if (folder == NULL && fd >= 0)
        close(fd);
    return folder;
}

static void stale_delete(const rlx_store_t *store)
{
    DIR *folder = folder_open(store);
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (is_stale(store, entry->d_name))
            unlinkat(store->folder, entry->d_name, 0);
    if (folder != NULL)
        closedir(folder);
}

void rlx_store_drop(rlx_store_t *store, const uint8_t digest[RLX_BUNDLE_DIGEST])
{
    char hex[HEX + 1];

    rlx_digest_hex(digest, RLX_BUNDLE_DIGEST, hex);
    copy_delete(store, hex);
    stale_delete(store);
}

void rlx_store_sweep(rlx_store_t *store, bool (*keep)(void *context, const char *digest_hex), void *context)
{
    DIR *folder = folder_open(store);
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char hex[HEX + 1];

        if (strlen(entry->d_name) != HEX + 5 || strcmp(entry->d_name + HEX, ".rlxb") != 0)
            continue;
        memcpy(hex, entry->d_name, HEX);
        hex[HEX] = '\0';
        if (!keep(context, hex))
            copy_delete(store, hex);
    }
    if (folder != NULL)
        closedir(folder);
    stale_delete(store);
}
