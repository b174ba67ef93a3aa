/* Targets besides x86_64's bundle: a compiled program with fixed sizes becomes a folder of files. One emitter, target/emit_c.c, makes C of
 * the program; the other targets are what clang makes of that C.
 *
 * One job on one thread; different jobs side by side. */
#ifndef RLX_TARGET_TARGET_H
#define RLX_TARGET_TARGET_H

#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

typedef struct rlx_target_job {
    const char *stem;     /* names functions: made an identifier */
    const char *model;    /* for people: where it comes from, without folders */
    const char *compiler; /* "rlx 0.1.0" */
    const void *program;  /* checked */
    const void *constants;
    size_t constants_bytes;
    const char *folder;   /* the target's own; made */
    const char *objects;  /* where compiled kernels are kept between runs, a folder that is there; NULL: they are not */
    const struct rlx_custom_source *custom; /* user code, by number of its kernel; as the program was compiled with */
    int n_custom;
    bool freestanding;    /* c: no C library, static arena */
    bool stable;          /* --determinism stable: a target without fused multiply-add may take product and sum */
    const char *report;   /* what constraints undid, one line each; "" */
} rlx_target_job_t;

typedef struct rlx_target_figures {
    int64_t arena_bytes, constants_bytes, n_files;
} rlx_target_figures_t;

typedef struct rlx_target {
    const char *name, *summary;
    rlx_status_t (*make)(const rlx_target_job_t *job, rlx_target_figures_t *out_figures, rlx_diag_t *diag);
} rlx_target_t;

/* All that can be made by this part, in order; x86_64, which is the bundle itself, is not among them. */
const rlx_target_t *const *rlx_target_list(int *out_count);

/* One per file target/target_<name>.c. */
extern const rlx_target_t rlx_target_c, rlx_target_llvm, rlx_target_wasm, rlx_target_aarch64, rlx_target_riscv64;
/* No target of its own: --keep of the bundle. Its folder is the bundle's. */
extern const rlx_target_t rlx_target_keep;

#endif
