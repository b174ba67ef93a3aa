/* Zip archives in memory: a checked walk over the central directory. Read side only; used by base/npz.c. */
#ifndef RLX_BASE_ZIP_H
#define RLX_BASE_ZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

typedef struct rlx_zip {
    const uint8_t *data;
    size_t bytes;
    uint64_t at, end; /* next directory record, end of the directory */
    uint64_t n_left;
} rlx_zip_t;

typedef struct rlx_zip_member {
    const char *name; /* borrowed from the archive, not terminated */
    size_t name_bytes;
    const uint8_t *packed; /* inside the archive */
    size_t packed_bytes, bytes;
    uint32_t crc;
    bool deflated;
} rlx_zip_member_t;

/* `data` is borrowed until the last member was read. */
rlx_status_t rlx_zip_open(const void *data, size_t bytes, rlx_zip_t *out_zip, rlx_diag_t *diag);
/* The next member, or *out_more = false at the end. Its claimed size is at most what its packed bytes can hold. */
rlx_status_t rlx_zip_next(rlx_zip_t *zip, rlx_zip_member_t *out_member, bool *out_more, rlx_diag_t *diag);
/* Unpacks into `out_data` of member->bytes and checks the CRC. */
rlx_status_t rlx_zip_unpack(const rlx_zip_member_t *member, void *out_data, rlx_diag_t *diag);

#endif
