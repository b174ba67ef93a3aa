/* Shape rules of the quant family. Operands are what ir/op_list.h says; graphs of users reach these rules only through the importer and the
 * quantise pass, which have checked types, but a rule trusts neither. */
#include "ir/operator/conv_geometry.h"
#include "ir/lower/dispatch.h"
#include "ir/shape/common.h"

static rlx_status_t need_dtype(const rlx_op_t *op, int index, rlx_dtype_t dtype, rlx_diag_t *diag)
{
    if (rlx_op_in(op, index) != NULL && op->in[index]->dtype != dtype)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "operand %d is %s, expected %s", index, rlx_dtype_name(op->in[index]->dtype),
                              rlx_dtype_name(dtype));
    return RLX_OK;
}

static bool is_byte(rlx_dtype_t dtype) { return dtype == RLX_U8 || dtype == RLX_I8; }

static rlx_status_t need_scalar(rlx_graph_t *graph, const rlx_op_t *op, int index, rlx_diag_t *diag)
{
    if (rlx_op_in(op, index) == NULL)
        return RLX_OK;
    return rlx_shape_require_equal(graph, op, rlx_value_count(graph, op->in[index]), rlx_expr_const(graph->exprs, 1),
                                   "the elements of a scale or zero point and 1", diag);
}

static rlx_status_t shape_quantize(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_dtype_t to = (rlx_dtype_t)rlx_op_int(op, "to");

    RLX_TRY(need_dtype(op, 0, RLX_F32, diag));
    RLX_TRY(need_dtype(op, 1, RLX_F32, diag));
    RLX_TRY(need_dtype(op, 2, to, diag));
    RLX_TRY(need_scalar(graph, op, 1, diag));
    RLX_TRY(need_scalar(graph, op, 2, diag));
    if (!is_byte(to))
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "the result is %s, expected u8 or i8", rlx_dtype_name(to));
    return rlx_shape_set_like(graph, op, 0, to, 0, diag);
}

static rlx_status_t shape_dequantize(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_dtype_t dtype = op->in[0]->dtype;
    int axis;

    if (!is_byte(dtype) && dtype != RLX_I16 && dtype != RLX_U16 && dtype != RLX_I32)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "the operand is %s, expected an integer of 8, 16 or 32 bits",
                              rlx_dtype_name(dtype));
    RLX_TRY(need_dtype(op, 1, RLX_F32, diag));
    RLX_TRY(need_dtype(op, 2, dtype, diag));
    if (!rlx_expr_is(graph->exprs, rlx_value_count(graph, op->in[1]), 1)) {
        RLX_TRY(rlx_shape_need_rank(op, 1, 1, 1, diag));
        RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), op->in[0]->rank, &axis, diag));
        RLX_TRY(rlx_shape_require_equal(graph, op, op->in[1]->dims[0], op->in[0]->dims[axis], "scales and the axis", diag));
    }
    if (rlx_op_in(op, 2) != NULL)
        RLX_TRY(rlx_shape_require_equal(graph, op, rlx_value_count(graph, op->in[1]), rlx_value_count(graph, op->in[2]),
                                        "scales and zero points", diag));
    return rlx_shape_set_like(graph, op, 0, RLX_F32, 0, diag);
}

static rlx_status_t shape_quantize_dynamic(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    RLX_TRY(need_dtype(op, 0, RLX_F32, diag));
    RLX_TRY(rlx_shape_set_like(graph, op, 0, RLX_U8, 0, diag));
    RLX_TRY(rlx_shape_set(graph, op, 1, RLX_F32, 0, NULL, diag));
    return rlx_shape_set(graph, op, 2, RLX_U8, 0, NULL, diag);
}

static rlx_status_t shape_flip(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    if (!is_byte(op->in[0]->dtype))
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "the operand is %s, expected u8 or i8", rlx_dtype_name(op->in[0]->dtype));
    return rlx_shape_set_like(graph, op, 0, op->in[0]->dtype == RLX_U8 ? RLX_I8 : RLX_U8, 0, diag);
}

/* Types and counts of what qconv and qmatmul share; `outputs` is how many columns or channels there are. */
static rlx_status_t check_product(rlx_graph_t *graph, rlx_op_t *op, rlx_expr_t outputs, rlx_dtype_t *out_dtype, rlx_diag_t *diag)
{
    static const rlx_dtype_t results[] = {RLX_U8, RLX_F32, RLX_I32};
    static const int per_output[] = {2, 3, 6};
    int64_t result = rlx_op_int(op, "result");

    if (result < 0 || result > 2)
        return rlx_shape_fail(diag, op, RLX_E_INTERNAL, "result %lld", (long long)result);
    RLX_TRY(need_dtype(op, 0, RLX_U8, diag));
    RLX_TRY(need_dtype(op, 1, RLX_I16, diag));
    RLX_TRY(need_dtype(op, 2, RLX_I32, diag));
    RLX_TRY(need_dtype(op, 3, RLX_F32, diag));
    RLX_TRY(need_dtype(op, 5, RLX_F32, diag));
    RLX_TRY(need_dtype(op, 6, RLX_F32, diag));
    for (int i = 0; i < 3; i++)
        if (rlx_op_in(op, per_output[i]) != NULL)
            RLX_TRY(rlx_shape_require_equal(graph, op, rlx_value_count(graph, op->in[per_output[i]]), outputs,
                                            "numbers per output and outputs", diag));
    RLX_TRY(need_scalar(graph, op, 4, diag));
    RLX_TRY(need_scalar(graph, op, 5, diag));
    if (rlx_op_in(op, 4) != NULL && !is_byte(op->in[4]->dtype))
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "the zero point is %s, expected u8 or i8", rlx_dtype_name(op->in[4]->dtype));
    *out_dtype = results[result];
    return RLX_OK;
}

static rlx_status_t shape_qconv(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    int64_t group = rlx_op_int(op, "group"), outputs;
    rlx_expr_t dims[RLX_RANK_MAX];
    rlx_conv_geometry_t g;
    rlx_dtype_t dtype;

    RLX_TRY(rlx_conv_geometry_read(graph, op, &g, diag));
    RLX_TRY(check_product(graph, op, op->in[1]->dims[0], &dtype, diag));
    if (group < 1 || !rlx_expr_is_const(graph->exprs, op->in[1]->dims[0], &outputs) || outputs % group != 0)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "output channels cannot be split into %lld groups", (long long)group);
    RLX_TRY(rlx_shape_require_equal(graph, op, op->in[0]->dims[1],
                                    rlx_expr_mul(graph->exprs, op->in[1]->dims[1], rlx_expr_const(graph->exprs, group)),
                                    "input channels and weight channels times group", diag));
    dims[0] = op->in[0]->dims[0];
    dims[1] = op->in[1]->dims[0];
    for (int i = 0; i < g.rank; ++i)
        RLX_TRY(rlx_conv_window_count(graph, op, &g, i, false, &dims[i + 2], diag));
    return rlx_shape_set(graph, op, 0, dtype, g.rank + 2, dims, diag);
}

static rlx_status_t shape_qmatmul(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    rlx_expr_t dims[RLX_RANK_MAX];
    rlx_dtype_t dtype;

    RLX_TRY(rlx_shape_need_rank(op, 0, 1, RLX_RANK_MAX, diag));
    RLX_TRY(rlx_shape_need_rank(op, 1, 2, 2, diag));
    RLX_TRY(check_product(graph, op, op->in[1]->dims[0], &dtype, diag));
    RLX_TRY(rlx_shape_require_equal(graph, op, x->dims[x->rank - 1], op->in[1]->dims[1], "columns and the weight's", diag));
    for (int i = 0; i < x->rank; i++)
        dims[i] = i + 1 < x->rank ? x->dims[i] : op->in[1]->dims[0];
    return rlx_shape_set(graph, op, 0, dtype, x->rank, dims, diag);
}

static rlx_status_t shape_binary(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *a = op->in[0], *b = op->in[1];

    RLX_TRY(need_dtype(op, 0, RLX_U8, diag));
    RLX_TRY(need_dtype(op, 1, RLX_U8, diag));
    if (a->rank != b->rank)
        return rlx_shape_fail(diag, op, RLX_E_INTERNAL, "operands of ranks %d and %d", a->rank, b->rank);
    for (int i = 0; i < a->rank; i++)
        if (op->kind != RLX_OP_qmul || i < 2 || !rlx_expr_is(graph->exprs, b->dims[i], 1))
            RLX_TRY(rlx_shape_require_equal(graph, op, a->dims[i], b->dims[i], "the operands' extents", diag));
    return rlx_shape_set_like(graph, op, 0, RLX_U8, 0, diag);
}

static rlx_status_t shape_lookup(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    RLX_TRY(need_dtype(op, 0, RLX_U8, diag));
    RLX_TRY(need_dtype(op, 1, RLX_U8, diag));
    RLX_TRY(rlx_shape_require_equal(graph, op, rlx_value_count(graph, op->in[1]), rlx_expr_const(graph->exprs, 256), "the table and 256", diag));
    return rlx_shape_set_like(graph, op, 0, RLX_U8, 0, diag);
}

static rlx_status_t shape_avg_pool(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t dims[RLX_RANK_MAX];
    rlx_conv_geometry_t g;

    RLX_TRY(need_dtype(op, 0, RLX_U8, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 3, 4, diag));
    RLX_TRY(rlx_conv_geometry_read(graph, op, &g, diag));
    dims[0] = op->in[0]->dims[0];
    dims[1] = op->in[0]->dims[1];
    for (int i = 0; i < g.rank; ++i) {
        dims[i + 2] = rlx_expr_const(graph->exprs, 1);
        if (rlx_op_int(op, "global") == 0)
            RLX_TRY(rlx_conv_window_count(graph, op, &g, i, rlx_op_int(op, "ceil_mode") != 0, &dims[i + 2], diag));
    }
    return rlx_shape_set(graph, op, 0, RLX_U8, g.rank + 2, dims, diag);
}

rlx_status_t rlx_shape_quant(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_quantize: return shape_quantize(graph, op, diag);
    case RLX_OP_quantize_dynamic: return shape_quantize_dynamic(graph, op, diag);
    case RLX_OP_dequantize: return shape_dequantize(graph, op, diag);
    case RLX_OP_qflip: return shape_flip(graph, op, diag);
    case RLX_OP_qconv: return shape_qconv(graph, op, diag);
    case RLX_OP_qmatmul: return shape_qmatmul(graph, op, diag);
    case RLX_OP_qadd:
    case RLX_OP_qmul: return shape_binary(graph, op, diag);
    case RLX_OP_qlookup: return shape_lookup(graph, op, diag);
    case RLX_OP_qavg_pool: return shape_avg_pool(graph, op, diag);
    default: return rlx_shape_fail(diag, op, RLX_E_INTERNAL, "no operator of the quant family");
    }
}
