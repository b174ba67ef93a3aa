/* Propagation of the blocked layout C16. Convolutions and pools start it; element-wise ops, channel concats and splits, reductions over space,
 * response norms and resizes carry it on; everything else reads row-major. A reorder stands only where the two meet, once per value and
 * direction. Keeps every bit: layouts move elements, orders of reduction are logical.
 *
 * One forward walk: an op sees the layouts its operands already have. */
#include <string.h>

#include "base/assert.h"
#include "ir/operator/conv_operands.h"
#include "ir/pass/layout_demand.h"
#include "ir/pass/layout_support.h"
#include "ir/pass.h"
#include "ir/operator/quant.h"
#include "ir/operator/reduce_axes.h"

typedef struct layouts {
    rlx_graph_t *graph;
    rlx_diag_t *diag;
    rlx_value_t **other; /* by value id and layout: the same tensor in that layout, or NULL */
    int cap;             /* of values */
} layouts_t;

static bool blockable(const rlx_value_t *value)
{
    return value != NULL && value->dtype == RLX_F32 && (value->rank == 3 || value->rank == 4);
}

/* Blocked bytes: what the quant family works on. */
static bool blockable_bytes(const rlx_value_t *value)
{
    return value != NULL && value->dtype == RLX_U8 && (value->rank == 3 || value->rank == 4);
}

/* A constant [N,C,spatial...] of f32 or u8 in C16; lanes past C are zero. */
static rlx_value_t *block_constant(layouts_t *l, const rlx_value_t *value)
{
    int64_t dims[RLX_RANK_MAX], spatial = 1, blocks, size = (int64_t)rlx_dtype_size(value->dtype), bytes;
    const char *source = value->data;
    rlx_value_t *out;
    char *data;

    rlx_value_dims_const(l->graph, value, dims);
    for (int i = 2; i < value->rank; ++i)
        spatial *= dims[i];
    blocks = (dims[1] + 15) / 16;
    bytes = dims[0] * blocks * spatial * 16 * size;
    data = rlx_graph_alloc(l->graph, (size_t)bytes + 64);
    for (int64_t n = 0; n < dims[0]; ++n)
        for (int64_t c = 0; c < dims[1]; ++c)
            for (int64_t s = 0; s < spatial; ++s)
                memcpy(data + (((n * blocks + c / 16) * spatial + s) * 16 + c % 16) * size, source + ((n * dims[1] + c) * spatial + s) * size,
                       (size_t)size);
    out = rlx_graph_const(l->graph, value->name, value->dtype, value->rank, dims, data, true);
    out->layout = RLX_LAYOUT_C16;
    out->data_bytes = bytes;
    return out;
}

/* Layouts that activations may have. */
enum { LAYOUTS = 3 };
static int layout_index(rlx_layout_t layout) { return layout == RLX_LAYOUT_C16 ? 1 : layout == RLX_LAYOUT_CHANNELS_LAST ? 2 : 0; }

static rlx_value_t **other_slot(layouts_t *l, const rlx_value_t *value, rlx_layout_t layout)
{
    if ((int)value->id >= l->cap) {
        int cap = l->graph->n_values * 2 + 64;
        rlx_value_t **grown = rlx_graph_alloc(l->graph, (size_t)cap * LAYOUTS * sizeof *grown);

        if (l->cap > 0)
            memcpy(grown, l->other, (size_t)l->cap * LAYOUTS * sizeof *grown);
        l->other = grown;
        l->cap = cap;
    }
    return &l->other[(int)value->id * LAYOUTS + layout_index(layout)];
}

/* `value` in `layout`, through a reorder before `op` where needed; between blocks and channels-last through row-major. */
static rlx_value_t *as_layout(layouts_t *l, rlx_value_t *value, rlx_layout_t layout, rlx_op_t *op)
{
    rlx_value_t *made;

    if (value == NULL || value->layout == layout)
        return value;
    if (*other_slot(l, value, layout) != NULL)
        return *other_slot(l, value, layout);
    if (value->layout != RLX_LAYOUT_ROW_MAJOR && layout != RLX_LAYOUT_ROW_MAJOR)
        made = as_layout(l, as_layout(l, value, RLX_LAYOUT_ROW_MAJOR, op), layout, op);
    else if (value->data != NULL && layout == RLX_LAYOUT_C16)
        made = block_constant(l, value);
    else
        made = rlx_layout_reorder(l->graph, value, layout, op, op->source);
    *other_slot(l, value, layout) = made;
    return made;
}

static void operand_as(layouts_t *l, rlx_op_t *op, int index, rlx_layout_t layout)
{
    if (op->in[index] != NULL && op->in[index]->layout != layout)
        rlx_op_set_input(op, index, as_layout(l, op->in[index], layout, op));
}

/* How an operand of an element-wise op stands to the blocked output: blocked itself (any axis but the channels may broadcast), a scalar, or
 * neither. */
typedef enum role { ROLE_BLOCKED, ROLE_SCALAR, ROLE_MISFIT } role_t;

static role_t operand_role(const rlx_graph_t *graph, const rlx_value_t *operand, const rlx_value_t *out)
{
    int64_t count;

    if (operand->dtype != RLX_F32)
        return ROLE_MISFIT;
    if (rlx_expr_is_const(graph->exprs, rlx_value_count(graph, operand), &count) && count == 1)
        return ROLE_SCALAR;
    return operand->rank == out->rank && operand->dims[1] == out->dims[1] ? ROLE_BLOCKED : ROLE_MISFIT;
}

static bool all_f32(const rlx_op_t *op)
{
    const rlx_schedule_t *sched = op->sched;

    if (op->kind == RLX_OP_cast)
        return false;
    for (int i = 0; op->kind == RLX_OP_fused && i < sched->chain->n_steps; ++i)
        if (sched->chain->steps[i].dtype != RLX_F32)
            return false;
    return true;
}

/* A constant of lower rank, seen with leading axes of extent 1: [C,1,1] is [1,C,1,1]. */
static rlx_value_t *lift_constant(rlx_graph_t *graph, rlx_value_t *value, int rank)
{
    int64_t dims[RLX_RANK_MAX], lifted[RLX_RANK_MAX];

    rlx_value_dims_const(graph, value, dims);
    for (int i = 0; i < rank; ++i)
        lifted[i] = i < rank - value->rank ? 1 : dims[i - (rank - value->rank)];
    return rlx_graph_const(graph, value->name, value->dtype, rank, lifted, value->data, true);
}

/* Constants that vary along channels get the rank of the output, so that they can be blocked. */
static void lift_operands(layouts_t *l, rlx_op_t *op)
{
    const rlx_value_t *out = op->out[0];

    for (int i = 0; i < op->n_in; ++i) {
        rlx_value_t *value = op->in[i];

        if (value != NULL && value->data != NULL && value->layout == RLX_LAYOUT_ROW_MAJOR && value->rank == out->rank - 1 && value->rank > 1 &&
            value->dims[0] == out->dims[1])
            rlx_op_set_input(op, i, lift_constant(l->graph, value, out->rank));
    }
}

static bool elementwise_carries(layouts_t *l, rlx_op_t *op)
{
    const rlx_graph_t *graph = l->graph;
    const rlx_value_t *out = op->out[0];
    rlx_lanes_t lanes = rlx_op_demand(op)->lanes;
    bool seen = lanes == RLX_LANES_CHANNEL;

    if (lanes == RLX_LANES_WIDTH)
        return false;

    if ((rlx_op_info(op->kind)->traits & RLX_TRAIT_ELEMENTWISE) == 0 || op->n_out != 1 || !blockable(out) || !all_f32(op))
        return false;
    lift_operands(l, op);
    for (int i = 0; i < op->n_in; ++i) {
        role_t role = op->in[i] != NULL ? operand_role(graph, op->in[i], out) : ROLE_SCALAR;

        if (role == ROLE_MISFIT)
            return false;
        seen |= role == ROLE_BLOCKED && op->in[i]->layout == RLX_LAYOUT_C16;
    }
    return seen;
}

static void visit_elementwise(layouts_t *l, rlx_op_t *op)
{
    for (int i = 0; i < op->n_in; ++i)
        if (op->in[i] != NULL)
            operand_as(l, op, i, operand_role(l->graph, op->in[i], op->out[0]) == ROLE_SCALAR ? RLX_LAYOUT_ROW_MAJOR : RLX_LAYOUT_C16);
    op->out[0]->layout = RLX_LAYOUT_C16;
}

/* Element by element on channels-last tensors of one shape. */
static bool elementwise_is_last(const rlx_graph_t *graph, const rlx_op_t *op)
{
    const rlx_value_t *out = op->out[0];
    bool seen = false;

    if ((rlx_op_info(op->kind)->traits & RLX_TRAIT_ELEMENTWISE) == 0 || op->n_out != 1 || rlx_op_demand(op)->lanes != RLX_LANES_CHOSEN)
        return false;
    for (int i = 0; i < op->n_in; ++i) {
        int64_t count;

        if (op->in[i] == NULL || (rlx_expr_is_const(graph->exprs, rlx_value_count(graph, op->in[i]), &count) && count == 1))
            continue;
        if (op->in[i]->data != NULL || !rlx_value_same_shape(op->in[i], out))
            return false;
        seen |= op->in[i]->layout == RLX_LAYOUT_CHANNELS_LAST;
    }
    return seen;
}

static void visit_last(layouts_t *l, rlx_op_t *op)
{
    for (int i = 0; i < op->n_in; ++i)
        if (op->in[i] != NULL)
            operand_as(l, op, i, rlx_value_same_shape(op->in[i], op->out[0]) && op->in[i]->rank > 2 ? RLX_LAYOUT_CHANNELS_LAST : RLX_LAYOUT_ROW_MAJOR);
    op->out[0]->layout = RLX_LAYOUT_CHANNELS_LAST;
}

static bool is_channel_axis(const rlx_op_t *op, const rlx_value_t *value)
{
    int64_t axis = rlx_op_int(op, "axis");

    return axis == 1 || axis == 1 - value->rank;
}

static bool concat_carries(const rlx_op_t *op)
{
    int blocked = 0;

    if (op->kind != RLX_OP_concat || (!blockable(op->out[0]) && !blockable_bytes(op->out[0])) || !is_channel_axis(op, op->out[0]))
        return false;
    for (int i = 0; i < op->n_in; ++i)
        blocked += op->in[i]->layout == RLX_LAYOUT_C16;
    return blocked * 2 > op->n_in;
}

static bool split_carries(const rlx_op_t *op)
{
    return op->kind == RLX_OP_split && (blockable(op->in[0]) || blockable_bytes(op->in[0])) && op->in[0]->layout == RLX_LAYOUT_C16 && is_channel_axis(op, op->in[0]);
}

/* A mean, sum or extreme over constant spatial axes and no other: unused channels, which are 0, stay 0. */
static bool reduce_carries(layouts_t *l, const rlx_op_t *op)
{
    const rlx_value_t *x = op->in[0];
    rlx_reduce_axes_t axes;

    if (op->kind != RLX_OP_reduce_mean && op->kind != RLX_OP_reduce_sum && op->kind != RLX_OP_reduce_max && op->kind != RLX_OP_reduce_min)
        return false;
    if (!blockable(x) || x->layout != RLX_LAYOUT_C16 || rlx_reduce_axes_get(l->graph, op, false, &axes, l->diag) != RLX_OK)
        return false;
    return axes.is_const && axes.n_reduced > 0 && !axes.reduced[0] && !axes.reduced[1];
}

/* What is left without axes of space is row-major. */
static void visit_reduce(rlx_op_t *op) { op->out[0]->layout = blockable(op->out[0]) ? RLX_LAYOUT_C16 : RLX_LAYOUT_ROW_MAJOR; }

/* The tensors of an epilogue are operands as well: both see the same value. */
static void epilogue_as(layouts_t *l, rlx_op_t *op, rlx_layout_t layout)
{
    const rlx_schedule_t *sched = op->sched;

    for (int i = 0; sched != NULL && sched->epilogue != NULL && i < sched->epilogue->n_steps; ++i) {
        rlx_epilogue_step_t *step = &sched->epilogue->steps[i];

        if (step->tensor != NULL)
            step->tensor = as_layout(l, step->tensor, layout, op);
    }
}

/* The convolution in columns reads channels-last as it lies. */
static void all_row_major(layouts_t *l, rlx_op_t *op)
{
    bool reads_last = op->kind == RLX_OP_conv && rlx_conv_form(l->graph, op) == RLX_CONV_WIDTH;

    for (int i = 0; i < op->n_in; ++i)
        if (!(reads_last && i == 0 && op->in[0]->layout == RLX_LAYOUT_CHANNELS_LAST))
            operand_as(l, op, i, RLX_LAYOUT_ROW_MAJOR);
    epilogue_as(l, op, RLX_LAYOUT_ROW_MAJOR);
}

static void visit_conv(layouts_t *l, rlx_op_t *op, bool input_row_major)
{
    const rlx_schedule_t *sched = op->sched;
    int residuals = sched != NULL ? sched->n_operands : op->n_in;

    operand_as(l, op, 0, input_row_major ? RLX_LAYOUT_ROW_MAJOR : RLX_LAYOUT_C16);
    for (int i = residuals; i < op->n_in; ++i)
        operand_as(l, op, i, RLX_LAYOUT_C16);
    epilogue_as(l, op, RLX_LAYOUT_C16);
    op->out[0]->layout = RLX_LAYOUT_C16;
}

/* A pool on few channels would mostly pool the lanes past them. */
static bool pool_starts(const rlx_graph_t *graph, const rlx_op_t *op)
{
    int64_t channels;

    return op->in[0]->layout == RLX_LAYOUT_C16 || (rlx_expr_is_const(graph->exprs, op->in[0]->dims[1], &channels) && channels >= 4);
}

static bool is_pool(const rlx_op_t *op) { return op->kind == RLX_OP_max_pool || op->kind == RLX_OP_avg_pool; }

/* The channels around a block's lanes lie in the blocks beside it. */
static bool lrn_carries(const rlx_op_t *op)
{
    return op->kind == RLX_OP_lrn && blockable(op->in[0]) && op->in[0]->layout == RLX_LAYOUT_C16 && rlx_op_int(op, "size") <= 16;
}

/* Element-wise ops of the quant family, and averages: blocked where an operand is. */
static bool quant_carries(const rlx_op_t *op)
{
    bool blocked = false;

    switch (op->kind) {
    case RLX_OP_quantize:
        return blockable(op->in[0]) && op->out[0]->dtype == RLX_U8 && op->in[0]->layout == RLX_LAYOUT_C16;
    case RLX_OP_dequantize:
        if (op->in[1]->rank == 1 && op->in[1]->dims[0] == op->in[0]->dims[1])
            return false; /* a scale per channel */
        __attribute__((fallthrough));
    case RLX_OP_qlookup:
    case RLX_OP_qavg_pool:
        return blockable_bytes(op->in[0]) && op->in[0]->layout == RLX_LAYOUT_C16;
    case RLX_OP_qadd:
    case RLX_OP_qmul:
        for (int i = 0; i < 2; ++i)
            blocked |= op->in[i]->layout == RLX_LAYOUT_C16;
        return blocked && blockable_bytes(op->in[0]) && blockable_bytes(op->in[1]);
    default: return false;
    }
}

static void visit_quant(layouts_t *l, rlx_op_t *op)
{
    int blocked = op->kind == RLX_OP_qadd || op->kind == RLX_OP_qmul ? 2 : 1;

    for (int i = 0; i < blocked; ++i)
        operand_as(l, op, i, RLX_LAYOUT_C16);
    op->out[0]->layout = RLX_LAYOUT_C16;
}

static void visit_qconv(layouts_t *l, rlx_op_t *op)
{
    rlx_quant_form_t form = rlx_quant_form(l->graph, op);

    operand_as(l, op, 0, form == RLX_QUANT_PLAIN || form == RLX_QUANT_FIRST ? RLX_LAYOUT_ROW_MAJOR : RLX_LAYOUT_C16);
    op->out[0]->layout = form == RLX_QUANT_PLAIN ? RLX_LAYOUT_ROW_MAJOR : RLX_LAYOUT_C16;
}

static void visit(layouts_t *l, rlx_op_t *op)
{
    bool input_row_major = false;

    if (rlx_conv_wants_c16(l->graph, op, &input_row_major) && (!is_pool(op) || pool_starts(l->graph, op))) {
        visit_conv(l, op, input_row_major);
    } else if (op->kind == RLX_OP_qconv) {
        visit_qconv(l, op);
    } else if (quant_carries(op)) {
        visit_quant(l, op);
    } else if (elementwise_carries(l, op)) {
        visit_elementwise(l, op);
    } else if (elementwise_is_last(l->graph, op)) {
        visit_last(l, op);
    } else if (split_carries(op)) {
        for (int i = 0; i < op->n_out; ++i)
            if (op->out[i] != NULL)
                op->out[i]->layout = RLX_LAYOUT_C16;
    } else if (concat_carries(op)) {
        for (int i = 0; i < op->n_in; ++i)
            operand_as(l, op, i, RLX_LAYOUT_C16);
        op->out[0]->layout = RLX_LAYOUT_C16;
    } else if (reduce_carries(l, op)) {
        visit_reduce(op);
    } else if (lrn_carries(op) || (op->in != NULL && op->n_in > 0 && rlx_sample_carries_c16(l->graph, op))) {
        op->out[0]->layout = RLX_LAYOUT_C16;
    } else {
        all_row_major(l, op);
    }
}

rlx_status_t rlx_pass_layout(rlx_graph_t *graph, rlx_diag_t *diag)
{
    layouts_t l = {.graph = graph, .diag = diag};

    RLX_TRY(rlx_layout_check(graph, diag));
    rlx_channels_sink(graph);
    rlx_layout_fix_inputs(graph);
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next) {
        if (op->kind == RLX_OP_reorder)
            continue;
        visit(&l, op);
        for (int i = 0; i < op->n_out; ++i)
            if (op->out[i] != NULL)
                rlx_layout_fix_output(graph, op, i);
    }
    rlx_layout_settle_outputs(graph);
    rlx_pass_dead_code(graph);
    rlx_rows_apart(graph);
    return RLX_OK;
}
