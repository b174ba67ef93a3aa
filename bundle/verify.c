/* The signature block of a header: it covers magic, version, the manifest's place, size and digest, and so every byte of the file. */
#include <sodium.h>
#include <string.h>

#include "bundle/format.h"
#include "bundle/sign.h"

void rlx_bundle_signed_message(const rlx_bundle_header_t *header, uint8_t out_message[RLX_BUNDLE_MESSAGE_BYTES])
{
    _Static_assert(sizeof RLX_BUNDLE_SIGNED_TITLE - 1 + RLX_BUNDLE_SIGNED_BYTES == RLX_BUNDLE_MESSAGE_BYTES, "file format");
    memcpy(out_message, RLX_BUNDLE_SIGNED_TITLE, sizeof RLX_BUNDLE_SIGNED_TITLE - 1);
    memcpy(out_message + sizeof RLX_BUNDLE_SIGNED_TITLE - 1, header, RLX_BUNDLE_SIGNED_BYTES);
}

static bool rest_is_zero(const rlx_bundle_header_t *header)
{
    const uint8_t *at = (const uint8_t *)&header->signatures[header->n_signatures], *end = (const uint8_t *)(header + 1);

    while (at < end && *at == 0)
        at++;
    return at == end;
}

rlx_status_t rlx_bundle_signatures_check(const rlx_bundle_header_t *header, rlx_diag_t *diag)
{
    uint8_t message[RLX_BUNDLE_MESSAGE_BYTES];

    if (header->signature_kind > RLX_BUNDLE_SIGNATURE_ED25519)
        return rlx_fail(diag, RLX_E_BUNDLE_VERSION, "signature block: the bundle is signed by method %u, which this program does not know",
                        header->signature_kind);
    if (header->n_signatures > RLX_BUNDLE_SIGNATURES_MAX || (header->n_signatures > 0) != (header->signature_kind != 0) ||
        header->reserved != 0 || !rest_is_zero(header))
        return rlx_fail(diag, RLX_E_BUNDLE_SIGNATURE, "signature block: %u signatures of kind %u, and bytes that do not go with that",
                        header->n_signatures, header->signature_kind);
    rlx_bundle_signed_message(header, message);
    for (int i = 0; i < header->n_signatures; i++) {
        const rlx_bundle_signature_t *one = &header->signatures[i];
        char id[RLX_KEY_ID_TEXT];

        if (crypto_sign_verify_detached(one->signature, message, sizeof message, one->key) == 0)
            continue;
        rlx_key_id(one->key, id);
        return rlx_fail(diag, RLX_E_BUNDLE_SIGNATURE, "signature block: signature %d of %u (key %s) does not fit version and manifest", i + 1,
                        header->n_signatures, id);
    }
    return RLX_OK;
}
