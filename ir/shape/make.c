/* Shape rules of the make family: tensors made from shapes and numbers. */
#include "ir/lower/dispatch.h"
#include "ir/shape/select.h"

#include <math.h>
#include <string.h>

static int64_t fill_integer(const rlx_tensor_t *value)
{
    switch (value->dtype) {
    case RLX_I8: return *(const int8_t *)value->data;
    case RLX_I16: return *(const int16_t *)value->data;
    case RLX_I32: return *(const int32_t *)value->data;
    case RLX_I64: return *(const int64_t *)value->data;
    case RLX_U16: return *(const uint16_t *)value->data;
    case RLX_U32: return *(const uint32_t *)value->data;
    case RLX_U64: return (int64_t) * (const uint64_t *)value->data;
    default: return *(const uint8_t *)value->data;
    }
}

static rlx_status_t shape_constant_of_shape(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_attr_t *attr = rlx_op_attr(op, "value");
    rlx_expr_t dims[RLX_RANK_MAX], *elements;
    int64_t extent, count;
    int rank;

    RLX_TRY(rlx_shape_ints(graph, op, 0, dims, RLX_RANK_MAX, &rank, diag));
    if (attr != NULL && (attr->type != RLX_ATTR_TENSOR || !rlx_dims_count(attr->tensor.dims, attr->tensor.rank, &count) || count != 1))
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "attribute value must be a tensor of one element");
    for (int i = 0; i < rank; i++) {
        if (rlx_expr_is_const(graph->exprs, dims[i], &extent) && extent < 0)
            return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "element %d of the shape is %lld", i, (long long)extent);
    }
    RLX_TRY(rlx_shape_set(graph, op, 0, attr ? attr->tensor.dtype : RLX_F32, rank, dims, diag));
    elements = attr ? rlx_shape_track(graph, op->out[0]) : NULL;
    for (int i = 0; elements != NULL && i < op->out[0]->n_elements; i++)
        elements[i] = rlx_shape_wrap(graph, attr->tensor.dtype, rlx_expr_const(graph->exprs, fill_integer(&attr->tensor)));
    return RLX_OK;
}

/* Three float constants: the count as ONNX defines it. False when one is no constant. */
static bool range_floats(const rlx_graph_t *graph, const rlx_op_t *op, double *out_count)
{
    double start, limit, delta;

    if (!rlx_value_number(graph, op->in[0], 0, &start) || !rlx_value_number(graph, op->in[1], 0, &limit) ||
        !rlx_value_number(graph, op->in[2], 0, &delta))
        return false;
    *out_count = ceil((op->in[0]->dtype == RLX_F32 ? (double)((float)limit - (float)start) : limit - start) / delta);
    if (!(*out_count > 0))
        *out_count = isnan(*out_count) ? *out_count : 0;
    return true;
}

static rlx_status_t range_count(rlx_graph_t *graph, const rlx_op_t *op, const rlx_expr_t number[3], rlx_expr_t *out, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t zero = rlx_expr_const(e, 0);

    if (rlx_expr_is(e, number[2], 0))
        return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "the step is 0");
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_eq(e, rlx_expr_eq(e, number[2], zero), zero), "the step is 0", diag));
    *out = rlx_expr_max(e, zero, rlx_expr_ceildiv(e, rlx_expr_sub(e, number[1], number[0]), number[2]));
    return RLX_OK;
}

/* The same count for f32 of which some are inputs; NONE when one is neither constant nor an input. */
static rlx_expr_t range_symbolic(rlx_graph_t *graph, const rlx_op_t *op)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t bits[3];

    for (int i = 0; i < 3; i++) {
        bits[i] = rlx_shape_float_bits(graph, op->in[i], 0);
        if (bits[i] == RLX_EXPR_NONE)
            return RLX_EXPR_NONE;
    }
    return rlx_expr_max(e, rlx_expr_const(e, 0),
                        rlx_expr_binary(e, RLX_EXPR_FCEILDIV, rlx_expr_binary(e, RLX_EXPR_FSUB, bits[1], bits[0]), bits[2]));
}

static rlx_status_t shape_range(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t number[3], dims[1], *elements;
    double count;

    for (int i = 0; i < 3; i++) {
        RLX_TRY(rlx_shape_need_same_dtype(op, 0, i, diag));
        RLX_TRY(rlx_shape_require_equal(graph, op, rlx_value_count(graph, op->in[i]), rlx_expr_const(e, 1), "the count of a bound and 1",
                                        diag));
    }
    if (rlx_dtype_is_float(op->in[0]->dtype) && range_floats(graph, op, &count)) {
        if (isnan(count) || count > (double)RLX_COUNT_MAX)
            return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "the bounds and the step give no finite count");
        dims[0] = rlx_expr_const(e, (int64_t)count);
        return rlx_shape_set(graph, op, 0, op->in[0]->dtype, 1, dims, diag);
    }
    dims[0] = rlx_dtype_is_float(op->in[0]->dtype) ? range_symbolic(graph, op) : RLX_EXPR_NONE;
    if (dims[0] != RLX_EXPR_NONE)
        return rlx_shape_set(graph, op, 0, op->in[0]->dtype, 1, dims, diag);
    for (int i = 0; i < 3; i++)
        RLX_TRY(rlx_shape_number(graph, op, i, &number[i], diag));
    RLX_TRY(range_count(graph, op, number, &dims[0], diag));
    RLX_TRY(rlx_shape_set(graph, op, 0, op->in[0]->dtype, 1, dims, diag));
    elements = rlx_shape_track(graph, op->out[0]);
    for (int i = 0; elements != NULL && i < op->out[0]->n_elements; i++)
        elements[i] = rlx_expr_add(e, number[0], rlx_expr_mul(e, number[2], rlx_expr_const(e, i)));
    return RLX_OK;
}

static int64_t clamp_axis(int64_t axis, int rank)
{
    axis = axis < 0 ? axis + rank : axis;
    return axis < 0 ? 0 : axis > rank ? rank : axis;
}

static rlx_status_t shape_shape(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    int64_t start = clamp_axis(rlx_op_int(op, "start"), x->rank), end = clamp_axis(rlx_op_int(op, "end"), x->rank);
    rlx_expr_t dims[1] = {rlx_expr_const(graph->exprs, end > start ? end - start : 0)}, *elements;

    RLX_TRY(rlx_shape_set(graph, op, 0, RLX_I64, 1, dims, diag));
    elements = rlx_shape_track(graph, op->out[0]);
    for (int i = 0; elements != NULL && i < op->out[0]->n_elements; i++)
        elements[i] = x->dims[start + i];
    return RLX_OK;
}

static rlx_status_t shape_size(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t *elements;

    RLX_TRY(rlx_shape_set(graph, op, 0, RLX_I64, 0, NULL, diag));
    elements = rlx_shape_track(graph, op->out[0]);
    if (elements != NULL)
        elements[0] = rlx_value_count(graph, op->in[0]);
    return RLX_OK;
}

static rlx_status_t shape_eye_like(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_dtype_t dtype = (rlx_dtype_t)rlx_op_int(op, "dtype");

    RLX_TRY(rlx_shape_need_rank(op, 0, 2, 2, diag));
    return rlx_shape_set_like(graph, op, 0, dtype ? dtype : op->in[0]->dtype, 0, diag);
}

static rlx_status_t need_float(const rlx_op_t *op, rlx_dtype_t dtype, rlx_diag_t *diag)
{
    if (rlx_dtype_is_float(dtype))
        return RLX_OK;
    return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "results of type %s are not supported, only of float types",
                          rlx_dtype_name(dtype));
}

static rlx_status_t shape_window(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const char *kind = rlx_op_string(op, "kind");
    rlx_dtype_t dtype = (rlx_dtype_t)rlx_op_int(op, "dtype");
    rlx_expr_t dims[1];

    if (strcmp(kind, "hann") != 0 && strcmp(kind, "hamming") != 0 && strcmp(kind, "blackman") != 0)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "window '%.32s' is not supported", kind);
    RLX_TRY(need_float(op, dtype, diag));
    RLX_TRY(rlx_shape_int(graph, op, 0, dims, diag));
    return rlx_shape_set(graph, op, 0, dtype, 1, dims, diag);
}

static rlx_status_t shape_mel_weight_matrix(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_dtype_t dtype = (rlx_dtype_t)rlx_op_int(op, "dtype");
    rlx_expr_t dims[2], bins, length;

    RLX_TRY(need_float(op, dtype, diag));
    RLX_TRY(rlx_shape_int(graph, op, 0, &bins, diag));
    RLX_TRY(rlx_shape_int(graph, op, 1, &length, diag));
    dims[0] = rlx_expr_add(e, rlx_expr_floordiv(e, length, rlx_expr_const(e, 2)), rlx_expr_const(e, 1));
    dims[1] = bins;
    return rlx_shape_set(graph, op, 0, dtype, 2, dims, diag);
}

/* The pass that made it set the output's shape and elements. */
static rlx_status_t shape_store_elements(const rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *out = op->out[0];

    if (out == NULL || out->rank < 0 || out->elements == NULL)
        return rlx_shape_fail(diag, op, RLX_E_IR_INVALID, "the output has no elements");
    for (int i = 0; i < out->n_elements; i++) {
        if (out->elements[i] < 0)
            return rlx_shape_fail(diag, op, RLX_E_IR_INVALID, "element %d of the output is not known", i);
    }
    return RLX_OK;
}

rlx_status_t rlx_shape_make(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_constant_of_shape:
        return shape_constant_of_shape(graph, op, diag);
    case RLX_OP_range:
        return shape_range(graph, op, diag);
    case RLX_OP_shape:
        return shape_shape(graph, op, diag);
    case RLX_OP_size:
        return shape_size(graph, op, diag);
    case RLX_OP_eye_like:
        return shape_eye_like(graph, op, diag);
    case RLX_OP_window:
        return shape_window(graph, op, diag);
    case RLX_OP_mel_weight_matrix:
        return shape_mel_weight_matrix(graph, op, diag);
    case RLX_OP_store_elements:
        return shape_store_elements(op, diag);
    default:
        return rlx_shape_fail(diag, op, RLX_E_INTERNAL, "the make family has no rule for this operator");
    }
}
