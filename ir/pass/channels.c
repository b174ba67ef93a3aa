/* Channel shuffles without a copy. A shuffle (reshape, transpose of two axes, reshape) in front of a convolution in groups becomes the order
 * in which that convolution reads its channels (attribute `channels`); depthwise convolutions in between take their filters in the order
 * of the channels that they now see. Keeps every bit: channels change places, not arithmetic. */
#include <string.h>

#include "ir/operator/conv_operands.h"
#include "ir/pass.h"

#define DEPTH_MAX 4

/* `value` has the channels of the result in another order: its channel perm[i] is channel i. */
static rlx_value_t *match_shuffle(const rlx_graph_t *graph, const rlx_value_t *value, int64_t *out_count, int64_t *out_inner)
{
    rlx_op_t *merge = rlx_value_made_by(value, RLX_OP_reshape), *swap, *split;
    rlx_value_t *x, *parts;
    int64_t channels, outer, inner;

    swap = merge != NULL ? rlx_value_made_by(merge->in[0], RLX_OP_transpose) : NULL;
    split = swap != NULL ? rlx_value_made_by(swap->in[0], RLX_OP_reshape) : NULL;
    if (split == NULL)
        return NULL;
    x = split->in[0];
    parts = split->out[0];
    if (x->rank < 3 || x->rank > 4 || parts->rank != x->rank + 1 || value->rank != x->rank || x->dims[0] != parts->dims[0] ||
        !rlx_expr_is_const(graph->exprs, x->dims[1], &channels) || !rlx_expr_is_const(graph->exprs, parts->dims[1], &outer) ||
        !rlx_expr_is_const(graph->exprs, parts->dims[2], &inner) || outer * inner != channels)
        return NULL;
    for (int i = 0; i < x->rank; ++i)
        if (value->dims[i] != x->dims[i] || (i >= 2 && x->dims[i] != parts->dims[i + 1]))
            return NULL;
    for (int i = 0; i < parts->rank; ++i)
        if (rlx_op_ints_at(swap, "perm", i, -1) != (i == 1 ? 2 : i == 2 ? 1 : i))
            return NULL;
    *out_count = channels;
    *out_inner = inner;
    return x;
}

/* A depthwise convolution that nothing else reads and no tensor is added to. */
static bool is_passage(const rlx_graph_t *graph, const rlx_op_t *op)
{
    const rlx_epilogue_t *epilogue;

    if (op == NULL || op->kind != RLX_OP_conv || op->out[0]->n_uses != 1 || rlx_conv_form(graph, op) != RLX_CONV_DEPTHWISE)
        return false;
    epilogue = rlx_conv_epilogue(op);
    for (int i = 0; epilogue != NULL && i < epilogue->n_steps; ++i)
        if (epilogue->steps[i].tensor != NULL)
            return false;
    return true;
}

/* Row i of the constant operand becomes row perm[i]. */
static void rows_place(rlx_graph_t *graph, rlx_op_t *op, int index, const int64_t *perm)
{
    const rlx_value_t *value = op->in[index];
    int64_t dims[RLX_RANK_MAX], row = (int64_t)sizeof(float);
    char *data;

    rlx_value_dims_const(graph, value, dims);
    for (int i = 1; i < value->rank; ++i)
        row *= dims[i];
    data = rlx_graph_alloc(graph, (size_t)(row * dims[0]));
    for (int64_t i = 0; i < dims[0]; ++i)
        memcpy(data + perm[i] * row, (const char *)value->data + i * row, (size_t)row);
    rlx_op_set_input(op, index, rlx_graph_const(graph, value->name, RLX_F32, value->rank, dims, data, true));
}

static void sink(rlx_graph_t *graph, rlx_op_t *op)
{
    rlx_op_t *passage[DEPTH_MAX];
    rlx_value_t *at = op->in[0], *x;
    int64_t count, inner, *perm;
    int depth = 0;

    while (depth < DEPTH_MAX && at->producer != NULL && is_passage(graph, at->producer)) {
        passage[depth++] = at->producer;
        at = at->producer->in[0];
    }
    x = match_shuffle(graph, at, &count, &inner);
    if (x == NULL)
        return;
    perm = rlx_graph_alloc(graph, (size_t)count * sizeof *perm);
    for (int64_t i = 0; i < count; ++i)
        perm[i] = i % (count / inner) * inner + i / (count / inner);
    for (int i = 0; i < depth; ++i) {
        rows_place(graph, passage[i], 1, perm);
        if (rlx_conv_operand(passage[i], 2) != NULL)
            rows_place(graph, passage[i], 2, perm);
    }
    rlx_op_set_input(depth > 0 ? passage[depth - 1] : op, 0, x);
    rlx_op_set_ints(graph, op, "channels", perm, (int)count);
}

void rlx_channels_sink(rlx_graph_t *graph)
{
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next)
        if (op->kind == RLX_OP_conv && rlx_op_attr(op, "channels") == NULL && rlx_conv_form(graph, op) == RLX_CONV_GROUP)
            sink(graph, op);
    rlx_pass_dead_code(graph);
}
