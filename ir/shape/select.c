/* Operators that select by data; numbers of scalar operands (ir/shape/select.h). */
#include "ir/shape/select.h"

#include <string.h>

static double half_number(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0 ? fraction * 0x1p-24 : (1024 + fraction) * 0x1p-25;

    for (int i = 1; i < exponent + 1 && exponent > 0; i++)
        value *= 2;
    if (exponent == 31)
        value = fraction ? __builtin_nan("") : __builtin_inf();
    return bits >> 15 ? -value : value;
}

static double bfloat_number(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof(value));
    return value;
}

static double data_number(rlx_dtype_t dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case RLX_F32: return ((const float *)data)[i];
    case RLX_F64: return ((const double *)data)[i];
    case RLX_F16: return half_number(((const uint16_t *)data)[i]);
    case RLX_BF16: return bfloat_number(((const uint16_t *)data)[i]);
    case RLX_I8: return ((const int8_t *)data)[i];
    case RLX_I16: return ((const int16_t *)data)[i];
    case RLX_I32: return ((const int32_t *)data)[i];
    case RLX_I64: return (double)((const int64_t *)data)[i];
    case RLX_U16: return ((const uint16_t *)data)[i];
    case RLX_U32: return ((const uint32_t *)data)[i];
    case RLX_U64: return (double)((const uint64_t *)data)[i];
    default: return ((const uint8_t *)data)[i];
    }
}

bool rlx_value_number(const rlx_graph_t *graph, const rlx_value_t *value, int64_t i, double *out)
{
    int64_t element;

    if (value->data != NULL && value->layout == RLX_LAYOUT_ROW_MAJOR && i < value->data_bytes / (int64_t)rlx_dtype_size(value->dtype)) {
        *out = data_number(value->dtype, value->data, i);
        return true;
    }
    if (i > RLX_ELEMENTS_MAX || !rlx_expr_is_const(graph->exprs, rlx_shape_element(value, (int)i), &element))
        return false;
    *out = (double)element;
    return true;
}

rlx_status_t rlx_shape_number(rlx_graph_t *graph, const rlx_op_t *op, int index, rlx_expr_t *out, rlx_diag_t *diag)
{
    const rlx_value_t *value = rlx_op_in(op, index);
    double number;

    RLX_TRY(rlx_shape_need_rank(op, index, 0, -1, diag));
    if (rlx_dtype_is_integer(value->dtype))
        return rlx_shape_int(graph, op, index, out, diag);
    RLX_TRY(rlx_shape_require_equal(graph, op, rlx_value_count(graph, value), rlx_expr_const(graph->exprs, 1), "the operand's count and 1",
                                    diag));
    if (rlx_value_number(graph, value, 0, &number) && number >= -0x1p53 && number <= 0x1p53 && number == (double)(int64_t)number) {
        *out = rlx_expr_const(graph->exprs, (int64_t)number);
        return RLX_OK;
    }
    if (value->producer != NULL && value->producer->kind == RLX_OP_cast && rlx_dtype_is_integer(value->producer->in[0]->dtype))
        return rlx_shape_int(graph, value->producer, 0, out, diag);
    return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "operand %d ('%s') decides a shape but is no integer known at compile time", index,
                          value->name);
}

/* Count of a constant-shaped value whose elements are all known numbers. */
static bool known_count(const rlx_graph_t *graph, const rlx_value_t *value, int64_t *out_count)
{
    int64_t dims[RLX_RANK_MAX];
    double number;

    if (!rlx_value_dims_const(graph, value, dims) || !rlx_dims_count(dims, value->rank, out_count))
        return false;
    if (*out_count > 0 && value->data == NULL && *out_count > RLX_ELEMENTS_MAX)
        return false;
    for (int64_t i = 0; i < *out_count; i++) {
        if (!rlx_value_number(graph, value, i, &number))
            return false;
    }
    return true;
}

static bool is_nonzero(const rlx_graph_t *graph, const rlx_value_t *value, int64_t i)
{
    double number = 0;

    return rlx_value_number(graph, value, i, &number) && number != 0;
}

static void elements_non_zero(rlx_graph_t *graph, const rlx_value_t *x, int64_t count, int64_t found, rlx_value_t *out)
{
    rlx_expr_t *elements = out ? rlx_shape_track(graph, out) : NULL;
    int64_t dims[RLX_RANK_MAX], at[RLX_RANK_MAX], column = 0;

    if (elements == NULL || !rlx_value_dims_const(graph, x, dims))
        return;
    for (int64_t i = 0; i < count; i++) {
        if (!is_nonzero(graph, x, i))
            continue;
        rlx_shape_unravel(i, x->rank, dims, at);
        for (int a = 0; a < x->rank; a++)
            elements[a * found + column] = rlx_expr_const(graph->exprs, at[a]);
        column++;
    }
}

/* With a count the extent is its symbol, and the data may be anything. */
static rlx_status_t non_zero_counted(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t dims[2] = {rlx_expr_const(graph->exprs, op->in[0]->rank)};

    RLX_TRY(rlx_shape_int(graph, op, 1, &dims[1], diag));
    return rlx_shape_set(graph, op, 0, RLX_I64, 2, dims, diag);
}

rlx_status_t rlx_shape_op_non_zero(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    rlx_expr_t dims[2];
    int64_t count, found = 0;

    if (rlx_op_in(op, 1) != NULL)
        return non_zero_counted(graph, op, diag);
    if (!known_count(graph, x, &count))
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "the result's extent depends on the data of '%s'", x->name);
    for (int64_t i = 0; i < count; i++)
        found += is_nonzero(graph, x, i);
    if (x->rank * found > RLX_ELEMENTS_MAX)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "a constant with more than %d indices of non-zero elements is not folded",
                              RLX_ELEMENTS_MAX);
    dims[0] = rlx_expr_const(graph->exprs, x->rank);
    dims[1] = rlx_expr_const(graph->exprs, found);
    RLX_TRY(rlx_shape_set(graph, op, 0, RLX_I64, 2, dims, diag));
    elements_non_zero(graph, x, count, found, op->out[0]);
    return RLX_OK;
}

rlx_status_t rlx_shape_op_count_non_zero(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t one = rlx_expr_const(graph->exprs, 1);

    return rlx_shape_set(graph, op, 0, RLX_I64, 1, &one, diag);
}

rlx_status_t rlx_shape_op_unique(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t one = rlx_expr_const(graph->exprs, 1);
    int axis;

    RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), op->in[0]->rank, &axis, diag));
    for (int i = 0; i < op->n_out && i < 3; i++)
        RLX_TRY(rlx_shape_set(graph, op, i, RLX_I64, 1, &op->in[0]->dims[axis], diag));
    return op->n_out > 3 ? rlx_shape_set(graph, op, 3, RLX_I64, 1, &one, diag) : RLX_OK;
}

/* Places for the boxes of one batch and class: no more than there are, nor than are asked for where that is known. */
static rlx_expr_t nms_keep(const rlx_graph_t *graph, const rlx_op_t *op)
{
    const rlx_value_t *most = rlx_op_in(op, 2);
    rlx_expr_t boxes = op->in[0]->dims[1];
    int64_t number;

    if (most == NULL)
        return rlx_expr_const(graph->exprs, 0);
    if (!rlx_expr_is_const(graph->exprs, rlx_shape_element(most, 0), &number))
        return boxes;
    return rlx_expr_min(graph->exprs, boxes, rlx_expr_const(graph->exprs, number > 0 ? number : 0));
}

rlx_status_t rlx_shape_op_non_max_suppression(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *boxes = op->in[0], *scores = op->in[1];
    rlx_expr_t dims[2];

    RLX_TRY(rlx_shape_need_rank(op, 0, 3, 3, diag));
    RLX_TRY(rlx_shape_need_rank(op, 1, 3, 3, diag));
    for (int i = 0; i < 5; i++) {
        const rlx_value_t *value = rlx_op_in(op, i);

        if (value != NULL && value->dtype != (i == 2 ? RLX_I64 : RLX_F32))
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "operand %d is %s, not %s", i, rlx_dtype_name(value->dtype), i == 2 ? "i64" : "f32");
        if (value != NULL && i >= 2)
            RLX_TRY(rlx_shape_require_equal(graph, op, rlx_value_count(graph, value), rlx_expr_const(graph->exprs, 1),
                                            "an operand's count and 1", diag));
    }
    RLX_TRY(rlx_shape_require_equal(graph, op, boxes->dims[0], scores->dims[0], "the batch of boxes and that of scores", diag));
    RLX_TRY(rlx_shape_require_equal(graph, op, boxes->dims[1], scores->dims[2], "the count of boxes and that of scores", diag));
    RLX_TRY(rlx_shape_require_equal(graph, op, boxes->dims[2], rlx_expr_const(graph->exprs, 4), "a box's extent and 4", diag));
    dims[0] = rlx_expr_mul(graph->exprs, scores->dims[0], scores->dims[1]);
    dims[1] = nms_keep(graph, op);
    RLX_TRY(rlx_shape_set(graph, op, 0, RLX_I64, 2, dims, diag));
    return op->n_out > 1 ? rlx_shape_set(graph, op, 1, RLX_I64, 1, dims, diag) : RLX_OK;
}

rlx_status_t rlx_shape_op_nms_rows(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t dims[2] = {RLX_EXPR_NONE, rlx_expr_const(graph->exprs, 3)};

    RLX_TRY(rlx_shape_need_rank(op, 0, 2, 2, diag));
    RLX_TRY(rlx_shape_need_rank(op, 1, 1, 1, diag));
    RLX_TRY(rlx_shape_need_rank(op, 3, 3, 3, diag));
    RLX_TRY(rlx_shape_int(graph, op, 2, &dims[0], diag));
    return rlx_shape_set(graph, op, 0, RLX_I64, 2, dims, diag);
}
