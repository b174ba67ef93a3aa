/* QLinearConv, QLinearMatMul, MatMulInteger, ConvInteger. Where weights and their numbers are constants, these become what the quantise pass
 * understands (dequantise, operator, quantise) or integer products; else they are spelled out exactly: i32 sums, or f64 where a convolution
 * needs them. */
#include "ir/onnx/quantize.h"

#include <string.h>

static bool is_const(const rlx_value_t *value) { return value == NULL || value->data != NULL; }
static bool is_byte(const rlx_value_t *value) { return value->dtype == RLX_U8 || value->dtype == RLX_I8; }

static int64_t count_of(rlx_onnx_call_t *call, const rlx_value_t *value)
{
    int64_t count = -1;

    rlx_expr_is_const(call->graph->exprs, rlx_value_count(call->graph, value), &count);
    return count;
}

static int32_t byte_at(const rlx_value_t *value, int64_t at)
{
    if (value == NULL)
        return 0;
    return value->dtype == RLX_U8 ? ((const uint8_t *)value->data)[at] : ((const int8_t *)value->data)[at];
}

/* Whether `w` is a constant of bytes whose zero point is one number, or one for each of its `outputs`. */
static bool weight_is_known(rlx_onnx_call_t *call, const rlx_value_t *w, const rlx_value_t *point, int64_t outputs)
{
    return w->data != NULL && is_byte(w) && is_const(point) &&
        (point == NULL || (point->dtype == w->dtype && (count_of(call, point) == 1 || count_of(call, point) == outputs)));
}

/* i16 [outputs][rest] of constant weights, less their zero points. `transposed`: outputs are the columns of a matrix. */
static rlx_value_t *weight_centre(rlx_onnx_call_t *call, const rlx_value_t *w, const rlx_value_t *point, bool transposed)
{
    int64_t dims[RLX_RANK_MAX], count = count_of(call, w), outputs, rest;
    int16_t *data = rlx_graph_alloc(call->graph, (size_t)count * sizeof *data + 64);
    bool per_output = point != NULL && count_of(call, point) > 1;

    rlx_value_dims_const(call->graph, w, dims);
    outputs = dims[transposed ? 1 : 0];
    rest = outputs > 0 ? count / outputs : 0;
    if (transposed)
        dims[0] = outputs, dims[1] = rest;
    for (int64_t o = 0; o < outputs; o++)
        for (int64_t i = 0; i < rest; i++)
            data[o * rest + i] = (int16_t)(byte_at(w, transposed ? i * outputs + o : o * rest + i) - byte_at(point, per_output ? o : 0));
    return rlx_graph_const(call->graph, w->name, RLX_I16, w->rank, dims, data, true);
}

/* u8 of x, and what its zero point is then: a number, or an operand. False: not one byte. */
static bool activation_read(rlx_onnx_call_t *call, rlx_value_t **x, rlx_value_t *point, int64_t *out_point, rlx_value_t **out_operand)
{
    int64_t flip = (*x)->dtype == RLX_I8 ? 128 : 0;

    if (!is_byte(*x) || (point != NULL && (point->dtype != (*x)->dtype || count_of(call, point) != 1)))
        return false;
    *out_operand = is_const(point) ? NULL : point;
    *out_point = flip + (is_const(point) ? byte_at(point, 0) : 0);
    if (flip != 0)
        *x = rlx_call_op1(call, RLX_OP_qflip, *x);
    return *x != NULL;
}

/* x - zero point, in `dtype`. A zero point per row or column stands on axis `axis` of x. */
static rlx_value_t *centred(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t *zero_point, int axis, rlx_dtype_t dtype)
{
    rlx_value_t *point = zero_point;

    if (point != NULL && point->rank == 1)
        point = rlx_call_quant_parameter(call, point, x, axis, 0);
    x = rlx_call_cast(call, x, dtype);
    return point != NULL ? rlx_call_op2(call, RLX_OP_sub, x, rlx_call_cast(call, point, dtype)) : x;
}

static rlx_value_t *matmul_exact(rlx_onnx_call_t *call, rlx_value_t *a, rlx_value_t *a_point, rlx_value_t *b, rlx_value_t *b_point)
{
    int row = a->rank > 1 ? a->rank - 2 : 0, column = b->rank > 0 ? b->rank - 1 : 0;

    return rlx_call_op2(call, RLX_OP_matmul, centred(call, a, a_point, row, RLX_I32), centred(call, b, b_point, column, RLX_I32));
}

rlx_value_t *rlx_call_matmul_integer(rlx_onnx_call_t *call, rlx_value_t *a, rlx_value_t *a_point, rlx_value_t *b, rlx_value_t *b_point)
{
    rlx_value_t *in[5] = {NULL};
    int64_t point, outputs;
    rlx_op_t *op;

    if (a == NULL || b == NULL)
        return NULL;
    if (b->rank != 2 || a->rank < 1 || !rlx_expr_is_const(call->graph->exprs, b->dims[1], &outputs) || outputs < 1 ||
        count_of(call, b) < 1 || !weight_is_known(call, b, b_point, outputs))
        return matmul_exact(call, a, a_point, b, b_point);
    in[0] = a;
    if (!activation_read(call, &in[0], a_point, &point, &in[4]))
        return matmul_exact(call, a, a_point, b, b_point);
    in[1] = weight_centre(call, b, b_point, true);
    op = rlx_call_begin(call, RLX_OP_qmatmul, 5, in, 1);
    rlx_call_set_int(call, op, "result", 2);
    rlx_call_set_int(call, op, "x_point", point);
    return rlx_call_end(call, op);
}

void rlx_convert_matmul_integer(rlx_onnx_call_t *call)
{
    rlx_call_out(call, 0, rlx_call_matmul_integer(call, call->in[0], rlx_call_in(call, 2), call->in[1], rlx_call_in(call, 3)));
}

/* sums * (a_scale * b_scale / y_scale), requantised. */
static rlx_value_t *requantised(rlx_onnx_call_t *call, rlx_value_t *sums, rlx_value_t *a_scale, rlx_value_t *b_scale, rlx_value_t *y_scale,
                                rlx_value_t *y_point)
{
    rlx_value_t *factor = rlx_call_op2(call, RLX_OP_mul, rlx_call_cast(call, a_scale, RLX_F32), rlx_call_cast(call, b_scale, RLX_F32));

    factor = rlx_call_op2(call, RLX_OP_div, factor, rlx_call_cast(call, y_scale, RLX_F32));
    if (factor == NULL)
        return NULL;
    return rlx_call_saturate(call, rlx_call_op2(call, RLX_OP_mul, rlx_call_cast(call, sums, RLX_F32), factor), y_point, y_point->dtype);
}

/* x, scale, point, w, scale, point, y scale (at `y`), point: what the quantise pass makes integers of. */
static bool is_spelled(rlx_onnx_call_t *call, rlx_value_t *const *in, int y)
{
    if (!is_byte(in[0]) || in[0]->data != NULL || in[3]->data == NULL || !is_byte(in[3]) || count_of(call, in[1]) != 1 ||
        count_of(call, in[y]) != 1 || count_of(call, in[4]) != count_of(call, in[5]) || !is_byte(in[y + 1]) || in[4]->rank > 1 ||
        in[2]->dtype != in[0]->dtype || in[5]->dtype != in[3]->dtype)
        return false;
    for (int i = 1; i <= y + 1; i++)
        if (i != 3 && !is_const(in[i]))
            return false;
    return in[1]->dtype == RLX_F32 && in[4]->dtype == RLX_F32 && in[y]->dtype == RLX_F32;
}

void rlx_convert_qlinear_matmul(rlx_onnx_call_t *call)
{
    rlx_value_t **in = call->in, *sums, *a_scale, *b_scale;

    if (is_spelled(call, in, 6) && in[3]->rank == 2 && count_of(call, in[1]) == 1) {
        sums = rlx_call_op2(call, RLX_OP_matmul, rlx_call_dequantize(call, in[0], in[1], in[2], 0),
                            rlx_call_dequantize(call, in[3], in[4], in[5], 1));
        rlx_call_out(call, 0, rlx_call_quantize(call, sums, in[6], in[7], in[7]->dtype));
        return;
    }
    sums = matmul_exact(call, in[0], in[2], in[3], in[5]);
    if (sums == NULL)
        return;
    a_scale = in[1]->rank == 1 && sums->rank >= 2 ? rlx_call_quant_parameter(call, in[1], sums, sums->rank - 2, 0) : in[1];
    b_scale = in[4]->rank == 1 && sums->rank >= 1 ? rlx_call_quant_parameter(call, in[4], sums, sums->rank - 1, 0) : in[4];
    rlx_call_out(call, 0, requantised(call, sums, a_scale, b_scale, in[6], in[7]));
}

/* Convolution of centred integers in f64: exact, since sums stay below 2^53. Padding adds zero, that is the zero point. */
static rlx_value_t *conv_exact(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t *x_point, rlx_value_t *w, rlx_value_t *w_point,
                               rlx_value_t *bias)
{
    rlx_value_t *in[3];

    in[0] = centred(call, x, x_point, 1, RLX_F64);
    in[1] = centred(call, w, w_point, 0, RLX_F64);
    in[2] = rlx_call_cast(call, bias, RLX_F64);
    return rlx_call_ok(call) ? rlx_call_conv(call, in, 3) : NULL;
}

/* The integer convolution with constant weights, or NULL where it is none. */
static rlx_value_t *conv_integer(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t *x_point, rlx_value_t *w, rlx_value_t *w_point)
{
    rlx_value_t *in[5] = {x, NULL, NULL, NULL, NULL};
    int64_t dims[RLX_RANK_MAX], point;
    rlx_op_t *op;

    if (!rlx_value_dims_const(call->graph, w, dims) || w->rank < 3 || count_of(call, w) < 1 || !weight_is_known(call, w, w_point, dims[0]) ||
        !activation_read(call, &in[0], x_point, &point, &in[4]))
        return NULL;
    in[1] = weight_centre(call, w, w_point, false);
    op = rlx_call_conv_begin(call, RLX_OP_qconv, in, 5);
    rlx_call_set_int(call, op, "result", 2);
    rlx_call_set_int(call, op, "x_point", point);
    return rlx_call_end(call, op);
}

void rlx_convert_conv_integer(rlx_onnx_call_t *call)
{
    rlx_value_t *sums = conv_integer(call, call->in[0], rlx_call_in(call, 2), call->in[1], rlx_call_in(call, 3));

    if (sums != NULL || !rlx_call_ok(call)) {
        rlx_call_out(call, 0, sums);
        return;
    }
    rlx_call_out(
        call, 0,
        rlx_call_cast(call, conv_exact(call, call->in[0], rlx_call_in(call, 2), call->in[1], rlx_call_in(call, 3), NULL), RLX_I32));
}

rlx_value_t *rlx_call_bias_scale(rlx_onnx_call_t *call, const rlx_value_t *x_scale, const rlx_value_t *w_scale)
{
    int64_t count = count_of(call, w_scale);
    float *data = rlx_graph_alloc(call->graph, (size_t)count * sizeof *data + 64);

    for (int64_t i = 0; i < count; i++)
        data[i] = *(const float *)x_scale->data * ((const float *)w_scale->data)[i];
    return rlx_graph_const(call->graph, w_scale->name, RLX_F32, 1, &count, data, true);
}

void rlx_convert_qlinear_conv(rlx_onnx_call_t *call)
{
    rlx_value_t **in = call->in, *bias = rlx_call_in(call, 8), *sums, *floats[3];

    if (is_spelled(call, in, 6) && is_const(bias) && (bias == NULL || bias->dtype == RLX_I32)) {
        floats[0] = rlx_call_dequantize(call, in[0], in[1], in[2], 0);
        floats[1] = rlx_call_dequantize(call, in[3], in[4], in[5], 0);
        floats[2] = bias != NULL ? rlx_call_dequantize(call, bias, rlx_call_bias_scale(call, in[1], in[4]), NULL, 0) : NULL;
        sums = rlx_call_ok(call) ? rlx_call_conv(call, floats, 3) : NULL;
        rlx_call_out(call, 0, rlx_call_quantize(call, sums, in[6], in[7], in[7]->dtype));
        return;
    }
    sums = conv_exact(call, in[0], in[2], in[3], in[5], bias);
    if (sums != NULL)
        rlx_call_out(call, 0, requantised(call, sums, in[1], rlx_call_quant_parameter(call, in[4], sums, 1, 0), in[6], in[7]));
}
