/* Reading of kernel, strides, dilations and pads. See ir/operator/conv_geometry.h. */
#include "ir/operator/conv_geometry.h"

#include "base/assert.h"
#include "ir/shape/common.h"

static rlx_status_t list_read(const rlx_op_t *op, const char *name, int rank, int64_t *out, rlx_diag_t *diag)
{
    const rlx_attr_t *attr = rlx_op_attr(op, name);

    for (int i = 0; i < rank; ++i)
        out[i] = 1;
    if (attr == NULL || attr->n == 0)
        return RLX_OK;
    if (attr->n != rank)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "%s has %d entries, the input has %d spatial axes", name, attr->n, rank);
    for (int i = 0; i < rank; ++i) {
        out[i] = attr->is[i];
        if (out[i] < 1 || out[i] > RLX_CONV_EXTENT_MAX)
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "%s holds %lld, allowed are 1 to %d", name, (long long)out[i],
                                  RLX_CONV_EXTENT_MAX);
    }
    return RLX_OK;
}

static rlx_status_t kernel_read(const rlx_graph_t *graph, const rlx_op_t *op, rlx_conv_geometry_t *g, rlx_diag_t *diag)
{
    const rlx_value_t *weight = rlx_op_in(op, 1);

    if (rlx_op_info(op->kind)->min_in < 2 || op->kind == RLX_OP_max_unpool || op->kind == RLX_OP_col2im)
        return list_read(op, "kernel", g->rank, g->kernel, diag);
    if (weight == NULL || weight->rank != g->rank + 2)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "the weight needs rank %d like the input", g->rank + 2);
    for (int i = 0; i < g->rank; ++i) {
        if (!rlx_expr_is_const(graph->exprs, weight->dims[i + 2], &g->kernel[i]))
            return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "spatial extent %d of the weight must be a constant", i);
        if (g->kernel[i] < 1 || g->kernel[i] > RLX_CONV_EXTENT_MAX)
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "spatial extent %d of the weight is %lld, allowed are 1 to %d", i,
                                  (long long)g->kernel[i], RLX_CONV_EXTENT_MAX);
    }
    return RLX_OK;
}

rlx_status_t rlx_conv_geometry_read(const rlx_graph_t *graph, const rlx_op_t *op, rlx_conv_geometry_t *out_geometry, rlx_diag_t *diag)
{
    rlx_conv_geometry_t g = {0};
    rlx_expr_t zero = rlx_expr_const(graph->exprs, 0);

    RLX_TRY(rlx_shape_need_rank(op, 0, 3, 5, diag));
    g.rank = op->in[0]->rank - 2;
    RLX_TRY(kernel_read(graph, op, &g, diag));
    RLX_TRY(list_read(op, "strides", g.rank, g.stride, diag));
    if (op->kind == RLX_OP_max_unpool)
        for (int i = 0; i < g.rank; ++i)
            g.dilation[i] = 1;
    else
        RLX_TRY(list_read(op, "dilations", g.rank, g.dilation, diag));
    for (int i = 0; i < g.rank; ++i) {
        g.in[i] = op->in[0]->dims[i + 2];
        g.out[i] = RLX_EXPR_NONE;
        g.pad[i] = op->pads != NULL ? op->pads[i] : zero;
        g.pad_end[i] = op->pads != NULL ? op->pads[g.rank + i] : zero;
    }
    *out_geometry = g;
    return RLX_OK;
}

rlx_conv_geometry_t rlx_conv_geometry_of(const rlx_graph_t *graph, const rlx_op_t *op)
{
    rlx_conv_geometry_t g = {0};
    rlx_status_t status = rlx_conv_geometry_read(graph, op, &g, NULL);
    const rlx_value_t *out = op->out[0] != NULL ? op->out[0] : op->out[1];

    RLX_ASSERT(status == RLX_OK);
    for (int i = 0; i < g.rank; ++i)
        g.out[i] = out->dims[i + 2];
    if (op->sched != NULL)
        g.cut = ((const rlx_schedule_t *)op->sched)->cut, g.demand = ((const rlx_schedule_t *)op->sched)->demand;
    return g;
}

void rlx_conv_geometry_params(const rlx_graph_t *graph, const rlx_conv_geometry_t *g, rlx_step_t *step, int word)
{
    rlx_expr_t one = rlx_expr_const(graph->exprs, 1), zero = rlx_expr_const(graph->exprs, 0);

    for (int axis = 0; axis < 3; ++axis) {
        int i = axis - (3 - g->rank);

        rlx_step_param(step, word + RLX_WORD(rlx_conv_window_t, in) + axis, i < 0 ? one : g->in[i]);
        rlx_step_param(step, word + RLX_WORD(rlx_conv_window_t, out) + axis, i < 0 ? one : g->out[i]);
        rlx_step_param_const(step, word + RLX_WORD(rlx_conv_window_t, kernel) + axis, i < 0 ? 1 : g->kernel[i]);
        rlx_step_param_const(step, word + RLX_WORD(rlx_conv_window_t, stride) + axis, i < 0 ? 1 : g->stride[i]);
        rlx_step_param_const(step, word + RLX_WORD(rlx_conv_window_t, dilation) + axis, i < 0 ? 1 : g->dilation[i]);
        rlx_step_param(step, word + RLX_WORD(rlx_conv_window_t, pad) + axis, i < 0 ? zero : g->pad[i]);
        rlx_step_param(step, word + RLX_WORD(rlx_conv_window_t, pad_end) + axis, i < 0 ? zero : g->pad_end[i]);
    }
}
