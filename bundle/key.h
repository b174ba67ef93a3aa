/* Ed25519 keys and their files: one public key (NAME.pub), one secret key (NAME.key). docs/SIGNING.md describes the text.
 *
 * Values; whoever holds a secret key wipes it. Any thread; no state. Files are hostile input: bounded, and refused with file and line. */
#ifndef RLX_BUNDLE_KEY_H
#define RLX_BUNDLE_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

#define RLX_KEY_BYTES 32
#define RLX_KEY_ID_TEXT 17     /* 16 hexadecimal digits and a NUL */
#define RLX_KEY_COMMENT_MAX 128 /* bytes of printable UTF-8 */
#define RLX_KEY_FILE_MAX 4096

typedef struct rlx_public_key {
    uint8_t key[RLX_KEY_BYTES];
    char comment[RLX_KEY_COMMENT_MAX + 1]; /* may be empty */
} rlx_public_key_t;

typedef struct rlx_secret_key {
    uint8_t seed[32], expanded[64]; /* expanded: libsodium's form, seed and public key */
    rlx_public_key_t public_key;
} rlx_secret_key_t;

/* The first half of BLAKE2b-256 of the key, cut to eight bytes: for people and messages, never for decisions. */
void rlx_key_id(const uint8_t key[RLX_KEY_BYTES], char out_id[RLX_KEY_ID_TEXT]);
rlx_status_t rlx_key_comment_check(const char *comment, rlx_diag_t *diag);

/* A new pair. `comment` has passed the check. */
rlx_status_t rlx_secret_key_make(const char *comment, rlx_secret_key_t *out_key, rlx_diag_t *diag);
void rlx_secret_key_wipe(rlx_secret_key_t *key);

/* The text of a file. `name` stands in messages. */
rlx_status_t rlx_public_key_parse(const char *name, const char *text, size_t bytes, rlx_public_key_t *out_key, rlx_diag_t *diag);
rlx_status_t rlx_secret_key_parse(const char *name, const char *text, size_t bytes, rlx_secret_key_t *out_key, rlx_diag_t *diag);
void rlx_public_key_print(const rlx_public_key_t *key, rlx_text_t *out);
void rlx_secret_key_print(const rlx_secret_key_t *key, rlx_text_t *out);

rlx_status_t rlx_public_key_read(const char *path, rlx_public_key_t *out_key, rlx_diag_t *diag);
/* Refuses a file that others may read or write. */
rlx_status_t rlx_secret_key_read(const char *path, rlx_secret_key_t *out_key, rlx_diag_t *diag);
/* Makes PREFIX.key (0600) and PREFIX.pub (0644). Nothing that exists is replaced; after a failure neither is left. */
rlx_status_t rlx_key_pair_write(const char *prefix, const rlx_secret_key_t *key, rlx_diag_t *diag);

#endif
