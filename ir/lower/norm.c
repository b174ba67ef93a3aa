/* Lowers the norm family. Layer, rms, instance and group norm are one kernel over rows; they differ in what a row is and in how scale and
 * bias run along it. */
#include "ir/lower/dispatch.h"
#include "ir/shape/common.h"

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

/* Rows of `count` elements; scale and bias by channel (`inner` elements each, `period` channels) or broadcast to x from the right. */
typedef struct rows {
    rlx_expr_t rows, count;
    bool is_channel;
    bool is_simple; /* scale of element i is scale[i / inner mod period] */
    rlx_expr_t inner, period;
} rows_t;

/* The operand's extents are those of x from `axis` on. */
static bool covers_row(const rlx_value_t *x, const rlx_value_t *operand, int axis)
{
    if (operand == NULL)
        return true;
    if (operand->rank != x->rank - axis)
        return false;
    for (int d = 0; d < operand->rank; d++)
        if (operand->dims[d] != x->dims[axis + d])
            return false;
    return true;
}

static rlx_status_t rows_of(rlx_graph_t *graph, const rlx_op_t *op, rows_t *out, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    int axis;

    if (op->kind == RLX_OP_layer_norm || op->kind == RLX_OP_rms_norm) {
        RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), x->rank, &axis, diag));
        out->rows = rlx_shape_product(graph, x->dims, 0, axis);
        out->count = out->period = rlx_shape_product(graph, x->dims, axis, x->rank);
        out->inner = num(graph, 1);
        out->is_channel = false;
        out->is_simple = covers_row(x, op->in[1], axis) && covers_row(x, rlx_op_in(op, 2), axis);
        return RLX_OK;
    }
    rlx_expr_t groups = op->kind == RLX_OP_group_norm ? num(graph, rlx_op_int(op, "num_groups")) : x->dims[1];
    rlx_expr_t per_group = op->kind == RLX_OP_group_norm ? rlx_expr_floordiv(e, x->dims[1], groups) : num(graph, 1);
    out->inner = rlx_shape_product(graph, x->dims, 2, x->rank);
    out->period = x->dims[1];
    out->rows = rlx_expr_mul(e, x->dims[0], groups);
    out->count = rlx_expr_mul(e, per_group, out->inner);
    out->is_channel = out->is_simple = true;
    return RLX_OK;
}

static void begin_rows(rlx_step_t *step, const rlx_op_t *op)
{
    for (int i = 0; i < 3; i++)
        rlx_step_in(step, rlx_op_in(op, i));
    for (int i = 0; i < 3; i++)
        rlx_step_out(step, i < op->n_out ? op->out[i] : NULL);
}

/* Extents of x and strides of scale and bias, right-aligned in 8 places. */
static void plain_places(rlx_graph_t *graph, rlx_step_t *step, const rlx_op_t *op, const rows_t *rows)
{
    const rlx_value_t *x = op->in[0], *bias = rlx_op_in(op, 2);

    for (int place = 0; place < RLX_RANK_MAX; place++) {
        int d = place - (RLX_RANK_MAX - x->rank);
        rlx_expr_t scale_stride = num(graph, 0), bias_stride = num(graph, 0);
        if (d >= 0 && rows->is_channel) {
            scale_stride = bias_stride = num(graph, d == 1);
        } else if (d >= 0) {
            scale_stride = rlx_shape_broadcast_stride(graph, op->in[1], x->rank, d);
            bias_stride = bias != NULL ? rlx_shape_broadcast_stride(graph, bias, x->rank, d) : bias_stride;
        }
        rlx_step_param(step, RLX_WORD(rlx_norm_params_t, dims) + place, d >= 0 ? x->dims[d] : num(graph, 1));
        rlx_step_param(step, RLX_WORD(rlx_norm_params_t, scale_stride) + place, scale_stride);
        rlx_step_param(step, RLX_WORD(rlx_norm_params_t, bias_stride) + place, bias_stride);
    }
}

static rlx_status_t lower_rows(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_expr_t flops = rlx_expr_mul(graph->exprs, rlx_value_count(graph, op->in[0]), num(graph, 6));
    rlx_step_t *step;
    rows_t rows;

    RLX_TRY(rows_of(graph, op, &rows, diag));
    if (rows.is_simple && op->in[0]->dtype == RLX_F32 && rlx_builder_level(builder) > 1) {
        step = rlx_step_begin(builder, op, RLX_K_norm_f32, RLX_WORDS(rlx_norm_f32_params_t));
        rlx_step_param(step, RLX_WORD(rlx_norm_f32_params_t, rows), rows.rows);
        rlx_step_param(step, RLX_WORD(rlx_norm_f32_params_t, count), rows.count);
        rlx_step_param_const(step, RLX_WORD(rlx_norm_f32_params_t, center), op->kind != RLX_OP_rms_norm);
        rlx_step_param_f32(step, RLX_WORD(rlx_norm_f32_params_t, epsilon), rlx_op_float(op, "epsilon"));
        rlx_step_param(step, RLX_WORD(rlx_norm_f32_params_t, inner), rows.inner);
        rlx_step_param(step, RLX_WORD(rlx_norm_f32_params_t, period), rows.period);
    } else {
        step = rlx_step_begin(builder, op, RLX_K_norm, RLX_WORDS(rlx_norm_params_t));
        rlx_step_param_const(step, RLX_WORD(rlx_norm_params_t, dtype), op->in[0]->dtype);
        rlx_step_param(step, RLX_WORD(rlx_norm_params_t, rows), rows.rows);
        rlx_step_param(step, RLX_WORD(rlx_norm_params_t, count), rows.count);
        rlx_step_param_const(step, RLX_WORD(rlx_norm_params_t, center), op->kind != RLX_OP_rms_norm);
        rlx_step_param_f32(step, RLX_WORD(rlx_norm_params_t, epsilon), rlx_op_float(op, "epsilon"));
        plain_places(graph, step, op, &rows);
    }
    begin_rows(step, op);
    return rlx_step_end(step, rows.rows, RLX_EXPR_NONE, flops, diag);
}

/* batch, channels, space of x; a vector is one batch index per element of one channel. */
typedef struct planes {
    rlx_expr_t batch, channels, space;
} planes_t;

static planes_t planes_of(rlx_graph_t *graph, const rlx_value_t *x)
{
    return (planes_t){x->dims[0], x->rank > 1 ? x->dims[1] : num(graph, 1),
                      x->rank > 1 ? rlx_shape_product(graph, x->dims, 2, x->rank) : num(graph, 1)};
}

static rlx_status_t lower_batch_norm(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    planes_t planes = planes_of(graph, x);
    bool blocked = x->layout == RLX_LAYOUT_C16;
    rlx_expr_t blocks = blocked ? rlx_expr_ceildiv(e, planes.channels, num(graph, 16)) : num(graph, 0);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_batch_norm, RLX_WORDS(rlx_batch_norm_params_t));

    for (int i = 0; i < 5; i++)
        rlx_step_in(step, op->in[i]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_batch_norm_params_t, dtype), x->dtype);
    rlx_step_param_const(step, RLX_WORD(rlx_batch_norm_params_t, scale_dtype), op->in[1]->dtype);
    rlx_step_param_const(step, RLX_WORD(rlx_batch_norm_params_t, stat_dtype), op->in[3]->dtype);
    rlx_step_param(step, RLX_WORD(rlx_batch_norm_params_t, batch), planes.batch);
    rlx_step_param(step, RLX_WORD(rlx_batch_norm_params_t, channels), planes.channels);
    rlx_step_param(step, RLX_WORD(rlx_batch_norm_params_t, space), planes.space);
    rlx_step_param(step, RLX_WORD(rlx_batch_norm_params_t, blocks), blocks);
    rlx_step_param_f32(step, RLX_WORD(rlx_batch_norm_params_t, epsilon), rlx_op_float(op, "epsilon"));
    return rlx_step_end(step, rlx_expr_mul(e, planes.batch, blocked ? blocks : planes.channels), RLX_EXPR_NONE,
                        rlx_expr_mul(e, rlx_value_count(graph, x), num(graph, 2)), diag);
}

static rlx_status_t lower_batch_norm_train(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0];
    planes_t planes = planes_of(graph, x);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_batch_norm_train, RLX_WORDS(rlx_batch_norm_train_params_t));

    for (int i = 0; i < 5; i++)
        rlx_step_in(step, op->in[i]);
    for (int i = 0; i < 3; i++)
        rlx_step_out(step, i < op->n_out ? op->out[i] : NULL);
    rlx_step_param_const(step, RLX_WORD(rlx_batch_norm_train_params_t, dtype), x->dtype);
    rlx_step_param_const(step, RLX_WORD(rlx_batch_norm_train_params_t, scale_dtype), op->in[1]->dtype);
    rlx_step_param_const(step, RLX_WORD(rlx_batch_norm_train_params_t, stat_dtype), op->in[3]->dtype);
    rlx_step_param(step, RLX_WORD(rlx_batch_norm_train_params_t, batch), planes.batch);
    rlx_step_param(step, RLX_WORD(rlx_batch_norm_train_params_t, channels), planes.channels);
    rlx_step_param(step, RLX_WORD(rlx_batch_norm_train_params_t, space), planes.space);
    rlx_step_param_f32(step, RLX_WORD(rlx_batch_norm_train_params_t, epsilon), rlx_op_float(op, "epsilon"));
    rlx_step_param_f32(step, RLX_WORD(rlx_batch_norm_train_params_t, momentum), rlx_op_float(op, "momentum"));
    return rlx_step_end(step, planes.channels, RLX_EXPR_NONE, rlx_expr_mul(graph->exprs, rlx_value_count(graph, x), num(graph, 6)), diag);
}

static rlx_status_t lower_lrn(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0];
    planes_t planes = planes_of(graph, x);
    int64_t size = rlx_op_int(op, "size");
    bool blocked = x->layout == RLX_LAYOUT_C16;
    rlx_step_t *step = rlx_step_begin(builder, op, blocked ? RLX_K_lrn_c16 : RLX_K_lrn, RLX_WORDS(rlx_lrn_params_t));
    rlx_expr_t blocks = rlx_expr_ceildiv(graph->exprs, planes.channels, num(graph, 16)), planes_of_tile = blocked ? blocks : planes.channels;
    rlx_expr_t chunks = blocked ? rlx_expr_ceildiv(graph->exprs, planes.space, num(graph, RLX_LRN_CELLS)) : num(graph, 1);

    rlx_step_in(step, x);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_lrn_params_t, dtype), x->dtype);
    rlx_step_param(step, RLX_WORD(rlx_lrn_params_t, batch), planes.batch);
    rlx_step_param(step, RLX_WORD(rlx_lrn_params_t, channels), planes.channels);
    rlx_step_param(step, RLX_WORD(rlx_lrn_params_t, space), planes.space);
    rlx_step_param_const(step, RLX_WORD(rlx_lrn_params_t, size), size);
    rlx_step_param_f32(step, RLX_WORD(rlx_lrn_params_t, alpha), rlx_op_float(op, "alpha"));
    rlx_step_param_f32(step, RLX_WORD(rlx_lrn_params_t, beta), rlx_op_float(op, "beta"));
    rlx_step_param_f32(step, RLX_WORD(rlx_lrn_params_t, bias), rlx_op_float(op, "bias"));
    return rlx_step_end(step, rlx_expr_mul(graph->exprs, rlx_expr_mul(graph->exprs, planes.batch, planes_of_tile), chunks), RLX_EXPR_NONE,
                        rlx_expr_mul(graph->exprs, rlx_value_count(graph, x), num(graph, size + 30)), diag);
}

rlx_status_t rlx_lower_norm(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_batch_norm:
        return rlx_op_int(op, "training_mode") ? lower_batch_norm_train(builder, op, diag) : lower_batch_norm(builder, op, diag);
    case RLX_OP_lrn: return lower_lrn(builder, op, diag);
    default: return lower_rows(builder, op, diag);
    }
}
