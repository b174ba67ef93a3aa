/* Lowering of per-channel products and sums. Internal to ir/. */
#ifndef RLX_IR_LOWER_AFFINE_H
#define RLX_IR_LOWER_AFFINE_H

#include "ir/lower/lower.h"
#include "ir/schedule.h"

/* True when the element-wise op (its chain: one step when it is not fused) was lowered to affine_c16; *out_status says how that went. */
bool rlx_affine_lower(rlx_builder_t *builder, const rlx_op_t *op, const rlx_chain_t *chain, rlx_status_t *out_status, rlx_diag_t *diag);

#endif
