/* Demands on the convolution in columns: tiles of pixels and outputs, threads, order, registers. See ir/pass/demand.h, kernels/conv_width.c. */
#include <string.h>

#include "ir/pass/demand.h"
#include "kernels/conv_width.h"

#define KERNEL "conv_width"
#define SCRATCH_MOST (8 << 20) /* of gathered input and results, for a worker */

typedef struct width_shape {
    int64_t group, outputs, channels, kernel[2]; /* outputs and channels of a group */
    int64_t width;                               /* -1: open */
} width_shape_t;

static width_shape_t shape_of(const rlx_demand_read_t *read)
{
    width_shape_t s = {.group = rlx_op_int(read->op, "group"), .width = rlx_loop_extent(read->graph, read->op, "width")};
    int64_t dims[RLX_RANK_MAX];
    int rank = read->op->in[1]->rank;

    rlx_value_dims_const(read->graph, read->op->in[1], dims);
    s.outputs = dims[0] / s.group;
    s.channels = dims[1];
    s.kernel[0] = rank == 4 ? dims[2] : 1;
    s.kernel[1] = dims[rank - 1];
    return s;
}

static bool refuse_tile(rlx_demand_read_t *read, const char *expected, const char *hint, const char *what, int64_t found)
{
    return rlx_demand_refuse(read, RLX_E_TILE_REFUSED, expected, hint, "the %s is %lld", what, (long long)found);
}

static bool weight_tile(rlx_demand_read_t *read, const width_shape_t *s)
{
    const rlx_tile_t *tile = &read->note->tile_layout.weight;

    if (tile->n == 0)
        return true;
    for (int i = 2; i < tile->n; i++)
        if (tile->logical[i] != s->kernel[i - 2 + (tile->n == 3)])
            return refuse_tile(read, "all cells of the kernel", "Rule: the sum over the kernel's cells is one chain, which no tile may cut.",
                               "extent of the weight tile along the kernel", tile->logical[i]);
    if (tile->logical[1] != s->channels)
        return refuse_tile(read, "all input channels of a group", "Rule: the sum over input channels stays in registers, as one chain.",
                           "number of input channels of the weight tile", tile->logical[1]);
    read->demand.block = tile->logical[0] <= s->outputs ? tile->logical[0] : s->outputs;
    return true;
}

static bool output_tile(rlx_demand_read_t *read, const width_shape_t *s)
{
    const rlx_tile_t *tile = &read->note->tile_layout.output;

    if (tile->n == 0)
        return true;
    if (tile->logical[0] != 1)
        return refuse_tile(read, "1", "Rule: a tile belongs to one image, so that images may be batched.", "number of images of the output tile",
                           tile->logical[0]);
    if (s->group > 1 && tile->logical[1] != s->outputs * s->group && tile->logical[1] > s->outputs)
        return refuse_tile(read, "all output channels, or at most a group's", "Rule: a tile of work belongs to one group.",
                           "number of output channels of the output tile", tile->logical[1]);
    read->demand.outputs = tile->logical[1] < s->outputs ? tile->logical[1] : 0;
    read->demand.rows = tile->n == 4 ? tile->logical[2] : 0;
    read->demand.columns = tile->logical[tile->n - 1];
    if (read->demand.outputs > 0 && read->demand.block > 0 && read->demand.outputs % read->demand.block != 0)
        return refuse_tile(read, "a multiple of the weight tile's", "Rule: the weight tile is the inner block, the output tile the outer one.",
                           "number of output channels of the output tile", tile->logical[1]);
    return true;
}

/* Where only the input's tile is given. */
static bool input_tile(rlx_demand_read_t *read, const width_shape_t *s)
{
    const rlx_tile_t *tile = &read->note->tile_layout.input;

    if (tile->n == 0)
        return true;
    if (tile->logical[1] != s->channels * s->group && tile->logical[1] != s->channels)
        return refuse_tile(read, "all input channels", "Rule: the sum over input channels stays in registers, as one chain.",
                           "number of input channels of the input tile", tile->logical[1]);
    for (int i = 2; read->note->tile_layout.output.n == 0 && i < tile->n; i++) {
        int64_t stride = rlx_op_ints_at(read->op, "strides", i - 2, 1);

        if (tile->logical[i] % stride != 0)
            return refuse_tile(read, "a multiple of the stride", "Rule: tiles have no halo: an output tile of 8 at stride 2 reads an input tile of 16.",
                               "extent of the input tile", tile->logical[i]);
        *(i == tile->n - 1 ? &read->demand.columns : &read->demand.rows) = tile->logical[i] / stride;
    }
    return true;
}

/* Planes of a tile must fit what a worker has. In floating point: a tile of an open extent may have any size. */
static bool tile_fits(rlx_demand_read_t *read, const width_shape_t *s)
{
    double bytes = 4.0 * (double)s->channels;

    for (int i = 0; i < 2; i++) {
        int axis = read->op->in[1]->rank == 4 ? i : i - 1;
        int64_t size = i == 0 ? read->demand.rows : read->demand.columns;

        if (axis < 0)
            continue;
        bytes *= (double)(size > 0 ? size : 1) * (double)rlx_op_ints_at(read->op, "strides", axis, 1) +
                 (double)(s->kernel[i] - 1) * (double)rlx_op_ints_at(read->op, "dilations", axis, 1);
    }
    if (bytes <= SCRATCH_MOST)
        return true;
    return refuse_tile(read, "at most 8 MiB of input", "Rule: the input of a tile is gathered near the worker; take fewer rows or columns.",
                       "size of the tile's input in KiB", bytes / 1024 < 9e18 ? (int64_t)(bytes / 1024) : INT64_MAX);
}

/* Where output channels stand among the loops: outside the rows, between rows and columns, or inside. */
static bool order_read(rlx_demand_read_t *read, const width_shape_t *s)
{
    static const char *const inside[] = {"batch", "height", "width", "output_channel", "input_channel", "kernel_height", "kernel_width", NULL},
                             *const between[] = {"batch", "height", "output_channel", "width", "input_channel", "kernel_height", "kernel_width", NULL},
                             *const outside[] = {"batch", "output_channel", "height", "width", "input_channel", "kernel_height", "kernel_width", NULL};
    static const char *const *const nests[] = {outside, between, inside};
    bool has_outputs = rlx_names_have(&read->note->schedule.loop_order, "output_channel");

    for (int i = 0; i < 3; i++) {
        if (!rlx_demand_order(read, nests[i], KERNEL))
            continue;
        read->demand.outputs_outside = has_outputs && i == 0;
        if (has_outputs && i < 2 && read->demand.outputs == 0 && s->group == 1)
            read->demand.outputs = read->demand.block > 0 ? read->demand.block : s->outputs > 16 ? 16 : 0;
        return true;
    }
    return rlx_demand_order(read, inside, KERNEL);
}

static bool parallel_read(rlx_demand_read_t *read, const width_shape_t *s)
{
    static const char *const spread[] = {"batch", "height", "output_channel", NULL}, *const kept[] = {"height", "output_channel", NULL},
                             *const kept_grouped[] = {"height", NULL};
    bool together[2] = {false, false};

    if (!rlx_demand_parallel(read, spread, s->group == 1 ? kept : kept_grouped, together, KERNEL))
        return false;
    read->demand.rows_together = together[0];
    if (together[1])
        read->demand.outputs = 0;
    else if (rlx_names_have(&read->note->schedule.parallel_dims, "output_channel") && read->demand.outputs == 0)
        read->demand.outputs = read->demand.block > 0 && read->demand.block < s->outputs ? read->demand.block : s->outputs > 16 ? 16 : 0;
    return true;
}

static bool unroll_refuse(rlx_demand_read_t *read, const char *hint, const char *dim, int64_t by)
{
    return rlx_demand_refuse(read, RLX_E_UNROLL_REFUSED,
                             "at most width 5 with 1 output channel, 3 with 2, 2 with 3, 1 with 4", hint, KERNEL " cannot unroll '%s' by %lld", dim,
                             (long long)by);
}

/* The register tile: vectors of 16 columns times output channels. */
static bool unroll_read(rlx_demand_read_t *read, const width_shape_t *s)
{
    static const int64_t most[] = {RLX_WIDTH_VECTORS_1, RLX_WIDTH_VECTORS_1, RLX_WIDTH_VECTORS_2, RLX_WIDTH_VECTORS_3, RLX_WIDTH_VECTORS_4};
    const rlx_compute_schedule_t *schedule = &read->note->schedule;
    int64_t vectors = 0, outputs = 0, columns = read->demand.columns > 0 ? read->demand.columns : s->width;
    int64_t block = read->demand.block > 0 ? read->demand.block : s->outputs <= 16 ? s->outputs : 16;

    for (int i = 0; i < schedule->unroll_dims.n; i++) {
        const char *dim = schedule->unroll_dims.name[i];

        if (strcmp(dim, "width") == 0)
            vectors = schedule->unroll[i];
        else if (strcmp(dim, "output_channel") == 0)
            outputs = schedule->unroll[i];
        else if (schedule->unroll[i] != 1)
            return unroll_refuse(read, "Rule: a register tile is vectors of columns times output channels; other loops stay loops.", dim,
                                 schedule->unroll[i]);
    }
    if (outputs > RLX_WIDTH_OUTPUTS_MOST || vectors > most[outputs > 0 ? outputs : 1])
        return unroll_refuse(read, "Rule: the register tile must fit the smallest register file among the CPU targets.",
                             outputs > RLX_WIDTH_OUTPUTS_MOST ? "output_channel" : "width", outputs > RLX_WIDTH_OUTPUTS_MOST ? outputs : vectors);
    if (outputs > 0 && block % outputs != 0)
        return unroll_refuse(read, "Rule: the unrolled output channels must divide the block of weights.", "output_channel", outputs);
    if (vectors > 0 && columns > 0 && (columns + 15) / 16 % vectors != 0)
        return unroll_refuse(read, "Rule: the unrolled vectors must divide those of a row of the tile.", "width", vectors);
    read->demand.unroll_outputs = outputs > 0 ? outputs : vectors > 0;
    read->demand.unroll_width = vectors > 0 ? vectors : outputs > 0 ? most[outputs] : 0;
    return true;
}

bool rlx_demand_width(rlx_demand_read_t *read)
{
    static const char *const coalesce[] = {"vector", "row", NULL};
    width_shape_t s = shape_of(read);

    return rlx_demand_coalesce(read, coalesce, KERNEL) && weight_tile(read, &s) && output_tile(read, &s) && input_tile(read, &s) &&
           tile_fits(read, &s) && order_read(read, &s) && parallel_read(read, &s) && unroll_read(read, &s);
}
