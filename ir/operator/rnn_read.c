/* Reads a recurrent operator: attributes, extents, agreement of operands. Used by the shape rule and the lowering. */
#include "ir/operator/rnn_read.h"

#include <string.h>

#include "ir/operator/rnn_activation.h"
#include "ir/shape/common.h"

static rlx_status_t direction_read(const rlx_op_t *op, rlx_rnn_read_t *read, rlx_diag_t *diag)
{
    const char *direction = rlx_op_string(op, "direction");

    if (direction == NULL)
        direction = "forward";
    read->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    read->reverse = strcmp(direction, "reverse") == 0;
    if (read->directions == 1 && !read->reverse && strcmp(direction, "forward") != 0)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "direction is '%s', expected forward, reverse or bidirectional", direction);
    read->layout = (int)rlx_op_int(op, "layout");
    if (read->layout != 0 && read->layout != 1)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "layout is %d, expected 0 or 1", read->layout);
    return RLX_OK;
}

/* The weights of qlstm. */
static bool is_integer(const rlx_op_t *op, int role)
{
    return op->kind == RLX_OP_qlstm && (role == RLX_RNN_IN_W || role == RLX_RNN_IN_R);
}

/* Operand `role`, when present: rank, dtype, extents. Extents are in the order of layout 0; `swap`: axes 0 and 1 change places in
 * layout 1. */
static rlx_status_t operand_check(rlx_graph_t *graph, const rlx_op_t *op, const rlx_rnn_read_t *read, int role, bool swap, int rank,
                                  const rlx_expr_t *dims, rlx_diag_t *diag)
{
    const rlx_value_t *value = rlx_op_in(op, role);

    if (value == NULL)
        return RLX_OK;
    RLX_TRY(rlx_shape_need_rank(op, role, rank, rank, diag));
    if (role == RLX_RNN_IN_LENGTHS && value->dtype != RLX_I32)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "sequence_lens is %s, expected i32", rlx_dtype_name(value->dtype));
    if (is_integer(op, role) && value->dtype != RLX_I16)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "operand %d is %s, expected i16", role, rlx_dtype_name(value->dtype));
    if (role != RLX_RNN_IN_LENGTHS && !is_integer(op, role))
        RLX_TRY(rlx_shape_need_same_dtype(op, 0, role, diag));
    for (int i = 0; i < rank; i++) {
        int at = swap && read->layout && i < 2 ? 1 - i : i;
        const char *what = rlx_graph_printf(graph, "axis %d of operand %d and what the other operands say", at, role);
        RLX_TRY(rlx_shape_require_equal(graph, op, value->dims[at], dims[i], what, diag));
    }
    return RLX_OK;
}

static rlx_status_t operands_check(rlx_graph_t *graph, const rlx_op_t *op, const rlx_rnn_read_t *r, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t directions = rlx_expr_const(e, r->directions), rows = rlx_expr_mul(e, rlx_expr_const(e, r->gates), r->hidden);
    rlx_expr_t state[3] = {directions, r->batch, r->hidden};

    RLX_TRY(operand_check(graph, op, r, RLX_RNN_IN_W, false, 3, (rlx_expr_t[]){directions, rows, r->input}, diag));
    RLX_TRY(operand_check(graph, op, r, RLX_RNN_IN_R, false, 3, (rlx_expr_t[]){directions, rows, r->hidden}, diag));
    RLX_TRY(operand_check(
        graph, op, r, RLX_RNN_IN_B, false, 2, (rlx_expr_t[]){directions, rlx_expr_mul(e, rlx_expr_const(e, 2), rows)}, diag));
    RLX_TRY(operand_check(graph, op, r, RLX_RNN_IN_LENGTHS, false, 1, &r->batch, diag));
    RLX_TRY(operand_check(graph, op, r, RLX_RNN_IN_H, true, 3, state, diag));
    if (r->kind != RLX_RNN_LSTM)
        return RLX_OK;
    RLX_TRY(operand_check(graph, op, r, RLX_RNN_IN_C, true, 3, state, diag));
    for (int role = RLX_RNN_IN_W_SCALE; op->kind == RLX_OP_qlstm && role <= RLX_RNN_IN_R_SCALE; role++)
        RLX_TRY(operand_check(graph, op, r, role, false, 2, (rlx_expr_t[]){directions, rows}, diag));
    return operand_check(
        graph, op, r, RLX_RNN_IN_P, false, 2, (rlx_expr_t[]){directions, rlx_expr_mul(e, rlx_expr_const(e, 3), r->hidden)}, diag);
}

/* What qlstm alone asks: f32, and both scales. */
static rlx_status_t quantised_check(const rlx_op_t *op, rlx_diag_t *diag)
{
    if (op->in[0]->dtype != RLX_F32)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "element type %s is not supported, only f32", rlx_dtype_name(op->in[0]->dtype));
    for (int role = RLX_RNN_IN_W_SCALE; role <= RLX_RNN_IN_R_SCALE; role++)
        if (rlx_op_in(op, role) == NULL)
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "operand %d, scales, is missing", role);
    return RLX_OK;
}

rlx_status_t rlx_rnn_read(rlx_graph_t *graph, const rlx_op_t *op, rlx_rnn_read_t *out_read, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    rlx_rnn_read_t r = {.kind = op->kind == RLX_OP_lstm || op->kind == RLX_OP_qlstm ? RLX_RNN_LSTM : op->kind == RLX_OP_gru ? RLX_RNN_GRU : RLX_RNN_PLAIN};

    r.gates = r.kind == RLX_RNN_LSTM ? 4 : r.kind == RLX_RNN_GRU ? 3 : 1;
    RLX_TRY(rlx_shape_need_rank(op, 0, 3, 3, diag));
    RLX_TRY(rlx_shape_need_rank(op, RLX_RNN_IN_W, 3, 3, diag));
    RLX_TRY(rlx_shape_need_rank(op, RLX_RNN_IN_R, 3, 3, diag));
    if (!rlx_dtype_is_float(x->dtype))
        return rlx_shape_fail(
            diag, op, RLX_E_ONNX_OPERATOR, "element type %s is not supported, only f32, f64, f16 and bf16", rlx_dtype_name(x->dtype));
    if (op->kind == RLX_OP_qlstm)
        RLX_TRY(quantised_check(op, diag));
    RLX_TRY(direction_read(op, &r, diag));
    RLX_TRY(rlx_rnn_activations(op,
        r.kind == RLX_RNN_LSTM  ? "sigmoid,tanh,tanh"
        : r.kind == RLX_RNN_GRU ? "sigmoid,tanh"
                                : "tanh",
        &r, diag));
    r.steps = x->dims[r.layout];
    r.batch = x->dims[1 - r.layout];
    r.input = x->dims[2];
    r.hidden = op->in[RLX_RNN_IN_R]->dims[2];
    RLX_TRY(operands_check(graph, op, &r, diag));
    *out_read = r;
    return RLX_OK;
}
