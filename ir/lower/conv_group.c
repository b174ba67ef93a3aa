/* Lowering of convolutions in groups that do not fill blocks of 16 channels: conv_group_c16. */
#include <stdlib.h>

#include "base/assert.h"
#include "ir/cost/conv_blocking.h"
#include "ir/operator/conv_operands.h"
#include "ir/pass/epilogue.h"
#include "ir/lower/pack_conv.h"
#include "ir/shape/common.h"

static rlx_value_t *weight_pack(rlx_builder_t *builder, const rlx_op_t *op, const rlx_pack_conv_t *pack)
{
    int64_t dims[RLX_RANK_MAX], bytes = rlx_pack_conv_group_floats(pack) * (int64_t)sizeof(float);
    float *packed = malloc((size_t)bytes);
    rlx_value_t *made;

    RLX_ASSERT(packed != NULL);
    rlx_pack_conv_group(pack, op->in[1]->data, packed);
    rlx_value_dims_const(rlx_builder_graph(builder), op->in[1], dims);
    made = rlx_builder_const(builder, op->in[1]->name, RLX_F32, op->in[1]->rank, dims, RLX_LAYOUT_CONV_GROUP, packed, bytes);
    free(packed);
    return made;
}

/* The order in which channels are read, or NULL. */
static rlx_value_t *index_make(rlx_builder_t *builder, const rlx_op_t *op)
{
    const rlx_attr_t *channels = rlx_op_attr(op, "channels");
    int64_t count = channels != NULL ? channels->n : 0;

    return count == 0 ? NULL
                      : rlx_builder_const(builder, op->name, RLX_I64, 1, &count, RLX_LAYOUT_ROW_MAJOR, channels->is,
                                          count * (int64_t)sizeof *channels->is);
}

rlx_status_t rlx_conv_lower_group(rlx_builder_t *builder, const rlx_op_t *op, const rlx_conv_geometry_t *geometry, const rlx_value_t *bias,
                                  rlx_expr_t flops, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_conv_geometry_t g = rlx_conv_in_place(graph, geometry) ? rlx_conv_geometry_column(graph, geometry) : *geometry;
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_conv_group_c16, RLX_WORDS(rlx_conv_group_c16_params_t));
    rlx_pack_conv_t pack = {.group = rlx_op_int(op, "group"), .kernel = {g.kernel[0], g.kernel[1]}};
    int64_t dims[RLX_RANK_MAX];
    rlx_conv_blocking_t b;

    rlx_value_dims_const(graph, op->in[1], dims);
    pack.channels = dims[1];
    pack.outputs = dims[0] / pack.group;
    b = rlx_conv_blocking_group(graph, &g, pack.channels * pack.group);
    rlx_step_in(step, op->in[0]);
    rlx_step_in(step, weight_pack(builder, op, &pack));
    rlx_step_in(step, bias);
    rlx_step_in(step, index_make(builder, op));
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_conv_group_c16_params_t, batch), op->in[0]->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_group_c16_params_t, group), pack.group);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_group_c16_params_t, channels), pack.channels * pack.group);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_group_c16_params_t, outputs), dims[0]);
    rlx_conv_geometry_params(graph, &g, step, RLX_WORD(rlx_conv_group_c16_params_t, window));
    rlx_step_param(step, RLX_WORD(rlx_conv_group_c16_params_t, rows), b.rows);
    RLX_TRY(rlx_epilogue_encode(step, RLX_WORD(rlx_conv_group_c16_params_t, epilogue), 4, rlx_conv_epilogue(op), diag));
    return rlx_step_end(step, rlx_expr_mul(graph->exprs, op->in[0]->dims[0], b.blocks), b.scratch, flops, diag);
}
