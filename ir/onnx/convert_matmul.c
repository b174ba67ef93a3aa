/* Products: Gemm and Einsum onto matmul and einsum. */
#include "ir/onnx/convert.h"

void rlx_convert_einsum(rlx_onnx_call_t *call)
{
    const char *equation = rlx_call_string(call, "equation", "");
    rlx_op_t *op;

    for (int i = 0; i < call->n_in; i++)
        if (call->in[i] == NULL)
            rlx_call_fail(call, RLX_E_ONNX_NODE, "operand %d of Einsum is missing", i);
    op = rlx_call_begin(call, RLX_OP_einsum, call->n_in, call->in, 1);
    rlx_call_set_string(call, op, "equation", equation);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* C as matmul's own bias: one number per column, added before anything else. */
static bool is_bias(rlx_onnx_call_t *call, const rlx_value_t *c, rlx_expr_t columns)
{
    if (c == NULL || c->rank < 1 || c->rank > 2 || c->dims[c->rank - 1] != columns)
        return false;
    return c->rank == 1 || rlx_expr_is(call->graph->exprs, c->dims[0], 1);
}

static rlx_value_t *scaled(rlx_onnx_call_t *call, rlx_value_t *x, float factor)
{
    if (x == NULL || factor == 1.0f)
        return x;
    if (x->dtype != RLX_F32 && x->dtype != RLX_F64 && x->dtype != RLX_F16 && x->dtype != RLX_BF16 &&
        (factor != __builtin_truncf(factor) || __builtin_fabsf(factor) > 0x1p24f))
        return rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "Gemm of integers with the factor %g is not supported", (double)factor);
    return rlx_call_op2(call, RLX_OP_mul, x, rlx_call_scalar(call, x->dtype, factor));
}

void rlx_convert_gemm(rlx_onnx_call_t *call)
{
    float alpha = rlx_call_float(call, "alpha", 1.0f), beta = rlx_call_float(call, "beta", 1.0f);
    int64_t trans_a = rlx_call_int(call, "transA", 0), trans_b = rlx_call_int(call, "transB", 0);
    rlx_value_t *in[3] = {call->in[0], call->in[1], NULL}, *c = rlx_call_in(call, 2), *y;
    rlx_op_t *op;

    if (in[0]->rank != 2 || in[1]->rank != 2) {
        rlx_call_fail(call, RLX_E_ONNX_NODE, "Gemm multiplies matrices; the operands have ranks %d and %d", in[0]->rank, in[1]->rank);
        return;
    }
    if (alpha == 1.0f && beta == 1.0f && is_bias(call, c, in[1]->dims[trans_b != 0 ? 0 : 1])) {
        in[2] = c->rank == 1 ? c : rlx_call_reshape(call, c, &c->dims[1], 1);
        c = NULL;
    }
    op = rlx_call_begin(call, RLX_OP_matmul, 3, in, 1);
    rlx_call_set_int(call, op, "trans_a", trans_a != 0);
    rlx_call_set_int(call, op, "trans_b", trans_b != 0);
    y = scaled(call, rlx_call_end(call, op), alpha);
    if (c != NULL && beta != 0.0f && y != NULL) {
        if (c->rank > 2)
            rlx_call_fail(call, RLX_E_ONNX_NODE, "C of Gemm has rank %d; it broadcasts to a matrix", c->rank);
        y = rlx_call_op2(call, RLX_OP_add, y, scaled(call, c, beta));
    }
    rlx_call_out(call, 0, y);
}
