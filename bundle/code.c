/* Code objects run from a sealed memfd: bytes that nobody can change any more, digested after sealing and before anything in them is read, or
 * copied from a file that a stamp vouches for and that is found unchanged after the copy (reader.c).
 * The mapping is read and execute, never writable. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/file.h"
#include "bundle/format.h"

#define KERNEL_END 256
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif

static int memfd_open(void)
{
    int fd = memfd_create("rlx-code", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

    return fd < 0 && errno == EINVAL ? memfd_create("rlx-code", MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd; /* before Linux 6.3 */
}

static ssize_t piece_copy(int to, int from, off_t *offset, size_t bytes)
{
    char piece[16384];
    ssize_t n = sendfile(to, from, offset, bytes); /* from page cache to page cache */

    if (n >= 0 || (errno != EINVAL && errno != ENOSYS))
        return n;
    n = pread(from, piece, bytes < sizeof piece ? bytes : sizeof piece, *offset);
    if (n > 0 && !rlx_fd_write(to, piece, (size_t)n))
        return -1;
    *offset += n > 0 ? n : 0;
    return n;
}

static bool memfd_copy(int to, int from, off_t offset, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = piece_copy(to, from, &offset, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes -= (size_t)n;
    }
    return true;
}

static bool memfd_fill(int to, int from, const rlx_bundle_segment_t *entry)
{
    return memfd_copy(to, from, (off_t)entry->offset, (size_t)entry->bytes) &&
           fcntl(to, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

static rlx_status_t index_check(const rlx_bundle_mapped_code_t *code, rlx_bundle_image_t *image, rlx_diag_t *diag)
{
    const rlx_bundle_code_header_t *header = code->map;
    const rlx_bundle_entry_t *entries = (const rlx_bundle_entry_t *)(header + 1);
    uint64_t head = sizeof *header;

    if (code->map_bytes < head || header->magic != RLX_BUNDLE_CODE_MAGIC || header->n_entries > RLX_BUNDLE_ENTRIES_MAX)
        return rlx_fail(diag, RLX_E_BUNDLE_MALFORMED, "code for %s has no valid index", image->isa);
    head += header->n_entries * sizeof *entries;
    if (header->image_offset % RLX_BUNDLE_PAGE != 0 || header->image_offset < head ||
        (uint64_t)header->image_offset + header->image_bytes != code->map_bytes)
        return rlx_fail(diag, RLX_E_BUNDLE_MALFORMED, "code for %s: the image lies outside its segment", image->isa);
    for (uint32_t i = 0; i < header->n_entries; i++)
        if (entries[i].kernel >= KERNEL_END || entries[i].offset >= header->image_bytes ||
            (i > 0 && entries[i].kernel <= entries[i - 1].kernel))
            return rlx_fail(diag, RLX_E_BUNDLE_MALFORMED, "code for %s: entry %" PRIu32 " is out of range or out of order", image->isa, i);
    image->data = (const char *)code->map + header->image_offset;
    image->bytes = header->image_bytes;
    image->entries = entries;
    image->n_entries = header->n_entries;
    return RLX_OK;
}

static rlx_status_t digest_check(const rlx_bundle_mapped_code_t *code, const rlx_bundle_segment_t *entry, rlx_diag_t *diag)
{
    uint8_t digest[RLX_BUNDLE_DIGEST];

    if (!rlx_bundle_digest_tree(code->map, entry->bytes, 1, digest))
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for digests");
    if (memcmp(digest, entry->digest, sizeof digest) != 0)
        return rlx_fail(diag, RLX_E_BUNDLE_DIGEST, "code for %s differs from its digest", entry->isa);
    return RLX_OK;
}

rlx_status_t rlx_bundle_code_map(int file, const rlx_bundle_segment_t *entry, bool vouched, rlx_bundle_mapped_code_t *out_code, rlx_diag_t *diag)
{
    rlx_bundle_mapped_code_t code = {.map = MAP_FAILED, .map_bytes = (size_t)entry->bytes, .image.isa = entry->isa};
    int fd = memfd_open();
    rlx_status_t status = RLX_OK;

    if (fd >= 0 && memfd_fill(fd, file, entry))
        code.map = mmap(NULL, code.map_bytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (code.map == MAP_FAILED)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "cannot map code for %s as executable: %s", entry->isa, strerror(errno));
    if (!vouched)
        status = digest_check(&code, entry, diag);
    if (status == RLX_OK)
        status = index_check(&code, &code.image, diag);
    if (status != RLX_OK) {
        rlx_bundle_code_unmap(&code);
        return status;
    }
    *out_code = code;
    return RLX_OK;
}

void rlx_bundle_code_unmap(rlx_bundle_mapped_code_t *code)
{
    if (code->map != NULL)
        munmap(code->map, code->map_bytes);
    code->map = NULL;
}
