/* The geometry of one convolution-like operator: spatial rank, kernel, strides, dilations, pads, out of attributes and operands.
 * Shape rules and lowerings of the family read it here, so that both see the same numbers. Internal to ir/. */
#ifndef RLX_IR_CONV_GEOMETRY_H
#define RLX_IR_CONV_GEOMETRY_H

#include "ir/lower/lower.h"
#include "ir/schedule.h"

#define RLX_CONV_EXTENT_MAX (1 << 20) /* largest kernel extent, stride and dilation */

typedef struct rlx_conv_geometry {
    int rank;                                /* spatial: 1 to 3 */
    rlx_expr_t in[3], out[3];                /* spatial extents; out is set by the shape rule, or read from output 0 */
    int64_t kernel[3], stride[3], dilation[3];
    rlx_expr_t pad[3], pad_end[3];
    rlx_cut_t cut;                           /* of an op whose shape rule has run */
    rlx_demand_t demand;                     /* the same */
} rlx_conv_geometry_t;

/* Reads rank and spatial extents of operand 0, strides, dilations, pads; the kernel from attribute "kernel" or, for operators with weights,
 * from the spatial extents of operand 1. Refuses what is out of range. `out` is left NONE. */
rlx_status_t rlx_conv_geometry_read(const rlx_graph_t *graph, const rlx_op_t *op, rlx_conv_geometry_t *out_geometry, rlx_diag_t *diag);
/* The same, for an op whose shape rule has run: cannot fail, and sets `out` from output 0. */
rlx_conv_geometry_t rlx_conv_geometry_of(const rlx_graph_t *graph, const rlx_op_t *op);
/* Fills a rlx_conv_window_t that starts at word `word`: leading axes of lower ranks are trivial. */
void rlx_conv_geometry_params(const rlx_graph_t *graph, const rlx_conv_geometry_t *geometry, rlx_step_t *step, int word);

/* ir/shape/conv.c: windows along spatial axis `axis`; a kernel larger than the padded input is refused or becomes a check. With `ceil_mode` a
 * last partial window counts when it starts before the end padding. */
rlx_status_t rlx_conv_window_count(rlx_graph_t *graph, const rlx_op_t *op, const rlx_conv_geometry_t *geometry, int axis, bool ceil_mode,
                                   rlx_expr_t *out_count, rlx_diag_t *diag);
/* ir/operator/col2im.c */
rlx_status_t rlx_col2im_shape(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
rlx_status_t rlx_col2im_lower(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);

#endif
