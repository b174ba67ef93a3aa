/* The keys that are trusted: the files NAME.pub of one folder, read at one moment. Whoever may write the folder decides who is trusted, so one
 * that everybody may write is refused. A file that is no public key trusts nobody: it is left out, and named.
 *
 * Immutable once read; any thread. */
#ifndef RLX_BUNDLE_TRUST_H
#define RLX_BUNDLE_TRUST_H

#include "bundle/bundle.h"
#include "bundle/key.h"

#define RLX_TRUST_KEYS_MAX 1024 /* in a folder; more are refused */

typedef struct rlx_trust rlx_trust_t;

rlx_status_t rlx_trust_read(const char *folder, rlx_trust_t **out_trust, rlx_diag_t *diag);
void rlx_trust_free(rlx_trust_t *trust); /* NULL is allowed */

int rlx_trust_count(const rlx_trust_t *trust);
const char *rlx_trust_folder(const rlx_trust_t *trust);
/* "", or a file that was left out and why. */
const char *rlx_trust_left_out(const rlx_trust_t *trust);
const rlx_public_key_t *rlx_trust_find(const rlx_trust_t *trust, const uint8_t key[RLX_KEY_BYTES]); /* NULL: not trusted */

/* Refuses an open bundle that no trusted key has signed. `path` stands in messages. */
rlx_status_t rlx_bundle_trusted(const rlx_bundle_t *bundle, const rlx_trust_t *trust, rlx_diag_t *diag);

#endif
