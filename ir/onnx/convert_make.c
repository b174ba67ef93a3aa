/* Constants and operators that make tensors out of sizes. */
#include "ir/onnx/convert.h"

#include <string.h>

static rlx_value_t *list_const(rlx_onnx_call_t *call, rlx_dtype_t dtype, const void *data, int n)
{
    rlx_tensor_t tensor = {.dtype = dtype, .rank = 1, .dims = {n}};
    size_t bytes = (size_t)n * rlx_dtype_size(dtype);

    if (!rlx_call_ok(call))
        return NULL;
    tensor.data = rlx_graph_alloc(call->graph, bytes < 64 ? 64 : bytes);
    if (n > 0)
        memcpy(tensor.data, data, bytes);
    return rlx_call_const_tensor(call, &tensor);
}

static rlx_value_t *scalar_const(rlx_onnx_call_t *call, rlx_dtype_t dtype, const void *data)
{
    rlx_tensor_t tensor = {.dtype = dtype, .data = rlx_graph_alloc(call->graph, 64)};

    if (!rlx_call_ok(call))
        return NULL;
    memcpy(tensor.data, data, rlx_dtype_size(dtype));
    return rlx_call_const_tensor(call, &tensor);
}

static rlx_value_t *constant_value(rlx_onnx_call_t *call)
{
    rlx_tensor_t tensor;
    int n;

    if (rlx_call_tensor(call, "value", &tensor))
        return rlx_call_const_tensor(call, &tensor);
    if (rlx_call_has(call, "value_float")) {
        float value = rlx_call_float(call, "value_float", 0);
        return scalar_const(call, RLX_F32, &value);
    }
    if (rlx_call_has(call, "value_int")) {
        int64_t value = rlx_call_int(call, "value_int", 0);
        return scalar_const(call, RLX_I64, &value);
    }
    if (rlx_call_has(call, "value_floats")) {
        const float *values = rlx_call_floats(call, "value_floats", &n);
        return list_const(call, RLX_F32, values, n);
    }
    if (rlx_call_has(call, "value_ints")) {
        const int64_t *values = rlx_call_ints(call, "value_ints", &n);
        return list_const(call, RLX_I64, values, n);
    }
    if (rlx_call_has(call, "value_string") || rlx_call_has(call, "value_strings"))
        return rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "string constants are not supported");
    if (rlx_call_has(call, "sparse_value"))
        return rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "sparse constants are not supported");
    return rlx_call_fail(call, RLX_E_ONNX_NODE, "Constant has no value");
}

void rlx_convert_constant(rlx_onnx_call_t *call)
{
    if (call->node->n_attrs != 1)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "Constant has %d attributes; it has one", call->node->n_attrs);
    rlx_call_out(call, 0, constant_value(call));
}

void rlx_convert_constant_of_shape(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_constant_of_shape, 1, call->in, 1);
    rlx_tensor_t tensor;
    int64_t count;

    if (!rlx_call_tensor(call, "value", &tensor))
        tensor = (rlx_tensor_t){.dtype = RLX_F32, .rank = 1, .dims = {1}, .data = rlx_graph_alloc(call->graph, 64)};
    if (rlx_call_ok(call) && (!rlx_dims_count(tensor.dims, tensor.rank, &count) || count != 1))
        rlx_call_fail(call, RLX_E_ONNX_NODE, "value must have one element");
    if (rlx_call_ok(call))
        rlx_op_set_tensor(call->graph, op, "value", &tensor);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_shape(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_shape, 1, call->in, 1);

    rlx_call_set_int(call, op, "start", rlx_call_int(call, "start", 0));
    if (rlx_call_has(call, "end"))
        rlx_call_set_int(call, op, "end", rlx_call_int(call, "end", 0));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_eye_like(rlx_onnx_call_t *call)
{
    rlx_dtype_t dtype = rlx_call_dtype(call, "dtype", call->in[0]->dtype);
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_eye_like, 1, call->in, 1);

    rlx_call_set_int(call, op, "dtype", dtype);
    rlx_call_set_int(call, op, "k", rlx_call_int(call, "k", 0));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_window(rlx_onnx_call_t *call)
{
    const char *kind = call->row->name[0] == 'B' ? "blackman" : call->row->name[2] == 'm' ? "hamming" : "hann";
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_window, 1, call->in, 1);

    rlx_call_set_string(call, op, "kind", kind);
    rlx_call_set_int(call, op, "periodic", rlx_call_int(call, "periodic", 1));
    rlx_call_set_int(call, op, "dtype", rlx_call_dtype(call, "output_datatype", RLX_F32));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_mel_weight_matrix(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_mel_weight_matrix, 5, call->in, 1);

    rlx_call_set_int(call, op, "dtype", rlx_call_dtype(call, "output_datatype", RLX_F32));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}
