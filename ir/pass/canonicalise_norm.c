/* Recognises the layer norm that exporters spell out over the last axis:
 *   d = x - mean(x); y = d / sqrt(mean(d*d) + eps) * scale + bias
 * by walking up from the last add. `scale` and `bias` are constants of one number per index of the last axis. */
#include "ir/pass/canonicalise.h"

/* mean over the last axis, keeping it; returns its operand. */
static rlx_value_t *match_mean(const rlx_graph_t *graph, const rlx_value_t *value)
{
    const rlx_op_t *mean = rlx_value_made_by(value, RLX_OP_reduce_mean);
    int64_t axis;
    int count = 0;

    if (mean == NULL || rlx_op_int(mean, "keepdims") == 0 || rlx_op_in(mean, 1) == NULL ||
        !rlx_value_ints(graph, mean->in[1], &axis, 1, &count) || count != 1)
        return NULL;
    return axis == -1 || axis == mean->in[0]->rank - 1 ? mean->in[0] : NULL;
}

/* d*d or pow(d, 2): returns d. */
static rlx_value_t *match_square(const rlx_graph_t *graph, const rlx_value_t *value)
{
    const rlx_op_t *op = rlx_value_made_by(value, RLX_OP_mul);
    double exponent;

    if (op != NULL)
        return op->in[0] == op->in[1] ? op->in[0] : NULL;
    op = rlx_value_made_by(value, RLX_OP_pow);
    return op != NULL && rlx_value_scalar(graph, op->in[1], &exponent) && exponent == 2 ? op->in[0] : NULL;
}

/* sqrt(mean(d*d) + eps): returns d. */
static rlx_value_t *match_deviation(const rlx_graph_t *graph, const rlx_value_t *value, float *out_epsilon)
{
    const rlx_op_t *root = rlx_value_made_by(value, RLX_OP_sqrt);
    const rlx_op_t *add = root != NULL ? rlx_value_made_by(root->in[0], RLX_OP_add) : NULL;
    rlx_value_t *square;
    double epsilon;

    if (add == NULL)
        return NULL;
    for (int i = 0; i < 2; ++i)
        if (rlx_value_scalar(graph, add->in[i], &epsilon) && (square = match_mean(graph, add->in[1 - i])) != NULL) {
            *out_epsilon = (float)epsilon;
            return match_square(graph, square);
        }
    return NULL;
}

static bool is_last_axis_vector(const rlx_graph_t *graph, const rlx_value_t *value, const rlx_value_t *x)
{
    return value->data != NULL && value->dtype == RLX_F32 && value->rank == 1 && value->dims[0] == x->dims[x->rank - 1] && graph != NULL;
}

rlx_status_t rlx_rewrite_layer_norm(rlx_graph_t *graph, rlx_op_t *add, rlx_diag_t *diag)
{
    for (int i = 0; i < 2; ++i) {
        const rlx_op_t *mul = rlx_value_made_by(add->in[i], RLX_OP_mul);
        rlx_value_t *bias = add->in[1 - i];

        for (int k = 0; k < 2 && mul != NULL; ++k) {
            const rlx_op_t *div = rlx_value_made_by(mul->in[k], RLX_OP_div);
            const rlx_op_t *sub = div != NULL ? rlx_value_made_by(div->in[0], RLX_OP_sub) : NULL;
            float epsilon = 0;
            rlx_value_t *operands[3], *value;

            if (sub == NULL || match_deviation(graph, div->in[1], &epsilon) != div->in[0] || match_mean(graph, sub->in[1]) != sub->in[0])
                continue;
            operands[0] = sub->in[0];
            operands[1] = mul->in[1 - k];
            operands[2] = bias;
            if (operands[0]->dtype != RLX_F32 || !is_last_axis_vector(graph, operands[1], operands[0]) || !is_last_axis_vector(graph, bias, operands[0]))
                continue;
            value = rlx_graph_insert(graph, add, RLX_OP_layer_norm, add, 3, operands, diag);
            if (value == NULL)
                return diag->status;
            rlx_op_set_float(graph, value->producer, "epsilon", epsilon);
            rlx_op_replace(graph, add, value);
            return RLX_OK;
        }
    }
    return RLX_OK;
}
