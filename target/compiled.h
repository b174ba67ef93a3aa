/* What other targets do with the folder of C: write it to a work folder, compile it there with clang, take files from it. */
#ifndef RLX_TARGET_COMPILED_H
#define RLX_TARGET_COMPILED_H

#include "target/folder_c.h"
#include "target/object_cache.h"
#include "target/toolchain.h"

typedef struct rlx_compiled_c {
    const rlx_target_job_t *job;
    rlx_frozen_t frozen;
    rlx_file_set_t *set;
    rlx_object_cache_t cache;
    char work[4096]; /* below the job's folder: DIR/.work */
} rlx_compiled_c_t;

/* Freezes the program and writes its C to the work folder. rlx_compiled_c_end removes it, in any case. */
rlx_status_t rlx_compiled_c_begin(const rlx_target_job_t *job, rlx_compiled_c_t *out, rlx_diag_t *diag);
void rlx_compiled_c_end(rlx_compiled_c_t *compiled, rlx_target_figures_t *out_figures);
/* clang with flags common to all: every source of the set but those named in `without` (by commas), and `more` sources. Objects of kernels are
 * taken from the job's cache; `ending`: .o or .bc, what the flags make. */
rlx_status_t rlx_compiled_c_clang(const rlx_compiled_c_t *compiled, const char *flags, const char *ending, const char *without,
                                   const char *more, rlx_diag_t *diag);
/* Adds the objects (.o or .bc) of the same sources to a command line. */
void rlx_compiled_c_objects(const rlx_compiled_c_t *compiled, const char *without, const char *more, const char *ending, rlx_tool_t *tool);
/* Moves a file of the work folder to the job's folder, as `as`. */
rlx_status_t rlx_compiled_c_take(const rlx_compiled_c_t *compiled, const char *name, const char *as, rlx_diag_t *diag);

#endif
