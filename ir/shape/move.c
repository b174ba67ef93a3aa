/* Shape rules of the move family: dispatch, and the ops whose shape follows from one operand and attributes. */
#include "ir/lower/dispatch.h"
#include "ir/shape/reshape.h"
#include "ir/shape/slice.h"

#include <string.h>

static rlx_status_t perm_read(const rlx_op_t *op, int *perm, rlx_diag_t *diag)
{
    const rlx_attr_t *attr = rlx_op_attr(op, "perm");
    int rank = op->in[0]->rank;
    unsigned seen = 0;

    if (attr != NULL && attr->n != rank)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "perm has %d entries, the operand has rank %d", attr->n, rank);
    for (int i = 0; i < rank; i++) {
        int64_t axis = rlx_op_ints_at(op, "perm", i, rank - 1 - i);
        if (axis < 0 || axis >= rank || seen & 1u << axis)
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "perm is no permutation of 0 to %d", rank - 1);
        seen |= 1u << axis;
        perm[i] = (int)axis;
    }
    return RLX_OK;
}

static void elements_permute(rlx_graph_t *graph, const rlx_value_t *x, const int *perm, rlx_value_t *out)
{
    rlx_expr_t *elements = out && x->elements ? rlx_shape_track(graph, out) : NULL;
    int64_t dims[RLX_RANK_MAX], x_dims[RLX_RANK_MAX], at[RLX_RANK_MAX], x_at[RLX_RANK_MAX];

    if (elements == NULL || !rlx_value_dims_const(graph, out, dims) || !rlx_value_dims_const(graph, x, x_dims))
        return;
    for (int i = 0; i < out->n_elements; i++) {
        rlx_shape_unravel(i, out->rank, dims, at);
        for (int a = 0; a < out->rank; a++)
            x_at[perm[a]] = at[a];
        elements[i] = rlx_shape_element(x, (int)rlx_shape_ravel(x->rank, x_dims, x_at));
    }
}

static rlx_status_t shape_transpose(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    rlx_expr_t dims[RLX_RANK_MAX];
    int perm[RLX_RANK_MAX];

    RLX_TRY(perm_read(op, perm, diag));
    for (int i = 0; i < x->rank; i++)
        dims[i] = x->dims[perm[i]];
    RLX_TRY(rlx_shape_set(graph, op, 0, x->dtype, x->rank, dims, diag));
    elements_permute(graph, x, perm, op->out[0]);
    return RLX_OK;
}

static rlx_status_t shape_reverse_sequence(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    int64_t batch = rlx_op_int(op, "batch_axis"), time = rlx_op_int(op, "time_axis");

    RLX_TRY(rlx_shape_need_rank(op, 0, 2, -1, diag));
    RLX_TRY(rlx_shape_need_rank(op, 1, 1, 1, diag));
    RLX_TRY(rlx_shape_need_integer(op, 1, diag));
    if (batch < 0 || batch > 1 || time < 0 || time > 1 || batch == time)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "batch_axis and time_axis must be 0 and 1 in either order");
    RLX_TRY(rlx_shape_require_equal(graph, op, op->in[1]->dims[0], x->dims[batch], "the count of lengths and the batch", diag));
    return rlx_shape_set_like(graph, op, 0, x->dtype, 0, diag);
}

/* N, C, H, W with blocks of b x b between channels and space. */
static rlx_status_t shape_depth_space(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    bool to_space = op->kind == RLX_OP_depth_to_space;
    int64_t size = rlx_op_int(op, "blocksize");
    rlx_expr_t dims[4], block, area;

    RLX_TRY(rlx_shape_need_rank(op, 0, 4, 4, diag));
    if (size < 1 || size > 1 << 15)
        return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "blocksize is %lld", (long long)size);
    if (to_space && strcmp(rlx_op_string(op, "mode"), "DCR") != 0 && strcmp(rlx_op_string(op, "mode"), "CRD") != 0)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "mode '%.32s' is not supported, DCR and CRD are", rlx_op_string(op, "mode"));
    block = rlx_expr_const(e, size);
    area = rlx_expr_const(e, size * size);
    dims[0] = x->dims[0];
    dims[1] = to_space ? rlx_expr_floordiv(e, x->dims[1], area) : rlx_expr_mul(e, x->dims[1], area);
    for (int i = 2; i < 4; i++)
        dims[i] = to_space ? rlx_expr_mul(e, x->dims[i], block) : rlx_expr_floordiv(e, x->dims[i], block);
    for (int i = 1; i < 4; i++) {
        bool divided = to_space ? i == 1 : i > 1;
        rlx_expr_t back = i == 1 ? area : block;
        if (divided)
            RLX_TRY(rlx_shape_require(graph, op, rlx_expr_eq(e, rlx_expr_binary(e, RLX_EXPR_MOD, x->dims[i], back), rlx_expr_const(e, 0)),
                                      "an extent does not divide by the block", diag));
    }
    return rlx_shape_set(graph, op, 0, x->dtype, 4, dims, diag);
}

static rlx_status_t shape_trilu(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    RLX_TRY(rlx_shape_need_rank(op, 0, 2, -1, diag));
    if (rlx_op_in(op, 1) != NULL) {
        RLX_TRY(rlx_shape_need_integer(op, 1, diag));
        RLX_TRY(rlx_shape_require_equal(graph, op, rlx_value_count(graph, op->in[1]), rlx_expr_const(graph->exprs, 1),
                                        "the count of k and 1", diag));
    }
    return rlx_shape_set_like(graph, op, 0, op->in[0]->dtype, 0, diag);
}

static rlx_status_t shape_reorder(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    RLX_TRY(rlx_shape_set_like(graph, op, 0, op->in[0]->dtype, 0, diag));
    if (op->out[0] != NULL)
        op->out[0]->layout = (rlx_layout_t)rlx_op_int(op, "to");
    return RLX_OK;
}

rlx_status_t rlx_shape_move(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_reshape:
        return rlx_shape_op_reshape(graph, op, diag);
    case RLX_OP_expand:
        return rlx_shape_op_expand(graph, op, diag);
    case RLX_OP_tile:
        return rlx_shape_op_tile(graph, op, diag);
    case RLX_OP_slice:
        return rlx_shape_op_slice(graph, op, diag);
    case RLX_OP_split:
        return rlx_shape_op_split(graph, op, diag);
    case RLX_OP_concat:
        return rlx_shape_op_concat(graph, op, diag);
    case RLX_OP_pad:
        return rlx_shape_op_pad(graph, op, diag);
    case RLX_OP_transpose:
        return shape_transpose(graph, op, diag);
    case RLX_OP_reverse_sequence:
        return shape_reverse_sequence(graph, op, diag);
    case RLX_OP_depth_to_space:
    case RLX_OP_space_to_depth:
        return shape_depth_space(graph, op, diag);
    case RLX_OP_trilu:
        return shape_trilu(graph, op, diag);
    case RLX_OP_reorder:
        return shape_reorder(graph, op, diag);
    default:
        return rlx_shape_fail(diag, op, RLX_E_INTERNAL, "the move family has no rule for this operator");
    }
}
