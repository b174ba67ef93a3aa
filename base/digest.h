/* Digests: XXH3-128 finds corruption and equal contents (fast, not against an adversary); BLAKE2b-256 identifies and authenticates.
 * Pure; any thread. */
#ifndef RLX_BASE_DIGEST_H
#define RLX_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define RLX_BLAKE2B_BYTES 32

/* XXH3-128 with seed 0: out[0] is the low word. */
void rlx_digest_xxh3(const void *data, size_t bytes, uint64_t out_digest[2]);
void rlx_digest_blake2b(const void *data, size_t bytes, uint8_t out_digest[RLX_BLAKE2B_BYTES]);
/* Lower-case hexadecimal; `out_text` holds 2 * bytes + 1. */
void rlx_digest_hex(const uint8_t *digest, size_t bytes, char *out_text);

#endif
