/* Lowering of the quant family to kernels. Products: ir/lower/quant_conv.c. */
#include "ir/builder.h"
#include "ir/cost/conv_blocking.h"
#include "ir/lower/dispatch.h"
#include "ir/operator/quant.h"
#include "ir/shape/common.h"

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

/* A step over all bytes of `bytes`, padding of its layout included. */
static rlx_status_t map_end(rlx_step_t *step, rlx_graph_t *graph, rlx_expr_t count, rlx_diag_t *diag)
{
    return rlx_step_end(step, rlx_expr_ceildiv(graph->exprs, count, num(graph, RLX_QMAP_BLOCK)), RLX_EXPR_NONE, count, diag);
}

static rlx_status_t lower_map(rlx_builder_t *builder, const rlx_op_t *op, rlx_kernel_id_t kernel, const rlx_value_t *bytes, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_step_t *step = rlx_step_begin(builder, op, kernel, RLX_WORDS(rlx_qmap_params_t));
    rlx_expr_t count = rlx_value_bytes(graph, bytes);

    for (int i = 0; i < op->n_in; i++)
        rlx_step_in(step, op->in[i]);
    if (op->n_in < 3 && (op->kind == RLX_OP_quantize || op->kind == RLX_OP_dequantize))
        rlx_step_in(step, NULL);
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_qmap_params_t, count), count);
    rlx_step_param_const(step, RLX_WORD(rlx_qmap_params_t, is_signed), bytes->dtype == RLX_I8);
    return map_end(step, graph, count, diag);
}

static rlx_status_t lower_dequantize(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0];
    bool per_axis = !rlx_expr_is(graph->exprs, rlx_value_count(graph, op->in[1]), 1);
    int axis = (int)rlx_op_int(op, "axis");
    rlx_expr_t outer = num(graph, 1), extent = num(graph, 1), inner = rlx_value_count(graph, x);
    rlx_step_t *step;

    if (!per_axis && (x->dtype == RLX_U8 || x->dtype == RLX_I8))
        return lower_map(builder, op, RLX_K_dequantize, x, diag);
    if (per_axis) {
        axis = axis < 0 ? axis + x->rank : axis;
        outer = rlx_shape_product(graph, x->dims, 0, axis);
        extent = x->dims[axis];
        inner = rlx_shape_product(graph, x->dims, axis + 1, x->rank);
    }
    step = rlx_step_begin(builder, op, RLX_K_dequantize_axis, RLX_WORDS(rlx_dequantize_axis_params_t));
    rlx_step_in(step, x);
    rlx_step_in(step, op->in[1]);
    rlx_step_in(step, rlx_op_in(op, 2));
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_dequantize_axis_params_t, outer), outer);
    rlx_step_param(step, RLX_WORD(rlx_dequantize_axis_params_t, axis), extent);
    rlx_step_param(step, RLX_WORD(rlx_dequantize_axis_params_t, inner), inner);
    rlx_step_param_const(step, RLX_WORD(rlx_dequantize_axis_params_t, dtype), x->dtype);
    return rlx_step_end(step, rlx_expr_mul(graph->exprs, outer, extent), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_binary(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *a = op->in[0], *b = op->in[1];
    rlx_step_t *step = rlx_step_begin(builder, op, op->kind == RLX_OP_qadd ? RLX_K_qadd : RLX_K_qmul, RLX_WORDS(rlx_qbinary_params_t));
    rlx_expr_t count = rlx_value_bytes(graph, a), repeat = rlx_shape_product(graph, a->dims, 2, a->rank);
    int64_t lanes = a->layout == RLX_LAYOUT_C16 ? 16 : 1;
    bool repeats = op->kind == RLX_OP_qmul && a->rank > 2 && rlx_expr_is(graph->exprs, rlx_shape_product(graph, b->dims, 2, b->rank), 1);

    rlx_step_in(step, a);
    rlx_step_in(step, b);
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_qbinary_params_t, count), count);
    rlx_step_param_const(step, RLX_WORD(rlx_qbinary_params_t, a_point), rlx_op_int(op, "a_point"));
    rlx_step_param_const(step, RLX_WORD(rlx_qbinary_params_t, b_point), rlx_op_int(op, "b_point"));
    rlx_step_param_f32(step, RLX_WORD(rlx_qbinary_params_t, a_scale), rlx_op_float(op, "a_scale"));
    if (op->kind == RLX_OP_qadd)
        rlx_step_param_f32(step, RLX_WORD(rlx_qbinary_params_t, b_scale), rlx_op_float(op, "b_scale"));
    rlx_step_param(step, RLX_WORD(rlx_qbinary_params_t, b_step), repeats ? rlx_expr_mul(graph->exprs, repeat, num(graph, lanes)) : num(graph, 0));
    rlx_step_param_const(step, RLX_WORD(rlx_qbinary_params_t, lanes), lanes);
    rlx_quant_finish_params(step, RLX_WORD(rlx_qbinary_params_t, finish), op);
    return map_end(step, graph, count, diag);
}

static rlx_status_t lower_avg_pool(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    rlx_conv_geometry_t read = rlx_conv_geometry_of(graph, op), g = rlx_conv_geometry_plane(graph, &read);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_qavg_pool, RLX_WORDS(rlx_qpool_params_t));
    int window = RLX_WORD(rlx_qpool_params_t, window);
    bool blocked = x->layout == RLX_LAYOUT_C16;
    rlx_expr_t planes = rlx_expr_mul(e, x->dims[0], blocked ? rlx_expr_ceildiv(e, x->dims[1], num(graph, 16)) : x->dims[1]);

    rlx_step_in(step, x);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_qpool_params_t, lanes), blocked ? 16 : 1);
    rlx_conv_geometry_params(graph, &g, step, window);
    for (int i = 0; i < 2 && rlx_op_int(op, "global") != 0; i++)
        rlx_step_param(step, window + RLX_WORD(rlx_conv_window_t, kernel) + 1 + i, g.in[i]);
    rlx_step_param_const(step, RLX_WORD(rlx_qpool_params_t, count_include_pad), rlx_op_int(op, "count_include_pad"));
    rlx_step_param_const(step, RLX_WORD(rlx_qpool_params_t, x_point), rlx_op_int(op, "x_point"));
    rlx_step_param_f32(step, RLX_WORD(rlx_qpool_params_t, scale), rlx_op_float(op, "scale"));
    rlx_quant_finish_params(step, RLX_WORD(rlx_qpool_params_t, finish), op);
    return rlx_step_end(step, rlx_expr_mul(e, planes, g.out[0]), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

rlx_status_t rlx_lower_quant(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_quantize: return lower_map(builder, op, RLX_K_quantize, op->out[0], diag);
    case RLX_OP_quantize_dynamic: return rlx_quant_lower_dynamic(builder, op, diag);
    case RLX_OP_dequantize: return lower_dequantize(builder, op, diag);
    case RLX_OP_qflip: return lower_map(builder, op, RLX_K_qflip, op->in[0], diag);
    case RLX_OP_qlookup: return lower_map(builder, op, RLX_K_qlookup, op->in[0], diag);
    case RLX_OP_qadd:
    case RLX_OP_qmul: return lower_binary(builder, op, diag);
    case RLX_OP_qavg_pool: return lower_avg_pool(builder, op, diag);
    case RLX_OP_qconv: return rlx_quant_lower_conv(builder, op, diag);
    case RLX_OP_qmatmul: return rlx_quant_lower_matmul(builder, op, diag);
    default: return rlx_shape_fail(diag, op, RLX_E_INTERNAL, "no operator of the quant family");
    }
}
