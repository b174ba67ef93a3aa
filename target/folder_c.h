/* The folder of `--target c`, as a set of files; other targets compile it. */
#ifndef RLX_TARGET_FOLDER_C_H
#define RLX_TARGET_FOLDER_C_H

#include "target/emit_c.h"
#include "target/target.h"

/* `frozen` is the job's program; its constants are borrowed by the set. */
rlx_status_t rlx_folder_c_make(const rlx_target_job_t *job, const rlx_frozen_t *frozen, rlx_file_set_t *out_set, rlx_diag_t *diag);

#endif
