/* What the code of a custom_op gets. The function has the custom_op's name:
 *
 *     void physics_update(const rlx_custom_tensor_t *in, int n_in, const rlx_custom_tensor_t *out, int n_out, const rlx_custom_info_t *info);
 *
 * It writes every element of its outputs, which hold anything before, and keeps nothing. It calls no library: rlx compile refuses what is not
 * in the source itself (docs/CUSTOM.md). rlx_custom.inc is the same for Fortran. */
#ifndef RLX_CUSTOM_H
#define RLX_CUSTOM_H

#include <stdint.h>

enum {
    RLX_CUSTOM_F32 = 1, RLX_CUSTOM_F64 = 2, RLX_CUSTOM_F16 = 3, RLX_CUSTOM_BF16 = 4, RLX_CUSTOM_I8 = 5, RLX_CUSTOM_I16 = 6,
    RLX_CUSTOM_I32 = 7, RLX_CUSTOM_I64 = 8, RLX_CUSTOM_U8 = 9, RLX_CUSTOM_U16 = 10, RLX_CUSTOM_U32 = 11, RLX_CUSTOM_U64 = 12,
    RLX_CUSTOM_BOOL = 13
};

/* Row-major, without gaps; `data` of inputs is not written. A scalar has rank 0 and one element. */
typedef struct rlx_custom_tensor {
    void *data;
    int32_t dtype, rank;
    int64_t dims[8];
} rlx_custom_tensor_t;

typedef struct rlx_custom_info {
    int64_t row_begin, row_end; /* compute these rows (axis 0) of the outputs: all, unless RLX_CUSTOM_SPLIT says otherwise */
    double max_step_size, error_tolerance; /* of the stability_requirement; 0: not given. The step size was checked */
} rlx_custom_info_t;

/* In the source, once: the rows of all outputs may be computed apart, by several threads. Each row must come out the same, whatever rows are
 * computed with it. */
#define RLX_CUSTOM_SPLIT(name) void rlx_custom_split_##name(void); void rlx_custom_split_##name(void) {}

#endif
