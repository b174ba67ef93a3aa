/* Target: rlx_bundle_open. The digest in the header is set right for whatever the manifest's bytes became, and signatures of the corpus's own
 * key are made anew, else nothing past them would ever be reached; digests of segments stay, so that segments are reached when the manifest
 * still describes them. What was opened must name its signers and answer whether it is trusted. */
#include <sodium.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/digest.h"
#include "bundle/format.h"
#include "bundle/sign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* The corpus is signed by the key of this seed. */
static const uint8_t seed[32] = {7};

static void signatures_mend(rlx_bundle_header_t *header)
{
    uint8_t public_key[32], secret_key[64], message[RLX_BUNDLE_MESSAGE_BYTES];

    crypto_sign_seed_keypair(public_key, secret_key, seed);
    rlx_bundle_signed_message(header, message);
    for (int i = 0; i < RLX_BUNDLE_SIGNATURES_MAX; i++)
        if (memcmp(header->signatures[i].key, public_key, sizeof public_key) == 0)
            crypto_sign_detached(header->signatures[i].signature, NULL, message, sizeof message, secret_key);
}

static void header_mend(uint8_t *data, size_t bytes)
{
    rlx_bundle_header_t header;

    if (bytes <= RLX_BUNDLE_PAGE)
        return;
    memcpy(&header, data, sizeof header);
    if (header.manifest_bytes <= bytes - RLX_BUNDLE_PAGE)
        rlx_digest_blake2b(data + RLX_BUNDLE_PAGE, header.manifest_bytes, header.manifest_digest);
    signatures_mend(&header);
    memcpy(data, &header, sizeof header);
}

static void file_open(const uint8_t *data, size_t bytes)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    rlx_diag_t diag = {0};
    rlx_bundle_t *bundle;
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes && rlx_bundle_open(path, 0, &bundle, &diag) == RLX_OK) {
        const rlx_bundle_signature_t *signatures;
        int n;

        (void)rlx_bundle_signatures(bundle, &n);
        if (n < 0 || n > RLX_BUNDLE_SIGNATURES_MAX)
            abort();
        signatures = rlx_bundle_source_signatures(bundle, &n);
        for (int i = 0; i < n; i++)
            (void)rlx_source_signature_fits(rlx_bundle_source_digest(bundle), &signatures[i]);
        rlx_bundle_close(bundle);
    } else if (fd >= 0 && diag.message[0] == '\0')
        abort(); /* refused without a word */
    if (fd >= 0)
        close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes + 1);
    rlx_bundle_manifest_t manifest;
    rlx_diag_t diag = {0};

    if (copy == NULL)
        return 0;
    memcpy(copy, data, bytes);
    header_mend(copy, bytes);
    file_open(copy, bytes);
    if (rlx_bundle_manifest_decode(data, bytes, &manifest, &diag) == RLX_OK) /* inputs that are a manifest alone */
        rlx_bundle_manifest_fini(&manifest);
    free(copy);
    return 0;
}
