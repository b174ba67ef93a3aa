/* Dynamic quantisation: f32(sum) * scale, where sum is an integer product, becomes part of the product. See ir/pass/quantise.h. */
#include <string.h>

#include "ir/pass/quantise.h"

/* `value` is f32(sum) of a qconv or qmatmul that nobody else reads. */
static rlx_op_t *sums_of(const rlx_graph_t *graph, const rlx_value_t *value)
{
    rlx_op_t *cast = rlx_value_made_by(value, RLX_OP_cast), *op = cast != NULL ? cast->in[0]->producer : NULL;

    if (op == NULL || (op->kind != RLX_OP_qconv && op->kind != RLX_OP_qmatmul) || rlx_op_int(op, "result") != 2 || value->dtype != RLX_F32 ||
        rlx_value_single_user(graph, value) == NULL || rlx_value_single_user(graph, cast->in[0]) == NULL)
        return NULL;
    return op;
}

static bool is_single(const rlx_graph_t *graph, const rlx_value_t *value)
{
    return value->dtype == RLX_F32 && rlx_expr_is(graph->exprs, rlx_value_count(graph, value), 1);
}

/* One constant per output, or one for all, that broadcasts over everything else of `y`. */
static bool scales_read(rlx_graph_t *graph, const rlx_value_t *value, const rlx_op_t *op, rlx_value_t **out)
{
    const rlx_value_t *y = op->out[0];
    int axis = op->kind == RLX_OP_qconv ? 1 : y->rank - 1;
    int64_t outputs, count, dims[RLX_RANK_MAX];
    float *data;

    if (value->data == NULL || value->dtype != RLX_F32 || !rlx_expr_is_const(graph->exprs, y->dims[axis], &outputs) ||
        !rlx_value_dims_const(graph, value, dims) || !rlx_expr_is_const(graph->exprs, rlx_value_count(graph, value), &count) ||
        (count != 1 && count != outputs) || value->rank > y->rank)
        return false;
    if (count != 1 && (axis - (y->rank - value->rank) < 0 || dims[axis - (y->rank - value->rank)] != outputs))
        return false;
    data = rlx_graph_alloc(graph, (size_t)outputs * sizeof *data + 64);
    for (int64_t o = 0; o < outputs; o++)
        data[o] = ((const float *)value->data)[count == 1 ? 0 : o];
    *out = rlx_graph_const(graph, value->name, RLX_F32, 1, &outputs, data, true);
    return true;
}

/* `value` as constant scales times an optional factor that is known at run time only. */
static bool factors_read(rlx_graph_t *graph, rlx_value_t *value, const rlx_op_t *op, rlx_value_t **out_scale, rlx_value_t **out_factor)
{
    rlx_op_t *mul = rlx_value_made_by(value, RLX_OP_mul);

    *out_factor = NULL;
    if (scales_read(graph, value, op, out_scale))
        return true;
    for (int i = 0; mul != NULL && i < 2; i++)
        if (is_single(graph, mul->in[i]) && scales_read(graph, mul->in[1 - i], op, out_scale)) {
            *out_factor = mul->in[i];
            return true;
        }
    return false;
}

rlx_status_t rlx_quant_rewrite_scaled(rlx_graph_t *graph, rlx_op_t *mul, rlx_diag_t *diag)
{
    for (int i = 0; i < 2; i++) {
        rlx_op_t *op = sums_of(graph, mul->in[i]), *made;
        rlx_value_t *in[7] = {NULL}, *result;

        if (op == NULL || mul->out[0]->rank != op->out[0]->rank || !factors_read(graph, mul->in[1 - i], op, &in[3], &in[5]))
            continue;
        for (int k = 0; k < op->n_in && k < 5; k++)
            if (k != 3)
                in[k] = op->in[k];
        made = rlx_quant_op(graph, mul, op->kind, mul, 6, in);
        made->attrs = rlx_graph_alloc(graph, (size_t)(op->n_attrs + 1) * sizeof *made->attrs);
        memcpy(made->attrs, op->attrs, (size_t)op->n_attrs * sizeof *made->attrs);
        made->n_attrs = op->n_attrs;
        made->pads = op->pads;
        rlx_op_set_int(graph, made, "result", 1);
        if ((result = rlx_quant_op_end(graph, made, diag)) == NULL)
            return diag->status;
        rlx_op_replace(graph, mul, result);
        return RLX_OK;
    }
    return RLX_OK;
}
