/* Normalisations. Those without an op of their own are spelled out in reductions and element-wise ops. */
#include "ir/onnx/convert.h"

static void epsilon_set(rlx_onnx_call_t *call, rlx_op_t *op)
{
    rlx_call_set_float(call, op, "epsilon", rlx_call_float(call, "epsilon", 1e-5f));
}

void rlx_convert_layer_norm(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin_results(call, RLX_OP_layer_norm, call->n_in, call->in, 3);

    rlx_call_ignore(call, "stash_type"); /* statistics are always computed in f32 or wider */
    rlx_call_set_int(call, op, "axis", rlx_call_int(call, "axis", -1));
    epsilon_set(call, op);
    rlx_call_end_results(call, op);
}

void rlx_convert_rms_norm(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_rms_norm, 2, call->in, 1);

    rlx_call_ignore(call, "stash_type");
    rlx_call_set_int(call, op, "axis", rlx_call_int(call, "axis", -1));
    epsilon_set(call, op);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_instance_norm(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_instance_norm, 3, call->in, 1);

    epsilon_set(call, op);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* Before opset 21 scale and bias are per group: [G] becomes [C]. */
static rlx_value_t *groups_to_channels(rlx_onnx_call_t *call, rlx_value_t *x, rlx_expr_t channels, int64_t groups)
{
    rlx_expr_t per_group = rlx_expr_floordiv(call->graph->exprs, channels, rlx_call_expr(call, groups));
    rlx_expr_t column[2] = {rlx_call_expr(call, groups), rlx_call_expr(call, 1)}, spread[2] = {rlx_call_expr(call, groups), per_group};

    return rlx_call_reshape(call, rlx_call_expand(call, rlx_call_reshape(call, x, column, 2), spread, 2), &channels, 1);
}

void rlx_convert_group_norm(rlx_onnx_call_t *call)
{
    int64_t groups = rlx_call_int(call, "num_groups", 0);
    rlx_value_t *in[3] = {call->in[0], call->in[1], call->in[2]};
    rlx_expr_t channels = rlx_call_dim(call, in[0], 1);
    rlx_op_t *op;

    rlx_call_ignore(call, "stash_type");
    if (groups < 1)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "num_groups is %lld; it is at least 1", (long long)groups);
    if (!rlx_call_ok(call))
        return;
    for (int i = 1; i < 3 && call->opset < 21; i++)
        in[i] = groups_to_channels(call, in[i], channels, groups);
    if (!rlx_call_ok(call))
        return;
    op = rlx_call_begin(call, RLX_OP_group_norm, 3, in, 1);
    rlx_call_set_int(call, op, "num_groups", groups);
    epsilon_set(call, op);
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

void rlx_convert_batch_norm(rlx_onnx_call_t *call)
{
    int64_t training = rlx_call_int(call, "training_mode", 0);
    rlx_value_t *in[5] = {call->in[0]};
    int n_out = 1;
    rlx_op_t *op;

    for (int i = 1; i < 5; i++)
        in[i] = rlx_call_cast(call, call->in[i], in[0]->dtype);
    if (rlx_call_int(call, "spatial", 1) != 1)
        rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "BatchNormalization with spatial=0 is not supported");
    if (call->opset < 7 && rlx_call_int(call, "is_test", 0) != 1)
        rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "BatchNormalization in training mode before opset 14 is not supported");
    for (int i = 1; i < call->n_out; i++)
        n_out = rlx_call_wants(call, i) ? i + 1 : n_out;
    if (n_out > 1 && (training == 0 || n_out > 3))
        rlx_call_fail(call, RLX_E_ONNX_OPERATOR, "BatchNormalization has one result in inference; the node names %d", n_out);
    op = rlx_call_begin_results(call, RLX_OP_batch_norm, 5, in, training != 0 ? 3 : 1);
    epsilon_set(call, op);
    rlx_call_set_float(call, op, "momentum", rlx_call_float(call, "momentum", 0.9f));
    rlx_call_set_int(call, op, "training_mode", training);
    rlx_call_end_results(call, op);
}

void rlx_convert_lrn(rlx_onnx_call_t *call)
{
    rlx_op_t *op = rlx_call_begin(call, RLX_OP_lrn, 1, call->in, 1);

    rlx_call_set_int(call, op, "size", rlx_call_int(call, "size", 0));
    rlx_call_set_float(call, op, "alpha", rlx_call_float(call, "alpha", 1e-4f));
    rlx_call_set_float(call, op, "beta", rlx_call_float(call, "beta", 0.75f));
    rlx_call_set_float(call, op, "bias", rlx_call_float(call, "bias", 1.0f));
    rlx_call_out(call, 0, rlx_call_end(call, op));
}

/* x / norm; rows of norm 0 stay 0. */
void rlx_convert_lp_norm(rlx_onnx_call_t *call)
{
    int64_t p = rlx_call_int(call, "p", 2), axis = rlx_call_int(call, "axis", -1);
    rlx_value_t *x = call->in[0], *norm, *empty;
    int at;

    if (p != 1 && p != 2)
        rlx_call_fail(call, RLX_E_ONNX_NODE, "p is %lld; it is 1 or 2", (long long)p);
    if (!rlx_call_ok(call) || !rlx_call_axis(call, axis, x->rank, &at))
        return;
    axis = at;
    norm = rlx_call_reduce(call, p == 1 ? RLX_OP_reduce_l1 : RLX_OP_reduce_l2, x, &axis, 1, true);
    empty = rlx_call_op2(call, RLX_OP_equal, norm, rlx_call_scalar(call, x->dtype, 0));
    norm = rlx_call_op3(call, RLX_OP_where, empty, rlx_call_scalar(call, x->dtype, 1), norm);
    rlx_call_out(call, 0, rlx_call_op2(call, RLX_OP_div, x, norm));
}

/* (x - mean) / (sqrt(mean of squares about the mean) + 1e-9). */
void rlx_convert_mean_variance(rlx_onnx_call_t *call)
{
    static const int64_t usual[] = {0, 2, 3};
    rlx_value_t *x = call->in[0], *centred, *deviation;
    int n;
    const int64_t *axes = rlx_call_ints(call, "axes", &n);

    if (axes == NULL) {
        axes = usual;
        n = 3;
    }
    centred = rlx_call_op2(call, RLX_OP_sub, x, rlx_call_reduce(call, RLX_OP_reduce_mean, x, axes, n, true));
    deviation = rlx_call_reduce(call, RLX_OP_reduce_mean, rlx_call_op2(call, RLX_OP_mul, centred, centred), axes, n, true);
    deviation = rlx_call_op2(call, RLX_OP_add, rlx_call_op1(call, RLX_OP_sqrt, deviation), rlx_call_scalar(call, x->dtype, 1e-9));
    rlx_call_out(call, 0, rlx_call_op2(call, RLX_OP_div, centred, deviation));
}
