/* Adds a signature to a bundle. A copy is verified whole, then its header page gets the signature, then it takes its place: what is signed is
 * what was verified, and a reader sees the old file or the new one. */
#include "bundle/sign.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/format.h"

typedef struct signing {
    const rlx_secret_key_t *key;
    mode_t mode; /* of the file signed */
    int count;
} signing_t;

static int place_of(const rlx_bundle_header_t *header, const uint8_t *key)
{
    int i = 0;

    while (i < header->n_signatures && memcmp(header->signatures[i].key, key, RLX_KEY_BYTES) != 0)
        i++;
    return i;
}

static rlx_status_t header_sign(rlx_bundle_header_t *header, const rlx_secret_key_t *key, rlx_diag_t *diag)
{
    uint8_t message[RLX_BUNDLE_MESSAGE_BYTES];
    int at = place_of(header, key->public_key.key);

    if (at == RLX_BUNDLE_SIGNATURES_MAX)
        return rlx_fail(diag, RLX_E_USAGE, "the bundle has %d signatures, and no more fit", RLX_BUNDLE_SIGNATURES_MAX);
    rlx_bundle_signed_message(header, message);
    memcpy(header->signatures[at].key, key->public_key.key, RLX_KEY_BYTES);
    crypto_sign_detached(header->signatures[at].signature, NULL, message, sizeof message, key->expanded);
    header->signature_kind = RLX_BUNDLE_SIGNATURE_ED25519;
    if (at == header->n_signatures)
        header->n_signatures++;
    return RLX_OK;
}

static rlx_status_t copy_sign(void *context, int fd, rlx_diag_t *diag)
{
    signing_t *signing = context;
    rlx_bundle_header_t header;

    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return rlx_fail(diag, RLX_E_FILE_OPEN, "cannot read the copy to be signed: %s", strerror(errno));
    RLX_TRY(header_sign(&header, signing->key, diag));
    if (pwrite(fd, &header, sizeof header, 0) != (ssize_t)sizeof header || fchmod(fd, signing->mode) != 0)
        return rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write the signed copy: %s", strerror(errno));
    signing->count = header.n_signatures;
    return RLX_OK;
}

rlx_status_t rlx_bundle_sign(const char *path, const char *to, const rlx_secret_key_t *key, int *out_count, rlx_diag_t *diag)
{
    signing_t signing = {.key = key, .mode = 0644};
    rlx_bundle_t *bundle;
    struct stat info;

    if (stat(path, &info) == 0)
        signing.mode = info.st_mode & 0777;
    RLX_TRY(rlx_bundle_copy_changed(path, to, copy_sign, &signing, &bundle, diag));
    rlx_bundle_close(bundle);
    *out_count = signing.count;
    return RLX_OK;
}
