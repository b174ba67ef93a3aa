/* Transposed convolutions whose kernel is as large as their stride: every output meets one kernel cell, so they are a 1x1 convolution to
 * (output, cell) channels and depth_to_space. Same bits: an output has the same products in the same order. Done for a few outputs only,
 * where blocks of output channels would be almost empty. */
#include "ir/pass.h"

#define OUTPUTS_MAX 4
#define BLOCK_MAX 8

typedef struct subpixel {
    int64_t channels, outputs, block;
} subpixel_t;

static bool match(const rlx_graph_t *graph, const rlx_op_t *op, subpixel_t *out)
{
    const rlx_value_t *weight = op->in[1], *bias = rlx_op_in(op, 2);
    int64_t dims[RLX_RANK_MAX];

    if (op->kind != RLX_OP_conv_transpose || op->out[0]->dtype != RLX_F32 || weight->rank != 4 || weight->data == NULL ||
        (bias != NULL && bias->data == NULL) || rlx_op_int(op, "group") != 1 || !rlx_value_dims_const(graph, weight, dims) ||
        dims[1] > OUTPUTS_MAX || dims[2] != dims[3] || dims[2] < 2 || dims[2] > BLOCK_MAX)
        return false;
    for (int i = 0; i < 2; ++i)
        if (rlx_op_ints_at(op, "strides", i, 1) != dims[2] || rlx_op_ints_at(op, "dilations", i, 1) != 1 ||
            rlx_op_ints_at(op, "output_padding", i, 0) != 0)
            return false;
    for (int i = 0; i < 4 && op->pads != NULL; ++i)
        if (!rlx_expr_is(graph->exprs, op->pads[i], 0))
            return false;
    *out = (subpixel_t){.channels = dims[0], .outputs = dims[1], .block = dims[2]};
    return true;
}

/* [channels][outputs][cells] to [outputs * cells][channels]. */
static rlx_value_t *weight_turn(rlx_graph_t *graph, const rlx_value_t *value, const subpixel_t *s)
{
    int64_t rows = s->outputs * s->block * s->block, dims[4] = {rows, s->channels, 1, 1};
    float *data = rlx_graph_alloc(graph, (size_t)(rows * s->channels) * sizeof *data);

    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < s->channels; ++c)
            data[r * s->channels + c] = ((const float *)value->data)[c * rows + r];
    return rlx_graph_const(graph, value->name, RLX_F32, 4, dims, data, true);
}

static rlx_value_t *bias_repeat(rlx_graph_t *graph, const rlx_value_t *value, const subpixel_t *s)
{
    int64_t cells = s->block * s->block, count = s->outputs * cells;
    float *data = rlx_graph_alloc(graph, (size_t)count * sizeof *data);

    for (int64_t i = 0; i < count; ++i)
        data[i] = ((const float *)value->data)[i / cells];
    return rlx_graph_const(graph, value->name, RLX_F32, 1, &count, data, true);
}

static rlx_status_t rewrite(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *bias = rlx_op_in(op, 2);
    rlx_value_t *in[3] = {op->in[0]}, *made, *out = op->out[0];
    rlx_op_t *shuffle;
    subpixel_t s;

    if (!match(graph, op, &s))
        return RLX_OK;
    in[1] = weight_turn(graph, op->in[1], &s);
    if (bias != NULL)
        in[2] = bias_repeat(graph, bias, &s);
    made = rlx_graph_insert(graph, op, RLX_OP_conv, op, bias != NULL ? 3 : 2, in, diag);
    if (made == NULL)
        return diag->status;
    out->producer = NULL; /* changes hands */
    shuffle = rlx_graph_op(graph, op, RLX_OP_depth_to_space, op->name, 1, &made, 1, &out);
    shuffle->source = op->source;
    rlx_op_set_int(graph, shuffle, "blocksize", s.block);
    rlx_op_set_string(graph, shuffle, "mode", "CRD");
    op->out[0] = NULL;
    rlx_graph_remove(graph, op);
    return rlx_op_infer(graph, shuffle, diag);
}

rlx_status_t rlx_pass_subpixel(rlx_graph_t *graph, rlx_diag_t *diag)
{
    rlx_op_t *next;

    for (rlx_op_t *op = graph->first; op != NULL; op = next) {
        next = op->next;
        if (rewrite(graph, op, diag) != RLX_OK)
            return rlx_diag_at(diag, "%s", op->source);
    }
    return RLX_OK;
}
