/* Shape rules of the norm family: the first output is like x; scale, bias and statistics must fit. */
#include "ir/lower/dispatch.h"
#include "ir/shape/common.h"

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

static rlx_status_t need_float(const rlx_op_t *op, int index, rlx_diag_t *diag)
{
    if (rlx_dtype_is_float(op->in[index]->dtype))
        return RLX_OK;
    return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "element type %s of operand %d is not supported, only f32, f64, f16 and bf16",
                          rlx_dtype_name(op->in[index]->dtype), index);
}

/* Operand `index` broadcasts to x. */
static rlx_status_t need_broadcast(rlx_graph_t *graph, const rlx_op_t *op, int index, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0], *operand = rlx_op_in(op, index);

    if (operand == NULL)
        return RLX_OK;
    RLX_TRY(rlx_shape_need_same_dtype(op, 0, index, diag));
    if (operand->rank > x->rank)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "operand %d of rank %d does not broadcast to the input of rank %d", index,
                              operand->rank, x->rank);
    for (int d = 0; d < operand->rank; d++) {
        rlx_expr_t extent = operand->dims[d], wanted = x->dims[x->rank - operand->rank + d];
        rlx_expr_t fits =
            rlx_expr_max(graph->exprs, rlx_expr_eq(graph->exprs, extent, num(graph, 1)), rlx_expr_eq(graph->exprs, extent, wanted));
        RLX_TRY(rlx_shape_require(graph, op, fits, "scale or bias does not broadcast to the input", diag));
    }
    return RLX_OK;
}

/* layer_norm and rms_norm: statistics over axis..end, one per row. */
static rlx_status_t shape_rows(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    rlx_expr_t dims[RLX_RANK_MAX];
    int axis;

    RLX_TRY(need_float(op, 0, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 1, -1, diag));
    RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), x->rank, &axis, diag));
    RLX_TRY(need_broadcast(graph, op, 1, diag));
    RLX_TRY(need_broadcast(graph, op, 2, diag));
    RLX_TRY(rlx_shape_set_like(graph, op, 0, x->dtype, 0, diag));
    for (int d = 0; d < x->rank; d++)
        dims[d] = d < axis ? x->dims[d] : num(graph, 1);
    for (int i = 1; i < op->n_out; i++)
        RLX_TRY(rlx_shape_set(graph, op, i, RLX_F32, x->rank, dims, diag));
    return RLX_OK;
}

/* Operand `index` is a vector with one number per channel. */
static rlx_status_t need_channels(rlx_graph_t *graph, const rlx_op_t *op, int index, rlx_diag_t *diag)
{
    rlx_expr_t channels = op->in[0]->rank > 1 ? op->in[0]->dims[1] : num(graph, 1);

    RLX_TRY(need_float(op, index, diag));
    RLX_TRY(rlx_shape_need_rank(op, index, 1, 1, diag));
    return rlx_shape_require_equal(graph, op, op->in[index]->dims[0], channels, "per-channel operand and channels", diag);
}

static rlx_status_t shape_channels(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];

    RLX_TRY(need_float(op, 0, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 2, -1, diag));
    for (int i = 1; i < 3; i++) {
        RLX_TRY(need_channels(graph, op, i, diag));
        RLX_TRY(rlx_shape_need_same_dtype(op, 0, i, diag));
    }
    if (op->kind == RLX_OP_group_norm) {
        int64_t groups = rlx_op_int(op, "num_groups");
        if (groups < 1 || groups > INT32_MAX)
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "num_groups is %lld, it must be at least 1", (long long)groups);
        RLX_TRY(rlx_shape_require_equal(graph, op, rlx_expr_binary(graph->exprs, RLX_EXPR_MOD, x->dims[1], num(graph, groups)),
                                        num(graph, 0), "the remainder of channels by num_groups and zero", diag));
    }
    return rlx_shape_set_like(graph, op, 0, x->dtype, 0, diag);
}

static rlx_status_t shape_batch_norm(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    bool training = rlx_op_int(op, "training_mode") != 0;

    RLX_TRY(need_float(op, 0, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 1, -1, diag));
    for (int i = 1; i < 5; i++)
        RLX_TRY(need_channels(graph, op, i, diag));
    RLX_TRY(rlx_shape_need_same_dtype(op, 1, 2, diag));
    RLX_TRY(rlx_shape_need_same_dtype(op, 3, 4, diag));
    for (int i = 1; i < op->n_out && !training; i++)
        if (op->out[i] != NULL)
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "running statistics are an output in training mode only");
    RLX_TRY(rlx_shape_set_like(graph, op, 0, x->dtype, 0, diag));
    for (int i = 1; i < op->n_out; i++)
        RLX_TRY(rlx_shape_set_like(graph, op, i, op->in[3]->dtype, 3, diag));
    return RLX_OK;
}

static rlx_status_t shape_lrn(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    int64_t size = rlx_op_int(op, "size");

    RLX_TRY(need_float(op, 0, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 2, -1, diag));
    if (size < 1 || size > INT32_MAX)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "size is %lld, it must be at least 1", (long long)size);
    return rlx_shape_set_like(graph, op, 0, op->in[0]->dtype, 0, diag);
}

rlx_status_t rlx_shape_norm(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_layer_norm:
    case RLX_OP_rms_norm: return shape_rows(graph, op, diag);
    case RLX_OP_instance_norm:
    case RLX_OP_group_norm: return shape_channels(graph, op, diag);
    case RLX_OP_batch_norm: return shape_batch_norm(graph, op, diag);
    default: return shape_lrn(graph, op, diag);
    }
}
