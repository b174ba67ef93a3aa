/* Lowers operators that select by data. What they find is counted by one step and read by the next region's. */
#include "ir/lower/select.h"

#include "ir/shape/common.h"

#define SET(type, field, expr) rlx_step_param(step, RLX_WORD(type, field), expr)
#define SET_CONST(type, field, value) rlx_step_param_const(step, RLX_WORD(type, field), value)

static rlx_expr_t num(const rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

static rlx_status_t lower_count(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_count_non_zero, RLX_WORDS(rlx_count_non_zero_params_t));

    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, op->out[0]);
    SET(rlx_count_non_zero_params_t, count, rlx_value_count(graph, op->in[0]));
    SET_CONST(rlx_count_non_zero_params_t, dtype, op->in[0]->dtype);
    return rlx_step_end(step, num(graph, 1), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_non_zero(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0];
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_non_zero, RLX_WORDS(rlx_non_zero_params_t));

    rlx_step_in(step, x);
    rlx_step_out(step, op->out[0]);
    for (int i = 0; i < x->rank; i++)
        rlx_step_param(step, RLX_WORD(rlx_non_zero_params_t, dims) + i, x->dims[i]);
    SET_CONST(rlx_non_zero_params_t, rank, x->rank);
    SET(rlx_non_zero_params_t, count, rlx_value_count(graph, x));
    SET(rlx_non_zero_params_t, found, op->out[0]->dims[1]);
    SET_CONST(rlx_non_zero_params_t, dtype, x->dtype);
    return rlx_step_end(step, num(graph, 1), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

/* A result that nobody asked for is a temporary: the kernel writes all of them. */
static const rlx_value_t *result_or_temp(rlx_builder_t *builder, const rlx_op_t *op, int index, rlx_expr_t extent)
{
    return index < op->n_out && op->out[index] != NULL ? op->out[index] : rlx_builder_temp(builder, RLX_I64, 1, &extent, RLX_LAYOUT_ROW_MAJOR);
}

static rlx_status_t lower_unique(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0];
    int64_t given = rlx_op_int(op, "axis");
    int axis = (int)(given < 0 ? given + x->rank : given);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_unique, RLX_WORDS(rlx_unique_params_t));

    rlx_step_in(step, x);
    for (int i = 0; i < 3; i++)
        rlx_step_out(step, result_or_temp(builder, op, i, x->dims[axis]));
    rlx_step_out(step, result_or_temp(builder, op, 3, num(graph, 1)));
    SET(rlx_unique_params_t, outer, rlx_shape_product(graph, x->dims, 0, axis));
    SET(rlx_unique_params_t, extent, x->dims[axis]);
    SET(rlx_unique_params_t, inner, rlx_shape_product(graph, x->dims, axis + 1, x->rank));
    SET_CONST(rlx_unique_params_t, dtype, x->dtype);
    SET_CONST(rlx_unique_params_t, sorted, rlx_op_int(op, "sorted"));
    return rlx_step_end(step, num(graph, 1), rlx_expr_add(graph->exprs, rlx_expr_mul(graph->exprs, x->dims[axis], num(graph, 16)), num(graph, 64)),
                        RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_nms(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *boxes = op->in[0], *scores = op->in[1];
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_non_max_suppression, RLX_WORDS(rlx_non_max_suppression_params_t));

    for (int i = 0; i < 5; i++)
        rlx_step_in(step, rlx_op_in(op, i));
    rlx_step_out(step, op->out[0]);
    rlx_step_out(step, result_or_temp(builder, op, 1, op->out[0]->dims[0]));
    SET(rlx_non_max_suppression_params_t, batch, scores->dims[0]);
    SET(rlx_non_max_suppression_params_t, classes, scores->dims[1]);
    SET(rlx_non_max_suppression_params_t, boxes, boxes->dims[1]);
    SET(rlx_non_max_suppression_params_t, keep, op->out[0]->dims[1]);
    SET_CONST(rlx_non_max_suppression_params_t, centre, rlx_op_int(op, "center_point_box"));
    return rlx_step_end(step, op->out[0]->dims[0],
                        rlx_expr_add(graph->exprs, rlx_expr_mul(graph->exprs, boxes->dims[1], num(graph, 8)), num(graph, 64)), RLX_EXPR_NONE,
                        diag);
}

static rlx_status_t lower_rows(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *scores = op->in[3];
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_nms_rows, RLX_WORDS(rlx_nms_rows_params_t));

    rlx_step_in(step, op->in[0]);
    rlx_step_in(step, op->in[1]);
    rlx_step_out(step, op->out[0]);
    SET(rlx_nms_rows_params_t, batch, scores->dims[0]);
    SET(rlx_nms_rows_params_t, classes, scores->dims[1]);
    SET(rlx_nms_rows_params_t, keep, op->in[0]->dims[1]);
    SET(rlx_nms_rows_params_t, found, op->out[0]->dims[0]);
    return rlx_step_end(step, num(graph, 1), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

rlx_status_t rlx_lower_select(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_count_non_zero: return lower_count(builder, op, diag);
    case RLX_OP_non_zero: return lower_non_zero(builder, op, diag);
    case RLX_OP_unique: return lower_unique(builder, op, diag);
    case RLX_OP_non_max_suppression: return lower_nms(builder, op, diag);
    case RLX_OP_nms_rows: return lower_rows(builder, op, diag);
    default: return rlx_fail(diag, RLX_E_INTERNAL, "%s: no lowering", op->source);
    }
}
