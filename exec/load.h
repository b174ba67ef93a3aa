/* From a bundle file to a model: the code image's entry points become the kernel table. */
#ifndef RLX_EXEC_LOAD_H
#define RLX_EXEC_LOAD_H

#include "bundle/bundle.h"
#include "exec/executor.h"

/* Entry points of the bundle's mapped code; valid while the bundle is open. */
rlx_status_t rlx_kernel_table_load(const rlx_bundle_t *bundle, rlx_kernel_table_t *out_table, rlx_diag_t *diag);
/* Opens and verifies the bundle at `path` (flags of rlx_bundle_open) and makes a model of it. The model owns the bundle. */
rlx_status_t rlx_model_open(const char *path, unsigned flags, rlx_model_t **out_model, rlx_diag_t *diag);
/* Makes a model of an open bundle. The bundle is borrowed and must outlive the model. */
rlx_status_t rlx_model_from_bundle(const rlx_bundle_t *bundle, rlx_model_t **out_model, rlx_diag_t *diag);

#endif
