/* Regions by name, in sorted order. A region whose owner went while requests use it is out of the table and goes with its last user.
 *
 * A sealed memfd cannot shrink, so its mapping never faults; files of huge pages could (a page punched out may not come back) and are
 * refused. A system object may shrink at any time: it is never mapped. */
#include "daemon/memory/regions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/assert.h"

struct rlx_region {
    rlx_regions_t *regions;
    char name[RLX_REGION_NAME_MAX], key[RLX_REGION_NAME_MAX];
    int fd;
    uint64_t base, bytes; /* of the object */
    char *address;        /* memfd: where `base` is mapped */
    uint64_t owner;       /* memfd */
    uint32_t users;
    bool listed;
};

struct rlx_regions {
    rlx_region_t **list; /* sorted by name */
    int n, capacity;
    uint32_t unlisted; /* in use, and their owner is gone */
};

rlx_regions_t *rlx_regions_create(void) { return calloc(1, sizeof(rlx_regions_t)); }

static void region_free(rlx_region_t *region)
{
    if (region->address != NULL)
        munmap(region->address, region->bytes);
    if (region->fd >= 0)
        close(region->fd);
    free(region);
}

void rlx_regions_destroy(rlx_regions_t *regions)
{
    if (regions == NULL)
        return;
    RLX_ASSERT(regions->unlisted == 0);
    for (int i = 0; i < regions->n; i++) {
        RLX_ASSERT(regions->list[i]->users == 0);
        region_free(regions->list[i]);
    }
    free(regions->list);
    free(regions);
}

static int place_of(const rlx_regions_t *regions, const char *name, bool *out_found)
{
    int low = 0, high = regions->n;

    *out_found = false;
    while (low < high) {
        int middle = (low + high) / 2, order = strcmp(regions->list[middle]->name, name);

        if (order == 0) {
            *out_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static rlx_region_t *region_find(const rlx_regions_t *regions, const char *name)
{
    bool found;
    int place = place_of(regions, name, &found);

    return found ? regions->list[place] : NULL;
}

static rlx_status_t name_check(const rlx_regions_t *regions, const char *name, rlx_diag_t *diag)
{
    size_t length = strlen(name);

    if (length < 1 || length >= RLX_REGION_NAME_MAX)
        return rlx_fail(diag, RLX_E_REGION_RANGE, "the name of a region has 1 to %d bytes, not %zu", RLX_REGION_NAME_MAX - 1, length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return rlx_fail(diag, RLX_E_REGION_RANGE, "the name of a region has a control character at byte %zu", i);
    if (region_find(regions, name) != NULL)
        return rlx_fail(diag, RLX_E_REGION_EXISTS, "region '%s' is registered already", name);
    if (regions->n + (int)regions->unlisted >= RLX_REGIONS_MAX) {
        rlx_fail(diag, RLX_E_SERVER_MEMORY, "%d shared-memory regions are registered, no more can be", RLX_REGIONS_MAX);
        return rlx_diag_hint(diag, "Unregister regions that are not used any more.");
    }
    return RLX_OK;
}

/* Takes `region` into the table, or frees it. */
static rlx_status_t region_list(rlx_regions_t *regions, rlx_region_t *region, rlx_diag_t *diag)
{
    bool found;
    int place = place_of(regions, region->name, &found);

    RLX_ASSERT(!found);
    if (regions->n == regions->capacity) {
        int capacity = regions->capacity ? 2 * regions->capacity : 16;
        rlx_region_t **grown = realloc(regions->list, (size_t)capacity * sizeof *grown);

        if (grown == NULL) {
            region_free(region);
            return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a region");
        }
        regions->list = grown;
        regions->capacity = capacity;
    }
    memmove(regions->list + place + 1, regions->list + place, (size_t)(regions->n - place) * sizeof *regions->list);
    regions->list[place] = region;
    regions->n++;
    region->regions = regions;
    region->listed = true;
    return RLX_OK;
}

static rlx_region_t *region_make(const char *name, const char *key, int fd)
{
    rlx_region_t *region = calloc(1, sizeof *region);

    if (region == NULL)
        return NULL;
    snprintf(region->name, sizeof region->name, "%s", name);
    snprintf(region->key, sizeof region->key, "%s", key);
    region->fd = fd;
    return region;
}

/* Read and write where allowed; else read only: then it takes inputs. */
static int system_open(const char *key)
{
    int fd = shm_open(key, O_RDWR, 0);

    return fd >= 0 || errno != EACCES ? fd : shm_open(key, O_RDONLY, 0);
}

rlx_status_t rlx_regions_add_system(rlx_regions_t *regions, const char *name, const char *key, uint64_t offset, uint64_t bytes,
                                    rlx_diag_t *diag)
{
    rlx_region_t *region;
    struct stat info;
    int fd;

    RLX_TRY(name_check(regions, name, diag));
    if (strlen(key) < 1 || strlen(key) >= RLX_REGION_NAME_MAX || strchr(key + 1, '/') != NULL || strstr(key, "..") != NULL)
        return rlx_fail(diag, RLX_E_REGION_FILE, "'%.64s' is no key of shared memory: \"/NAME\", at most %d bytes", key,
                        RLX_REGION_NAME_MAX - 1);
    fd = system_open(key);
    if (fd < 0)
        return rlx_fail(diag, RLX_E_REGION_FILE, "shared memory '%s' of region '%s' cannot be opened: %s", key, name, strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || bytes == 0 || offset > (uint64_t)info.st_size ||
        bytes > (uint64_t)info.st_size - offset) {
        close(fd);
        return rlx_fail(diag, RLX_E_REGION_FILE,
                        "region '%s' wants %" PRIu64 " bytes at offset %" PRIu64 " of shared memory '%s', which has %" PRIu64, name, bytes,
                        offset, key, (uint64_t)info.st_size);
    }
    region = region_make(name, key, fd);
    if (region == NULL) {
        close(fd);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a region");
    }
    region->base = offset;
    region->bytes = bytes;
    return region_list(regions, region, diag);
}

static rlx_status_t memfd_check(int fd, const char *name, uint64_t *out_bytes, rlx_diag_t *diag)
{
    struct stat info;
    struct statfs system;
    int seals = fcntl(fd, F_GET_SEALS), want = F_SEAL_SHRINK | F_SEAL_GROW;

    if (seals < 0 || fstat(fd, &info) != 0 || fstatfs(fd, &system) != 0)
        return rlx_fail(diag, RLX_E_REGION_FILE, "the descriptor of region '%s' is no memfd", name);
    if ((seals & want) != want)
        return rlx_fail(diag, RLX_E_REGION_FILE, "the memfd of region '%s' is not sealed against %s", name,
                        (seals & F_SEAL_SHRINK) == 0 ? "shrinking (F_SEAL_SHRINK)" : "growing (F_SEAL_GROW)");
    if ((seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0)
        return rlx_fail(diag, RLX_E_REGION_FILE, "the memfd of region '%s' is sealed against writing", name);
    if (system.f_type != TMPFS_MAGIC)
        return rlx_fail(diag, RLX_E_REGION_FILE, "the memfd of region '%s' is made of huge pages, which may fault", name);
    if (info.st_size <= 0)
        return rlx_fail(diag, RLX_E_REGION_FILE, "the memfd of region '%s' is empty", name);
    *out_bytes = (uint64_t)info.st_size;
    return RLX_OK;
}

rlx_status_t rlx_regions_add_memfd(rlx_regions_t *regions, const char *name, int fd, uint64_t owner, rlx_diag_t *diag)
{
    rlx_region_t *region;
    uint64_t bytes = 0;
    void *address;
    rlx_status_t status = name_check(regions, name, diag);

    if (status == RLX_OK)
        status = memfd_check(fd, name, &bytes, diag);
    if (status != RLX_OK) {
        close(fd);
        return status;
    }
    address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd); /* the mapping is all we need */
    if (address == MAP_FAILED)
        return rlx_fail(diag, RLX_E_REGION_FILE, "the memfd of region '%s' cannot be mapped: %s", name, strerror(errno));
    region = region_make(name, "", -1);
    if (region == NULL) {
        munmap(address, bytes);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for a region");
    }
    region->address = address;
    region->bytes = bytes;
    region->owner = owner;
    return region_list(regions, region, diag);
}

/* Out of the table; gone when nobody uses it. */
static void region_unlist(rlx_regions_t *regions, int place)
{
    rlx_region_t *region = regions->list[place];

    regions->n--;
    memmove(regions->list + place, regions->list + place + 1, (size_t)(regions->n - place) * sizeof *regions->list);
    region->listed = false;
    if (region->users == 0)
        region_free(region);
    else
        regions->unlisted++;
}

static rlx_status_t region_remove(rlx_regions_t *regions, const char *name, bool memfd, uint64_t owner, rlx_diag_t *diag)
{
    bool found;
    int place = place_of(regions, name, &found);
    const rlx_region_t *region = found ? regions->list[place] : NULL;

    if (region == NULL || (region->address != NULL) != memfd || region->owner != owner)
        return rlx_fail(diag, RLX_E_REGION_UNKNOWN, "no region '%.128s' is registered%s", name, memfd ? " by this connection" : "");
    if (region->users > 0)
        return rlx_fail(diag, RLX_E_REGION_BUSY, "region '%s' is in use by %u requests", region->name, region->users);
    region_unlist(regions, place);
    return RLX_OK;
}

rlx_status_t rlx_regions_remove(rlx_regions_t *regions, const char *name, rlx_diag_t *diag)
{
    return region_remove(regions, name, false, 0, diag);
}

rlx_status_t rlx_regions_remove_owned(rlx_regions_t *regions, const char *name, uint64_t owner, rlx_diag_t *diag)
{
    return region_remove(regions, name, true, owner, diag);
}

void rlx_regions_remove_system(rlx_regions_t *regions)
{
    for (int i = regions->n; i-- > 0;)
        if (regions->list[i]->address == NULL && regions->list[i]->users == 0)
            region_unlist(regions, i);
}

void rlx_regions_remove_owner(rlx_regions_t *regions, uint64_t owner)
{
    for (int i = regions->n; i-- > 0;)
        if (regions->list[i]->address != NULL && regions->list[i]->owner == owner)
            region_unlist(regions, i);
}

rlx_status_t rlx_regions_use(rlx_regions_t *regions, const char *name, uint64_t offset, uint64_t bytes, rlx_region_t **out_region,
                             rlx_diag_t *diag)
{
    rlx_region_t *region = region_find(regions, name);

    if (region == NULL)
        return rlx_fail(diag, RLX_E_REGION_UNKNOWN, "no region '%.128s' is registered", name);
    if (offset > region->bytes || bytes > region->bytes - offset)
        return rlx_fail(diag, RLX_E_REGION_RANGE, "%" PRIu64 " bytes at offset %" PRIu64 " do not lie in region '%s' of %" PRIu64 " bytes",
                        bytes, offset, region->name, region->bytes);
    region->users++;
    *out_region = region;
    return RLX_OK;
}

const char *rlx_region_name(const rlx_region_t *region) { return region->name; }

void rlx_region_drop(rlx_region_t *region)
{
    RLX_ASSERT(region->users > 0);
    if (--region->users > 0 || region->listed)
        return;
    region->regions->unlisted--;
    region_free(region);
}

void *rlx_region_address(const rlx_region_t *region, uint64_t offset)
{
    return region->address != NULL ? region->address + offset : NULL;
}

static rlx_status_t region_cut(const rlx_region_t *region, uint64_t offset, uint64_t bytes, const char *verb, rlx_diag_t *diag)
{
    return rlx_fail(diag, RLX_E_REGION_FILE,
                    "%" PRIu64 " bytes at offset %" PRIu64 " of region '%s' could not be %s: its shared memory '%s' "
                    "is shorter than registered, or %s",
                    bytes, offset, region->name, verb, region->key, errno != 0 ? strerror(errno) : "empty");
}

rlx_status_t rlx_region_read(const rlx_region_t *region, uint64_t offset, void *to, uint64_t bytes, rlx_diag_t *diag)
{
    if (region->address != NULL) {
        memcpy(to, region->address + offset, bytes);
        return RLX_OK;
    }
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = pread(region->fd, (char *)to + done, bytes - done, (off_t)(region->base + offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n < 0 ? errno : 0;
            return region_cut(region, offset, bytes, "read", diag);
        }
        done += (uint64_t)n;
    }
    return RLX_OK;
}

rlx_status_t rlx_region_write(const rlx_region_t *region, uint64_t offset, const void *from, uint64_t bytes, rlx_diag_t *diag)
{
    struct stat info;

    if (region->address != NULL) {
        memcpy(region->address + offset, from, bytes);
        return RLX_OK;
    }
    errno = 0;
    if (fstat(region->fd, &info) != 0 || region->base + offset + bytes > (uint64_t)info.st_size) /* a write would make it grow again */
        return region_cut(region, offset, bytes, "written", diag);
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = pwrite(region->fd, (const char *)from + done, bytes - done, (off_t)(region->base + offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return region_cut(region, offset, bytes, "written", diag);
        done += (uint64_t)n;
    }
    return RLX_OK;
}

bool rlx_regions_next(const rlx_regions_t *regions, int *cursor, rlx_region_view_t *out_view)
{
    const rlx_region_t *region;

    if (*cursor >= regions->n)
        return false;
    region = regions->list[(*cursor)++];
    *out_view = (rlx_region_view_t){region->name, region->key, region->base, region->bytes, region->users};
    return true;
}
