/* Requirements, axes, outputs and broadcasting for shape rules (ir/shape/common.h). */
#include "ir/shape/common.h"

#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>

rlx_status_t rlx_shape_fail(rlx_diag_t *diag, const rlx_op_t *op, rlx_error_code_t code, const char *format, ...)
{
    char text[640];
    va_list args;
    rlx_status_t status;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    status = rlx_fail(diag, code, "%s: %s", rlx_op_info(op->kind)->name, text);
    if (diag != NULL)
        rlx_diag_at(diag, "%s", op->source);
    return status;
}

bool rlx_dtype_is_integer(rlx_dtype_t dtype) { return dtype >= RLX_I8 && dtype <= RLX_U64; }

bool rlx_dtype_is_float(rlx_dtype_t dtype) { return dtype >= RLX_F32 && dtype <= RLX_BF16; }

rlx_status_t rlx_shape_need_rank(const rlx_op_t *op, int index, int rank_min, int rank_max, rlx_diag_t *diag)
{
    const rlx_value_t *value = rlx_op_in(op, index);

    if (value == NULL)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "operand %d is missing", index);
    if (value->rank < rank_min || (rank_max >= 0 && value->rank > rank_max))
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "operand %d ('%s') has rank %d, expected %s%d", index, value->name,
                              value->rank,
                              rank_max < 0                                    ? "at least "
                              : rank_max > rank_min && value->rank > rank_max ? "at most "
                                                                              : "",
                              rank_max >= 0 && value->rank > rank_max ? rank_max : rank_min);
    return RLX_OK;
}

rlx_status_t rlx_shape_need_same_dtype(const rlx_op_t *op, int first, int second, rlx_diag_t *diag)
{
    const rlx_value_t *a = rlx_op_in(op, first), *b = rlx_op_in(op, second);

    if (a == NULL || b == NULL)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "operand %d is missing", a == NULL ? first : second);
    if (a->dtype != b->dtype)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "operand %d ('%s') is %s but operand %d ('%s') is %s", first, a->name,
                              rlx_dtype_name(a->dtype), second, b->name, rlx_dtype_name(b->dtype));
    return RLX_OK;
}

rlx_status_t rlx_shape_need_integer(const rlx_op_t *op, int index, rlx_diag_t *diag)
{
    const rlx_value_t *value = rlx_op_in(op, index);

    if (value == NULL)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "operand %d is missing", index);
    if (!rlx_dtype_is_integer(value->dtype))
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "operand %d ('%s') is %s, expected an integer type", index, value->name,
                              rlx_dtype_name(value->dtype));
    return RLX_OK;
}

rlx_status_t rlx_shape_axis(const rlx_op_t *op, int64_t axis, int rank, int *out_axis, rlx_diag_t *diag)
{
    if (axis < -(int64_t)rank || axis >= rank)
        return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "axis %lld is outside [%d, %d)", (long long)axis, -rank, rank);
    *out_axis = (int)(axis < 0 ? axis + rank : axis);
    return RLX_OK;
}

rlx_status_t rlx_shape_axes(rlx_graph_t *graph, const rlx_op_t *op, int index, int rank, int out_axes[RLX_RANK_MAX], int *out_count,
                            rlx_diag_t *diag)
{
    rlx_expr_t elements[RLX_RANK_MAX];
    unsigned seen = 0;
    int count;
    int64_t axis;

    if (rlx_op_in(op, index) == NULL) {
        *out_count = -1;
        return RLX_OK;
    }
    RLX_TRY(rlx_shape_ints(graph, op, index, elements, RLX_RANK_MAX, &count, diag));
    for (int i = 0; i < count; i++) {
        if (!rlx_expr_is_const(graph->exprs, elements[i], &axis))
            return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "the axes ('%s') are not constant", op->in[index]->name);
        RLX_TRY(rlx_shape_axis(op, axis, rank, &out_axes[i], diag));
        if (seen & 1u << out_axes[i])
            return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "axis %d is named twice", out_axes[i]);
        seen |= 1u << out_axes[i];
    }
    *out_count = count;
    return RLX_OK;
}

rlx_status_t rlx_shape_require(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t condition, const char *what, rlx_diag_t *diag)
{
    char text[512];
    rlx_status_t status;

    if (rlx_expr_is(graph->exprs, condition, 0) || condition < 0)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "%s", what);
    snprintf(text, sizeof(text), "%s: %s: %s", op->source, rlx_op_info(op->kind)->name, what);
    status = rlx_graph_check(graph, condition, text, diag);
    if (status != RLX_OK && diag != NULL)
        rlx_diag_at(diag, "%s", op->source);
    return status;
}

/* The two extents as text, for a message. */
static const char *extent_text(const rlx_graph_t *graph, rlx_expr_t extent, char *buffer, size_t bytes)
{
    int64_t value;

    if (rlx_expr_is_const(graph->exprs, extent, &value))
        snprintf(buffer, bytes, "%lld", (long long)value);
    else
        snprintf(buffer, bytes, "an extent in [%lld, %lld]", (long long)rlx_expr_node(graph->exprs, extent)->min,
                 (long long)rlx_expr_node(graph->exprs, extent)->max);
    return buffer;
}

rlx_status_t rlx_shape_require_equal(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t a, rlx_expr_t b, const char *what, rlx_diag_t *diag)
{
    char text[384], left[64], right[64];
    rlx_expr_t equal = rlx_expr_eq(graph->exprs, a, b);

    if (a >= 0 && b >= 0 && rlx_expr_is(graph->exprs, equal, 0))
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "%s differ: %s and %s", what, extent_text(graph, a, left, sizeof(left)),
                              extent_text(graph, b, right, sizeof(right)));
    snprintf(text, sizeof(text), "%s differ", what);
    return rlx_shape_require(graph, op, equal, text, diag);
}

static rlx_status_t check_extent(rlx_graph_t *graph, const rlx_op_t *op, int axis, rlx_expr_t extent, rlx_diag_t *diag)
{
    const rlx_expr_node_t *node;
    char text[96];

    if (extent == RLX_EXPR_NONE)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "extent %d of the result depends on data", axis);
    if (extent < 0)
        return rlx_shape_fail(diag, op, RLX_E_IR_LIMIT, "extent %d of the result overflows or divides by zero", axis);
    node = rlx_expr_node(graph->exprs, extent);
    if (node->max < 0)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "extent %d of the result is negative (%lld)", axis, (long long)node->max);
    if (node->min >= 0)
        return RLX_OK;
    snprintf(text, sizeof(text), "extent %d of the result is negative", axis);
    return rlx_shape_require(graph, op, rlx_expr_lt(graph->exprs, rlx_expr_const(graph->exprs, -1), extent), text, diag);
}

rlx_status_t rlx_shape_set(rlx_graph_t *graph, rlx_op_t *op, int index, rlx_dtype_t dtype, int rank, const rlx_expr_t *dims,
                           rlx_diag_t *diag)
{
    rlx_value_t *value = index < op->n_out ? op->out[index] : NULL;
    rlx_expr_t count;

    if (value == NULL)
        return RLX_OK;
    if (rlx_dtype_size(dtype) == 0)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "element type %d of the result is not supported", (int)dtype);
    if (rank < 0 || rank > RLX_RANK_MAX)
        return rlx_shape_fail(diag, op, RLX_E_IR_LIMIT, "the result has rank %d, at most %d is supported", rank, RLX_RANK_MAX);
    for (int i = 0; i < rank; i++)
        RLX_TRY(check_extent(graph, op, i, dims[i], diag));
    count = rlx_shape_product(graph, dims, 0, rank);
    if (count < 0 || rlx_expr_node(graph->exprs, count)->min > RLX_COUNT_MAX)
        return rlx_shape_fail(diag, op, RLX_E_IR_LIMIT, "the result has more than 2^40 elements");
    value->dtype = dtype;
    value->rank = rank;
    for (int i = 0; i < RLX_RANK_MAX; i++)
        value->dims[i] = i < rank ? dims[i] : RLX_EXPR_NONE;
    value->elements = NULL;
    if (!rlx_shape_trackable(graph, value, &value->n_elements))
        value->n_elements = -1;
    return RLX_OK;
}

rlx_status_t rlx_shape_set_like(rlx_graph_t *graph, rlx_op_t *op, int index, rlx_dtype_t dtype, int operand, rlx_diag_t *diag)
{
    const rlx_value_t *like = rlx_op_in(op, operand);
    rlx_expr_t dims[RLX_RANK_MAX];

    RLX_ASSERT(like != NULL);
    for (int i = 0; i < like->rank; i++)
        dims[i] = like->dims[i];
    return rlx_shape_set(graph, op, index, dtype, like->rank, dims, diag);
}

/* One side is a constant above 1: the other must be 1 or the same. */
static rlx_status_t broadcast_constant(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t constant, rlx_expr_t open, rlx_expr_t *out,
                                       rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t one = rlx_expr_const(e, 1);
    rlx_expr_t fits = rlx_expr_max(e, rlx_expr_eq(e, open, one), rlx_expr_eq(e, open, constant));

    *out = constant;
    return rlx_shape_require(graph, op, fits, "an extent is neither 1 nor that of the other operand", diag);
}

rlx_status_t rlx_shape_broadcast_dim(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t a, rlx_expr_t b, rlx_expr_t *out, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t one = rlx_expr_const(e, 1), equal, a_is_one, fits;
    int64_t x, y;
    bool a_const = rlx_expr_is_const(e, a, &x), b_const = rlx_expr_is_const(e, b, &y);

    *out = a;
    if (a == b || (b_const && y == 1))
        return RLX_OK;
    *out = b;
    if (a_const && x == 1)
        return RLX_OK;
    if (a_const && b_const)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "extents %lld and %lld do not broadcast", (long long)x, (long long)y);
    equal = rlx_expr_eq(e, a, b);
    if (rlx_expr_is(e, equal, 1))
        return RLX_OK;
    if (a_const && x > 1)
        return broadcast_constant(graph, op, a, b, out, diag);
    if (b_const && y > 1)
        return broadcast_constant(graph, op, b, a, out, diag);
    a_is_one = rlx_expr_eq(e, a, one);
    fits = rlx_expr_max(e, rlx_expr_max(e, a_is_one, rlx_expr_eq(e, b, one)), equal);
    *out = rlx_expr_select(e, a_is_one, b, a);
    return rlx_shape_require(graph, op, fits, "two extents differ and neither is 1", diag);
}

rlx_status_t rlx_shape_broadcast_dims(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t *acc, int *acc_rank, const rlx_expr_t *dims,
                                      int rank, rlx_diag_t *diag)
{
    int common = rank > *acc_rank ? rank : *acc_rank;

    if (common > RLX_RANK_MAX)
        return rlx_shape_fail(diag, op, RLX_E_IR_LIMIT, "rank %d, at most %d is supported", common, RLX_RANK_MAX);
    if (common > *acc_rank) {
        int shift = common - *acc_rank;
        for (int i = common - 1; i >= 0; i--)
            acc[i] = i >= shift ? acc[i - shift] : rlx_expr_const(graph->exprs, 1);
        *acc_rank = common;
    }
    for (int i = 0; i < rank; i++) {
        int axis = common - rank + i;
        RLX_TRY(rlx_shape_broadcast_dim(graph, op, acc[axis], dims[i], &acc[axis], diag));
    }
    return RLX_OK;
}

rlx_status_t rlx_shape_broadcast(rlx_graph_t *graph, const rlx_op_t *op, int first, int count, rlx_expr_t *out_dims, int *out_rank,
                                 rlx_diag_t *diag)
{
    *out_rank = 0;
    for (int i = first; i < first + count; i++) {
        const rlx_value_t *value = rlx_op_in(op, i);
        if (value != NULL)
            RLX_TRY(rlx_shape_broadcast_dims(graph, op, out_dims, out_rank, value->dims, value->rank, diag));
    }
    return RLX_OK;
}

rlx_expr_t rlx_shape_product(const rlx_graph_t *graph, const rlx_expr_t *dims, int begin, int end)
{
    rlx_expr_t product = rlx_expr_const(graph->exprs, 1);

    for (int i = begin; i < end; i++)
        product = rlx_expr_mul(graph->exprs, product, dims[i]);
    return product;
}

rlx_expr_t rlx_shape_stride(const rlx_graph_t *graph, const rlx_value_t *value, int axis)
{
    return rlx_shape_product(graph, value->dims, axis + 1, value->rank);
}

rlx_expr_t rlx_shape_broadcast_stride(const rlx_graph_t *graph, const rlx_value_t *value, int out_rank, int axis)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t zero = rlx_expr_const(e, 0);
    int own = axis - (out_rank - value->rank);

    if (own < 0)
        return zero;
    return rlx_expr_select(e, rlx_expr_eq(e, value->dims[own], rlx_expr_const(e, 1)), zero, rlx_shape_stride(graph, value, own));
}

void rlx_shape_unravel(int64_t flat, int rank, const int64_t *dims, int64_t *out_index)
{
    for (int i = rank - 1; i >= 0; i--) {
        out_index[i] = flat % dims[i];
        flat /= dims[i];
    }
}

int64_t rlx_shape_ravel(int rank, const int64_t *dims, const int64_t *index)
{
    int64_t flat = 0;

    for (int i = 0; i < rank; i++)
        flat = flat * dims[i] + index[i];
    return flat;
}
