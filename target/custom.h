/* User code of custom_op: C or Fortran sources compiled and linked into one code image for one ISA, without anything from outside. The same
 * sources, compilers and version give the same bytes. One thread; runs clang-19, gfortran and ld.lld-19 in a temporary folder. */
#ifndef RLX_TARGET_CUSTOM_H
#define RLX_TARGET_CUSTOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "kernels/params_custom.h"

/* Function `name` (a C identifier) of the source `path`: .c, or .f90, .f95, .f03, .f08, .f; or of an object, .o, which all ISAs share. Several may be
 * of one source. */
typedef struct rlx_custom_source {
    const char *name, *path;
} rlx_custom_source_t;

typedef struct rlx_custom_code {
    void *data; /* position-independent, relocation-free; owned */
    size_t bytes;
    uint32_t entry[RLX_CUSTOM_MAX]; /* by source: offset of its kernel */
    bool split[RLX_CUSTOM_MAX];     /* by source: RLX_CUSTOM_SPLIT stands in it */
} rlx_custom_code_t;

/* Is it a source that can be given? Looks at name and ending only. */
rlx_status_t rlx_custom_source_check(const rlx_custom_source_t *source, rlx_diag_t *diag);
/* Code without a source: for bundles that somebody signs (docs/CUSTOM.md). */
bool rlx_custom_is_object(const char *path);
/* `isa`: "x86-64-v3" or "x86-64-v4". */
rlx_status_t rlx_custom_compile(const rlx_custom_source_t *sources, int n, const char *isa, rlx_custom_code_t *out_code, rlx_diag_t *diag);
void rlx_custom_code_fini(rlx_custom_code_t *code);

#endif
