/* Objects of the kernels' sources, kept between compiles: a folder of files named after everything that decides their bytes (compiler, flags,
 * source and all that it includes). Each stands behind a digest of its bytes: what is damaged is compiled again. What cannot be kept is not.
 *
 * Owner: the caller, by value. Jobs on several threads and of several processes may share the folder. */
#ifndef RLX_TARGET_OBJECT_CACHE_H
#define RLX_TARGET_OBJECT_CACHE_H

#include "base/diag.h"

#define RLX_OBJECT_CACHE_VERSION_MAX 256

typedef struct rlx_object_cache {
    const char *folder; /* borrowed; NULL: nothing is kept */
    char compiler[RLX_OBJECT_CACHE_VERSION_MAX];
} rlx_object_cache_t;

/* Asks `compiler` for its version. `folder` is there, or NULL. */
rlx_status_t rlx_object_cache_open(const char *folder, const char *compiler, rlx_object_cache_t *out_cache, rlx_diag_t *diag);
/* Writes the object of `source` (a path of the archive: kernels/gemm.c) to `path`. False: there is none, and `path` is as it was. */
bool rlx_object_cache_take(const rlx_object_cache_t *cache, const char *source, const char *flags, const char *path);
/* Keeps the object at `path`. */
void rlx_object_cache_put(const rlx_object_cache_t *cache, const char *source, const char *flags, const char *path);

#endif
