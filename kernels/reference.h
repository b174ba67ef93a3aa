/* The reference evaluator's kernels: the same ABI, built by the host compiler. Used for constant folding and as the oracle in tests. */
#ifndef RLX_KERNELS_REFERENCE_H
#define RLX_KERNELS_REFERENCE_H

#include "kernels/abi.h"

/* NULL for an unknown id. */
rlx_kernel_fn_t *rlx_reference_kernel(rlx_kernel_id_t id);
const char *rlx_kernel_name(rlx_kernel_id_t id);
unsigned rlx_kernel_flags(rlx_kernel_id_t id);

#endif
