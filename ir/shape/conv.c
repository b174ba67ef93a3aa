/* Shape rules of the conv family: convolutions, pools and their inverses. Spatial extents may be symbolic; kernel, strides, dilations and
 * groups are constants. What cannot be proven (a window larger than the padded input) becomes a check of the plan. */
#include "ir/cost/conv_algorithm.h"
#include "ir/operator/conv_geometry.h"
#include "ir/operator/conv_operands.h"
#include "ir/lower/dispatch.h"
#include "ir/shape/common.h"

#define LP_MAX 1024 /* largest p of lp_pool */

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

static bool is_real(rlx_dtype_t dtype) { return rlx_dtype_is_float(dtype); }

static rlx_status_t need_real(const rlx_op_t *op, rlx_diag_t *diag)
{
    if (!is_real(op->in[0]->dtype))
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "element type %s is not supported, only f32, f64, f16 and bf16",
                              rlx_dtype_name(op->in[0]->dtype));
    return RLX_OK;
}

/* in + pads - (dilation * (kernel - 1) + 1): how far the window can move. */
static rlx_expr_t window_travel(rlx_graph_t *graph, const rlx_conv_geometry_t *g, int i)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t padded = rlx_expr_add(e, rlx_expr_add(e, g->in[i], g->pad[i]), g->pad_end[i]);

    return rlx_expr_sub(e, padded, num(graph, g->dilation[i] * (g->kernel[i] - 1) + 1));
}

/* Windows along axis i; with ceil mode a last partial window counts when it starts before the end padding. */
rlx_status_t rlx_conv_window_count(rlx_graph_t *graph, const rlx_op_t *op, const rlx_conv_geometry_t *g, int i, bool ceil_mode,
                                   rlx_expr_t *out, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t travel = window_travel(graph, g, i), stride = num(graph, g->stride[i]), count, limit;

    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, num(graph, -1), travel), "the kernel is larger than the padded input", diag));
    if (!ceil_mode) {
        *out = rlx_expr_add(e, rlx_expr_floordiv(e, travel, stride), num(graph, 1));
        return RLX_OK;
    }
    count = rlx_expr_ceildiv(e, travel, stride); /* index of the last window */
    limit = rlx_expr_add(e, g->in[i], g->pad[i]);
    *out = rlx_expr_add(e, count, rlx_expr_lt(e, rlx_expr_mul(e, count, stride), limit));
    return RLX_OK;
}

/* Operands of the op proper: residuals of a fused epilogue come after them and were checked when they were fused. */
static rlx_status_t channels_check(rlx_graph_t *graph, rlx_op_t *op, int64_t *out_group, rlx_diag_t *diag)
{
    int64_t group = rlx_op_int(op, "group"), outputs;
    const rlx_value_t *weight = op->in[1];
    int out_axis = op->kind == RLX_OP_conv_transpose ? -1 : 0;

    if (group < 1 || group > RLX_CONV_EXTENT_MAX)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "group is %lld, it must be at least 1", (long long)group);
    RLX_TRY(rlx_shape_need_same_dtype(op, 0, 1, diag));
    if (out_axis == 0 && rlx_expr_is_const(graph->exprs, weight->dims[0], &outputs) && outputs % group != 0)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "%lld output channels cannot be split into %lld groups", (long long)outputs,
                              (long long)group);
    *out_group = group;
    if (out_axis == 0)
        return rlx_shape_require_equal(graph, op, op->in[0]->dims[1], rlx_expr_mul(graph->exprs, weight->dims[1], num(graph, group)),
                                       "input channels and weight channels times group", diag);
    RLX_TRY(rlx_shape_require_equal(graph, op, op->in[0]->dims[1], weight->dims[0], "input channels and weight", diag));
    return rlx_shape_require_equal(graph, op, rlx_expr_binary(graph->exprs, RLX_EXPR_MOD, weight->dims[0], num(graph, group)),
                                   num(graph, 0),
                                   "the remainder of input channels by group and zero", diag);
}

static rlx_status_t bias_check(rlx_graph_t *graph, rlx_op_t *op, int index, rlx_expr_t outputs, rlx_diag_t *diag)
{
    if (rlx_conv_operand(op, index) == NULL)
        return RLX_OK;
    RLX_TRY(rlx_shape_need_rank(op, index, 1, 1, diag));
    RLX_TRY(rlx_shape_need_same_dtype(op, 0, index, diag));
    return rlx_shape_require_equal(graph, op, op->in[index]->dims[0], outputs, "bias and output channels", diag);
}

/* The attribute is set by a text or ir/pass/conv_algorithm_pass.c; a pass that changes the op afterwards must not leave what Winograd cannot compute. */
static rlx_status_t algorithm_check(const rlx_graph_t *graph, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_conv_algorithm_t algorithm;

    if (!rlx_conv_algorithm_parse(rlx_op_string(op, "algorithm"), &algorithm))
        return rlx_shape_fail(diag, op, RLX_E_ARG_VALUE, "algorithm '%s' is none of direct, F(2,3), F(4,3)", rlx_op_string(op, "algorithm"));
    if (algorithm != RLX_CONV_ALGORITHM_DIRECT && !rlx_conv_winograd_fits(graph, op, algorithm))
        return rlx_shape_fail(diag, op, RLX_E_ARG_VALUE, "%s is for kernels of 3x3, stride 1 (F(2,3): or 2), dilation 1, one group and constant weights",
                              rlx_conv_algorithm_name(algorithm));
    return RLX_OK;
}

static rlx_status_t shape_conv(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_conv_geometry_t g;
    rlx_expr_t dims[RLX_RANK_MAX];
    int64_t group;

    RLX_TRY(need_real(op, diag));
    RLX_TRY(rlx_conv_geometry_read(graph, op, &g, diag));
    RLX_TRY(channels_check(graph, op, &group, diag));
    RLX_TRY(bias_check(graph, op, 2, op->in[1]->dims[0], diag));
    RLX_TRY(algorithm_check(graph, op, diag));
    dims[0] = op->in[0]->dims[0];
    dims[1] = op->in[1]->dims[0];
    for (int i = 0; i < g.rank; ++i)
        RLX_TRY(rlx_conv_window_count(graph, op, &g, i, false, &dims[i + 2], diag));
    return rlx_shape_set(graph, op, 0, op->in[0]->dtype, g.rank + 2, dims, diag);
}

static rlx_status_t shape_conv_transpose(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_conv_geometry_t g;
    rlx_expr_t dims[RLX_RANK_MAX];
    int64_t group;

    RLX_TRY(need_real(op, diag));
    RLX_TRY(rlx_conv_geometry_read(graph, op, &g, diag));
    RLX_TRY(channels_check(graph, op, &group, diag));
    dims[0] = op->in[0]->dims[0];
    dims[1] = rlx_expr_mul(e, op->in[1]->dims[1], num(graph, group));
    RLX_TRY(bias_check(graph, op, 2, dims[1], diag));
    for (int i = 0; i < g.rank; ++i) {
        int64_t extra = rlx_op_ints_at(op, "output_padding", i, 0);
        rlx_expr_t grown = rlx_expr_mul(e, rlx_expr_sub(e, g.in[i], num(graph, 1)), num(graph, g.stride[i]));

        if (extra < 0 || extra > RLX_CONV_EXTENT_MAX)
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "output_padding holds %lld", (long long)extra);
        grown = rlx_expr_add(e, grown, num(graph, extra + g.dilation[i] * (g.kernel[i] - 1) + 1));
        dims[i + 2] = rlx_expr_sub(e, rlx_expr_sub(e, grown, g.pad[i]), g.pad_end[i]);
        RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, num(graph, -1), dims[i + 2]), "pads are larger than the output", diag));
    }
    return rlx_shape_set(graph, op, 0, op->in[0]->dtype, g.rank + 2, dims, diag);
}

static rlx_status_t shape_pool(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_conv_geometry_t g;
    rlx_expr_t dims[RLX_RANK_MAX];
    rlx_dtype_t dtype = op->in[0]->dtype;

    if (!(op->kind == RLX_OP_max_pool && (dtype == RLX_I8 || dtype == RLX_U8)))
        RLX_TRY(need_real(op, diag));
    if (rlx_op_attr(op, "kernel") == NULL)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "kernel_shape is missing");
    if (op->kind == RLX_OP_lp_pool && (rlx_op_int(op, "p") < 1 || rlx_op_int(op, "p") > LP_MAX))
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "p is %lld, allowed are 1 to %d", (long long)rlx_op_int(op, "p"), LP_MAX);
    RLX_TRY(rlx_conv_geometry_read(graph, op, &g, diag));
    dims[0] = op->in[0]->dims[0];
    dims[1] = op->in[0]->dims[1];
    for (int i = 0; i < g.rank; ++i)
        RLX_TRY(rlx_conv_window_count(graph, op, &g, i, rlx_op_int(op, "ceil_mode") != 0, &dims[i + 2], diag));
    RLX_TRY(rlx_shape_set(graph, op, 0, dtype, g.rank + 2, dims, diag));
    if (op->n_out > 1)
        RLX_TRY(rlx_shape_set(graph, op, 1, RLX_I64, g.rank + 2, dims, diag));
    return RLX_OK;
}

/* The extents that the indices of max_unpool count in, before output_shape. */
static rlx_status_t unpool_dims(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t *out_dims, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_conv_geometry_t g;

    RLX_TRY(rlx_conv_geometry_read(graph, op, &g, diag));
    out_dims[0] = op->in[0]->dims[0];
    out_dims[1] = op->in[0]->dims[1];
    for (int i = 0; i < g.rank; ++i) {
        rlx_expr_t grown = rlx_expr_mul(e, rlx_expr_sub(e, g.in[i], num(graph, 1)), num(graph, g.stride[i]));

        grown = rlx_expr_add(e, grown, num(graph, g.kernel[i]));
        grown = rlx_expr_sub(e, grown, rlx_expr_add(e, g.pad[i], g.pad_end[i]));
        out_dims[i + 2] = grown;
        RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, num(graph, -1), grown), "pads are larger than the output", diag));
    }
    return RLX_OK;
}

static rlx_status_t shape_max_unpool(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t dims[RLX_RANK_MAX], pooled[RLX_RANK_MAX];
    int count, rank = op->in[0]->rank;

    if (rlx_op_attr(op, "kernel") == NULL)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "kernel_shape is missing");
    if (op->in[1]->dtype != RLX_I64)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "indices must be i64, not %s", rlx_dtype_name(op->in[1]->dtype));
    RLX_TRY(unpool_dims(graph, op, pooled, diag));
    RLX_TRY(rlx_shape_need_rank(op, 1, rank, rank, diag));
    for (int i = 0; i < rank; ++i)
        RLX_TRY(rlx_shape_require_equal(graph, op, op->in[0]->dims[i], op->in[1]->dims[i], "extents of input and indices", diag));
    if (rlx_op_in(op, 2) == NULL)
        return rlx_shape_set(graph, op, 0, op->in[0]->dtype, rank, pooled, diag);
    RLX_TRY(rlx_shape_ints(graph, op, 2, dims, RLX_RANK_MAX, &count, diag));
    if (count != rank)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "output_shape has %d entries, the input has rank %d", count, rank);
    for (int i = 0; i < 2; ++i)
        RLX_TRY(rlx_shape_require_equal(graph, op, dims[i], pooled[i], "batch or channels of output_shape and input", diag));
    for (int i = 2; i < rank; ++i)
        RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(graph->exprs, rlx_expr_sub(graph->exprs, pooled[i], num(graph, 1)), dims[i]),
                                  "output_shape is smaller than the unpooled map", diag));
    return rlx_shape_set(graph, op, 0, op->in[0]->dtype, rank, dims, diag);
}

static rlx_status_t shape_deform_conv(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_conv_geometry_t g;
    rlx_expr_t dims[RLX_RANK_MAX];
    int64_t group, offset_group = rlx_op_int(op, "offset_group"), cells;

    RLX_TRY(need_real(op, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 4, 4, diag));
    RLX_TRY(rlx_conv_geometry_read(graph, op, &g, diag));
    RLX_TRY(channels_check(graph, op, &group, diag));
    RLX_TRY(bias_check(graph, op, 3, op->in[1]->dims[0], diag));
    if (offset_group < 1 || offset_group > RLX_CONV_EXTENT_MAX)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "offset_group is %lld, it must be at least 1", (long long)offset_group);
    RLX_TRY(rlx_shape_require_equal(graph, op, rlx_expr_binary(graph->exprs, RLX_EXPR_MOD, op->in[0]->dims[1], num(graph, offset_group)),
                                    num(graph, 0), "the remainder of input channels by offset_group and zero", diag));
    dims[0] = op->in[0]->dims[0];
    dims[1] = op->in[1]->dims[0];
    for (int i = 0; i < 2; ++i)
        RLX_TRY(rlx_conv_window_count(graph, op, &g, i, false, &dims[i + 2], diag));
    cells = offset_group * g.kernel[0] * g.kernel[1];
    for (int index = 2; index <= 4; index += 2) { /* offset, mask */
        if (rlx_op_in(op, index) == NULL)
            continue;
        RLX_TRY(rlx_shape_need_rank(op, index, 4, 4, diag));
        RLX_TRY(rlx_shape_need_same_dtype(op, 0, index, diag));
        RLX_TRY(rlx_shape_require_equal(graph, op, op->in[index]->dims[0], dims[0], "batch of offset or mask and input", diag));
        RLX_TRY(rlx_shape_require_equal(graph, op, op->in[index]->dims[1], num(graph, index == 2 ? 2 * cells : cells),
                                        "channels of offset or mask and kernel cells", diag));
        for (int i = 2; i < 4; ++i)
            RLX_TRY(rlx_shape_require_equal(graph, op, op->in[index]->dims[i], dims[i], "extents of offset or mask and output", diag));
    }
    return rlx_shape_set(graph, op, 0, op->in[0]->dtype, 4, dims, diag);
}

rlx_status_t rlx_shape_conv(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_conv: return shape_conv(graph, op, diag);
    case RLX_OP_conv_transpose: return shape_conv_transpose(graph, op, diag);
    case RLX_OP_max_pool:
    case RLX_OP_avg_pool:
    case RLX_OP_lp_pool: return shape_pool(graph, op, diag);
    case RLX_OP_max_unpool: return shape_max_unpool(graph, op, diag);
    case RLX_OP_deform_conv: return shape_deform_conv(graph, op, diag);
    case RLX_OP_col2im: return rlx_col2im_shape(graph, op, diag);
    default: return rlx_shape_fail(diag, op, RLX_E_INTERNAL, "no operator of the conv family");
    }
}
