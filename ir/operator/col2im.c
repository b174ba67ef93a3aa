/* Shape rule and lowering of col2im: image and block extents are operands, so its geometry is read here and not in conv_geometry.c. */
#include "ir/operator/conv_geometry.h"
#include "ir/shape/common.h"

static int64_t list_at(const rlx_op_t *op, const char *name, int i) { return rlx_op_ints_at(op, name, i, 1); }

/* `block` gets the kernel's extents, which may be symbolic; g->kernel is 1. */
static rlx_status_t geometry_read(rlx_graph_t *graph, const rlx_op_t *op, rlx_conv_geometry_t *g, rlx_expr_t block[3], rlx_diag_t *diag)
{
    rlx_expr_t zero = rlx_expr_const(graph->exprs, 0);
    int n_block;

    RLX_TRY(rlx_shape_need_rank(op, 0, 3, 3, diag));
    RLX_TRY(rlx_shape_ints(graph, op, 1, g->in, 3, &g->rank, diag));
    RLX_TRY(rlx_shape_ints(graph, op, 2, block, 3, &n_block, diag));
    if (g->rank < 1 || n_block != g->rank)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "image_shape has %d entries and block_shape %d, both need 1 to 3", g->rank,
                              n_block);
    for (int i = 0; i < g->rank; ++i) {
        RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(graph->exprs, zero, block[i]), "block_shape must be positive", diag));
        g->kernel[i] = 1;
        g->stride[i] = list_at(op, "strides", i);
        g->dilation[i] = list_at(op, "dilations", i);
        if (g->stride[i] < 1 || g->stride[i] > RLX_CONV_EXTENT_MAX || g->dilation[i] < 1 || g->dilation[i] > RLX_CONV_EXTENT_MAX)
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "strides and dilations must be 1 to %d", RLX_CONV_EXTENT_MAX);
        g->pad[i] = op->pads != NULL ? op->pads[i] : zero;
        g->pad_end[i] = op->pads != NULL ? op->pads[g->rank + i] : zero;
    }
    return RLX_OK;
}

/* The grid of blocks. */
static void grid_set(rlx_graph_t *graph, rlx_conv_geometry_t *g, const rlx_expr_t block[3])
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t one = rlx_expr_const(e, 1);

    for (int i = 0; i < g->rank; ++i) {
        rlx_expr_t travel = rlx_expr_add(e, rlx_expr_add(e, g->in[i], g->pad[i]), g->pad_end[i]);
        rlx_expr_t extent = rlx_expr_add(e, rlx_expr_mul(e, rlx_expr_sub(e, block[i], one), rlx_expr_const(e, g->dilation[i])), one);

        g->out[i] = rlx_expr_add(e, rlx_expr_floordiv(e, rlx_expr_sub(e, travel, extent), rlx_expr_const(e, g->stride[i])), one);
    }
}

rlx_status_t rlx_col2im_shape(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_conv_geometry_t g = {0};
    rlx_expr_t dims[RLX_RANK_MAX], blocks = rlx_expr_const(e, 1);
    rlx_expr_t block[3], cells = rlx_expr_const(graph->exprs, 1);

    if (!rlx_dtype_is_float(op->in[0]->dtype))
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "element type %s is not supported, only f32, f64, f16 and bf16",
                              rlx_dtype_name(op->in[0]->dtype));
    RLX_TRY(geometry_read(graph, op, &g, block, diag));
    grid_set(graph, &g, block);
    for (int i = 0; i < g.rank; ++i) {
        RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, rlx_expr_const(e, -1), g.out[i]),
                                  "the block is larger than the padded image", diag));
        blocks = rlx_expr_mul(e, blocks, g.out[i]);
        cells = rlx_expr_mul(e, cells, block[i]);
        dims[i + 2] = g.in[i];
    }
    RLX_TRY(rlx_shape_require_equal(graph, op, op->in[0]->dims[2], blocks, "columns and block positions", diag));
    RLX_TRY(rlx_shape_require_equal(graph, op, rlx_expr_binary(e, RLX_EXPR_MOD, op->in[0]->dims[1], cells), rlx_expr_const(e, 0),
                                    "the remainder of rows by block cells and zero", diag));
    dims[0] = op->in[0]->dims[0];
    dims[1] = rlx_expr_floordiv(e, op->in[0]->dims[1], cells);
    return rlx_shape_set(graph, op, 0, op->in[0]->dtype, g.rank + 2, dims, diag);
}

rlx_status_t rlx_col2im_lower(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_conv_geometry_t g = {0};
    const rlx_expr_t *dims = op->out[0]->dims;
    rlx_expr_t block[3];
    int kernel = RLX_WORD(rlx_col2im_params_t, window) + RLX_WORD(rlx_conv_window_t, kernel);
    rlx_step_t *step;

    RLX_TRY(geometry_read(graph, op, &g, block, diag));
    grid_set(graph, &g, block);
    step = rlx_step_begin(builder, op, RLX_K_col2im, RLX_WORDS(rlx_col2im_params_t));
    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_col2im_params_t, dtype), op->in[0]->dtype);
    rlx_step_param(step, RLX_WORD(rlx_col2im_params_t, batch), dims[0]);
    rlx_step_param(step, RLX_WORD(rlx_col2im_params_t, channels), dims[1]);
    rlx_conv_geometry_params(graph, &g, step, RLX_WORD(rlx_col2im_params_t, window));
    for (int k = 0; k < g.rank; ++k)
        rlx_step_param(step, kernel + 3 - g.rank + k, block[k]);
    return rlx_step_end(step, rlx_expr_mul(graph->exprs, dims[0], dims[1]), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}
