/* rlxd's own copies of bundles: read-only files by digest, hashed once, so that a file which its owner changes or cuts hurts nobody.
 *
 * In the folder: DIGEST.rlxb, the bundle (rlx_bundle_file_digest: with another signature it is another file); DIGEST.ok, the stamp of our copy
 * (device, inode, ctime, size: written after every byte was hashed); from-ID, which bundle a source file held (ID is its device, inode, ctime,
 * mtime and size), so that a source that did not change is neither read nor hashed again. All of it can be deleted at any time: it is made
 * anew. Copies are written to a nameless file, synced, hashed, and named last: a crash leaves no half of one.
 *
 * Any thread; no state but the folder. Several processes may share it. */
#ifndef RLX_DAEMON_MODELS_STORE_H
#define RLX_DAEMON_MODELS_STORE_H

#include "base/diag.h"
#include "bundle/bundle.h"

typedef struct rlx_store rlx_store_t;

/* Makes the folder if need be. It must belong to this user, and nobody else may write it. */
rlx_status_t rlx_store_open(const char *folder, rlx_store_t **out_store, rlx_diag_t *diag);
void rlx_store_close(rlx_store_t *store);
/* Opens our copy of the bundle at `path`, made if there is none. The source is read, never mapped. */
rlx_status_t rlx_store_take(rlx_store_t *store, const char *path, rlx_bundle_t **out_bundle, rlx_diag_t *diag);
/* Deletes the copy of this digest; who has it open keeps it. */
void rlx_store_drop(rlx_store_t *store, const uint8_t digest[RLX_BUNDLE_DIGEST]);
/* Deletes copies for which `keep` is false, and what refers to them. */
void rlx_store_sweep(rlx_store_t *store, bool (*keep)(void *context, const char *digest_hex), void *context);

#endif
