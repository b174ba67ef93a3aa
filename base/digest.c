/* Thin forms over xxhash and libsodium, so that the choice of digest stands in one place. */
#include "base/digest.h"

#include <sodium.h>
#include <xxhash.h>

void rlx_digest_xxh3(const void *data, size_t bytes, uint64_t out_digest[2])
{
    XXH128_hash_t hash = XXH3_128bits(data, bytes);

    out_digest[0] = hash.low64;
    out_digest[1] = hash.high64;
}

void rlx_digest_blake2b(const void *data, size_t bytes, uint8_t out_digest[RLX_BLAKE2B_BYTES])
{
    crypto_generichash_blake2b(out_digest, RLX_BLAKE2B_BYTES, data, bytes, NULL, 0);
}

void rlx_digest_hex(const uint8_t *digest, size_t bytes, char *out_text)
{
    for (size_t i = 0; i < bytes; i++) {
        out_text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        out_text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    out_text[2 * bytes] = '\0';
}
