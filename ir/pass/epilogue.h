/* From the scheduled epilogue of an op to the parameters of kernels/epilogue.h, for the lowerings of convolutions and products. */
#ifndef RLX_IR_EPILOGUE_H
#define RLX_IR_EPILOGUE_H

#include "ir/lower/lower.h"
#include "ir/schedule.h"

/* Fills the rlx_epilogue_params_t that begins at `word` of the step's params; `epilogue` may be NULL (no steps). Each residual tensor is
 * added to the step as an input here, in order: call after the kernel's own inputs (absent ones included) were added. `n_in` is how many
 * inputs the step has so far. Fails when a step's operation has no f32 form. */
rlx_status_t rlx_epilogue_encode(rlx_step_t *step, int word, int n_in, const rlx_epilogue_t *epilogue, rlx_diag_t *diag);

/* The operation of a step and its immediates, kernels/map_op.h; RLX_MAP_none when it has none. */
rlx_map_op_t rlx_epilogue_step_kind(const rlx_epilogue_step_t *from, float *out_a, float *out_b);

/* The unary f32 operation of an op and its immediates; RLX_MAP_none when it has none. Shared with ir/lower/elementwise.c. */
rlx_map_op_t rlx_map_unary_of(const rlx_op_t *op, float *out_a, float *out_b);

#endif
