/* Parameters of user code (custom_op). Its kernels are numbered from RLX_CUSTOM_FIRST on, in the order of their names; such a number means
 * something only in its own bundle. The parameters are the head, then one rlx_custom_operand_t for each input and each output. */
#ifndef RLX_KERNELS_PARAMS_CUSTOM_H
#define RLX_KERNELS_PARAMS_CUSTOM_H

#include <stdint.h>

#define RLX_CUSTOM_FIRST 240
#define RLX_CUSTOM_MAX 16

typedef struct rlx_custom_params {
    int64_t n_in, n_out;
    int64_t step;      /* the input that is the step size, an f64 of rank 0; -1: none, and any step will do */
    int64_t step_max;  /* bits of an f64; 0: not given */
    int64_t tolerance; /* bits of an f64; 0: not given */
    int64_t split;     /* tiles are rows of the first output, in any split; else there is one tile */
} rlx_custom_params_t;

typedef struct rlx_custom_operand {
    int64_t dtype, rank, dims[8]; /* dtype as in base/tensor.h */
} rlx_custom_operand_t;

#endif
