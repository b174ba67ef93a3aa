/* Shared-memory regions that requests may name: system shared memory (Open Inference Protocol; read with pread and written with pwrite,
 * never mapped, since a client that truncates it would kill us), and sealed memfds handed over on the Unix socket (mapped, used in place).
 *
 * A region in use by a request cannot be unregistered (FAILED_PRECONDITION with the count of users). Offsets are checked without wrapping:
 * offset <= size and bytes <= size - offset, and the registered size against the file's own. Loop thread, but for read and write. */
#ifndef RLX_DAEMON_MEMORY_REGIONS_H
#define RLX_DAEMON_MEMORY_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

#define RLX_REGIONS_MAX 4096 /* when full: RESOURCE_EXHAUSTED */
#define RLX_REGION_NAME_MAX 256 /* of names and keys, in bytes with the NUL */

typedef struct rlx_regions rlx_regions_t;
typedef struct rlx_region rlx_region_t;

rlx_regions_t *rlx_regions_create(void);
void rlx_regions_destroy(rlx_regions_t *regions);
/* shm_open(key); bytes [offset, offset + bytes) of the object become the region. */
rlx_status_t rlx_regions_add_system(rlx_regions_t *regions, const char *name, const char *key, uint64_t offset, uint64_t bytes,
                                    rlx_diag_t *diag);
/* Moves `fd` (also on failure), which must be a memfd sealed against shrinking and growing, and not against writing. `owner`: regions of
 * one Unix connection go when it ends. */
rlx_status_t rlx_regions_add_memfd(rlx_regions_t *regions, const char *name, int fd, uint64_t owner, rlx_diag_t *diag);
rlx_status_t rlx_regions_remove(rlx_regions_t *regions, const char *name, rlx_diag_t *diag); /* system ones by name */
/* A memfd of this owner; those of others are unknown to it. */
rlx_status_t rlx_regions_remove_owned(rlx_regions_t *regions, const char *name, uint64_t owner, rlx_diag_t *diag);
void rlx_regions_remove_system(rlx_regions_t *regions);                                       /* all that are not in use */
void rlx_regions_remove_owner(rlx_regions_t *regions, uint64_t owner); /* at once, or when their last user ends */

/* Range [offset, offset + bytes) of the region, and one more user. */
rlx_status_t rlx_regions_use(rlx_regions_t *regions, const char *name, uint64_t offset, uint64_t bytes, rlx_region_t **out_region,
                             rlx_diag_t *diag);
const char *rlx_region_name(const rlx_region_t *region); /* lives while it is used */
void rlx_region_drop(rlx_region_t *region);
/* Address of the range for a sealed memfd, else NULL: then read and write. */
void *rlx_region_address(const rlx_region_t *region, uint64_t offset);
/* Any thread while used. A short read or write (the client truncated its object) is INVALID_ARGUMENT. */
rlx_status_t rlx_region_read(const rlx_region_t *region, uint64_t offset, void *to, uint64_t bytes, rlx_diag_t *diag);
rlx_status_t rlx_region_write(const rlx_region_t *region, uint64_t offset, const void *from, uint64_t bytes, rlx_diag_t *diag);

typedef struct rlx_region_view {
    const char *name, *key; /* key "": a memfd */
    uint64_t offset, bytes;
    uint32_t users;
} rlx_region_view_t;
bool rlx_regions_next(const rlx_regions_t *regions, int *cursor, rlx_region_view_t *out_view);

#endif
