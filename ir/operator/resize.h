/* The geometry of a resize: what its operands and attributes mean for each dimension. Read by its shape rule, lowering and the layout
 * pass. */
#ifndef RLX_IR_RESIZE_H
#define RLX_IR_RESIZE_H

#include "ir/lower/lower.h"
#include "ir/shape/common.h"

/* Per dimension. A dimension that is not resized passes unchanged. The scale is `scale_bits` (f64) when not zero, else num / den. */
typedef struct rlx_resize_geometry {
    int mode, coord, nearest; /* enums of kernels/params_sample.h */
    bool antialias, exclude_outside;
    int rank;
    bool resized[RLX_RANK_MAX];
    rlx_expr_t out[RLX_RANK_MAX];
    rlx_expr_t taps[RLX_RANK_MAX];
    rlx_expr_t scale_bits[RLX_RANK_MAX];
    rlx_expr_t num[RLX_RANK_MAX], den[RLX_RANK_MAX];
    int roi_place[RLX_RANK_MAX]; /* of its begin in roi; the end follows n_axes later; -1: whole */
    int n_axes;
} rlx_resize_geometry_t;

/* Fails when scales or sizes are missing, not known, or out of range. `check` declares conditions on the plan. */
rlx_status_t rlx_resize_geometry_get(rlx_graph_t *graph, const rlx_op_t *op, bool check, rlx_resize_geometry_t *out, rlx_diag_t *diag);
rlx_status_t rlx_lower_resize(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);

#endif
