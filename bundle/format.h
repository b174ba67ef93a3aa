/* The bundle's bytes: header page, code segment, digest tree. Little-endian, fixed width; docs/BUNDLE.md describes them for other readers.
 */
#ifndef RLX_BUNDLE_FORMAT_H
#define RLX_BUNDLE_FORMAT_H

#include "bundle/bundle.h"

#define RLX_BUNDLE_MAGIC "RLXB\r\n\x1a\n" /* text-mode transfers break it */
#define RLX_BUNDLE_SIGNATURE_NONE 0
#define RLX_BUNDLE_SIGNATURE_ED25519 1
#define RLX_BUNDLE_CODE_MAGIC 0x4f435852u /* "RXCO" */

typedef struct rlx_bundle_header {
    char magic[8];
    uint16_t major, minor;
    uint32_t manifest_bytes;
    uint64_t manifest_offset; /* RLX_BUNDLE_PAGE */
    uint8_t manifest_digest[RLX_BUNDLE_DIGEST];
    uint32_t signature_kind;
    uint32_t reserved;     /* zero */
    uint8_t signer[32];    /* Ed25519 public key */
    uint8_t signature[64]; /* over manifest_digest */
} rlx_bundle_header_t;     /* the rest of the page is zero */

/* A code segment: this, `n_entries` rlx_bundle_entry_t, zeros up to the image. */
typedef struct rlx_bundle_code_header {
    uint32_t magic;
    uint32_t n_entries;
    uint32_t image_offset; /* from the start of the segment; a multiple of RLX_BUNDLE_PAGE */
    uint32_t image_bytes;
} rlx_bundle_code_header_t;

_Static_assert(sizeof(rlx_bundle_header_t) == 160, "file format");
_Static_assert(sizeof(rlx_bundle_code_header_t) == 16, "file format");
_Static_assert(sizeof(rlx_bundle_entry_t) == 8, "file format");

/* Root of the digest tree: BLAKE2b-256 of "RLXtree1", the length as uint64, and the BLAKE2b-256 of every leaf of RLX_BUNDLE_LEAF bytes
 * (the last may be shorter). `n_threads` >= 1 hash leaves side by side. False when out of memory. */
bool rlx_bundle_digest_tree(const void *data, uint64_t bytes, int n_threads, uint8_t out_root[RLX_BUNDLE_DIGEST]);

/* The manifest as plain data. Strings lie in `text`. */
typedef struct rlx_bundle_manifest {
    const char *name, *compiler;
    uint32_t kernel_abi, format_minor;
    uint64_t file_bytes;
    uint8_t source_digest[RLX_BUNDLE_DIGEST];
    rlx_bundle_option_t options[RLX_BUNDLE_OPTIONS_MAX];
    int n_options;
    rlx_bundle_segment_t segments[RLX_BUNDLE_SEGMENTS_MAX];
    int n_segments;
    char *text; /* owned */
} rlx_bundle_manifest_t;

/* `out_data` is owned by the caller (free). */
rlx_status_t rlx_bundle_manifest_encode(const rlx_bundle_manifest_t *manifest, uint8_t **out_data, size_t *out_bytes, rlx_diag_t *diag);
/* Checks wire bytes by the guard, decodes with a byte budget, and checks counts, kinds and digest sizes; offsets are the reader's
 * business. */
rlx_status_t rlx_bundle_manifest_decode(const uint8_t *data, size_t bytes, rlx_bundle_manifest_t *out_manifest, rlx_diag_t *diag);
void rlx_bundle_manifest_fini(rlx_bundle_manifest_t *manifest);

/* bundle/code.c: copies a code segment into a sealed memfd, checks its digest there, maps it read and execute, checks the index. */
typedef struct rlx_bundle_mapped_code {
    void *map;
    size_t map_bytes;
    rlx_bundle_image_t image;
} rlx_bundle_mapped_code_t;
rlx_status_t rlx_bundle_code_map(const void *segment, const rlx_bundle_segment_t *entry, rlx_bundle_mapped_code_t *out_code,
                                 rlx_diag_t *diag);
void rlx_bundle_code_unmap(rlx_bundle_mapped_code_t *code);

/* bundle/stamp.c: does a stamp vouch for the open file `fd`, whose manifest has this digest? Leaves one after a full check. */
bool rlx_bundle_stamp_holds(int fd, const uint8_t *manifest_digest);
void rlx_bundle_stamp_leave(int fd, const uint8_t *manifest_digest);

#endif
