/* Operands of a convolution at the scheduled level: the operator's own, then the residuals of its epilogue. Internal to ir/. */
#ifndef RLX_IR_CONV_OPERANDS_H
#define RLX_IR_CONV_OPERANDS_H

#include "ir/operator/conv_geometry.h"
#include "ir/lower/lower.h"
#include "ir/schedule.h"

static inline const rlx_epilogue_t *rlx_conv_epilogue(const rlx_op_t *op)
{
    const rlx_schedule_t *sched = op->sched;

    return sched != NULL && sched->epilogue != NULL && sched->epilogue->n_steps > 0 ? sched->epilogue : NULL;
}

/* Operand `index` of the operator proper, or NULL. */
static inline rlx_value_t *rlx_conv_operand(const rlx_op_t *op, int index)
{
    const rlx_schedule_t *sched = op->sched;

    return rlx_conv_epilogue(op) != NULL && index >= sched->n_operands ? NULL : rlx_op_in(op, index);
}

/* ir/lower/conv_c16.c: which fast kernel can take the op. The answer depends on shapes and constants only, not on layouts. */
typedef enum rlx_conv_form {
    RLX_CONV_PLAIN,
    RLX_CONV_DIRECT,
    RLX_CONV_FIRST,
    RLX_CONV_DEPTHWISE,
    RLX_CONV_TRANSPOSE,
    RLX_CONV_GROUP,
    RLX_CONV_WINOGRAD,
    RLX_CONV_WIDTH, /* row-major: output columns in the lanes */
} rlx_conv_form_t;
/* No pad may be negative: fast kernels read cells past the map, but none is cut off. */
bool rlx_conv_pads_natural(const rlx_graph_t *graph, const rlx_op_t *op);
rlx_conv_form_t rlx_conv_form(const rlx_graph_t *graph, const rlx_op_t *op);
/* The bias as a constant of whole blocks of 16, zeros behind `outputs`; NULL: the op has none. */
rlx_value_t *rlx_conv_bias_const(rlx_builder_t *builder, const rlx_op_t *op, int64_t outputs);
rlx_status_t rlx_conv_lower_c16(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);
/* ir/lower/conv_group.c: form RLX_CONV_GROUP; `geometry` of rank 2, `bias` padded or NULL. */
rlx_status_t rlx_conv_lower_group(rlx_builder_t *builder, const rlx_op_t *op, const rlx_conv_geometry_t *geometry, const rlx_value_t *bias,
                                  rlx_expr_t flops, rlx_diag_t *diag);
/* ir/lower/winograd.c: ops whose algorithm is not direct. */
rlx_status_t rlx_winograd_lower_plain(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);
rlx_status_t rlx_winograd_lower_c16(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);
/* ir/lower/conv_width.c: form RLX_CONV_WIDTH. */
rlx_status_t rlx_conv_lower_width(rlx_builder_t *builder, const rlx_op_t *op, rlx_expr_t flops, rlx_diag_t *diag);
/* ir/lower/pool.c */
bool rlx_pool_wants_c16(const rlx_graph_t *graph, const rlx_op_t *op);
rlx_status_t rlx_pool_lower(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag);

#endif
