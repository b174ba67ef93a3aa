/* QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. One f32 scale and bytes are ops of the quant family; everything else is spelled
 * out in the arithmetic that defines it: divide, round half to even, the zero point, saturation. */
#include "ir/onnx/quantize.h"

#include <math.h>

static const struct {
    rlx_dtype_t dtype;
    double lo, hi;
} ranges[] = {{RLX_U8, 0, 255}, {RLX_I8, -128, 127}, {RLX_U16, 0, 65535}, {RLX_I16, -32768, 32767}};

/* Repeats a blocked scale along its axis, cut to the operand's extent. */
static rlx_value_t *block_repeat(rlx_onnx_call_t *call, rlx_value_t *p, const rlx_value_t *x, int axis, int64_t block)
{
    rlx_exprs_t *exprs = call->graph->exprs;
    rlx_expr_t spread[RLX_RANK_MAX + 1], dims[RLX_RANK_MAX];

    if (p->rank != x->rank || p->rank >= RLX_RANK_MAX)
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "a blocked scale has the operand's rank; ranks are %d and %d", p->rank, x->rank);
    for (int i = 0; i < p->rank; i++) {
        dims[i] = p->dims[i];
        spread[i + (i > axis)] = p->dims[i];
    }
    spread[axis + 1] = rlx_call_expr(call, block);
    dims[axis] = rlx_expr_mul(exprs, p->dims[axis], spread[axis + 1]);
    p = rlx_call_reshape(call, rlx_call_expand(call, rlx_call_unsqueeze(call, p, axis + 1), spread, x->rank + 1), dims, x->rank);
    if (p == NULL || p->dims[axis] == x->dims[axis])
        return p;
    return rlx_call_slice(call, p, axis, rlx_call_expr(call, 0), x->dims[axis], 1);
}

/* Scale or zero point in a shape that broadcasts against x: per tensor, per axis, or per block. */
rlx_value_t *rlx_call_quant_parameter(rlx_onnx_call_t *call, rlx_value_t *p, const rlx_value_t *x, int64_t axis64, int64_t block)
{
    rlx_expr_t dims[RLX_RANK_MAX];
    int axis;

    if (p == NULL || x == NULL || p->rank == 0)
        return p;
    if (p->rank == 1 && rlx_expr_is(call->graph->exprs, p->dims[0], 1) && block == 0)
        return rlx_call_reshape(call, p, dims, 0);
    if (!rlx_call_axis(call, axis64, x->rank, &axis))
        return NULL;
    if (block > 0)
        return block_repeat(call, p, x, axis, block);
    if (p->rank != 1)
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "a scale or zero point per axis has rank 1; it has rank %d", p->rank);
    for (int i = 0; i < x->rank; i++)
        dims[i] = i == axis ? p->dims[0] : rlx_call_expr(call, 1);
    return rlx_call_reshape(call, p, dims, x->rank);
}

/* round(x) + zero point, saturated to `dtype`. x is f32. */
rlx_value_t *rlx_call_saturate(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t *zero_point, rlx_dtype_t dtype)
{
    x = rlx_call_op1(call, RLX_OP_round, x);
    if (zero_point != NULL)
        x = rlx_call_op2(call, RLX_OP_add, x, rlx_call_cast(call, zero_point, RLX_F32));
    for (size_t i = 0; x != NULL && i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].dtype == dtype)
            return rlx_call_cast(call,
                                 rlx_call_op3(call, RLX_OP_clip, x, rlx_call_scalar(call, RLX_F32, ranges[i].lo),
                                              rlx_call_scalar(call, RLX_F32, ranges[i].hi)),
                                 dtype);
    return rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "quantisation to %s is not supported", rlx_dtype_name(dtype));
}

static int64_t block_read(rlx_onnx_call_t *call)
{
    int64_t block = rlx_call_int(call, "block_size", 0);

    if (block < 0 || block > INT32_MAX)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "block_size is %lld", (long long)block);
    return block;
}

static bool is_single(rlx_onnx_call_t *call, const rlx_value_t *value)
{
    return rlx_expr_is(call->graph->exprs, rlx_value_count(call->graph, value), 1);
}

/* The quantize op: one f32 scale, bytes. */
rlx_value_t *rlx_call_quantize(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t *scale, rlx_value_t *point, rlx_dtype_t dtype)
{
    rlx_value_t *in[3] = {x, scale, point};
    rlx_op_t *op;

    if (x == NULL || scale == NULL)
        return NULL;
    op = rlx_call_begin(call, RLX_OP_quantize, 3, in, 1);
    rlx_call_set_int(call, op, "to", dtype);
    return rlx_call_end(call, op);
}

/* The dequantize op: scales are f32, one or one per index of an axis. */
rlx_value_t *rlx_call_dequantize(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t *scale, rlx_value_t *point, int64_t axis)
{
    rlx_value_t *in[3] = {x, scale, point};
    rlx_op_t *op;

    if (x == NULL || scale == NULL)
        return NULL;
    op = rlx_call_begin(call, RLX_OP_dequantize, 3, in, 1);
    rlx_call_set_int(call, op, "axis", axis);
    return rlx_call_end(call, op);
}

static bool is_dequantizable(const rlx_value_t *x)
{
    return x->dtype == RLX_U8 || x->dtype == RLX_I8 || x->dtype == RLX_U16 || x->dtype == RLX_I16 || x->dtype == RLX_I32;
}

void rlx_convert_quantize(rlx_onnx_call_t *call)
{
    int64_t axis = rlx_call_int(call, "axis", 1), block = block_read(call);
    rlx_value_t *x = call->in[0], *zero_point = rlx_call_in(call, 2), *scale;
    rlx_dtype_t dtype = zero_point != NULL ? zero_point->dtype : RLX_U8, precision = rlx_call_dtype(call, "precision", call->in[1]->dtype),
                declared;

    rlx_call_ignore(call, "saturate"); /* float8 only */
    declared = rlx_call_int(call, "output_dtype", 0) != 0 ? rlx_call_dtype(call, "output_dtype", RLX_DTYPE_NONE) : dtype;
    if (zero_point != NULL && declared != dtype)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "output_dtype differs from the zero point's type");
    dtype = declared;
    if (!rlx_call_ok(call))
        return;
    if (precision == RLX_F32 && (dtype == RLX_U8 || dtype == RLX_I8) && x->dtype == RLX_F32 && call->in[1]->dtype == RLX_F32 && block == 0 &&
        is_single(call, call->in[1])) {
        rlx_call_out(call, 0, rlx_call_quantize(call, x, call->in[1], zero_point, dtype));
        return;
    }
    scale = rlx_call_quant_parameter(call, rlx_call_cast(call, call->in[1], precision), x, axis, block);
    zero_point = rlx_call_quant_parameter(call, zero_point, x, axis, block);
    x = rlx_call_op2(call, RLX_OP_div, rlx_call_cast(call, x, precision), scale);
    rlx_call_out(call, 0, rlx_call_saturate(call, rlx_call_cast(call, x, RLX_F32), zero_point, dtype));
}

void rlx_convert_dequantize(rlx_onnx_call_t *call)
{
    int64_t axis = rlx_call_int(call, "axis", 1), block = block_read(call);
    rlx_dtype_t to = call->in[1]->dtype;
    rlx_value_t *x = call->in[0], *zero_point = rlx_call_in(call, 2), *scale;

    if (rlx_call_int(call, "output_dtype", 0) != 0)
        to = rlx_call_dtype(call, "output_dtype", to);
    if (!rlx_call_ok(call))
        return;
    if (to == RLX_F32 && call->in[1]->dtype == RLX_F32 && call->in[1]->rank <= 1 && block == 0 && is_dequantizable(x)) {
        rlx_call_out(call, 0, rlx_call_dequantize(call, x, call->in[1], zero_point, axis));
        return;
    }
    scale = rlx_call_cast(call, rlx_call_quant_parameter(call, call->in[1], x, axis, block), RLX_F32);
    zero_point = rlx_call_cast(call, rlx_call_quant_parameter(call, zero_point, x, axis, block), RLX_F32);
    x = rlx_call_cast(call, x, RLX_F32);
    if (zero_point != NULL)
        x = rlx_call_op2(call, RLX_OP_sub, x, zero_point);
    rlx_call_out(call, 0, rlx_call_cast(call, rlx_call_op2(call, RLX_OP_mul, x, scale), to));
}

rlx_value_t *rlx_call_dynamic_quantize(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t **out_scale, rlx_value_t **out_point)
{
    rlx_op_t *op;

    *out_scale = *out_point = NULL;
    if (x == NULL)
        return NULL;
    op = rlx_call_begin(call, RLX_OP_quantize_dynamic, 1, &x, 3);
    if (rlx_call_end(call, op) == NULL)
        return NULL;
    *out_scale = op->out[1];
    *out_point = op->out[2];
    return op->out[0];
}

void rlx_convert_dynamic_quantize(rlx_onnx_call_t *call)
{
    rlx_value_t *scale, *point;

    rlx_call_out(call, 0, rlx_call_dynamic_quantize(call, call->in[0], &scale, &point));
    rlx_call_out(call, 1, scale);
    rlx_call_out(call, 2, point);
}
