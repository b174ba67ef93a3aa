/* The bundle's bytes: header page, code segment, digest tree. Little-endian, fixed width; docs/BUNDLE.md describes them for other readers.
 */
#ifndef RLX_BUNDLE_FORMAT_H
#define RLX_BUNDLE_FORMAT_H

#include "bundle/bundle.h"

#define RLX_BUNDLE_MAGIC "RLXB\r\n\x1a\n" /* text-mode transfers break it */
#define RLX_BUNDLE_SIGNATURE_NONE 0
#define RLX_BUNDLE_SIGNATURE_ED25519 1
#define RLX_BUNDLE_SIGNED_BYTES 56 /* of the header: what a signature covers */
#define RLX_BUNDLE_CODE_MAGIC 0x4f435852u /* "RXCO" */

typedef struct rlx_bundle_header {
    char magic[8];
    uint16_t major, minor;
    uint32_t manifest_bytes;
    uint64_t manifest_offset; /* RLX_BUNDLE_PAGE */
    uint8_t manifest_digest[RLX_BUNDLE_DIGEST];
    uint16_t signature_kind;
    uint16_t n_signatures;
    uint32_t reserved; /* zero */
    rlx_bundle_signature_t signatures[RLX_BUNDLE_SIGNATURES_MAX]; /* zero from n_signatures on */
} rlx_bundle_header_t; /* the rest of the page is zero */

/* A code segment: this, `n_entries` rlx_bundle_entry_t, zeros up to the image. */
typedef struct rlx_bundle_code_header {
    uint32_t magic;
    uint32_t n_entries;
    uint32_t image_offset; /* from the start of the segment; a multiple of RLX_BUNDLE_PAGE */
    uint32_t image_bytes;
} rlx_bundle_code_header_t;

_Static_assert(sizeof(rlx_bundle_header_t) == 1600, "file format");
_Static_assert(offsetof(rlx_bundle_header_t, signature_kind) == RLX_BUNDLE_SIGNED_BYTES, "file format");
_Static_assert(sizeof(rlx_bundle_code_header_t) == 16, "file format");
_Static_assert(sizeof(rlx_bundle_entry_t) == 8, "file format");

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
    rlx_bundle_signature_t source_signatures[RLX_BUNDLE_SIGNATURES_MAX];
    int n_source_signatures;
    char *text; /* owned */
} rlx_bundle_manifest_t;

/* `out_data` is owned by the caller (free). */
rlx_status_t rlx_bundle_manifest_encode(const rlx_bundle_manifest_t *manifest, uint8_t **out_data, size_t *out_bytes, rlx_diag_t *diag);
/* Checks wire bytes by the guard, decodes with a byte budget, and checks counts, kinds and digest sizes; offsets are the reader's
 * business. */
rlx_status_t rlx_bundle_manifest_decode(const uint8_t *data, size_t bytes, rlx_bundle_manifest_t *out_manifest, rlx_diag_t *diag);
void rlx_bundle_manifest_fini(rlx_bundle_manifest_t *manifest);

/* bundle/verify.c: every signature of the block fits the header's first bytes; what is no signature is zero. */
rlx_status_t rlx_bundle_signatures_check(const rlx_bundle_header_t *header, rlx_diag_t *diag);

/* bundle/damage.c: says that segment `index` differs from its digest, and where: which leaves. `map` is the file, of the manifest's length.
 * Replaces what `diag` says. */
rlx_status_t rlx_bundle_damage_tell(const rlx_bundle_manifest_t *manifest, int index, const uint8_t *map, rlx_diag_t *diag);

/* bundle/copy.c: as rlx_bundle_copy, and `change` (NULL: nothing) may alter the header of the verified copy before it takes its place. */
typedef rlx_status_t rlx_bundle_change_fn_t(void *context, int fd, rlx_diag_t *diag);
rlx_status_t rlx_bundle_copy_changed(const char *from, const char *to, rlx_bundle_change_fn_t *change, void *context,
                                     rlx_bundle_t **out_bundle, rlx_diag_t *diag);

/* bundle/stamp.c: a file as it was at one moment. A change after that moment shows as another ctime if it was `settled`; `owned`: nobody but
 * this user and root may write it. False: it cannot be looked at. */
typedef struct rlx_bundle_seen {
    uint64_t device, inode, ctime_s, ctime_ns, bytes;
    bool settled, owned;
} rlx_bundle_seen_t;
bool rlx_bundle_seen_look(int fd, rlx_bundle_seen_t *out_seen);
bool rlx_bundle_seen_same(int fd, const rlx_bundle_seen_t *seen);

/* Does a stamp vouch for the file, whose manifest has this digest? */
bool rlx_bundle_stamp_holds(const rlx_bundle_seen_t *seen, const uint8_t *manifest_digest);
/* Leaves one after all of the open file was hashed, if it was settled when first looked at and is still the same. */
void rlx_bundle_stamp_leave(int fd, const rlx_bundle_seen_t *seen, const uint8_t *manifest_digest);
/* Leaves one for a file that this process has just written from what it hashed; waits for the clock to tick (some milliseconds). */
void rlx_bundle_stamp_written(int fd, const uint8_t *manifest_digest);

/* bundle/file_map.c: maps the file's first `bytes` read-only, so that the system can use huge pages. NULL: errno says why. */
const void *rlx_bundle_file_map(int fd, size_t bytes);
/* How many bytes of the mapping this process reads through huge pages; 0 where the system does not tell. Takes a millisecond. */
size_t rlx_bundle_file_huge(const void *map, size_t bytes);

/* bundle/code.c: copies a code segment, `entry->bytes` at `entry->offset` of the open bundle, into a sealed memfd, maps it read and execute,
 * checks its digest there unless a stamp vouches for the copied bytes (`vouched`), checks the index. */
typedef struct rlx_bundle_mapped_code {
    void *map;
    size_t map_bytes;
    rlx_bundle_image_t image;
} rlx_bundle_mapped_code_t;
rlx_status_t rlx_bundle_code_map(int fd, const rlx_bundle_segment_t *entry, bool vouched, rlx_bundle_mapped_code_t *out_code, rlx_diag_t *diag);
void rlx_bundle_code_unmap(rlx_bundle_mapped_code_t *code);

#endif
