/* Building strided_copy steps: a list of axes with extents and strides, merged where neighbours are contiguous. Internal to ir/. */
#ifndef RLX_IR_STRIDED_H
#define RLX_IR_STRIDED_H

#include "ir/lower/lower.h"

#define RLX_STRIDED_AXES_MAX 16

typedef struct rlx_strided {
    int n_axes;
    rlx_expr_t dims[RLX_STRIDED_AXES_MAX];
    rlx_expr_t in_stride[RLX_STRIDED_AXES_MAX], out_stride[RLX_STRIDED_AXES_MAX]; /* elements */
    rlx_expr_t in_offset, out_offset;                                            /* elements */
} rlx_strided_t;

void rlx_strided_init(const rlx_graph_t *graph, rlx_strided_t *strided);
/* Appends an axis, outermost first. */
void rlx_strided_axis(rlx_strided_t *strided, rlx_expr_t dim, rlx_expr_t in_stride, rlx_expr_t out_stride);
/* Merges, then adds the step that copies from `in` to `out`. Fails when more than 8 axes remain. */
rlx_status_t rlx_strided_lower(rlx_builder_t *builder, const rlx_op_t *op, rlx_strided_t *strided, const rlx_value_t *in, const rlx_value_t *out,
                               rlx_diag_t *diag);

#endif
