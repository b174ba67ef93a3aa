/* Lowering of pools: plain row-major kernels for every type and rank, blocked ones for f32 in C16. */
#include "ir/operator/conv_geometry.h"
#include "ir/cost/conv_blocking.h"
#include "ir/operator/conv_operands.h"
#include "ir/shape/common.h"

bool rlx_pool_wants_c16(const rlx_graph_t *graph, const rlx_op_t *op)
{
    int64_t channels;

    return (op->in[0]->dtype == RLX_F32 || (op->in[0]->dtype == RLX_U8 && op->kind == RLX_OP_max_pool)) && op->in[0]->rank >= 3 && op->in[0]->rank <= 4 && (op->n_out < 2 || op->out[1] == NULL) &&
        op->out[0] != NULL &&
           rlx_expr_is_const(graph->exprs, op->in[0]->dims[1], &channels) && channels > 0;
}

static rlx_kernel_id_t kernel_of(const rlx_op_t *op, bool blocked)
{
    if (op->kind == RLX_OP_max_pool)
        return blocked ? RLX_K_max_pool_c16 : RLX_K_max_pool;
    if (op->kind == RLX_OP_avg_pool)
        return blocked ? RLX_K_avg_pool_c16 : RLX_K_avg_pool;
    return RLX_K_lp_pool;
}

static rlx_status_t lower_c16(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_conv_geometry_t read = rlx_conv_geometry_of(graph, op), g = rlx_conv_geometry_plane(graph, &read);
    rlx_step_t *step = rlx_step_begin(builder, op, kernel_of(op, true), RLX_WORDS(rlx_pool_c16_params_t));
    rlx_expr_t blocks = rlx_expr_ceildiv(e, op->in[0]->dims[1], rlx_expr_const(e, 16));

    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_pool_c16_params_t, batch), op->in[0]->dims[0]);
    rlx_step_param(step, RLX_WORD(rlx_pool_c16_params_t, channels), op->in[0]->dims[1]);
    rlx_conv_geometry_params(graph, &g, step, RLX_WORD(rlx_pool_c16_params_t, window));
    if (op->kind == RLX_OP_avg_pool)
        rlx_step_param_const(step, RLX_WORD(rlx_pool_c16_params_t, count_include_pad), rlx_op_int(op, "count_include_pad"));
    return rlx_step_end(step, rlx_expr_mul(e, rlx_expr_mul(e, op->in[0]->dims[0], blocks), g.out[0]), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

/* The greatest of bytes. */
static rlx_status_t lower_bytes_c16(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_conv_geometry_t read = rlx_conv_geometry_of(graph, op), g = rlx_conv_geometry_plane(graph, &read);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_qmax_pool, RLX_WORDS(rlx_qpool_params_t));
    rlx_expr_t blocks = rlx_expr_ceildiv(e, op->in[0]->dims[1], rlx_expr_const(e, 16));

    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_qpool_params_t, lanes), 16);
    rlx_conv_geometry_params(graph, &g, step, RLX_WORD(rlx_qpool_params_t, window));
    return rlx_step_end(step, rlx_expr_mul(e, rlx_expr_mul(e, op->in[0]->dims[0], blocks), g.out[0]), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

rlx_status_t rlx_pool_lower(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_conv_geometry_t g = rlx_conv_geometry_of(graph, op);
    rlx_expr_t planes = rlx_expr_mul(graph->exprs, op->in[0]->dims[0], op->in[0]->dims[1]);
    rlx_step_t *step;

    if (op->in[0]->layout == RLX_LAYOUT_C16 && op->in[0]->dtype == RLX_U8)
        return lower_bytes_c16(builder, op, diag);
    if (op->in[0]->layout == RLX_LAYOUT_C16)
        return lower_c16(builder, op, diag);
    step = rlx_step_begin(builder, op, kernel_of(op, false), RLX_WORDS(rlx_pool_params_t));
    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, op->out[0]);
    if (op->kind == RLX_OP_max_pool)
        rlx_step_out(step, op->n_out > 1 ? op->out[1] : NULL);
    rlx_step_param_const(step, RLX_WORD(rlx_pool_params_t, dtype), op->in[0]->dtype);
    rlx_step_param(step, RLX_WORD(rlx_pool_params_t, planes), planes);
    rlx_conv_geometry_params(graph, &g, step, RLX_WORD(rlx_pool_params_t, window));
    if (op->kind == RLX_OP_max_pool)
        rlx_step_param_const(step, RLX_WORD(rlx_pool_params_t, storage_order), rlx_op_int(op, "storage_order"));
    if (op->kind == RLX_OP_avg_pool)
        rlx_step_param_const(step, RLX_WORD(rlx_pool_params_t, count_include_pad), rlx_op_int(op, "count_include_pad"));
    if (op->kind == RLX_OP_lp_pool)
        rlx_step_param_const(step, RLX_WORD(rlx_pool_params_t, p), rlx_op_int(op, "p"));
    return rlx_step_end(step, planes, RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}
