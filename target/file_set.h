/* Files that a target consists of, in memory until all are made: nothing is written for a model that is refused half way.
 *
 * Owner: the caller, by value. One thread. */
#ifndef RLX_TARGET_FILE_SET_H
#define RLX_TARGET_FILE_SET_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

#define RLX_FILE_SET_MAX 320
#define RLX_FILE_TEXT_MAX ((size_t)256 << 20)

typedef struct rlx_file_entry {
    char path[96]; /* below the folder */
    rlx_text_t text;
    const void *borrowed; /* bytes of somebody else instead, or NULL */
    size_t borrowed_bytes;
} rlx_file_entry_t;

typedef struct rlx_file_set {
    rlx_file_entry_t entries[RLX_FILE_SET_MAX];
    int count;
} rlx_file_set_t;

/* Both may be called for a path that is there: then nothing is added, and the text returned is the one before. */
rlx_text_t *rlx_file_set_add(rlx_file_set_t *set, const char *path);
void rlx_file_set_borrow(rlx_file_set_t *set, const char *path, const void *data, size_t bytes);
/* Writes all below `folder`, making folders. Kernel sources in there that are not in the set are removed: they are of an earlier compile. */
rlx_status_t rlx_file_set_write(const rlx_file_set_t *set, const char *folder, rlx_diag_t *diag);
void rlx_file_set_fini(rlx_file_set_t *set);

#endif
