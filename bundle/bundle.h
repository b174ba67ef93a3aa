/* The bundle file (.rlxb): written once, mapped many times. docs/BUNDLE.md is the format.
 *
 * Layout: a 4096-byte header page, the manifest (protobuf, proto/bundle.proto), then page-aligned segments: IR text, program, constants,
 * one code object per ISA. Every byte is covered by a digest or checked to be zero, and nothing is parsed before its digest matched.
 * The same parts give the same bytes.
 *
 * A bundle is immutable after open and may be read from any thread. Program, manifest and code are private copies, so a file that changes
 * later cannot change what runs; constants stay mapped from the file. */
#ifndef RLX_BUNDLE_BUNDLE_H
#define RLX_BUNDLE_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "bundle/program.h"

#define RLX_BUNDLE_MAJOR 1
#define RLX_BUNDLE_MINOR 1 /* 1: several signatures, digests of leaves */
#define RLX_BUNDLE_PAGE 4096
#define RLX_BUNDLE_LEAF (1 << 20)
#define RLX_BUNDLE_DIGEST 32
#define RLX_BUNDLE_SEGMENTS_MAX 16
#define RLX_BUNDLE_OPTIONS_MAX 64
#define RLX_BUNDLE_MANIFEST_MAX (256 << 10)
#define RLX_BUNDLE_ENTRIES_MAX 256
#define RLX_BUNDLE_SIGNATURES_MAX 16 /* of a bundle; of its source */

/* An Ed25519 signature and the public key that it fits. Lies in files like this. */
typedef struct rlx_bundle_signature {
    uint8_t key[32], signature[64];
} rlx_bundle_signature_t;

/* Where a kernel starts in a code image. */
typedef struct rlx_bundle_entry {
    uint32_t kernel; /* rlx_kernel_id_t */
    uint32_t offset; /* bytes from the image's first byte */
} rlx_bundle_entry_t;

/* A position-independent, relocation-free code image. */
typedef struct rlx_bundle_image {
    const char *isa; /* "x86-64-v3" */
    const void *data;
    size_t bytes;
    const rlx_bundle_entry_t *entries; /* by ascending kernel */
    uint32_t n_entries;
} rlx_bundle_image_t;

/* A compile option that changes the result. */
typedef struct rlx_bundle_option {
    const char *key, *value;
} rlx_bundle_option_t;

/* All borrowed for the call. `constants` and `ir_text` may be empty. */
typedef struct rlx_bundle_parts {
    const char *name;
    const char *compiler; /* version of RLX */
    uint32_t kernel_abi;
    const void *program;
    size_t program_bytes;
    const void *constants;
    size_t constants_bytes;
    const char *ir_text;
    size_t ir_text_bytes;
    const rlx_bundle_option_t *options;
    int n_options;
    const rlx_bundle_image_t *images;
    int n_images;
    const uint8_t *source_digest; /* of the source's canonical form; NULL: ir_text is the source */
    const rlx_bundle_signature_t *source_signatures;
    int n_source_signatures;
} rlx_bundle_parts_t;

/* Writes beside `path`, then renames over it: a reader sees the old file or the new one. The program is checked first. Leaves a stamp. */
rlx_status_t rlx_bundle_write(const char *path, const rlx_bundle_parts_t *parts, rlx_diag_t *diag);

typedef struct rlx_bundle rlx_bundle_t;

enum {
    RLX_BUNDLE_NO_STAMP = 1u << 0,  /* hash everything even if a stamp vouches for it; leave no stamp */
    RLX_BUNDLE_SKIP_CODE = 1u << 1, /* for inspection: no code object is picked, any machine will do */
    RLX_BUNDLE_VOUCHED = 1u << 2,   /* the caller vouches for this file (its own copy, hashed before): as if a stamp did */
};

/* Opens, verifies and maps. Segments are hashed by up to `RLX_BUNDLE_HASHERS` threads, or not when RLX_CACHE_DIR holds a stamp of the same
 * device, inode, ctime, size and root digest, left since this machine booted; after hashing a stamp is left there. */
#define RLX_BUNDLE_HASHERS 8
rlx_status_t rlx_bundle_open(const char *path, unsigned flags, rlx_bundle_t **out_bundle, rlx_diag_t *diag);
void rlx_bundle_close(rlx_bundle_t *bundle);

/* bundle/copy.c: copies a bundle's file over `to`, a regular file or none; every byte of the copy is verified before it takes its place,
 * constants, text and other machines' code not where a stamp vouches for `from` until after the copy. The copy, opened for inspection
 * (RLX_BUNDLE_SKIP_CODE), is owned by the caller. Any failure leaves `to` as it was. */
rlx_status_t rlx_bundle_copy(const char *from, const char *to, rlx_bundle_t **out_bundle, rlx_diag_t *diag);

/* All borrowed until close. */
const char *rlx_bundle_name(const rlx_bundle_t *bundle);
const char *rlx_bundle_compiler(const rlx_bundle_t *bundle);
const rlx_program_header_t *rlx_bundle_program(const rlx_bundle_t *bundle);      /* passed rlx_program_check */
const void *rlx_bundle_constants(const rlx_bundle_t *bundle, size_t *out_bytes); /* out_bytes may be NULL */
const char *rlx_bundle_ir_text(const rlx_bundle_t *bundle, size_t *out_bytes);   /* not NUL-terminated */
const rlx_bundle_option_t *rlx_bundle_options(const rlx_bundle_t *bundle, int *out_count);
const uint8_t *rlx_bundle_source_digest(const rlx_bundle_t *bundle);   /* of the canonical form of what was compiled */
const uint8_t *rlx_bundle_manifest_digest(const rlx_bundle_t *bundle); /* names the bundle: it covers every byte but the signatures */
const uint8_t *rlx_bundle_file_digest(const rlx_bundle_t *bundle);     /* names the file: it covers the signatures too */
/* Every one fits the bundle; whose keys are trusted is another question (bundle/trust.h). */
const rlx_bundle_signature_t *rlx_bundle_signatures(const rlx_bundle_t *bundle, int *out_count);
/* Of the source, as they were when it was compiled; not verified (rlx_source_signature_fits). */
const rlx_bundle_signature_t *rlx_bundle_source_signatures(const rlx_bundle_t *bundle, int *out_count);
bool rlx_bundle_stamped(const rlx_bundle_t *bundle);                   /* constants were not hashed: a stamp vouched for them */
/* How much of the mapped file is read through huge pages: grows as weights are used. For reports; reads /proc. */
size_t rlx_bundle_huge_bytes(const rlx_bundle_t *bundle);
/* The code image chosen for this machine, mapped read and execute; NULL with RLX_BUNDLE_SKIP_CODE. `data` is its first byte. */
const rlx_bundle_image_t *rlx_bundle_code(const rlx_bundle_t *bundle);

/* bundle/digest_tree.c. Root of the digest tree: BLAKE2b-256 of "RLXtree1", the length as uint64, and the BLAKE2b-256 of every leaf of 1 MiB
 * (the last may be shorter). `n_threads` >= 1 hash leaves side by side. False when out of memory. */
bool rlx_bundle_digest_tree(const void *data, uint64_t bytes, int n_threads, uint8_t out_root[RLX_BUNDLE_DIGEST]);
/* The leaves too: `leaves` has room for rlx_bundle_n_leaves(bytes). */
uint64_t rlx_bundle_n_leaves(uint64_t bytes);
void rlx_bundle_digest_leaves(const void *data, uint64_t bytes, int n_threads, uint8_t (*leaves)[RLX_BUNDLE_DIGEST],
                              uint8_t out_root[RLX_BUNDLE_DIGEST]);

/* For `rlx inspect`: the file's segments. */
typedef struct rlx_bundle_segment {
    const char *kind; /* "ir", "program", "constants", "code", "leaves" */
    const char *isa;  /* code: "x86-64-v3", else "" */
    uint64_t offset, bytes;
    uint8_t digest[RLX_BUNDLE_DIGEST];
} rlx_bundle_segment_t;
const rlx_bundle_segment_t *rlx_bundle_segments(const rlx_bundle_t *bundle, int *out_count);

/* bundle/isa.c: can this CPU and OS run code of `isa`? "x86-64-v4-vnni" is no image: it asks whether the forms for VNNI in the v4 image run.
 * RLX_ISA in the environment narrows the choice to one ISA, without extensions (tests). */
bool rlx_isa_runs(const char *isa);

#endif
