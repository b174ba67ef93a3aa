/* --custom NAME=FILE: user code on its way into a bundle. Compiled once per ISA, it is put behind the kernels' image, which has no relocations and
 * so may be longer by anything. One thread. */
#ifndef RLX_CLI_CUSTOM_CODE_H
#define RLX_CLI_CUSTOM_CODE_H

#include "bundle/bundle.h"
#include "cli/compile_job.h"
#include "kernels/image.h"
#include "target/custom.h"

#define RLX_CUSTOM_ISAS_MAX 4

typedef struct rlx_custom_built {
    rlx_custom_set_t set;
    rlx_custom_code_t codes[RLX_CUSTOM_ISAS_MAX]; /* by image of the kernels */
    int n_codes;
} rlx_custom_built_t;

/* Compiles the job's user code, if it has any. */
rlx_status_t rlx_custom_build(const rlx_compile_job_t *job, rlx_custom_built_t *out_built, rlx_diag_t *diag);
void rlx_custom_built_fini(rlx_custom_built_t *built);
/* Image `index` of the kernels, with the user code behind it: `image` has its entries already, with room for RLX_CUSTOM_MAX more. The bytes are
 * malloc'd, owned by the caller; NULL in `out_owned`: nothing was added. */
rlx_status_t rlx_custom_image_extend(const rlx_custom_built_t *built, int index, rlx_bundle_image_t *image, rlx_bundle_entry_t *entries,
                                     void **out_owned, rlx_diag_t *diag);

#endif
