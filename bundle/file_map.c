/* The mapping of a bundle's file, laid so that its weights can be read through huge pages: fewer page faults at the start, fewer misses of
 * the translation buffers in every run. The system maps two megabytes at once where a huge page of the file lies in one piece of the page
 * cache and both address and offset are multiples of its size. Files are written so (base/file.c, bundle/copy.c); a file read back from disk
 * is, where the advice is taken. Anything else (an older kernel, another file system, tmpfs) is mapped in small pages, with the same bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#include "bundle/format.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* Reserved one huge page longer than needed; the ends are given back. */
static void *address_reserve(size_t bytes)
{
    char *raw = mmap(NULL, bytes + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t head, size = (bytes + RLX_BUNDLE_PAGE - 1) / RLX_BUNDLE_PAGE * RLX_BUNDLE_PAGE;

    if (raw == MAP_FAILED)
        return NULL;
    head = (HUGE_PAGE - (uintptr_t)raw % HUGE_PAGE) % HUGE_PAGE;
    if (head > 0)
        munmap(raw, head);
    if (size < bytes + HUGE_PAGE - head)
        munmap(raw + head + size, bytes + HUGE_PAGE - head - size);
    return raw + head;
}

const void *rlx_bundle_file_map(int fd, size_t bytes)
{
    void *address = bytes >= HUGE_PAGE ? address_reserve(bytes) : NULL;
    void *map = mmap(address, bytes, PROT_READ, MAP_PRIVATE | (address != NULL ? MAP_FIXED : 0), fd, 0);

    if (map == MAP_FAILED) {
        if (address != NULL)
            munmap(address, bytes);
        return NULL;
    }
    if (address != NULL)
        (void)madvise(map, bytes, MADV_HUGEPAGE); /* advice only */
    return map;
}

/* "7f10c9200000-7f10cb557000 r--p ...": does a mapping that begins in the range begin here? */
static bool mapping_begins(const char *line, uintptr_t begin, uintptr_t end, bool *out_inside)
{
    uintmax_t from, to;

    if (sscanf(line, "%jx-%jx ", &from, &to) != 2)
        return false;
    *out_inside = from >= begin && from < end;
    return true;
}

size_t rlx_bundle_file_huge(const void *map, size_t bytes)
{
    FILE *smaps = fopen("/proc/self/smaps", "re");
    uintptr_t begin = (uintptr_t)map;
    bool inside = false;
    char line[512];
    size_t total = 0, kib;

    while (smaps != NULL && fgets(line, sizeof line, smaps) != NULL)
        if (!mapping_begins(line, begin, begin + bytes, &inside) && inside && sscanf(line, "FilePmdMapped: %zu kB", &kib) == 1)
            total += kib << 10;
    if (smaps != NULL)
        fclose(smaps);
    return total;
}
