/* Target: rlx_bundle_open. The digest in the header is set right for whatever the manifest's bytes became, else nothing past it would ever
 * be reached; digests of segments stay, so that segments are reached when the manifest still describes them. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/digest.h"
#include "bundle/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void header_mend(uint8_t *data, size_t bytes)
{
    rlx_bundle_header_t header;

    if (bytes <= RLX_BUNDLE_PAGE)
        return;
    memcpy(&header, data, sizeof header);
    if (header.manifest_bytes <= bytes - RLX_BUNDLE_PAGE)
        rlx_digest_blake2b(data + RLX_BUNDLE_PAGE, header.manifest_bytes, header.manifest_digest);
    memcpy(data, &header, sizeof header);
}

static void file_open(const uint8_t *data, size_t bytes)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    rlx_diag_t diag = {0};
    rlx_bundle_t *bundle;
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes && rlx_bundle_open(path, 0, &bundle, &diag) == RLX_OK)
        rlx_bundle_close(bundle);
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
