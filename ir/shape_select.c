/* Compress and non_zero on constants; numbers of scalar operands (ir/shape_select.h). */
#include "ir/shape_select.h"

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

rlx_status_t rlx_shape_op_compress(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0], *condition = op->in[1];
    rlx_expr_t dims[RLX_RANK_MAX], extent;
    int64_t length, kept = 0, last = -1, axis_given = rlx_op_int(op, "axis");
    int axis = 0;

    RLX_TRY(rlx_shape_need_rank(op, 1, 1, 1, diag));
    if (!known_count(graph, condition, &length))
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "the result's extent depends on the data of '%s'", condition->name);
    for (int64_t i = 0; i < length; i++) {
        if (is_nonzero(graph, condition, i)) {
            kept++;
            last = i;
        }
    }
    memcpy(dims, x->dims, sizeof(dims));
    if (axis_given != INT32_MAX)
        RLX_TRY(rlx_shape_axis(op, axis_given, x->rank, &axis, diag));
    extent = axis_given == INT32_MAX ? rlx_value_count(graph, x) : x->dims[axis];
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, rlx_expr_const(e, last), extent), "the condition selects past the end", diag));
    dims[axis] = rlx_expr_const(e, kept);
    return rlx_shape_set(graph, op, 0, x->dtype, axis_given == INT32_MAX ? 1 : x->rank, dims, diag);
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

rlx_status_t rlx_shape_op_non_zero(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    rlx_expr_t dims[2];
    int64_t count, found = 0;

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
