/* A replica's state as bytes on disk: magic, format, generation, length, digest of the body, then the cells with their ages. Two generations
 * stand side by side and the driver overwrites the older, so one whole snapshot is always there. A changed byte is found by the digest; a
 * newer format is refused with both versions named, and nothing is written over it. Bytes only: files are the driver's. */
#ifndef RLX_GSS_CORE_SNAPSHOT_H
#define RLX_GSS_CORE_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

#define RLX_GSS_SNAPSHOT_FORMAT 1

/* Checks head and digest; the generation on success. */
rlx_status_t rlx_gss_snapshot_check(const void *data, size_t bytes, uint64_t *out_generation, rlx_diag_t *diag);
/* Which of two to read: 0 or 1, the newer good one; -1: neither is good (`diag`: why, where one is there at all), or one of them has a newer
 * format (then diag says so: stop, do not start empty). 0 bytes: not there, which is no error. */
int rlx_gss_snapshot_pick(const void *first, size_t first_bytes, const void *second, size_t second_bytes, rlx_diag_t *diag);

struct rlx_gss_replica;
/* For replica.c: reads a snapshot into a replica that is being made. */
rlx_status_t gss_snapshot_read(struct rlx_gss_replica *replica, const void *data, size_t bytes, rlx_diag_t *diag);

#endif
