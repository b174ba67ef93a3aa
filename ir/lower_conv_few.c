/* Lowering of convolutions to a few output channels: conv_few, row-major. */
#include <stdlib.h>

#include "base/assert.h"
#include "ir/conv_blocking.h"
#include "ir/conv_operands.h"
#include "ir/epilogue.h"
#include "ir/pack_conv.h"
#include "ir/shape_common.h"

/* [outputs][channels][kernel...] to [k][outputs], k in the order of the chain. */
static rlx_value_t *weight_pack(rlx_builder_t *builder, const rlx_op_t *op, int64_t outputs, int64_t channels, int64_t cells)
{
    int64_t count = outputs * channels * cells;
    const float *w = op->in[1]->data;
    float *packed = malloc((size_t)count * sizeof *packed), *to = packed;
    rlx_value_t *made;

    RLX_ASSERT(packed != NULL);
    for (int64_t block = 0; block < channels; block += 16)
        for (int64_t cell = 0; cell < cells; ++cell)
            for (int64_t c = block; c < block + 16 && c < channels; ++c)
                for (int64_t o = 0; o < outputs; ++o)
                    *to++ = w[(o * channels + c) * cells + cell];
    made = rlx_builder_const(builder, op->in[1]->name, RLX_F32, 1, &count, RLX_LAYOUT_ROW_MAJOR, packed, count * (int64_t)sizeof *packed);
    free(packed);
    return made;
}

rlx_status_t rlx_conv_lower_few(rlx_builder_t *builder, const rlx_op_t *op, rlx_expr_t flops, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_conv_geometry_t read = rlx_conv_geometry_of(graph, op), g = rlx_conv_geometry_plane(graph, &read);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_conv_few, RLX_WORDS(rlx_conv_few_params_t));
    int64_t dims[RLX_RANK_MAX];
    rlx_conv_blocking_t b;

    rlx_value_dims_const(graph, op->in[1], dims);
    b = rlx_conv_blocking_few(graph, &g, dims[1]);
    rlx_step_in(step, op->in[0]);
    rlx_step_in(step, weight_pack(builder, op, dims[0], dims[1], g.kernel[0] * g.kernel[1]));
    rlx_step_in(step, rlx_conv_operand(op, 2));
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_conv_few_params_t, batch), op->in[0]->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_few_params_t, channels), dims[1]);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_few_params_t, outputs), dims[0]);
    rlx_conv_geometry_params(graph, &g, step, RLX_WORD(rlx_conv_few_params_t, window));
    rlx_step_param(step, RLX_WORD(rlx_conv_few_params_t, rows), b.rows);
    RLX_TRY(rlx_epilogue_encode(step, RLX_WORD(rlx_conv_few_params_t, epilogue), 3, rlx_conv_epilogue(op), diag));
    return rlx_step_end(step, rlx_expr_mul(graph->exprs, op->in[0]->dims[0], b.blocks), b.scratch, flops, diag);
}
