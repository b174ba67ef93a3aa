/* `--target`: which targets are wanted, and the making of all but the bundle. One thread; makers run side by side. */
#ifndef RLX_CLI_COMPILE_TARGETS_H
#define RLX_CLI_COMPILE_TARGETS_H

#include "cli/compile_job.h"
#include "target/target.h"

#define RLX_CLI_TARGETS_MAX 16

typedef struct rlx_cli_targets {
    bool bundle;  /* x86_64 */
    bool all;     /* "all": what cannot be made of this model is left out and said */
    const rlx_target_t *others[RLX_CLI_TARGETS_MAX];
    int n_others;
    bool freestanding, stable;
    bool uncached;         /* --no-cache: compiled kernels are neither taken from the cache nor kept in it */
    const char *objects;   /* where they are kept; NULL: nowhere. rlx_cli_targets_make sets it */
} rlx_cli_targets_t;

/* "c,llvm,x86_64" or "all". NULL: x86_64. */
rlx_status_t rlx_cli_targets_parse(const char *text, rlx_cli_targets_t *out_targets, rlx_diag_t *diag);
/* Makes the others below `folder`, one folder each, of what the job compiles to; prints a line for each. `bundle`: the path of the bundle
 * that was made of the same job, or NULL. */
rlx_status_t rlx_cli_targets_make(const rlx_cli_targets_t *targets, const rlx_compile_job_t *job, const char *bundle, const char *folder,
                                  rlx_diag_t *diag);

#endif
