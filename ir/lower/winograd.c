/* Lowering of convolutions whose algorithm is F(2,3) or F(4,3): filters transformed here, blocks of patches, one step or two. */
#include <stdlib.h>

#include "base/assert.h"
#include "ir/cost/conv_algorithm.h"
#include "ir/cost/conv_blocking.h"
#include "ir/operator/conv_operands.h"
#include "ir/pass/epilogue.h"
#include "ir/lower/pack_conv.h"
#include "ir/lower/pack_winograd.h"
#include "kernels/winograd_shape.h"

typedef struct winograd_shape {
    int m;
    int64_t channels, outputs;
    rlx_conv_geometry_t geometry;
} winograd_shape_t;

static winograd_shape_t shape_read(const rlx_graph_t *graph, const rlx_op_t *op)
{
    winograd_shape_t s = {.m = (int)rlx_conv_algorithm(op), .geometry = rlx_conv_geometry_of(graph, op)};
    int64_t dims[RLX_RANK_MAX];
    bool known = rlx_value_dims_const(graph, op->in[1], dims);

    RLX_ASSERT(known);
    s.outputs = dims[0];
    s.channels = dims[1];
    return s;
}

static int64_t side_of(const winograd_shape_t *s) { return winograd_side(s->m, s->geometry.stride[0]); }

/* The operator's weights, transformed. */
static rlx_value_t *filters_make(rlx_builder_t *builder, const rlx_op_t *op, const winograd_shape_t *s, bool blocked)
{
    int64_t side = side_of(s), dims[4] = {s->outputs, s->channels, side, side}, stride = s->geometry.stride[0];
    int64_t floats = blocked ? rlx_pack_winograd_floats(s->m, stride, s->outputs, s->channels) : s->outputs * s->channels * side * side;
    float *packed = malloc((size_t)floats * sizeof *packed);
    rlx_value_t *made;

    RLX_ASSERT(packed != NULL);
    (blocked ? rlx_pack_winograd : rlx_pack_winograd_plain)(s->m, stride, s->outputs, s->channels, op->in[1]->data, packed);
    made = rlx_builder_const(builder, op->in[1]->name, RLX_F32, 4, dims, blocked ? RLX_LAYOUT_WINOGRAD : RLX_LAYOUT_ROW_MAJOR, packed,
                             floats * (int64_t)sizeof *packed);
    free(packed);
    return made;
}

/* The multiplications of the taps: what the machine does, not what a direct convolution would. */
static rlx_expr_t flops_of(rlx_graph_t *graph, const winograd_shape_t *s, rlx_expr_t patches)
{
    int64_t per_patch = 2 * s->channels * s->outputs * side_of(s) * side_of(s);

    return rlx_expr_mul(graph->exprs, patches, rlx_expr_const(graph->exprs, per_patch));
}

rlx_status_t rlx_winograd_lower_plain(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    winograd_shape_t s = shape_read(graph, op);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_conv_winograd_plain, RLX_WORDS(rlx_conv_winograd_plain_params_t));
    rlx_expr_t patches = rlx_winograd_patches(graph, &s.geometry, s.m, op->in[0]->dims[0]);
    int64_t scratch = 4 * s.channels * side_of(&s) * side_of(&s);

    rlx_step_in(step, op->in[0]);
    rlx_step_in(step, filters_make(builder, op, &s, false));
    rlx_step_in(step, rlx_conv_operand(op, 2));
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_winograd_plain_params_t, m), s.m);
    rlx_step_param(step, RLX_WORD(rlx_conv_winograd_plain_params_t, batch), op->in[0]->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_winograd_plain_params_t, channels), s.channels);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_winograd_plain_params_t, outputs), s.outputs);
    rlx_conv_geometry_params(graph, &s.geometry, step, RLX_WORD(rlx_conv_winograd_plain_params_t, window));
    RLX_TRY(rlx_epilogue_encode(step, RLX_WORD(rlx_conv_winograd_plain_params_t, epilogue), 3, rlx_conv_epilogue(op), diag));
    return rlx_step_end(step, patches, rlx_expr_const(graph->exprs, scratch), flops_of(graph, &s, patches), diag);
}

/* The step that transforms the input once, for all threads; `*out_x` is what it makes. */
static rlx_status_t input_lower(rlx_builder_t *builder, const rlx_op_t *op, const winograd_shape_t *s, const rlx_winograd_blocking_t *b,
                                const rlx_value_t **out_x, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t floats = rlx_expr_mul(e, b->blocks, b->block_floats);
    rlx_value_t *made = rlx_builder_temp(builder, RLX_F32, 1, &floats, RLX_LAYOUT_ROW_MAJOR);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_conv_winograd_input_c16, RLX_WORDS(rlx_conv_winograd_input_c16_params_t));

    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, made);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_winograd_input_c16_params_t, m), s->m);
    rlx_step_param(step, RLX_WORD(rlx_conv_winograd_input_c16_params_t, batch), op->in[0]->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_winograd_input_c16_params_t, channels), s->channels);
    rlx_conv_geometry_params(graph, &s->geometry, step, RLX_WORD(rlx_conv_winograd_input_c16_params_t, window));
    rlx_step_param(step, RLX_WORD(rlx_conv_winograd_input_c16_params_t, patches), b->patches);
    *out_x = made;
    return rlx_step_end(step, rlx_expr_mul(e, b->blocks, rlx_expr_const(e, (s->channels + 15) / 16)), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

rlx_status_t rlx_winograd_lower_c16(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    winograd_shape_t s = shape_read(graph, op);
    rlx_expr_t batch = op->in[0]->dims[0];
    rlx_winograd_blocking_t b = rlx_winograd_blocking(graph, &s.geometry, s.m, batch, s.channels, s.outputs);
    const rlx_value_t *x = op->in[0];
    rlx_step_t *step;

    if (b.transformed)
        RLX_TRY(input_lower(builder, op, &s, &b, &x, diag));
    step = rlx_step_begin(builder, op, RLX_K_conv_winograd_c16, RLX_WORDS(rlx_conv_winograd_c16_params_t));
    rlx_step_in(step, x);
    rlx_step_in(step, filters_make(builder, op, &s, true));
    rlx_step_in(step, rlx_conv_bias_const(builder, op, s.outputs));
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_winograd_c16_params_t, m), s.m);
    rlx_step_param(step, RLX_WORD(rlx_conv_winograd_c16_params_t, batch), batch);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_winograd_c16_params_t, channels), s.channels);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_winograd_c16_params_t, outputs), s.outputs);
    rlx_conv_geometry_params(graph, &s.geometry, step, RLX_WORD(rlx_conv_winograd_c16_params_t, window));
    rlx_step_param(step, RLX_WORD(rlx_conv_winograd_c16_params_t, patches), b.patches);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_winograd_c16_params_t, blocks), b.range);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_winograd_c16_params_t, transformed), b.transformed);
    RLX_TRY(rlx_epilogue_encode(step, RLX_WORD(rlx_conv_winograd_c16_params_t, epilogue), 3, rlx_conv_epilogue(op), diag));
    return rlx_step_end(step, rlx_expr_mul(graph->exprs, b.blocks, rlx_expr_const(graph->exprs, b.ranges)), b.scratch,
                        flops_of(graph, &s, rlx_winograd_patches(graph, &s.geometry, s.m, batch)), diag);
}
