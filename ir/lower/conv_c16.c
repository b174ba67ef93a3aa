/* Lowering of convolutions to the kernels on blocked activations: which form fits, packed weights, blocking. */
#include <stdlib.h>

#include "base/assert.h"
#include "ir/cost/conv_algorithm.h"
#include "ir/cost/conv_blocking.h"
#include "ir/operator/conv_operands.h"
#include "ir/pass/epilogue.h"
#include "ir/pass/layout_support.h"
#include "ir/lower/pack_conv.h"
#include "ir/shape/common.h"

#define FIRST_CHANNELS_MAX 4
#define FEW_OUTPUTS_MAX 4
#define FIRST_OUTPUTS_FEW 8 /* of an image of a few channels */
#define PLANES_FEW 4        /* of a convolution with a group for each channel */
#define FEW_PIXELS_MIN 256
#define STRIDE_MAX 64         /* of conv_transpose: its remainder pairs are tables */
#define KERNEL_CELLS_MAX 4096

typedef struct conv_shape {
    int64_t group, channels, outputs; /* all groups */
    int64_t kernel[2];
} conv_shape_t;

/* Constant weights, bias and channels, f32, one or two spatial axes. */
static bool shape_read(const rlx_graph_t *graph, const rlx_op_t *op, conv_shape_t *out)
{
    const rlx_value_t *weight = op->in[1], *bias = rlx_conv_operand(op, 2);
    int64_t dims[RLX_RANK_MAX];

    if (op->in[0]->dtype != RLX_F32 || weight->rank < 3 || weight->rank > 4 || weight->data == NULL ||
        weight->layout != RLX_LAYOUT_ROW_MAJOR ||
        (bias != NULL && bias->data == NULL) || !rlx_value_dims_const(graph, weight, dims))
        return false;
    out->group = rlx_op_int(op, "group");
    out->channels = op->kind == RLX_OP_conv ? dims[1] * out->group : dims[0];
    out->outputs = op->kind == RLX_OP_conv ? dims[0] : dims[1] * out->group;
    out->kernel[0] = weight->rank == 4 ? dims[2] : 1;
    out->kernel[1] = dims[weight->rank - 1];
    return out->channels > 0 && out->outputs > 0 && out->kernel[0] * out->kernel[1] <= KERNEL_CELLS_MAX;
}

bool rlx_conv_pads_natural(const rlx_graph_t *graph, const rlx_op_t *op)
{
    for (int i = 0; op->pads != NULL && i < 2 * (op->in[0]->rank - 2); ++i)
        if (rlx_expr_node(graph->exprs, op->pads[i])->min < 0)
            return false;
    return true;
}

static bool strides_are_small(const rlx_op_t *op)
{
    return rlx_op_ints_at(op, "strides", 0, 1) <= STRIDE_MAX && rlx_op_ints_at(op, "strides", 1, 1) <= STRIDE_MAX;
}

/* Enough pixels to fill lanes, where that is known. */
static bool has_pixels(const rlx_graph_t *graph, const rlx_op_t *op, const conv_shape_t *s)
{
    rlx_expr_t count = rlx_value_count(graph, op->out[0]);
    int64_t outputs;

    return !rlx_expr_is_const(graph->exprs, count, &outputs) || outputs >= FEW_PIXELS_MIN * s->outputs;
}

/* Whether columns had better fill the lanes, since blocks of 16 channels would be almost empty: few outputs (a 1x1 kernel does not earn the change
 * of layout), an image to a few channels, small groups, a few planes. */
static bool wants_columns(const rlx_graph_t *graph, const rlx_op_t *op, const conv_shape_t *s)
{
    if (s->group == 1 && s->channels <= FIRST_CHANNELS_MAX && s->outputs <= FEW_OUTPUTS_MAX)
        return true;
    if (!has_pixels(graph, op, s))
        return false;
    if (s->group == 1)
        return s->channels <= FIRST_CHANNELS_MAX ? s->outputs <= FIRST_OUTPUTS_FEW : s->outputs <= FEW_OUTPUTS_MAX && s->kernel[0] * s->kernel[1] >= 4;
    if (s->group == s->channels && s->group == s->outputs)
        return s->group <= PLANES_FEW;
    return s->channels <= 16 && s->outputs <= 16;
}

rlx_conv_form_t rlx_conv_form(const rlx_graph_t *graph, const rlx_op_t *op)
{
    rlx_lanes_t lanes = rlx_op_demand(op)->lanes;
    conv_shape_t s;
    bool blocks;

    if (!shape_read(graph, op, &s) || !rlx_conv_pads_natural(graph, op))
        return RLX_CONV_PLAIN;
    if (lanes == RLX_LANES_WIDTH)
        return op->kind == RLX_OP_conv && rlx_conv_algorithm(op) == RLX_CONV_ALGORITHM_DIRECT ? RLX_CONV_WIDTH : RLX_CONV_PLAIN;
    if (rlx_op_attr(op, "channels") != NULL)
        return RLX_CONV_GROUP;
    if (rlx_conv_algorithm(op) != RLX_CONV_ALGORITHM_DIRECT)
        return RLX_CONV_WINOGRAD;
    blocks = s.group == 1 || (s.channels / s.group % 16 == 0 && s.outputs / s.group % 16 == 0);
    if (op->kind == RLX_OP_conv_transpose)
        return blocks && strides_are_small(op) ? RLX_CONV_TRANSPOSE : RLX_CONV_PLAIN;
    if (lanes == RLX_LANES_CHOSEN && wants_columns(graph, op, &s))
        return RLX_CONV_WIDTH;
    if (s.group > 1 && s.group == s.channels && s.group == s.outputs)
        return RLX_CONV_DEPTHWISE;
    if (s.group == 1 && s.channels <= FIRST_CHANNELS_MAX)
        return RLX_CONV_FIRST;
    return blocks ? RLX_CONV_DIRECT : RLX_CONV_GROUP;
}

bool rlx_conv_wants_c16(const rlx_graph_t *graph, const rlx_op_t *op, bool *out_input_row_major)
{
    rlx_conv_form_t form;

    *out_input_row_major = false;
    if (op->kind == RLX_OP_max_pool || op->kind == RLX_OP_avg_pool)
        return rlx_pool_wants_c16(graph, op);
    if (op->kind != RLX_OP_conv && op->kind != RLX_OP_conv_transpose)
        return false;
    form = rlx_conv_form(graph, op);
    *out_input_row_major = form == RLX_CONV_FIRST;
    return form != RLX_CONV_PLAIN && form != RLX_CONV_WIDTH;
}

static rlx_layout_t layout_of(rlx_conv_form_t form)
{
    if (form == RLX_CONV_FIRST)
        return RLX_LAYOUT_CONV_16O;
    return form == RLX_CONV_DEPTHWISE ? RLX_LAYOUT_DW16 : RLX_LAYOUT_CONV_16I16O;
}

/* Packed weights of the op; dims are the logical ones. */
static rlx_value_t *weight_pack(rlx_builder_t *builder, const rlx_op_t *op, const conv_shape_t *s, rlx_conv_form_t form,
                                const rlx_conv_geometry_t *g)
{
    rlx_pack_conv_t pack = {.group = s->group, .channels = s->channels / s->group, .outputs = s->outputs / s->group,
                            .kernel = {s->kernel[0], s->kernel[1]}, .stride = {g->stride[0], g->stride[1]},
                            .dilation = {g->dilation[0], g->dilation[1]}};
    int64_t dims[RLX_RANK_MAX], floats = rlx_pack_conv_floats(&pack);
    rlx_layout_t layout = layout_of(form);
    const float *w = op->in[1]->data;
    rlx_value_t *made;
    float *packed;

    if (form == RLX_CONV_DEPTHWISE)
        floats = (s->group + 15) / 16 * 16 * s->kernel[0] * s->kernel[1];
    packed = malloc((size_t)floats * sizeof *packed);
    RLX_ASSERT(packed != NULL);
    switch (form) {
    case RLX_CONV_FIRST: rlx_pack_conv_16o(&pack, w, packed); break;
    case RLX_CONV_DEPTHWISE: rlx_pack_conv_dw16(&pack, w, packed); break;
    case RLX_CONV_TRANSPOSE: rlx_pack_conv_transpose(&pack, w, packed); break;
    default: rlx_pack_conv_16i16o(&pack, w, packed); break;
    }
    rlx_value_dims_const(rlx_builder_graph(builder), op->in[1], dims);
    made = rlx_builder_const(builder, op->in[1]->name, RLX_F32, op->in[1]->rank, dims, layout, packed, floats * (int64_t)sizeof *packed);
    free(packed);
    return made;
}

rlx_value_t *rlx_conv_bias_const(rlx_builder_t *builder, const rlx_op_t *op, int64_t outputs)
{
    const rlx_value_t *bias = rlx_conv_operand(op, 2);
    int64_t padded = (outputs + 15) / 16 * 16;
    rlx_value_t *made;
    float *packed;

    if (bias == NULL)
        return NULL;
    packed = malloc((size_t)padded * sizeof *packed);
    RLX_ASSERT(packed != NULL);
    rlx_pack_conv_bias(bias->data, outputs, packed);
    made = rlx_builder_const(builder, bias->name, RLX_F32, 1, &padded, RLX_LAYOUT_ROW_MAJOR, packed, padded * (int64_t)sizeof *packed);
    free(packed);
    return made;
}

static rlx_kernel_id_t kernel_of(rlx_conv_form_t form)
{
    return form == RLX_CONV_FIRST ? RLX_K_conv_first_c16 : form == RLX_CONV_TRANSPOSE ? RLX_K_conv_transpose_c16 : RLX_K_conv_c16;
}

static rlx_conv_blocking_t blocking_of(rlx_graph_t *graph, const rlx_conv_geometry_t *g, const conv_shape_t *s, rlx_conv_form_t form)
{
    int64_t channels = s->channels / s->group, outputs = s->outputs / s->group;

    if (form == RLX_CONV_FIRST)
        return rlx_conv_blocking_first(graph, g, channels, outputs);
    if (form == RLX_CONV_DEPTHWISE)
        return rlx_conv_blocking_depthwise(graph, g, s->channels);
    if (form == RLX_CONV_TRANSPOSE)
        return rlx_conv_blocking_transpose(graph, g, channels, outputs);
    return rlx_conv_blocking_direct(graph, g, channels, outputs);
}

static rlx_expr_t flops_of(rlx_graph_t *graph, const rlx_op_t *op, const conv_shape_t *s)
{
    const rlx_value_t *positions = op->kind == RLX_OP_conv ? op->out[0] : op->in[0];
    int64_t per_position = 2 * s->kernel[0] * s->kernel[1] * (s->channels / s->group) * (s->outputs / s->group) * s->group;
    rlx_expr_t count = positions->dims[0];

    for (int i = 2; i < positions->rank; ++i)
        count = rlx_expr_mul(graph->exprs, count, positions->dims[i]);
    return rlx_expr_mul(graph->exprs, count, rlx_expr_const(graph->exprs, per_position));
}

static void operands_add(rlx_builder_t *builder, rlx_step_t *step, const rlx_op_t *op, const conv_shape_t *s, rlx_conv_form_t form,
                         const rlx_conv_geometry_t *g, const rlx_value_t *x)
{
    rlx_step_in(step, x);
    rlx_step_in(step, weight_pack(builder, op, s, form, g));
    rlx_step_in(step, rlx_conv_bias_const(builder, op, s->outputs));
    rlx_step_out(step, op->out[0]);
}

static rlx_status_t lower_depthwise(rlx_builder_t *builder, const rlx_op_t *op, const conv_shape_t *s, const rlx_conv_geometry_t *g,
                                    rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_conv_blocking_t b = blocking_of(graph, g, s, RLX_CONV_DEPTHWISE);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_conv_depthwise_c16, RLX_WORDS(rlx_conv_depthwise_c16_params_t));
    rlx_expr_t planes = rlx_expr_mul(e, op->in[0]->dims[0], rlx_expr_const(e, (s->channels + 15) / 16));

    operands_add(builder, step, op, s, RLX_CONV_DEPTHWISE, g, op->in[0]);
    rlx_step_param(step, RLX_WORD(rlx_conv_depthwise_c16_params_t, batch), op->in[0]->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_depthwise_c16_params_t, channels), s->channels);
    rlx_conv_geometry_params(graph, g, step, RLX_WORD(rlx_conv_depthwise_c16_params_t, window));
    rlx_step_param(step, RLX_WORD(rlx_conv_depthwise_c16_params_t, rows), b.rows);
    RLX_TRY(rlx_epilogue_encode(step, RLX_WORD(rlx_conv_depthwise_c16_params_t, epilogue), 3, rlx_conv_epilogue(op), diag));
    return rlx_step_end(step, rlx_expr_mul(e, planes, b.blocks), b.scratch, flops_of(graph, op, s), diag);
}

/* The step that gathers the input; `*out_x` is what it makes. */
static rlx_status_t gather_lower(rlx_builder_t *builder, const rlx_op_t *op, const conv_shape_t *s, const rlx_conv_geometry_t *g,
                                 const rlx_conv_blocking_t *b, const rlx_value_t **out_x, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t images = rlx_expr_mul(e, op->in[0]->dims[0], rlx_expr_const(e, s->group)), floats = rlx_expr_mul(e, images, b->floats);
    rlx_value_t *made = rlx_builder_temp(builder, RLX_F32, 1, &floats, RLX_LAYOUT_ROW_MAJOR);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_conv_gather_c16, RLX_WORDS(rlx_conv_gather_c16_params_t));
    rlx_expr_t blocks = rlx_expr_mul(e, images, rlx_expr_const(e, (s->channels / s->group + 15) / 16));

    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, made);
    rlx_step_param(step, RLX_WORD(rlx_conv_gather_c16_params_t, batch), op->in[0]->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_gather_c16_params_t, group), s->group);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_gather_c16_params_t, channels), s->channels);
    rlx_conv_geometry_params(graph, g, step, RLX_WORD(rlx_conv_gather_c16_params_t, window));
    rlx_step_param(step, RLX_WORD(rlx_conv_gather_c16_params_t, row_tiles), b->lines);
    *out_x = made;
    return rlx_step_end(step, rlx_expr_mul(e, blocks, b->lines), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

rlx_status_t rlx_conv_lower_c16(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_conv_form_t form = rlx_conv_form(graph, op);
    rlx_conv_geometry_t read = rlx_conv_geometry_of(graph, op), g = rlx_conv_geometry_plane(graph, &read);
    rlx_conv_blocking_t b;
    conv_shape_t s;
    rlx_step_t *step;
    rlx_expr_t tiles;
    const rlx_value_t *x = op->in[0];

    if (form == RLX_CONV_PLAIN || form == RLX_CONV_WIDTH || !shape_read(graph, op, &s))
        return rlx_shape_fail(diag, op, RLX_E_INTERNAL, "blocked layout on a convolution without a blocked kernel");
    if (form == RLX_CONV_WINOGRAD)
        return rlx_winograd_lower_c16(builder, op, diag);
    if (form == RLX_CONV_DEPTHWISE)
        return lower_depthwise(builder, op, &s, &g, diag);
    if (form == RLX_CONV_GROUP)
        return rlx_conv_lower_group(builder, op, &g, rlx_conv_bias_const(builder, op, s.outputs), flops_of(graph, op, &s), diag);
    b = blocking_of(graph, &g, &s, form);
    if (b.gathered)
        RLX_TRY(gather_lower(builder, op, &s, &g, &b, &x, diag));
    step = rlx_step_begin(builder, op, kernel_of(form), RLX_WORDS(rlx_conv_c16_params_t));
    operands_add(builder, step, op, &s, form, &g, x);
    rlx_step_param(step, RLX_WORD(rlx_conv_c16_params_t, batch), op->in[0]->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_c16_params_t, group), s.group);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_c16_params_t, channels), s.channels);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_c16_params_t, outputs), s.outputs);
    rlx_conv_geometry_params(graph, &g, step, RLX_WORD(rlx_conv_c16_params_t, window));
    rlx_step_param(step, RLX_WORD(rlx_conv_c16_params_t, rows), b.rows);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_c16_params_t, blocks), b.range);
    rlx_step_param_const(step, RLX_WORD(rlx_conv_c16_params_t, gathered), b.gathered);
    RLX_TRY(rlx_epilogue_encode(step, RLX_WORD(rlx_conv_c16_params_t, epilogue), 3, rlx_conv_epilogue(op), diag));
    tiles = rlx_expr_mul(e, rlx_expr_mul(e, op->in[0]->dims[0], rlx_expr_const(e, s.group * b.ranges)), b.blocks);
    return rlx_step_end(step, tiles, b.scratch, flops_of(graph, op, &s), diag);
}
