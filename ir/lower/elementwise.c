/* Lowers element-wise ops and fused chains of them to one step of the elementwise kernel. A single op is a chain of one.
 *
 * The index space is the output's: row-major extents, or [N, C/16, spatial..., 16] when the output is blocked;
 * the kernel merges what is contiguous. */
#include "ir/lower/dispatch.h"
#include "ir/lower/elementwise_code.h"
#include "ir/lower/affine.h"
#include "ir/shape/common.h"
#include "kernels/map.h"

typedef struct space {
    bool blocked;
    int rank;
    rlx_expr_t dims[RLX_RANK_MAX]; /* right-aligned in 8 by `rank` */
} space_t;

static rlx_expr_t num(const rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

static rlx_expr_t channel_blocks(const rlx_graph_t *graph, const rlx_value_t *value)
{
    return rlx_expr_ceildiv(graph->exprs, value->dims[1], num(graph, 16));
}

static space_t space_of(const rlx_graph_t *graph, const rlx_value_t *out)
{
    space_t space = {.blocked = out->layout == RLX_LAYOUT_C16, .rank = out->rank};

    for (int i = 0; i < out->rank; ++i)
        space.dims[i] = out->dims[i];
    if (!space.blocked)
        return space;
    space.dims[1] = channel_blocks(graph, out);
    space.dims[space.rank++] = num(graph, 16);
    return space;
}

static bool is_scalar(const rlx_graph_t *graph, const rlx_value_t *value)
{
    for (int i = 0; i < value->rank; ++i)
        if (!rlx_expr_is(graph->exprs, value->dims[i], 1))
            return false;
    return true;
}

/* Strides of a blocked operand over [N, C/16, spatial..., 16]; every axis but the channels may broadcast, at run time too. */
static bool blocked_strides(const rlx_graph_t *graph, const rlx_value_t *value, const rlx_value_t *out, rlx_expr_t strides[RLX_RANK_MAX])
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t stride = num(graph, 16);

    if (value->layout != RLX_LAYOUT_C16 || value->rank != out->rank || value->dims[1] != out->dims[1])
        return false;
    strides[out->rank] = num(graph, 1);
    for (int i = out->rank - 1; i >= 0; --i) {
        rlx_expr_t single = rlx_expr_eq(e, value->dims[i], num(graph, 1));

        strides[i] = i == 1 || value->dims[i] == out->dims[i] ? stride : rlx_expr_select(e, single, num(graph, 0), stride);
        stride = rlx_expr_mul(e, stride, i == 1 ? channel_blocks(graph, value) : value->dims[i]);
    }
    return true;
}

/* All outputs have one shape and layout. NULL when nobody wants any. */
static const rlx_value_t *first_output(const rlx_op_t *op)
{
    for (int k = 0; k < op->n_out; ++k)
        if (op->out[k] != NULL)
            return op->out[k];
    return NULL;
}

static rlx_status_t operand_strides(const rlx_graph_t *graph, const rlx_op_t *op, const rlx_value_t *value, const space_t *space,
                                    rlx_expr_t strides[RLX_RANK_MAX], rlx_diag_t *diag)
{
    const rlx_value_t *out = first_output(op);

    for (int i = 0; i < space->rank; ++i)
        strides[i] = num(graph, 0);
    if (is_scalar(graph, value))
        return RLX_OK;
    if (space->blocked && !blocked_strides(graph, value, out, strides))
        return rlx_shape_fail(diag, op, RLX_E_INTERNAL, "operand '%s' does not fit a blocked result", value->name);
    for (int i = 0; !space->blocked && i < space->rank; ++i)
        strides[i] = rlx_shape_broadcast_stride(graph, value, space->rank, i);
    return RLX_OK;
}

static void mark_consumed(rlx_ew_code_t *code)
{
    for (int i = 0; i < code->chain->n_steps; ++i)
        for (int k = 0; k < 3; ++k)
            if (code->chain->steps[i].src[k] < 0 && code->chain->steps[i].src[k] != RLX_CHAIN_ABSENT)
                code->consumed[~code->chain->steps[i].src[k]] = true;
}

/* A value that two outputs share, or that is narrow and read again, is copied so that every output has an instruction of its own. */
static int output_value(rlx_ew_code_t *code, int value, rlx_dtype_t dtype)
{
    for (int k = 0; k < code->n_outputs; ++k)
        if (code->output[k] == value)
            return rlx_ew_emit(code, RLX_MAP_copy, (rlx_map_class_t)rlx_map_class_of(dtype), value, RLX_EW_NONE, RLX_EW_NONE, 0, 0);
    return value;
}

static rlx_status_t generate(rlx_ew_code_t *code, rlx_diag_t *diag)
{
    mark_consumed(code);
    for (int i = 0; i < code->chain->n_steps; ++i)
        RLX_TRY(rlx_ew_step(code, i, &code->result[i], diag));
    for (int k = 0; k < code->op->n_out; ++k) {
        int step = code->chain->result[k];

        if (code->op->out[k] == NULL)
            continue;
        code->output[code->n_outputs] = output_value(code, code->result[step], code->chain->steps[step].dtype);
        ++code->n_outputs;
    }
    rlx_ew_assign(code);
    if (code->full)
        return rlx_shape_fail(diag, code->op, RLX_E_IR_LIMIT, "the chain needs too many instructions or registers");
    return RLX_OK;
}

static int slot_of(const rlx_ew_code_t *code, int value)
{
    if (value == RLX_EW_NONE)
        return 0;
    return value < RLX_EW_CODE_FIRST ? value : code->code[value - RLX_EW_CODE_FIRST].slot;
}

static void put_code(rlx_step_t *step, int word, const rlx_ew_code_t *code)
{
    for (int i = 0; i < code->n_code; ++i) {
        const rlx_ew_instruction_t *in = &code->code[i];
        int at = word + i * RLX_WORDS(rlx_elementwise_code_t);
        int x = slot_of(code, in->src[0]), y = slot_of(code, in->src[1]), z = slot_of(code, in->src[2]);

        rlx_step_param_const(step, at, RLX_ELEMENTWISE_WORD(in->op, in->class_, in->slot, x, y, z));
        rlx_step_param_const(step, at + 1, in->a);
        rlx_step_param_const(step, at + 2, in->b);
    }
}

static rlx_status_t put_inputs(rlx_step_t *step, int word, const rlx_ew_code_t *code, const space_t *space, rlx_diag_t *diag)
{
    for (int k = 0; k < code->n_inputs; ++k) {
        const rlx_value_t *value = code->op->in[code->operand[k]];
        int at = word + k * RLX_WORDS(rlx_elementwise_input_t);
        rlx_expr_t strides[RLX_RANK_MAX];

        RLX_TRY(operand_strides(code->graph, code->op, value, space, strides, diag));
        rlx_step_in(step, value);
        rlx_step_param_const(step, at, value->dtype);
        for (int i = 0; i < space->rank; ++i)
            rlx_step_param(step, at + 1 + RLX_RANK_MAX - space->rank + i, strides[i]);
    }
    return RLX_OK;
}

static rlx_status_t put_step(rlx_builder_t *builder, const rlx_ew_code_t *code, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    int inputs = RLX_WORDS(rlx_elementwise_params_t), outputs = inputs + code->n_inputs * RLX_WORDS(rlx_elementwise_input_t);
    int instructions = outputs + code->n_outputs, words = instructions + code->n_code * RLX_WORDS(rlx_elementwise_code_t), n_out = 0;
    rlx_step_t *step = rlx_step_begin(builder, code->op, RLX_K_elementwise, words);
    space_t space = space_of(graph, first_output(code->op));
    rlx_expr_t count = rlx_shape_product(graph, space.dims, 0, space.rank), tile = num(graph, RLX_ELEMENTWISE_TILE);

    RLX_TRY(put_inputs(step, inputs, code, &space, diag));
    for (int k = 0; k < code->op->n_out; ++k) {
        if (code->op->out[k] == NULL)
            continue;
        rlx_step_out(step, code->op->out[k]);
        rlx_step_param_const(step, outputs + n_out++, code->op->out[k]->dtype);
    }
    put_code(step, instructions, code);
    for (int i = 0; i < RLX_RANK_MAX; ++i)
        rlx_step_param(step, RLX_WORD(rlx_elementwise_params_t, dims) + i,
                       i < RLX_RANK_MAX - space.rank ? num(graph, 1) : space.dims[i - (RLX_RANK_MAX - space.rank)]);
    rlx_step_param(step, RLX_WORD(rlx_elementwise_params_t, count), count);
    rlx_step_param(step, RLX_WORD(rlx_elementwise_params_t, per_tile), tile);
    rlx_step_param_const(step, RLX_WORD(rlx_elementwise_params_t, n_in), code->n_inputs);
    rlx_step_param_const(step, RLX_WORD(rlx_elementwise_params_t, n_out), code->n_outputs);
    rlx_step_param_const(step, RLX_WORD(rlx_elementwise_params_t, n_slots), code->n_slots);
    rlx_step_param_const(step, RLX_WORD(rlx_elementwise_params_t, n_code), code->n_code);
    return rlx_step_end(step, rlx_expr_ceildiv(graph->exprs, count, tile), num(graph, RLX_ELEMENTWISE_SCRATCH((int64_t)code->n_slots)),
                        rlx_expr_mul(graph->exprs, count, num(graph, code->n_code)), diag);
}

rlx_status_t rlx_lower_elementwise(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_chain_t single = {.n_steps = 1, .n_results = 1};
    rlx_ew_code_t code = {.graph = rlx_builder_graph(builder), .op = op, .chain = &single};
    rlx_status_t status;

    if (first_output(op) == NULL)
        return RLX_OK;
    if (op->kind == RLX_OP_fused) {
        code.chain = ((const rlx_schedule_t *)op->sched)->chain;
    } else {
        single.steps[0] = (rlx_chain_step_t){.op = op, .dtype = op->out[0]->dtype};
        for (int k = 0; k < 3; ++k)
            single.steps[0].src[k] = rlx_op_in(op, k) == NULL ? RLX_CHAIN_ABSENT : k;
    }
    if (rlx_affine_lower(builder, op, code.chain, &status, diag))
        return status;
    RLX_TRY(generate(&code, diag));
    return put_step(builder, &code, diag);
}
