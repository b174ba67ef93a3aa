/* Lowering of the conv family to kernels: blocked where the layout pass chose C16, else the plain definitions. */
#include "ir/cost/conv_algorithm.h"
#include "ir/operator/conv_geometry.h"
#include "ir/operator/conv_operands.h"
#include "ir/lower/dispatch.h"
#include "ir/pass/epilogue.h"
#include "ir/shape/common.h"

/* Rows of the output: one tile each. */
static rlx_expr_t output_rows(rlx_graph_t *graph, const rlx_op_t *op)
{
    return rlx_shape_product(graph, op->out[0]->dims, 0, op->out[0]->rank - 1);
}

static rlx_expr_t flops_of(rlx_graph_t *graph, const rlx_op_t *op)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *positions = op->kind == RLX_OP_conv_transpose ? op->in[0] : op->out[0];
    rlx_expr_t count = rlx_expr_mul(e, rlx_value_count(graph, op->in[1]), positions->dims[0]);

    for (int i = 2; i < positions->rank; ++i)
        count = rlx_expr_mul(e, count, positions->dims[i]);
    return rlx_expr_mul(e, count, rlx_expr_const(e, 2));
}

static rlx_status_t lower_plain(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_conv_geometry_t g = rlx_conv_geometry_of(graph, op);
    rlx_kernel_id_t kernel = op->kind == RLX_OP_conv ? RLX_K_conv_plain : RLX_K_conv_transpose_plain;
    rlx_step_t *step = rlx_step_begin(builder, op, kernel, RLX_WORDS(rlx_conv_plain_params_t));
    rlx_expr_t scratch = rlx_expr_mul(graph->exprs, g.out[g.rank - 1], rlx_expr_const(graph->exprs, 16));

    rlx_step_in(step, op->in[0]);
    rlx_step_in(step, op->in[1]);
    rlx_step_in(step, rlx_conv_operand(op, 2));
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_plain_params_t, dtype), op->in[0]->dtype);
    rlx_step_param(step, RLX_WORD(rlx_conv_plain_params_t, batch), op->in[0]->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_plain_params_t, group), rlx_op_int(op, "group"));
    rlx_step_param(step, RLX_WORD(rlx_conv_plain_params_t, channels), op->in[0]->dims[1]);
    rlx_step_param(step, RLX_WORD(rlx_conv_plain_params_t, outputs), op->out[0]->dims[1]);
    rlx_conv_geometry_params(graph, &g, step, RLX_WORD(rlx_conv_plain_params_t, window));
    RLX_TRY(rlx_epilogue_encode(step, RLX_WORD(rlx_conv_plain_params_t, epilogue), 3, rlx_conv_epilogue(op), diag));
    return rlx_step_end(step, output_rows(graph, op), scratch, flops_of(graph, op), diag);
}

static rlx_status_t lower_conv(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    if (op->out[0]->layout == RLX_LAYOUT_C16)
        return rlx_conv_lower_c16(builder, op, diag);
    if (rlx_conv_algorithm(op) != RLX_CONV_ALGORITHM_DIRECT)
        return rlx_winograd_lower_plain(builder, op, diag);
    if (op->kind == RLX_OP_conv && rlx_builder_level(builder) > 1 && rlx_conv_form(rlx_builder_graph(builder), op) == RLX_CONV_WIDTH)
        return rlx_conv_lower_width(builder, op, flops_of(rlx_builder_graph(builder), op), diag);
    return lower_plain(builder, op, diag);
}

static rlx_status_t lower_max_unpool(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_conv_geometry_t g = rlx_conv_geometry_of(graph, op);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_max_unpool, RLX_WORDS(rlx_max_unpool_params_t));

    rlx_step_in(step, op->in[0]);
    rlx_step_in(step, op->in[1]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_max_unpool_params_t, element_bytes), (int64_t)rlx_dtype_size(op->in[0]->dtype));
    rlx_step_param(step, RLX_WORD(rlx_max_unpool_params_t, count), rlx_value_count(graph, op->in[0]));
    rlx_step_param(step, RLX_WORD(rlx_max_unpool_params_t, planes), rlx_expr_mul(e, op->in[0]->dims[0], op->in[0]->dims[1]));
    for (int axis = 0; axis < 3; ++axis) {
        int i = axis - (3 - g.rank);
        rlx_expr_t pooled = rlx_expr_const(e, 1), out = pooled;

        if (i >= 0) {
            pooled = rlx_expr_mul(e, rlx_expr_sub(e, g.in[i], rlx_expr_const(e, 1)), rlx_expr_const(e, g.stride[i]));
            pooled = rlx_expr_add(e, pooled, rlx_expr_const(e, g.kernel[i]));
            pooled = rlx_expr_sub(e, pooled, rlx_expr_add(e, g.pad[i], g.pad_end[i]));
            out = g.out[i];
        }
        rlx_step_param(step, RLX_WORD(rlx_max_unpool_params_t, pooled) + axis, pooled);
        rlx_step_param(step, RLX_WORD(rlx_max_unpool_params_t, out) + axis, out);
    }
    return rlx_step_end(step, rlx_expr_const(e, 1), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_deform(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_conv_geometry_t g = rlx_conv_geometry_of(graph, op);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_deform_conv, RLX_WORDS(rlx_deform_conv_params_t));

    for (int i = 0; i < 5; ++i)
        rlx_step_in(step, rlx_op_in(op, i));
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_deform_conv_params_t, dtype), op->in[0]->dtype);
    rlx_step_param(step, RLX_WORD(rlx_deform_conv_params_t, batch), op->in[0]->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_deform_conv_params_t, group), rlx_op_int(op, "group"));
    rlx_step_param(step, RLX_WORD(rlx_deform_conv_params_t, channels), op->in[0]->dims[1]);
    rlx_step_param(step, RLX_WORD(rlx_deform_conv_params_t, outputs), op->out[0]->dims[1]);
    rlx_step_param_const(step, RLX_WORD(rlx_deform_conv_params_t, offset_group), rlx_op_int(op, "offset_group"));
    rlx_conv_geometry_params(graph, &g, step, RLX_WORD(rlx_deform_conv_params_t, window));
    return rlx_step_end(step, output_rows(graph, op), RLX_EXPR_NONE, flops_of(graph, op), diag);
}

rlx_status_t rlx_lower_conv(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_conv:
    case RLX_OP_conv_transpose: return lower_conv(builder, op, diag);
    case RLX_OP_max_pool:
    case RLX_OP_avg_pool:
    case RLX_OP_lp_pool: return rlx_pool_lower(builder, op, diag);
    case RLX_OP_max_unpool: return lower_max_unpool(builder, op, diag);
    case RLX_OP_deform_conv: return lower_deform(builder, op, diag);
    case RLX_OP_col2im: return rlx_col2im_lower(builder, op, diag);
    default: return rlx_shape_fail(diag, op, RLX_E_INTERNAL, "no operator of the conv family");
    }
}
