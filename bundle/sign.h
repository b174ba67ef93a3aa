/* Signing: of bundles (the signatures stand in their header page) and of sources (in a file of their own). docs/SIGNING.md has the rules.
 *
 * One thread at a time on a file. Ed25519 is deterministic: the same key and the same bytes give the same signature. */
#ifndef RLX_BUNDLE_SIGN_H
#define RLX_BUNDLE_SIGN_H

#include "bundle/bundle.h"
#include "bundle/key.h"

/* Verifies the bundle at `path` whole, adds this key's signature, and puts the result at `to` (may be `path`) by rename. Signatures that are
 * there stay; one of this key is not added twice. `*out_count`: how many there are then. */
rlx_status_t rlx_bundle_sign(const char *path, const char *to, const rlx_secret_key_t *key, int *out_count, rlx_diag_t *diag);

/* Over the digest of a source's canonical form. */
void rlx_source_sign(const uint8_t digest[RLX_BUNDLE_DIGEST], const rlx_secret_key_t *key, rlx_bundle_signature_t *out_signature);
bool rlx_source_signature_fits(const uint8_t digest[RLX_BUNDLE_DIGEST], const rlx_bundle_signature_t *signature);

/* A file of signatures of one source (FILE.sig): text, at most RLX_BUNDLE_SIGNATURES_MAX of them. */
typedef struct rlx_source_signatures {
    rlx_bundle_signature_t items[RLX_BUNDLE_SIGNATURES_MAX];
    char comments[RLX_BUNDLE_SIGNATURES_MAX][RLX_KEY_COMMENT_MAX + 1];
    int n;
} rlx_source_signatures_t;

#define RLX_SOURCE_SIGNATURES_FILE_MAX (64 << 10)
/* Refuses one that is not over `digest`, or does not fit. */
rlx_status_t rlx_source_signatures_parse(const char *name, const char *text, size_t bytes, const uint8_t digest[RLX_BUNDLE_DIGEST],
                                         rlx_source_signatures_t *out_signatures, rlx_diag_t *diag);
rlx_status_t rlx_source_signatures_read(const char *path, const uint8_t digest[RLX_BUNDLE_DIGEST], rlx_source_signatures_t *out_signatures,
                                        rlx_diag_t *diag);
rlx_status_t rlx_source_signatures_write(const char *path, const uint8_t digest[RLX_BUNDLE_DIGEST], const rlx_source_signatures_t *signatures,
                                         rlx_diag_t *diag);
/* Adds this key's, or puts it in the place of its older one. */
rlx_status_t rlx_source_signatures_add(rlx_source_signatures_t *signatures, const uint8_t digest[RLX_BUNDLE_DIGEST],
                                       const rlx_secret_key_t *key, rlx_diag_t *diag);

/* bundle/verify.c: what a signature of a bundle is over. */
struct rlx_bundle_header;
#define RLX_BUNDLE_SIGNED_TITLE "RLX bundle signature 1\n"
#define RLX_BUNDLE_MESSAGE_BYTES 79
void rlx_bundle_signed_message(const struct rlx_bundle_header *header, uint8_t out_message[RLX_BUNDLE_MESSAGE_BYTES]);

#endif
