/* Signatures of sources: over the digest of a canonical form, so that layout and comments of the text do not matter. Their file is text. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "bundle/key_text.h"
#include "bundle/sign.h"

#define TITLE "RLX source signature 1"
#define SIGNED_TITLE "RLX source signature 1\n"
#define MESSAGE_BYTES (sizeof SIGNED_TITLE - 1 + RLX_BUNDLE_DIGEST)

static void message_make(const uint8_t digest[RLX_BUNDLE_DIGEST], uint8_t out_message[MESSAGE_BYTES])
{
    memcpy(out_message, SIGNED_TITLE, sizeof SIGNED_TITLE - 1);
    memcpy(out_message + sizeof SIGNED_TITLE - 1, digest, RLX_BUNDLE_DIGEST);
}

void rlx_source_sign(const uint8_t digest[RLX_BUNDLE_DIGEST], const rlx_secret_key_t *key, rlx_bundle_signature_t *out_signature)
{
    uint8_t message[MESSAGE_BYTES];

    message_make(digest, message);
    memcpy(out_signature->key, key->public_key.key, RLX_KEY_BYTES);
    crypto_sign_detached(out_signature->signature, NULL, message, sizeof message, key->expanded);
}

bool rlx_source_signature_fits(const uint8_t digest[RLX_BUNDLE_DIGEST], const rlx_bundle_signature_t *signature)
{
    uint8_t message[MESSAGE_BYTES];

    message_make(digest, message);
    return crypto_sign_verify_detached(signature->signature, message, sizeof message, signature->key) == 0;
}

static rlx_status_t one_check(const rlx_key_lines_t *lines, const uint8_t *digest, const uint8_t *signed_digest,
                              const rlx_bundle_signature_t *one, rlx_diag_t *diag)
{
    char id[RLX_KEY_ID_TEXT], is[17], was[17];

    rlx_key_id(one->key, id);
    rlx_digest_hex(digest, 8, is);
    rlx_digest_hex(signed_digest, 8, was);
    if (memcmp(digest, signed_digest, RLX_BUNDLE_DIGEST) != 0) {
        rlx_fail(diag, RLX_E_BUNDLE_SIGNATURE, "the source is not what key %s signed: its canonical form is %s..., signed was %s...", id, is, was);
        rlx_diag_hint(diag, "Sign it again (rlx sign --model FILE --key NAME.key) if the change is meant, or remove the file of signatures.");
        return rlx_diag_at(diag, "%.200s", lines->name);
    }
    if (rlx_source_signature_fits(digest, one))
        return RLX_OK;
    rlx_fail(diag, RLX_E_BUNDLE_SIGNATURE, "the signature of key %s does not fit the source: signature or key was changed", id);
    return rlx_diag_at(diag, "%.200s", lines->name);
}

rlx_status_t rlx_source_signatures_parse(const char *name, const char *text, size_t bytes, const uint8_t digest[RLX_BUNDLE_DIGEST],
                                         rlx_source_signatures_t *out_signatures, rlx_diag_t *diag)
{
    rlx_key_lines_t lines = {name, text, text + bytes, 1};

    out_signatures->n = 0;
    do {
        rlx_bundle_signature_t *one = &out_signatures->items[out_signatures->n];
        char *comment = out_signatures->comments[out_signatures->n];
        uint8_t signed_digest[RLX_BUNDLE_DIGEST];
        rlx_key_field_t fields[] = {{.name = "comment", .text = comment, .n = RLX_KEY_COMMENT_MAX, .optional = true},
                                    {.name = "key", .bytes = one->key, .n = sizeof one->key},
                                    {.name = "source", .bytes = signed_digest, .n = sizeof signed_digest},
                                    {.name = "signature", .bytes = one->signature, .n = sizeof one->signature}};

        if (out_signatures->n == RLX_BUNDLE_SIGNATURES_MAX)
            return rlx_fail(diag, RLX_E_KEY_FILE, "%.200s holds more than %d signatures", name, RLX_BUNDLE_SIGNATURES_MAX);
        comment[0] = '\0';
        RLX_TRY(rlx_key_block_read(&lines, TITLE, fields, 4, diag));
        RLX_TRY(one_check(&lines, digest, signed_digest, one, diag));
        out_signatures->n++;
    } while (rlx_key_block_next(&lines));
    return RLX_OK;
}

rlx_status_t rlx_source_signatures_read(const char *path, const uint8_t digest[RLX_BUNDLE_DIGEST], rlx_source_signatures_t *out_signatures,
                                        rlx_diag_t *diag)
{
    size_t bytes;
    void *text;
    rlx_status_t status;

    RLX_TRY(rlx_file_read(path, RLX_SOURCE_SIGNATURES_FILE_MAX, &text, &bytes, diag));
    status = rlx_source_signatures_parse(path, text, bytes, digest, out_signatures, diag);
    free(text);
    return status;
}

rlx_status_t rlx_source_signatures_add(rlx_source_signatures_t *signatures, const uint8_t digest[RLX_BUNDLE_DIGEST],
                                       const rlx_secret_key_t *key, rlx_diag_t *diag)
{
    int at = 0;

    while (at < signatures->n && memcmp(signatures->items[at].key, key->public_key.key, RLX_KEY_BYTES) != 0)
        at++;
    if (at == RLX_BUNDLE_SIGNATURES_MAX)
        return rlx_fail(diag, RLX_E_USAGE, "the source has %d signatures, and no more fit", RLX_BUNDLE_SIGNATURES_MAX);
    rlx_source_sign(digest, key, &signatures->items[at]);
    snprintf(signatures->comments[at], sizeof signatures->comments[at], "%s", key->public_key.comment);
    signatures->n += at == signatures->n;
    return RLX_OK;
}

rlx_status_t rlx_source_signatures_write(const char *path, const uint8_t digest[RLX_BUNDLE_DIGEST], const rlx_source_signatures_t *signatures,
                                         rlx_diag_t *diag)
{
    char key[2 * RLX_KEY_BYTES + 1], source[2 * RLX_BUNDLE_DIGEST + 1], signature[129];
    rlx_text_t text;
    rlx_status_t status;

    rlx_text_init(&text, RLX_SOURCE_SIGNATURES_FILE_MAX);
    rlx_digest_hex(digest, RLX_BUNDLE_DIGEST, source);
    for (int i = 0; i < signatures->n; i++) {
        rlx_digest_hex(signatures->items[i].key, RLX_KEY_BYTES, key);
        rlx_digest_hex(signatures->items[i].signature, 64, signature);
        rlx_text_printf(&text, "%s%s\n", i > 0 ? "\n" : "", TITLE);
        if (signatures->comments[i][0] != '\0')
            rlx_text_printf(&text, "comment: %s\n", signatures->comments[i]);
        rlx_text_printf(&text, "key: %s\nsource: %s\nsignature: %s\n", key, source, signature);
    }
    status = text.full ? rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory") : rlx_file_write(path, text.data, text.bytes, diag);
    rlx_text_fini(&text);
    return status;
}
