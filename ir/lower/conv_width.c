/* Lowering of convolutions whose output columns fill the lanes: conv_width, row-major. */
#include <stdlib.h>

#include "base/assert.h"
#include "ir/cost/conv_blocking.h"
#include "ir/operator/conv_operands.h"
#include "ir/pass/epilogue.h"
#include "ir/lower/pack_conv.h"
#include "ir/shape/common.h"

/* [outputs][channels of a group][kernel...] to [group][block][k][output of the block], k in the order of the chain; zeros past the outputs. */
static rlx_value_t *weight_pack(rlx_builder_t *builder, const rlx_op_t *op, const int64_t dims[RLX_RANK_MAX], int64_t group, int64_t cells,
                                int64_t block)
{
    int64_t per_group = dims[0] / group, channels = dims[1], blocks = (per_group + block - 1) / block, count = group * blocks * channels * cells * block;
    const float *w = op->in[1]->data;
    float *packed = malloc((size_t)count * sizeof *packed), *to = packed;
    rlx_value_t *made;

    RLX_ASSERT(packed != NULL);
    for (int64_t g = 0; g < group; ++g)
        for (int64_t b = 0; b < blocks; ++b)
            for (int64_t first = 0; first < channels; first += 16)
                for (int64_t cell = 0; cell < cells; ++cell)
                    for (int64_t c = first; c < first + 16 && c < channels; ++c)
                        for (int64_t o = b * block; o < (b + 1) * block; ++o)
                            *to++ = o < per_group ? w[((g * per_group + o) * channels + c) * cells + cell] : 0;
    made = rlx_builder_const(builder, op->in[1]->name, RLX_F32, 1, &count, RLX_LAYOUT_ROW_MAJOR, packed, count * (int64_t)sizeof *packed);
    free(packed);
    return made;
}

static void params_set(rlx_step_t *step, const rlx_graph_t *graph, const rlx_op_t *op, const rlx_conv_geometry_t *g, const int64_t *dims,
                       const rlx_width_blocking_t *b)
{
    const rlx_demand_t *demand = rlx_op_demand(op);
    int64_t group = rlx_op_int(op, "group");

    rlx_step_param(step, RLX_WORD(rlx_conv_width_params_t, batch), op->in[0]->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_width_params_t, group), group);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_width_params_t, channels), dims[1] * group);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_width_params_t, outputs), dims[0]);
    rlx_conv_geometry_params(graph, g, step, RLX_WORD(rlx_conv_width_params_t, window));
    rlx_step_param_const(step, RLX_WORD(rlx_conv_width_params_t, channels_last), op->in[0]->layout == RLX_LAYOUT_CHANNELS_LAST);
    rlx_step_param(step, RLX_WORD(rlx_conv_width_params_t, piece), b->piece);
    rlx_step_param(step, RLX_WORD(rlx_conv_width_params_t, rows), b->rows);
    rlx_step_param(step, RLX_WORD(rlx_conv_width_params_t, columns), b->columns);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_width_params_t, range), b->range);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_width_params_t, block), b->block);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_width_params_t, outputs_outside), demand->outputs_outside);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_width_params_t, unroll_width), demand->unroll_width);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_width_params_t, unroll_outputs), demand->unroll_outputs);
    rlx_step_param(step, RLX_WORD(rlx_conv_width_params_t, across), b->across);
}

rlx_status_t rlx_conv_lower_width(rlx_builder_t *builder, const rlx_op_t *op, rlx_expr_t flops, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_conv_geometry_t read = rlx_conv_geometry_of(graph, op), g = rlx_conv_geometry_plane(graph, &read);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_conv_width, RLX_WORDS(rlx_conv_width_params_t));
    int64_t dims[RLX_RANK_MAX], group = rlx_op_int(op, "group");
    rlx_width_blocking_t b;
    rlx_expr_t tiles;

    rlx_value_dims_const(graph, op->in[1], dims);
    b = rlx_conv_blocking_width(graph, &g, group, dims[1], dims[0] / group, rlx_op_demand(op));
    rlx_step_in(step, op->in[0]);
    rlx_step_in(step, weight_pack(builder, op, dims, group, g.kernel[0] * g.kernel[1], b.block));
    rlx_step_in(step, rlx_conv_operand(op, 2));
    rlx_step_out(step, op->out[0]);
    params_set(step, graph, op, &g, dims, &b);
    RLX_TRY(rlx_epilogue_encode(step, RLX_WORD(rlx_conv_width_params_t, epilogue), 3, rlx_conv_epilogue(op), diag));
    tiles = rlx_expr_mul(graph->exprs, op->in[0]->dims[0], rlx_expr_const(graph->exprs, group * b.ranges));
    return rlx_step_end(step, rlx_expr_mul(graph->exprs, tiles, b.pieces), b.scratch, flops, diag);
}
