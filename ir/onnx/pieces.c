/* Frequent pieces of conversions: constants, views, reductions, and shapes as operands (import.h). */
#include "ir/onnx/import.h"

#include <math.h>
#include <string.h>


/* Round to nearest even, subnormals included. */
static uint16_t half_of(float value)
{
    uint32_t bits, sign, mantissa;
    int exponent, shift;

    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 16 & 0x8000;
    exponent = (int)(bits >> 23 & 0xff) - 127 + 15;
    mantissa = bits & 0x7fffff;
    if (exponent >= 31)
        return (uint16_t)(sign | 0x7c00 | (exponent == 143 && mantissa != 0 ? 0x200 : 0));
    if (exponent < -10)
        return (uint16_t)sign;
    if (exponent <= 0) {
        mantissa |= 0x800000;
        shift = 14 - exponent;
        exponent = 0;
    } else {
        shift = 13;
    }
    bits = mantissa >> shift;
    mantissa &= (1u << shift) - 1;
    bits += mantissa > 1u << (shift - 1) || (mantissa == 1u << (shift - 1) && (bits & 1));
    return (uint16_t)(sign | (((uint32_t)exponent << 10) + bits));
}

static uint16_t bfloat_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    if (value != value)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Toward zero, saturating; NaN gives 0: numbers come from the file. */
static int64_t integer_of(double value)
{
    if (value != value)
        return 0;
    return value >= 0x1p63 ? INT64_MAX : value < -0x1p63 ? INT64_MIN : (int64_t)value;
}

static void scalar_store(rlx_dtype_t dtype, double value, void *out)
{
    float single = (float)value;
    int64_t integer = integer_of(value);
    uint16_t half = dtype == RLX_F16 ? half_of(single) : bfloat_of(single);

    if (dtype == RLX_F32)
        memcpy(out, &single, sizeof single);
    else if (dtype == RLX_F64)
        memcpy(out, &value, sizeof value);
    else if (dtype == RLX_F16 || dtype == RLX_BF16)
        memcpy(out, &half, sizeof half);
    else
        memcpy(out, &integer, rlx_dtype_size(dtype));
}

rlx_value_t *rlx_call_scalar(rlx_onnx_call_t *call, rlx_dtype_t dtype, double value)
{
    char bytes[8] = {0};

    if (!rlx_call_ok(call))
        return NULL;
    if (rlx_dtype_size(dtype) == 0)
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "an operand has no element type");
    scalar_store(dtype, value, bytes);
    return rlx_graph_const(call->graph, rlx_call_made_name(call), dtype, 0, NULL, bytes, false);
}

rlx_value_t *rlx_call_const_tensor(rlx_onnx_call_t *call, const rlx_tensor_t *tensor)
{
    if (!rlx_call_ok(call))
        return NULL;
    return rlx_graph_const(call->graph, rlx_call_made_name(call), tensor->dtype, tensor->rank, tensor->dims, tensor->data, true);
}

rlx_value_t *rlx_call_ints_value(rlx_onnx_call_t *call, const int64_t *values, int n)
{
    return rlx_call_ok(call) ? rlx_graph_const_i64(call->graph, rlx_call_made_name(call), values, n) : NULL;
}

static rlx_value_t *elements_store(rlx_onnx_call_t *call, const rlx_expr_t *exprs, int n)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_store_elements, 0, NULL, 1);
    rlx_value_t *value;

    if (op == NULL)
        return NULL;
    value = op->out[0];
    value->dtype = RLX_I64;
    value->rank = 1;
    value->dims[0] = rlx_expr_const(call->graph->exprs, n);
    value->n_elements = n;
    value->elements = rlx_graph_alloc(call->graph, (size_t)(n + 1) * sizeof *exprs);
    memcpy(value->elements, exprs, (size_t)n * sizeof *exprs);
    return rlx_call_end(call, op);
}

rlx_value_t *rlx_call_exprs_value(rlx_onnx_call_t *call, const rlx_expr_t *exprs, int n)
{
    int64_t values[RLX_ELEMENTS_MAX];
    bool constant = true;

    if (n > RLX_ELEMENTS_MAX)
        return rlx_call_fail(call, RLX_E_IR_LIMIT, "a shape operand has %d elements; the limit is %d", n, RLX_ELEMENTS_MAX);
    for (int i = 0; i < n && rlx_call_ok(call); i++) {
        if (exprs[i] == RLX_EXPR_NONE)
            rlx_call_fail(call, RLX_E_SHAPE_UNKNOWN, "an extent that %s needs depends on tensor data", call->node->op_type);
        if (exprs[i] == RLX_EXPR_ERROR)
            rlx_call_fail(call, RLX_E_SHAPE_MISMATCH, "an extent that %s needs overflows or divides by zero", call->node->op_type);
        constant = constant && rlx_call_ok(call) && rlx_expr_is_const(call->graph->exprs, exprs[i], &values[i]);
    }
    if (!rlx_call_ok(call))
        return NULL;
    return constant ? rlx_call_ints_value(call, values, n) : elements_store(call, exprs, n);
}

rlx_value_t *rlx_call_cast(rlx_onnx_call_t *call, rlx_value_t *x, rlx_dtype_t to)
{
    rlx_op_t *op;

    if (x == NULL || x->dtype == to)
        return x;
    op = rlx_call_begin(call, RLX_OP_cast, 1, &x, 1);
    rlx_call_set_int(call, op, "to", to);
    return rlx_call_end(call, op);
}

rlx_value_t *rlx_call_reshape(rlx_onnx_call_t *call, rlx_value_t *x, const rlx_expr_t *dims, int rank)
{
    rlx_value_t *in[2] = {x, NULL};
    rlx_op_t *op;

    if (rank > RLX_RANK_MAX)
        return rlx_call_fail(call, RLX_E_IR_LIMIT, "the result has rank %d; the limit is %d", rank, RLX_RANK_MAX);
    in[1] = x != NULL ? rlx_call_exprs_value(call, dims, rank) : NULL;
    if (in[1] == NULL)
        return NULL;
    op = rlx_call_begin(call, RLX_OP_reshape, 2, in, 1);
    rlx_call_set_int(call, op, "allowzero", 1); /* extents are meant literally */
    return rlx_call_end(call, op);
}

rlx_value_t *rlx_call_unsqueeze(rlx_onnx_call_t *call, rlx_value_t *x, int axis)
{
    rlx_expr_t dims[RLX_RANK_MAX + 1];

    if (x == NULL)
        return NULL;
    for (int i = 0; i < x->rank; i++)
        dims[i + (i >= axis)] = x->dims[i];
    dims[axis] = rlx_call_expr(call, 1);
    return rlx_call_reshape(call, x, dims, x->rank + 1);
}

rlx_value_t *rlx_call_squeeze(rlx_onnx_call_t *call, rlx_value_t *x, int axis)
{
    rlx_expr_t dims[RLX_RANK_MAX];
    int n = 0;

    if (x == NULL)
        return NULL;
    for (int i = 0; i < x->rank; i++)
        if (i != axis)
            dims[n++] = x->dims[i];
    return rlx_call_reshape(call, x, dims, n);
}

rlx_value_t *rlx_call_transpose(rlx_onnx_call_t *call, rlx_value_t *x, const int64_t *perm, int n)
{
    rlx_op_t *op;

    if (x == NULL)
        return NULL;
    op = rlx_call_begin(call, RLX_OP_transpose, 1, &x, 1);
    rlx_call_set_ints(call, op, "perm", perm, n);
    return rlx_call_end(call, op);
}

rlx_value_t *rlx_call_concat(rlx_onnx_call_t *call, rlx_value_t *a, rlx_value_t *b, int axis)
{
    rlx_value_t *in[2] = {a, b};
    rlx_op_t *op;

    if (a == NULL || b == NULL)
        return NULL;
    op = rlx_call_begin(call, RLX_OP_concat, 2, in, 1);
    rlx_call_set_int(call, op, "axis", axis);
    return rlx_call_end(call, op);
}

rlx_value_t *rlx_call_expand(rlx_onnx_call_t *call, rlx_value_t *x, const rlx_expr_t *dims, int rank)
{
    return x != NULL ? rlx_call_op2(call, RLX_OP_expand, x, rlx_call_exprs_value(call, dims, rank)) : NULL;
}

rlx_value_t *rlx_call_slice(rlx_onnx_call_t *call, rlx_value_t *x, int axis, rlx_expr_t start, rlx_expr_t end, int64_t step)
{
    rlx_value_t *in[5] = {x, NULL, NULL, NULL, NULL};
    int64_t axis64 = axis;

    if (x == NULL)
        return NULL;
    in[1] = rlx_call_exprs_value(call, &start, 1);
    in[2] = rlx_call_exprs_value(call, &end, 1);
    in[3] = rlx_call_ints_value(call, &axis64, 1);
    in[4] = rlx_call_ints_value(call, &step, 1);
    return rlx_call_end(call, rlx_call_begin(call, RLX_OP_slice, 5, in, 1));
}

rlx_value_t *rlx_call_reduce(rlx_onnx_call_t *call, rlx_op_kind_t kind, rlx_value_t *x, const int64_t *axes, int n, bool keepdims)
{
    rlx_value_t *in[2] = {x, NULL};
    rlx_op_t *op;

    if (x == NULL)
        return NULL;
    if (axes != NULL)
        in[1] = rlx_call_ints_value(call, axes, n);
    op = rlx_call_begin(call, kind, 2, in, 1);
    rlx_call_set_int(call, op, "keepdims", keepdims);
    return rlx_call_end(call, op);
}

rlx_value_t *rlx_call_softmax(rlx_onnx_call_t *call, rlx_op_kind_t kind, rlx_value_t *x, int axis)
{
    rlx_op_t *op;

    if (x == NULL)
        return NULL;
    op = rlx_call_begin(call, kind, 1, &x, 1);
    rlx_call_set_int(call, op, "axis", axis);
    return rlx_call_end(call, op);
}

/* 0, 1, ... count-1. */
rlx_value_t *rlx_call_range(rlx_onnx_call_t *call, rlx_dtype_t dtype, rlx_expr_t count)
{
    rlx_value_t *limit = rlx_call_exprs_value(call, &count, 1);

    limit = limit != NULL ? rlx_call_squeeze(call, limit, 0) : NULL;
    return rlx_call_cast(
        call, rlx_call_op3(call, RLX_OP_range, rlx_call_scalar(call, RLX_I64, 0), limit, rlx_call_scalar(call, RLX_I64, 1)), dtype);
}

bool rlx_call_axis(rlx_onnx_call_t *call, int64_t axis, int rank, int *out_axis)
{
    if (axis < -(int64_t)rank || axis >= rank) {
        rlx_call_fail(call, RLX_E_ONNX_NODE, "axis %lld is outside [%d, %d)", (long long)axis, -rank, rank);
        return false;
    }
    *out_axis = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

rlx_expr_t rlx_call_dim(rlx_onnx_call_t *call, const rlx_value_t *x, int axis)
{
    if (x == NULL)
        return RLX_EXPR_NONE;
    if (axis >= 0 && axis < x->rank)
        return x->dims[axis];
    rlx_call_fail(call, RLX_E_ONNX_NODE, "'%s' has rank %d; the operator needs at least %d", x->name, x->rank, axis + 1);
    return RLX_EXPR_NONE;
}

rlx_expr_t rlx_call_product(rlx_onnx_call_t *call, const rlx_value_t *x, int from, int to)
{
    rlx_expr_t product = rlx_call_expr(call, 1);

    for (int i = from; x != NULL && i < to && i < x->rank; i++)
        product = rlx_expr_mul(call->graph->exprs, product, x->dims[i]);
    return product;
}

rlx_expr_t rlx_call_expr(rlx_onnx_call_t *call, int64_t value)
{
    return rlx_expr_const(call->graph->exprs, value);
}

const rlx_expr_t *rlx_call_elements(rlx_onnx_call_t *call, int index, const char *what, int *out_n)
{
    const rlx_value_t *value = rlx_call_in(call, index);

    if (value == NULL)
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "%s (operand %d) is missing", what, index);
    if (value->n_elements == 0) {
        static const rlx_expr_t none[1];
        *out_n = 0;
        return none;
    }
    if (value->elements == NULL || value->n_elements < 0)
        return rlx_call_fail(call, RLX_E_SHAPE_UNKNOWN, "%s (operand %d, '%s') must be a constant, an input or arithmetic on shapes", what,
                             index, value->name);
    *out_n = value->n_elements;
    return value->elements;
}

int rlx_call_known(rlx_onnx_call_t *call, int index, const char *what, int64_t *out, int cap)
{
    int n;
    const rlx_expr_t *elements = rlx_call_elements(call, index, what, &n);

    if (elements == NULL)
        return -1;
    if (n > cap) {
        rlx_call_fail(call, RLX_E_ONNX_NODE, "%s (operand %d) has %d elements; at most %d are possible", what, index, n, cap);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        if (rlx_expr_is_const(call->graph->exprs, elements[i], &out[i]))
            continue;
        rlx_call_fail(call, RLX_E_SHAPE_UNKNOWN, "%s (operand %d, '%s') must be constant", what, index, call->in[index]->name);
        return -1;
    }
    return n;
}

void rlx_call_check(rlx_onnx_call_t *call, rlx_expr_t condition, const char *message)
{
    rlx_graph_t *graph = call->graph;
    int known = graph->n_checks;

    if (rlx_call_ok(call))
        call->status = rlx_graph_check(graph, condition, message, call->diag);
    if (graph->n_checks > known)
        graph->checks[known].stated = true;
}
