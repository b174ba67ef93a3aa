/* Element-wise operators: one op each, with attributes where they have any. */
#include "ir/onnx/convert.h"

#include <string.h>

static rlx_value_t *all_in(rlx_onnx_call_t *call)
{
    return rlx_call_end(call, rlx_call_begin(call, call->row->op, call->n_in, call->in, 1));
}

/* Operands as they are, no attributes. */
void rlx_convert_plain(rlx_onnx_call_t *call)
{
    rlx_call_out(call, 0, all_in(call));
}

void rlx_convert_unary(rlx_onnx_call_t *call)
{
    rlx_call_out(call, 0, all_in(call));
}

void rlx_convert_binary(rlx_onnx_call_t *call)
{
    rlx_call_out(call, 0, all_in(call));
}

void rlx_convert_identity(rlx_onnx_call_t *call)
{
    rlx_call_out(call, 0, call->in[0]);
}

/* Celu, Elu, Swish, ThresholdedRelu: alpha is 1 by default. */
void rlx_convert_alpha(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, call->row->op, 1, call->in, 1);

    rlx_call_set_float(call, op, "alpha", rlx_call_float(call, "alpha", 1.0f));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_leaky_relu(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_leaky_relu, 1, call->in, 1);

    rlx_call_set_float(call, op, "alpha", rlx_call_float(call, "alpha", 0.01f));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_hard_sigmoid(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_hard_sigmoid, 1, call->in, 1);

    rlx_call_set_float(call, op, "alpha", rlx_call_float(call, "alpha", 0.2f));
    rlx_call_set_float(call, op, "beta", rlx_call_float(call, "beta", 0.5f));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_selu(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_selu, 1, call->in, 1);

    rlx_call_set_float(call, op, "alpha", rlx_call_float(call, "alpha", 1.67326319217681884765625f));
    rlx_call_set_float(call, op, "gamma", rlx_call_float(call, "gamma", 1.05070102214813232421875f));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_shrink(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_shrink, 1, call->in, 1);

    rlx_call_set_float(call, op, "lambd", rlx_call_float(call, "lambd", 0.5f));
    rlx_call_set_float(call, op, "bias", rlx_call_float(call, "bias", 0.0f));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_is_inf(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_is_inf, 1, call->in, 1);

    rlx_call_set_int(call, op, "detect_negative", rlx_call_int(call, "detect_negative", 1));
    rlx_call_set_int(call, op, "detect_positive", rlx_call_int(call, "detect_positive", 1));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_gelu(rlx_onnx_call_t *call)
{
    const char *mode = rlx_call_string(call, "approximate", "none");
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_gelu, 1, call->in, 1);

    if (strcmp(mode, "none") != 0 && strcmp(mode, "tanh") != 0)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "approximate is '%s'; it is none or tanh", mode);
    rlx_call_set_string(call, op, "approximate", mode);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

static rlx_value_t *cast_saturating(rlx_onnx_call_t *call, rlx_dtype_t to)
{
    rlx_op_t *op;
    int64_t saturate = rlx_call_int(call, "saturate", 1);

    rlx_call_ignore(call, "round_mode"); /* float8e8m0 only */
    if (to == RLX_DTYPE_NONE)
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "no element type to cast to");
    op = rlx_call_begin(call, RLX_OP_cast, 1, call->in, 1);
    rlx_call_set_int(call, op, "to", to);
    rlx_call_set_int(call, op, "saturate", saturate);
    return rlx_call_end(call, op);
}

void rlx_convert_cast(rlx_onnx_call_t *call)
{
    rlx_dtype_t to = rlx_call_dtype(call, "to", RLX_DTYPE_NONE);

    rlx_call_out(call, 0, rlx_call_ok(call) ? cast_saturating(call, to) : NULL);
}

void rlx_convert_cast_like(rlx_onnx_call_t *call)
{
    rlx_call_out(call, 0, cast_saturating(call, call->in[1]->dtype));
}

void rlx_convert_bit_shift(rlx_onnx_call_t *call)
{
    const char *direction = rlx_call_string(call, "direction", "");
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_bit_shift, 2, call->in, 1);

    if (strcmp(direction, "LEFT") != 0 && strcmp(direction, "RIGHT") != 0)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "direction is '%s'; it is LEFT or RIGHT", direction);
    rlx_call_set_string(call, op, "direction", direction);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

static bool is_float(rlx_dtype_t dtype)
{
    return dtype == RLX_F32 || dtype == RLX_F64 || dtype == RLX_F16 || dtype == RLX_BF16;
}

void rlx_convert_mod(rlx_onnx_call_t *call)
{
    int64_t fmod = rlx_call_int(call, "fmod", 0);
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_mod, 2, call->in, 1);

    if (fmod == 0 && is_float(call->in[0]->dtype))
        rlx_call_fail(call, RLX_E_ONNX_NODE, "Mod of floats needs fmod=1");
    rlx_call_set_int(call, op, "fmod", fmod);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* The exponent may have another type than the base, whose type the result has. An integer base under a float exponent is computed in
 * f64. */
void rlx_convert_pow(rlx_onnx_call_t *call)
{
    rlx_value_t *x = call->in[0], *y = call->in[1];
    rlx_dtype_t dtype = x->dtype;

    if (is_float(dtype) || !is_float(y->dtype)) {
        y = rlx_call_cast(call, y, dtype);
    } else {
        x = rlx_call_cast(call, x, RLX_F64);
        y = rlx_call_cast(call, y, RLX_F64);
    }
    rlx_call_out(call, 0, rlx_call_cast(call, rlx_call_op2(call, RLX_OP_pow, x, y), dtype));
}

static rlx_value_t *variadic(rlx_onnx_call_t *call, rlx_op_kind_t kind)
{
    rlx_value_t *result = call->in[0];

    for (int i = 1; i < call->n_in; i++) {
        if (call->in[i] == NULL)
            return rlx_call_fail(call, RLX_E_ONNX_NODE, "operand %d of %s is missing", i, call->row->name);
        result = rlx_call_op2(call, kind, result, call->in[i]);
    }
    return result;
}

/* Max, Min, Sum. */
void rlx_convert_variadic(rlx_onnx_call_t *call)
{
    rlx_call_out(call, 0, variadic(call, call->row->op));
}

void rlx_convert_mean(rlx_onnx_call_t *call)
{
    rlx_value_t *sum = variadic(call, RLX_OP_add);

    rlx_call_out(call, 0, sum != NULL ? rlx_call_op2(call, RLX_OP_div, sum, rlx_call_scalar(call, sum->dtype, call->n_in)) : NULL);
}

/* Bounds are attributes before opset 11. */
void rlx_convert_clip(rlx_onnx_call_t *call)
{
    rlx_value_t *lo = rlx_call_in(call, 1), *hi = rlx_call_in(call, 2);

    if (call->opset < 11 && rlx_call_has(call, "min"))
        lo = rlx_call_scalar(call, call->in[0]->dtype, rlx_call_float(call, "min", 0));
    if (call->opset < 11 && rlx_call_has(call, "max"))
        hi = rlx_call_scalar(call, call->in[0]->dtype, rlx_call_float(call, "max", 0));
    if (rlx_call_ok(call))
        rlx_call_out(call, 0, rlx_call_op3(call, RLX_OP_clip, call->in[0], lo, hi));
}
