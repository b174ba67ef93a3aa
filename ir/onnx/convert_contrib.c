/* com.microsoft: the operators that onnxruntime's quantiser and optimiser write. Quantised ones are dequantise, operator, quantise, which the
 * quantise pass makes integers of. */
#include "ir/onnx/quantize.h"

#include <string.h>

static rlx_onnx_convert_fn_t *converter_of(rlx_op_kind_t kind)
{
    switch (kind) {
    case RLX_OP_add:
    case RLX_OP_mul: return rlx_convert_binary;
    case RLX_OP_leaky_relu: return rlx_convert_alpha;
    case RLX_OP_reduce_mean: return rlx_convert_global_pool;
    case RLX_OP_avg_pool: return rlx_convert_pool;
    case RLX_OP_lstm: return rlx_convert_rnn;
    default: return rlx_convert_unary;
    }
}

/* Runs the converter of the row's operator on other operands. Returns its first result. */
static rlx_value_t *convert_with(rlx_onnx_call_t *call, rlx_value_t **in, int n_in)
{
    rlx_value_t **own = call->in;
    int n_own = call->n_in;

    if (!rlx_call_ok(call))
        return NULL;
    call->in = in;
    call->n_in = n_in;
    converter_of(call->row->op)(call);
    call->in = own;
    call->n_in = n_own;
    return rlx_call_ok(call) ? call->out[0] : NULL;
}

/* Operands whose bits are set in `which` must be there: those between may be absent. */
static bool need(rlx_onnx_call_t *call, unsigned which)
{
    for (int i = 0; i < 32; i++)
        if ((which >> i & 1) != 0 && rlx_call_in(call, i) == NULL)
            rlx_call_fail(call, RLX_E_ONNX_NODE, "operand %d of %s is missing", i, call->row->name);
    return rlx_call_ok(call);
}

static void channels_first(rlx_onnx_call_t *call)
{
    if (rlx_call_int(call, "channels_last", 0) != 0)
        rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "%s with channels_last is not supported", call->row->name);
}

/* Results in place of those of the row's operator. A zero point that is absent is 0 of u8. */
static void quantise_result(rlx_onnx_call_t *call, rlx_value_t *value, rlx_value_t *scale, rlx_value_t *point)
{
    rlx_call_out(call, 0, rlx_call_quantize(call, value, scale, point, point != NULL ? point->dtype : RLX_U8));
}

/* X, scale, point, Y scale, point. */
void rlx_convert_qlinear_unary(rlx_onnx_call_t *call)
{
    rlx_value_t *x;

    if (!need(call, 0xb))
        return;
    x = rlx_call_dequantize(call, call->in[0], call->in[1], rlx_call_in(call, 2), 0);
    channels_first(call);
    quantise_result(call, convert_with(call, &x, 1), call->in[3], rlx_call_in(call, 4));
}

/* A, scale, point, B, scale, point, C scale, point. */
void rlx_convert_qlinear_binary(rlx_onnx_call_t *call)
{
    rlx_value_t *in[2];

    if (!need(call, 0x5b))
        return;
    in[0] = rlx_call_dequantize(call, call->in[0], call->in[1], rlx_call_in(call, 2), 0);
    in[1] = rlx_call_dequantize(call, call->in[3], call->in[4], rlx_call_in(call, 5), 0);
    quantise_result(call, convert_with(call, in, 2), call->in[6], rlx_call_in(call, 7));
}

/* Y scale, point, then X, scale, point of each part. */
void rlx_convert_qlinear_concat(rlx_onnx_call_t *call)
{
    int n = (call->n_in - 2) / 3;
    rlx_value_t **in = rlx_graph_alloc(call->graph, (size_t)(n + 1) * sizeof *in);
    int64_t axis = rlx_call_int(call, "axis", 0);
    rlx_op_t *op;

    if (call->n_in != 2 + 3 * n || n < 1)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "QLinearConcat has %d operands, expected 2 and 3 for every part", call->n_in);
    for (int i = 0; i < n && rlx_call_ok(call); i++)
        in[i] = rlx_call_dequantize(call, call->in[2 + 3 * i], call->in[3 + 3 * i], call->in[4 + 3 * i], 0);
    op = rlx_call_begin(call, RLX_OP_concat, n, in, 1);
    rlx_call_set_int(call, op, "axis", axis);
    quantise_result(call, rlx_call_end(call, op), call->in[0], rlx_call_in(call, 1));
}

/* f32(sums) * (a_scale * b_scale) + bias. */
static rlx_value_t *scaled(rlx_onnx_call_t *call, rlx_value_t *sums, rlx_value_t *a_scale, rlx_value_t *b_scale, rlx_value_t *bias)
{
    rlx_value_t *y = rlx_call_op2(call, RLX_OP_mul, rlx_call_cast(call, sums, RLX_F32), rlx_call_op2(call, RLX_OP_mul, a_scale, b_scale));

    return bias != NULL ? rlx_call_op2(call, RLX_OP_add, y, bias) : y;
}

/* A, B, B scale, B point?, bias? */
void rlx_convert_dynamic_quantize_matmul(rlx_onnx_call_t *call)
{
    rlx_value_t *scale, *point, *a = rlx_call_dynamic_quantize(call, call->in[0], &scale, &point);
    rlx_value_t *sums = rlx_call_matmul_integer(call, a, point, call->in[1], rlx_call_in(call, 3));

    rlx_call_out(call, 0, scaled(call, sums, scale, call->in[2], rlx_call_in(call, 4)));
}

/* A, B, A scale, B scale, A point?, B point?, bias? */
void rlx_convert_matmul_integer_to_float(rlx_onnx_call_t *call)
{
    rlx_value_t *sums = rlx_call_matmul_integer(call, call->in[0], rlx_call_in(call, 4), call->in[1], rlx_call_in(call, 5));

    rlx_call_out(call, 0, scaled(call, sums, call->in[2], call->in[3], rlx_call_in(call, 6)));
}

void rlx_convert_fused_matmul(rlx_onnx_call_t *call)
{
    float alpha = rlx_call_float(call, "alpha", 1.0f);
    int64_t trans_a = rlx_call_int(call, "transA", 0), trans_b = rlx_call_int(call, "transB", 0);
    rlx_value_t *y;
    rlx_op_t *op;

    if (rlx_call_int(call, "transBatchA", 0) != 0 || rlx_call_int(call, "transBatchB", 0) != 0)
        rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "FusedMatMul with transBatchA or transBatchB is not supported");
    op = rlx_call_begin(call, RLX_OP_matmul, 2, call->in, 1);
    rlx_call_set_int(call, op, "trans_a", trans_a != 0);
    rlx_call_set_int(call, op, "trans_b", trans_b != 0);
    y = rlx_call_end(call, op);
    rlx_call_out(call, 0, y == NULL || alpha == 1.0f ? y : rlx_call_op2(call, RLX_OP_mul, y, rlx_call_scalar(call, y->dtype, alpha)));
}

/* QGemm's C is a constant vector, and so are the scales that it counts in. */
static bool is_known_bias(rlx_onnx_call_t *call)
{
    const rlx_value_t *c = call->in[6], *a = call->in[1], *b = call->in[4];

    return c->data != NULL && c->rank == 1 && c->dtype == RLX_I32 && a->data != NULL && b->data != NULL && a->dtype == RLX_F32 &&
        b->dtype == RLX_F32 && rlx_expr_is(call->graph->exprs, rlx_value_count(call->graph, a), 1);
}

/* A, scale, point, B, scale, point, C?, Y scale?, Y point?. C counts in units of the sums. */
void rlx_convert_qgemm(rlx_onnx_call_t *call)
{
    float alpha = rlx_call_float(call, "alpha", 1.0f);
    int64_t trans_a = rlx_call_int(call, "transA", 0), trans_b = rlx_call_int(call, "transB", 0);
    rlx_value_t *in[3] = {NULL}, *c = rlx_call_in(call, 6), *scale, *y;
    rlx_op_t *op;

    if (!need(call, 0x1b))
        return;
    in[0] = rlx_call_dequantize(call, call->in[0], call->in[1], rlx_call_in(call, 2), 0);
    in[1] = rlx_call_dequantize(call, call->in[3], call->in[4], rlx_call_in(call, 5), trans_b != 0 ? 0 : 1);
    if (c != NULL && is_known_bias(call)) {
        in[2] = rlx_call_dequantize(call, c, rlx_call_bias_scale(call, call->in[1], call->in[4]), NULL, 0);
        c = NULL;
    } else if (c != NULL) {
        scale = rlx_call_op2(call, RLX_OP_mul, call->in[1], call->in[4]);
        in[2] = rlx_call_op2(call, RLX_OP_mul, rlx_call_cast(call, c, RLX_F32), scale);
    }
    if (alpha != 1.0f)
        rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "QGemm with alpha %g is not supported, only 1", (double)alpha);
    op = rlx_call_begin(call, RLX_OP_matmul, c == NULL && in[2] != NULL ? 3 : 2, in, 1);
    rlx_call_set_int(call, op, "trans_a", trans_a != 0);
    rlx_call_set_int(call, op, "trans_b", trans_b != 0);
    y = rlx_call_end(call, op);
    if (c != NULL)
        y = rlx_call_op2(call, RLX_OP_add, y, in[2]);
    if (rlx_call_in(call, 7) == NULL)
        rlx_call_out(call, 0, y);
    else
        quantise_result(call, y, call->in[7], rlx_call_in(call, 8));
}

/* [directions, rows, columns] of bytes as f32 [directions, columns, rows]; scales are [directions] or [directions, columns]. */
static rlx_value_t *weight_of(rlx_onnx_call_t *call, rlx_value_t *w, rlx_value_t *scale, rlx_value_t *point)
{
    static const int64_t perm[3] = {0, 2, 1};
    rlx_value_t *numbers[2] = {scale, point};

    if (!rlx_call_ok(call) || w->rank != 3)
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "weights of DynamicQuantizeLSTM have rank 3; the rank is %d", w->rank);
    for (int i = 0; i < 2; i++) {
        if (numbers[i] == NULL)
            continue;
        if (numbers[i]->rank < 1 || numbers[i]->rank > 2)
            return rlx_call_fail(call, RLX_E_ONNX_NODE, "scales and zero points of weights have rank 1 or 2; the rank is %d", numbers[i]->rank);
        numbers[i] = rlx_call_cast(call, rlx_call_unsqueeze(call, numbers[i], 1), RLX_F32);
        if (numbers[i] != NULL && numbers[i]->rank == 2)
            numbers[i] = rlx_call_unsqueeze(call, numbers[i], 2);
    }
    w = rlx_call_cast(call, w, RLX_F32);
    if (numbers[1] != NULL)
        w = rlx_call_op2(call, RLX_OP_sub, w, numbers[1]);
    return rlx_call_transpose(call, rlx_call_op2(call, RLX_OP_mul, w, numbers[0]), perm, 3);
}

static int byte_of(const rlx_value_t *value, int64_t i)
{
    return value->dtype == RLX_I8 ? ((const int8_t *)value->data)[i] : ((const uint8_t *)value->data)[i];
}

/* Constant bytes [directions, rows, columns] less their zero points as i16 [directions, columns, rows]; NULL where they or the zero points are
 * not constants of one per direction or output. */
static rlx_value_t *weight_integers(rlx_onnx_call_t *call, const rlx_value_t *w, const rlx_value_t *point)
{
    int64_t dims[RLX_RANK_MAX], rows, columns, points = 0;
    rlx_graph_t *graph = call->graph;
    int16_t *data;

    if (w->rank != 3 || w->data == NULL || (w->dtype != RLX_I8 && w->dtype != RLX_U8) || !rlx_value_dims_const(graph, w, dims))
        return NULL;
    if (point != NULL && (point->data == NULL || point->dtype != w->dtype ||
                          !rlx_expr_is_const(graph->exprs, rlx_value_count(graph, point), &points) ||
                          (points != dims[0] && points != dims[0] * dims[2])))
        return NULL;
    rows = dims[1];
    columns = dims[2];
    data = rlx_graph_alloc(graph, (size_t)(dims[0] * rows * columns) * sizeof *data + 64);
    for (int64_t d = 0; d < dims[0]; d++)
        for (int64_t c = 0; c < columns; c++) {
            int zero = point == NULL ? 0 : byte_of(point, points == dims[0] ? d : d * columns + c);

            for (int64_t k = 0; k < rows; k++)
                data[(d * columns + c) * rows + k] = (int16_t)(byte_of(w, (d * rows + k) * columns + c) - zero);
        }
    dims[1] = columns;
    dims[2] = rows;
    return rlx_graph_const(graph, w->name, RLX_I16, 3, dims, data, true);
}

/* Constant scales, one per direction or output, as f32 [directions, columns]; NULL for others. */
static rlx_value_t *weight_scales(rlx_onnx_call_t *call, const rlx_value_t *scale, const rlx_value_t *w)
{
    int64_t dims[RLX_RANK_MAX], count, whole;
    rlx_graph_t *graph = call->graph;
    float *data;

    if (w == NULL || scale->data == NULL || scale->dtype != RLX_F32 || !rlx_value_dims_const(graph, w, dims) ||
        !rlx_expr_is_const(graph->exprs, rlx_value_count(graph, scale), &count))
        return NULL;
    whole = dims[0] * dims[1];
    if (count != dims[0] && count != whole)
        return NULL;
    data = rlx_graph_alloc(graph, (size_t)whole * sizeof *data + 64);
    for (int64_t i = 0; i < whole; i++)
        data[i] = ((const float *)scale->data)[count == whole ? i : i / dims[1]];
    return rlx_graph_const(graph, scale->name, RLX_F32, 2, dims, data, true);
}

/* X, W, R, B?, lengths?, h?, c?, P?, W scale, W point, R scale, R point. Constant weights make a qlstm; others are dequantised for an lstm. */
void rlx_convert_dynamic_quantize_lstm(rlx_onnx_call_t *call)
{
    rlx_value_t *in[10];

    if (!need(call, 0x507))
        return;
    for (int i = 0; i < 8; i++)
        in[i] = rlx_call_in(call, i);
    in[1] = weight_integers(call, call->in[1], rlx_call_in(call, 9));
    in[2] = weight_integers(call, call->in[2], rlx_call_in(call, 11));
    in[8] = weight_scales(call, call->in[8], in[1]);
    in[9] = weight_scales(call, call->in[10], in[2]);
    if (in[8] != NULL && in[9] != NULL && call->in[0]->dtype == RLX_F32) {
        rlx_convert_rnn_as(call, RLX_OP_qlstm, 10, in);
        return;
    }
    in[1] = weight_of(call, call->in[1], call->in[8], rlx_call_in(call, 9));
    in[2] = weight_of(call, call->in[2], call->in[10], rlx_call_in(call, 11));
    convert_with(call, in, 8);
}
