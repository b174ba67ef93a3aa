/* The few operators of ai.onnx.ml that are plain arithmetic. */
#include "ir/onnx/convert.h"

#include <string.h>

static rlx_value_t *floats_value(rlx_onnx_call_t *call, const char *name)
{
    int n;
    const float *values = rlx_call_floats(call, name, &n);
    rlx_tensor_t tensor = {.dtype = RLX_F32, .rank = 1, .dims = {n}};

    if (values == NULL || n == 0)
        return rlx_call_fail(call, RLX_E_ONNX_NODE, "attribute '%s' is missing or empty", name);
    tensor.data = rlx_graph_alloc(call->graph, (size_t)n * sizeof *values + 64);
    memcpy(tensor.data, values, (size_t)n * sizeof *values);
    return rlx_call_const_tensor(call, &tensor);
}

/* (x - offset) * scale, in f32. */
void rlx_convert_scaler(rlx_onnx_call_t *call)
{
    rlx_value_t *x = rlx_call_cast(call, call->in[0], RLX_F32);

    x = rlx_call_op2(call, RLX_OP_sub, x, floats_value(call, "offset"));
    rlx_call_out(call, 0, rlx_call_op2(call, RLX_OP_mul, x, floats_value(call, "scale")));
}

/* 1 above the threshold, else 0, in the operand's type. */
void rlx_convert_binarizer(rlx_onnx_call_t *call)
{
    rlx_dtype_t dtype = call->in[0]->dtype;
    rlx_value_t *above =
        rlx_call_op2(call, RLX_OP_greater, call->in[0], rlx_call_scalar(call, dtype, rlx_call_float(call, "threshold", 0.0f)));

    rlx_call_out(call, 0, rlx_call_cast(call, above, dtype));
}
