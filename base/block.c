/* A block of a huge page or more starts at one, and only whole ones are advised, so that what malloc keeps beside it stays in small pages. */
#include "base/block.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ALIGN ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)

void *rlx_block_alloc(size_t bytes)
{
    size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGN;
    void *block;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    block = aligned_alloc(align, (bytes / align + 1) * align);
    if (block != NULL && align == HUGE_PAGE)
        (void)madvise(block, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* advice only */
    return block;
}
