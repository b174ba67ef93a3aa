/* Demands on convolutions. See ir/pass/demand.h.
 *
 * Which kernel takes an op follows from what is asked of its lanes; where nothing is, from the kernel that the compiler would choose, and if that
 * one cannot obey, from the convolution in columns, which can be cut most finely. */
#include <string.h>

#include "ir/cost/conv_algorithm.h"
#include "ir/pass/demand.h"
#include "ir/pass/layout_demand.h"

#define ROWS_MOST 65536

/* What a kernel offers: the nest of its loops, what it spreads over threads, which of that it can keep together. */
typedef struct offer {
    rlx_conv_form_t form;
    const char *kernel;
    const char *nest[10], *spread[5], *kept[3], *coalesce[3];
    bool tiles; /* rows and blocks of output channels can be given */
} offer_t;

static const offer_t offers[] = {
    {RLX_CONV_DIRECT, "conv_c16", {"batch", "height", "output_channel", "input_channel", "width", "kernel_height", "kernel_width"},
     {"batch", "height", "output_channel"}, {"height", "output_channel"}, {"vector", "block"}, true},
    {RLX_CONV_FIRST, "conv_first_c16", {"batch", "height", "output_channel", "width", "kernel_height", "kernel_width", "input_channel"},
     {"batch", "height"}, {"height"}, {"vector", "row"}, true},
    {RLX_CONV_DEPTHWISE, "conv_depthwise_c16", {"batch", "height", "output_channel", "width", "kernel_height", "kernel_width", "input_channel"},
     {"batch", "height", "output_channel"}, {"height"}, {"vector", "block"}, true},
    {RLX_CONV_GROUP, "conv_group_c16", {"batch", "height", "output_channel", "width", "input_channel", "kernel_height", "kernel_width"},
     {"batch", "height"}, {NULL}, {"vector", "block"}, false},
    {RLX_CONV_WINOGRAD, "conv_winograd_c16", {"batch", "height", "width", "output_channel", "input_channel"},
     {"batch", "height", "width", "output_channel"}, {NULL}, {"vector", "block"}, false},
    {RLX_CONV_PLAIN, "conv_plain", {"batch", "output_channel", "depth", "height", "input_channel", "kernel_depth", "kernel_height", "kernel_width",
     "width"}, {"batch", "output_channel", "depth", "height"}, {NULL}, {"vector", "row"}, false},
};

static const offer_t *offer_of(rlx_conv_form_t form)
{
    for (size_t i = 0; i < sizeof offers / sizeof *offers; i++)
        if (offers[i].form == form)
            return &offers[i];
    return NULL;
}

/* What the kernels ask of a convolution's operands, and this one lacks; NULL: nothing. */
static const char *lack_of(const rlx_op_t *op)
{
    const rlx_value_t *bias = rlx_conv_operand(op, 2);

    if (op->in[0]->dtype != RLX_F32)
        return "the tensors are not f32";
    if (op->in[0]->rank > 4)
        return "there are three axes of space";
    if (op->in[1]->data == NULL || (bias != NULL && bias->data == NULL))
        return "weights or bias are computed when the model runs";
    return "its groups or its padding fit no blocked kernel";
}

/* What the lanes hold. `*out_form` is the form that follows. */
static bool lanes_read(rlx_demand_read_t *read, rlx_conv_form_t *out_form)
{
    const char *dim = read->note->schedule.vectorize_dim;
    const rlx_op_t *op = read->op;

    *out_form = rlx_conv_form(read->graph, op);
    if (dim == NULL && rlx_layout_is_hwio(op->in[1]) && rlx_conv_algorithm(op) == RLX_CONV_ALGORITHM_DIRECT)
        dim = "width";
    if (dim == NULL)
        return true;
    if (strcmp(dim, "width") != 0 && strcmp(dim, "output_channel") != 0)
        return rlx_demand_refuse(read, RLX_E_VECTORIZE_REFUSED, "width or output_channel",
                                 "Rule: lanes hold neighbours in memory, and rows end at the width, blocks at the channel.",
                                 "a convolution cannot have '%s' in its lanes", dim);
    if (rlx_conv_algorithm(op) != RLX_CONV_ALGORITHM_DIRECT && dim[0] == 'w')
        return rlx_demand_refuse(read, RLX_E_VECTORIZE_REFUSED, "output_channel",
                                 "Rule: the algorithm is part of the result's bits, and a schedule changes none. Write algorithm=\"direct\" on the "
                                 "operator, or compile with --accuracy direct.",
                                 "%s has channels in its lanes, not 'width'", rlx_conv_algorithm_name(rlx_conv_algorithm(op)));
    read->demand.lanes = dim[0] == 'w' ? RLX_LANES_WIDTH : RLX_LANES_CHANNEL;
    rlx_op_schedule(read->graph, (rlx_op_t *)(uintptr_t)op)->demand.lanes = read->demand.lanes;
    *out_form = rlx_conv_form(read->graph, op);
    if (dim[0] != 'w' && (*out_form == RLX_CONV_PLAIN || *out_form == RLX_CONV_WIDTH))
        return rlx_demand_refuse(read, RLX_E_VECTORIZE_REFUSED, "width", "Rule: channels fill lanes in blocks of 16, for f32 and constant weights.",
                                 "'output_channel' cannot be in the lanes: %s", lack_of(op));
    return true;
}

static bool tile_refuse(rlx_demand_read_t *read, const char *expected, const char *hint, const char *what, int64_t found)
{
    return rlx_demand_refuse(read, RLX_E_TILE_REFUSED, expected, hint, "the %s is %lld", what, (long long)found);
}

/* The sum over the kernel's cells is one chain: a tile has them all. */
static bool weight_tile_whole(rlx_demand_read_t *read, const rlx_tile_t *tile)
{
    int64_t dims[RLX_RANK_MAX];

    rlx_value_dims_const(read->graph, read->op->in[1], dims);
    for (int i = 2; i < tile->n; i++)
        if (tile->logical[i] != dims[i])
            return tile_refuse(read, "all cells of the kernel", "Rule: the sum over the kernel's cells is one chain, which no tile may cut.",
                               "extent of the weight tile along the kernel", tile->logical[i]);
    return true;
}

/* Rows of the output tile, from the input's where only that is given; 0: neither is. */
static int64_t rows_asked(const rlx_demand_read_t *read)
{
    const rlx_tile_layout_t *tiles = &read->note->tile_layout;
    int64_t stride = rlx_op_ints_at(read->op, "strides", 0, 1);

    if (read->op->in[0]->rank < 4)
        return 0;
    if (tiles->output.n > 0)
        return tiles->output.logical[2];
    return tiles->input.n > 0 ? (tiles->input.logical[2] + stride - 1) / stride : 0;
}

/* Tiles of whole rows and blocks of 16 channels. */
static bool blocked_tiles(rlx_demand_read_t *read, const offer_t *offer)
{
    const rlx_tile_layout_t *tiles = &read->note->tile_layout;
    const rlx_value_t *y = read->op->out[0];
    int64_t width = rlx_loop_extent(read->graph, read->op, "width"), dims[RLX_RANK_MAX], o, blocks = 0;

    rlx_value_dims_const(read->graph, read->op->in[1], dims);
    if (tiles->output.n > 0 && tiles->output.logical[y->rank - 1] != width)
        return tile_refuse(read, "whole rows", "Rule: with channels in the lanes a tile is whole rows; vectorize_dim=\"width\" can cut them.",
                           "width of the output tile", tiles->output.logical[y->rank - 1]);
    o = tiles->output.n > 0 ? tiles->output.logical[1] : dims[0];
    if (o != dims[0] && (o % 16 != 0 || offer->form == RLX_CONV_FIRST || (offer->form == RLX_CONV_DEPTHWISE && o != 16)))
        return tile_refuse(read, offer->form == RLX_CONV_DIRECT ? "a multiple of 16, or all" : "all",
                           "Rule: output channels come in blocks of 16; only conv_c16 computes some of the blocks for a tile.",
                           "number of output channels of the output tile", o);
    blocks = o != dims[0] ? o / 16 : 0;
    if (tiles->weight.n > 0 && tiles->weight.logical[0] != 16 && tiles->weight.logical[0] != dims[0])
        return tile_refuse(read, "16, or all", "Rule: weights are blocks of 16 output channels; vectorize_dim=\"width\" takes any number.",
                           "number of output channels of the weight tile", tiles->weight.logical[0]);
    if (tiles->weight.n > 0 && tiles->weight.logical[1] != dims[1] && tiles->weight.logical[1] % 16 != 0)
        return tile_refuse(read, "a multiple of 16, or all", "Rule: a sum runs over blocks of 16 input channels, in order.",
                           "number of input channels of the weight tile", tiles->weight.logical[1]);
    read->demand.rows = rows_asked(read);
    if (read->demand.rows > ROWS_MOST)
        return tile_refuse(read, "at most 65536", "Rule: the input of a tile is gathered near the worker.", "number of rows of the output tile",
                           read->demand.rows);
    read->demand.outputs = offer->form == RLX_CONV_DIRECT ? blocks * 16 : 0;
    return true;
}

static bool batch_is_one(rlx_demand_read_t *read)
{
    const rlx_tile_layout_t *tiles = &read->note->tile_layout;

    if (tiles->output.n > 0 && tiles->output.logical[0] != 1)
        return tile_refuse(read, "1", "Rule: a tile belongs to one image, so that images may be batched.", "number of images of the output tile",
                           tiles->output.logical[0]);
    return true;
}

static bool input_tile_whole(rlx_demand_read_t *read)
{
    const rlx_tile_t *tile = &read->note->tile_layout.input;
    int64_t channels;

    if (tile->n == 0 || !rlx_expr_is_const(read->graph->exprs, read->op->in[0]->dims[1], &channels) || tile->logical[1] == channels)
        return true;
    if (tile->logical[1] % 16 == 0)
        return true;
    return tile_refuse(read, "a multiple of 16, or all", "Rule: a sum runs over blocks of 16 input channels, in order.",
                       "number of input channels of the input tile", tile->logical[1]);
}

/* Everything but the lanes, of a form with blocks of channels. */
static bool blocked_read(rlx_demand_read_t *read, const offer_t *offer)
{
    const rlx_tile_layout_t *tiles = &read->note->tile_layout;
    bool together[2] = {false, false};

    if (!rlx_demand_coalesce(read, offer->coalesce, offer->kernel) || !rlx_demand_order(read, offer->nest, offer->kernel) ||
        !rlx_demand_no_unroll(read, offer->kernel) || !rlx_demand_parallel(read, offer->spread, offer->kept, together, offer->kernel))
        return false;
    read->demand.rows_together = together[0];
    read->demand.outputs_together = together[1];
    read->demand.outputs_apart = rlx_names_have(&read->note->schedule.parallel_dims, "output_channel");
    if (tiles->input.n + tiles->weight.n + tiles->output.n == 0)
        return true;
    if (!offer->tiles)
        return rlx_demand_no_tiles(read, offer->kernel);
    return batch_is_one(read) && weight_tile_whole(read, &tiles->weight) && input_tile_whole(read) && blocked_tiles(read, offer);
}

static bool form_read(rlx_demand_read_t *read, rlx_conv_form_t form)
{
    return form == RLX_CONV_WIDTH ? rlx_demand_width(read) : blocked_read(read, offer_of(form));
}

bool rlx_demand_conv(rlx_demand_read_t *read)
{
    rlx_refusal_t why;
    rlx_conv_form_t form;

    if (!lanes_read(read, &form))
        return false;
    if (form_read(read, form))
        return true;
    if (read->demand.lanes != RLX_LANES_CHOSEN || form == RLX_CONV_WIDTH)
        return false;
    why = read->why;
    read->demand = (rlx_demand_t){.lanes = RLX_LANES_WIDTH};
    rlx_op_schedule(read->graph, (rlx_op_t *)(uintptr_t)read->op)->demand.lanes = RLX_LANES_WIDTH;
    if (rlx_conv_form(read->graph, read->op) == RLX_CONV_WIDTH && rlx_demand_width(read))
        return true;
    read->why = why;
    return false;
}
