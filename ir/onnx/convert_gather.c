/* Indexed movement: gathers, scatters, one-hot. */
#include "ir/onnx/convert.h"

#include <string.h>

static void int_attr_pass(rlx_onnx_call_t *call, int n_out, const char *name, int64_t fallback)
{
    rlx_op_t *op = rlx_call_begin(call, call->row->op, call->n_in, call->in, n_out);

    rlx_call_set_int(call, op, name, rlx_call_int(call, name, fallback));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* Gather, GatherElements: axis is 0 by default. */
void rlx_convert_axis0(rlx_onnx_call_t *call)
{
    int_attr_pass(call, 1, "axis", 0);
}

void rlx_convert_gather_nd(rlx_onnx_call_t *call)
{
    int_attr_pass(call, 1, "batch_dims", 0);
}

void rlx_convert_one_hot(rlx_onnx_call_t *call)
{
    int64_t axis = rlx_call_int(call, "axis", -1);
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_one_hot, 3, call->in, 1);

    rlx_call_set_int(call, op, "axis", axis);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

static const char *reduction_take(rlx_onnx_call_t *call)
{
    static const char *const known[] = {"none", "add", "mul", "min", "max"};
    const char *reduction = rlx_call_string(call, "reduction", "none");

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], reduction) == 0)
            return reduction;
    return rlx_call_fail(call, RLX_E_ONNX_NODE, "reduction is '%s'; it is none, add, mul, min or max", reduction);
}

void rlx_convert_scatter(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_scatter_elements, 3, call->in, 1);

    rlx_call_set_int(call, op, "axis", rlx_call_int(call, "axis", 0));
    rlx_call_set_string(call, op, "reduction", reduction_take(call));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_scatter_nd(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_scatter_nd, 3, call->in, 1);

    rlx_call_set_string(call, op, "reduction", reduction_take(call));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_tensor_scatter(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_tensor_scatter, call->n_in, call->in, 1);
    const char *mode = rlx_call_string(call, "mode", "linear");

    if (strcmp(mode, "linear") != 0 && strcmp(mode, "circular") != 0)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "mode is '%s'; it is linear or circular", mode);
    rlx_call_set_int(call, op, "axis", rlx_call_int(call, "axis", -2));
    rlx_call_set_string(call, op, "mode", mode);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* ai.onnx.ml: picks columns of the last axis; a vector counts as one row. */
void rlx_convert_feature_extractor(rlx_onnx_call_t *call)
{
    rlx_value_t *x = call->in[0], *in[2], *result;
    rlx_expr_t flat = rlx_call_product(call, call->in[1], 0, call->in[1]->rank);
    rlx_op_t *op;

    if (x->rank == 1)
        x = rlx_call_unsqueeze(call, x, 0);
    in[0] = x;
    in[1] = rlx_call_reshape(call, call->in[1], &flat, 1);
    if (in[0] == NULL || in[1] == NULL)
        return;
    op = rlx_call_begin(call, RLX_OP_gather, 2, in, 1);
    rlx_call_set_int(call, op, "axis", x->rank - 1);
    result = rlx_call_end(call, op);
    rlx_call_out(call, 0, result);
}
