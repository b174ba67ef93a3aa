/* Shape rules of the gather family: indexed reads and writes.
 *
 * Indices that are known now are checked here; others are checked by the kernels. */
#include "ir/lower/dispatch.h"
#include "ir/shape/select.h"

#include <string.h>

/* Constant indices of operand 1 lie in [-extent, extent), as far as extent is known. */
static rlx_status_t check_indices(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t extent, rlx_diag_t *diag)
{
    const rlx_value_t *indices = op->in[1];
    int64_t index, limit = rlx_expr_node(graph->exprs, extent)->max;

    RLX_TRY(rlx_shape_need_integer(op, 1, diag));
    for (int i = 0; indices->elements != NULL && i < indices->n_elements; i++) {
        if (rlx_expr_is_const(graph->exprs, indices->elements[i], &index) && (index >= limit || index < -limit))
            return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "index %lld is outside an axis of extent %lld", (long long)index,
                                  (long long)limit);
    }
    return RLX_OK;
}

/* Element of x at `at`, whose entry `axis` is replaced by the index; NONE unless the index is a constant in range. */
static rlx_expr_t element_at_index(const rlx_graph_t *graph, const rlx_value_t *x, const int64_t *x_dims, int64_t *at, int axis,
                                   rlx_expr_t index)
{
    int64_t value;

    if (!rlx_expr_is_const(graph->exprs, index, &value))
        return RLX_EXPR_NONE;
    at[axis] = value < 0 ? value + x_dims[axis] : value;
    if (at[axis] < 0 || at[axis] >= x_dims[axis])
        return RLX_EXPR_NONE;
    return rlx_shape_element(x, (int)rlx_shape_ravel(x->rank, x_dims, at));
}

static void elements_gather(rlx_graph_t *graph, const rlx_op_t *op, int axis)
{
    const rlx_value_t *x = op->in[0], *indices = op->in[1];
    rlx_value_t *out = op->out[0];
    rlx_expr_t *elements = out && x->elements && indices->elements ? rlx_shape_track(graph, out) : NULL;
    int64_t dims[RLX_RANK_MAX], x_dims[RLX_RANK_MAX], i_dims[RLX_RANK_MAX], at[RLX_RANK_MAX], x_at[RLX_RANK_MAX];

    if (elements == NULL || !rlx_value_dims_const(graph, out, dims) || !rlx_value_dims_const(graph, x, x_dims) ||
        !rlx_value_dims_const(graph, indices, i_dims))
        return;
    for (int i = 0; i < out->n_elements; i++) {
        rlx_expr_t index;
        rlx_shape_unravel(i, out->rank, dims, at);
        index = rlx_shape_element(indices, (int)rlx_shape_ravel(indices->rank, i_dims, at + axis));
        for (int a = 0; a < x->rank; a++)
            x_at[a] = a < axis ? at[a] : a > axis ? at[a - 1 + indices->rank] : 0;
        elements[i] = element_at_index(graph, x, x_dims, x_at, axis, index);
    }
}

static rlx_status_t shape_gather(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0], *indices = op->in[1];
    rlx_expr_t dims[2 * RLX_RANK_MAX];
    int axis, rank = 0;

    RLX_TRY(rlx_shape_need_rank(op, 0, 1, -1, diag));
    RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), x->rank, &axis, diag));
    RLX_TRY(check_indices(graph, op, x->dims[axis], diag));
    for (int a = 0; a < axis; a++)
        dims[rank++] = x->dims[a];
    for (int a = 0; a < indices->rank; a++)
        dims[rank++] = indices->dims[a];
    for (int a = axis + 1; a < x->rank; a++)
        dims[rank++] = x->dims[a];
    RLX_TRY(rlx_shape_set(graph, op, 0, x->dtype, rank, dims, diag));
    elements_gather(graph, op, axis);
    return RLX_OK;
}

/* Extents of operand `index` fit into x except along axis. */
static rlx_status_t check_inside(rlx_graph_t *graph, const rlx_op_t *op, int index, int axis, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0], *inner = op->in[index];

    RLX_TRY(rlx_shape_need_rank(op, index, x->rank, x->rank, diag));
    for (int a = 0; a < x->rank; a++) {
        rlx_expr_t fits = rlx_expr_lt(e, inner->dims[a], rlx_expr_add(e, x->dims[a], rlx_expr_const(e, 1)));
        if (a != axis)
            RLX_TRY(rlx_shape_require(graph, op, fits, "an extent of the indices is larger than that of x", diag));
    }
    return RLX_OK;
}

static void elements_gather_elements(rlx_graph_t *graph, const rlx_op_t *op, int axis)
{
    const rlx_value_t *x = op->in[0], *indices = op->in[1];
    rlx_value_t *out = op->out[0];
    rlx_expr_t *elements = out && x->elements && indices->elements ? rlx_shape_track(graph, out) : NULL;
    int64_t dims[RLX_RANK_MAX], x_dims[RLX_RANK_MAX], at[RLX_RANK_MAX];

    if (elements == NULL || !rlx_value_dims_const(graph, out, dims) || !rlx_value_dims_const(graph, x, x_dims))
        return;
    for (int i = 0; i < out->n_elements; i++) {
        rlx_shape_unravel(i, out->rank, dims, at);
        elements[i] = element_at_index(graph, x, x_dims, at, axis, rlx_shape_element(indices, i));
    }
}

static rlx_status_t shape_gather_elements(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    int axis;

    RLX_TRY(rlx_shape_need_rank(op, 0, 1, -1, diag));
    RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), op->in[0]->rank, &axis, diag));
    RLX_TRY(check_indices(graph, op, op->in[0]->dims[axis], diag));
    RLX_TRY(check_inside(graph, op, 1, axis, diag));
    RLX_TRY(rlx_shape_set_like(graph, op, 0, op->in[0]->dtype, 1, diag));
    elements_gather_elements(graph, op, axis);
    return RLX_OK;
}

/* Length of the index tuples: the last extent of the indices, which decides ranks and so must be constant. */
static rlx_status_t tuple_length(rlx_graph_t *graph, const rlx_op_t *op, int64_t room, int64_t *out_length, rlx_diag_t *diag)
{
    const rlx_value_t *indices = op->in[1];

    RLX_TRY(rlx_shape_need_integer(op, 1, diag));
    RLX_TRY(rlx_shape_need_rank(op, 1, 1, -1, diag));
    if (!rlx_expr_is_const(graph->exprs, indices->dims[indices->rank - 1], out_length))
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "the last extent of the indices ('%s') is not constant", indices->name);
    if (*out_length < 1 || *out_length > room)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "index tuples have %lld entries, 1 to %lld are possible",
                              (long long)*out_length, (long long)room);
    return RLX_OK;
}

static rlx_status_t shape_gather_nd(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0], *indices = op->in[1];
    rlx_expr_t dims[2 * RLX_RANK_MAX];
    int64_t batch = rlx_op_int(op, "batch_dims"), length;
    int rank = 0;

    RLX_TRY(rlx_shape_need_rank(op, 0, 1, -1, diag));
    RLX_TRY(rlx_shape_need_rank(op, 1, 1, -1, diag));
    if (batch < 0 || batch >= x->rank || batch >= indices->rank)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "batch_dims is %lld for operands of rank %d and %d", (long long)batch, x->rank,
                              indices->rank);
    RLX_TRY(tuple_length(graph, op, x->rank - batch, &length, diag));
    for (int a = 0; a < batch; a++)
        RLX_TRY(rlx_shape_require_equal(graph, op, x->dims[a], indices->dims[a], "the batch extents of x and indices", diag));
    for (int a = 0; a < indices->rank - 1; a++)
        dims[rank++] = indices->dims[a];
    for (int a = (int)(batch + length); a < x->rank; a++)
        dims[rank++] = x->dims[a];
    return rlx_shape_set(graph, op, 0, x->dtype, rank, dims, diag);
}

static rlx_status_t check_reduction(const rlx_op_t *op, rlx_diag_t *diag)
{
    static const char *const known[] = {"none", "add", "mul", "max", "min"};
    const char *reduction = rlx_op_string(op, "reduction");

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(reduction, known[i]) == 0)
            return RLX_OK;
    }
    return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "reduction '%.32s' is not supported", reduction);
}

static rlx_status_t shape_scatter_elements(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    int axis;

    RLX_TRY(rlx_shape_need_rank(op, 0, 1, -1, diag));
    RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), op->in[0]->rank, &axis, diag));
    RLX_TRY(check_reduction(op, diag));
    RLX_TRY(check_indices(graph, op, op->in[0]->dims[axis], diag));
    RLX_TRY(check_inside(graph, op, 1, axis, diag));
    RLX_TRY(rlx_shape_need_same_dtype(op, 0, 2, diag));
    RLX_TRY(rlx_shape_need_rank(op, 2, op->in[1]->rank, op->in[1]->rank, diag));
    for (int a = 0; a < op->in[1]->rank; a++)
        RLX_TRY(rlx_shape_require_equal(graph, op, op->in[1]->dims[a], op->in[2]->dims[a], "the extents of indices and updates", diag));
    return rlx_shape_set_like(graph, op, 0, op->in[0]->dtype, 0, diag);
}

static rlx_status_t shape_scatter_nd(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0], *indices = op->in[1], *updates = op->in[2];
    int64_t length;
    int rank;

    RLX_TRY(check_reduction(op, diag));
    RLX_TRY(rlx_shape_need_same_dtype(op, 0, 2, diag));
    RLX_TRY(tuple_length(graph, op, x->rank, &length, diag));
    rank = indices->rank - 1 + x->rank - (int)length;
    RLX_TRY(rlx_shape_need_rank(op, 2, rank, rank, diag));
    for (int a = 0; a < rank; a++) {
        rlx_expr_t expected = a < indices->rank - 1 ? indices->dims[a] : x->dims[a - (indices->rank - 1) + (int)length];
        RLX_TRY(
            rlx_shape_require_equal(graph, op, updates->dims[a], expected, "the extents of the updates and of what they replace", diag));
    }
    return rlx_shape_set_like(graph, op, 0, x->dtype, 0, diag);
}

static rlx_status_t shape_tensor_scatter(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *past = op->in[0], *update = op->in[1];
    const char *mode = rlx_op_string(op, "mode");
    int axis;

    RLX_TRY(rlx_shape_need_rank(op, 0, 2, -1, diag));
    RLX_TRY(rlx_shape_need_rank(op, 1, past->rank, past->rank, diag));
    RLX_TRY(rlx_shape_need_same_dtype(op, 0, 1, diag));
    RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), past->rank, &axis, diag));
    if (axis == 0)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "axis is the batch axis");
    if (strcmp(mode, "linear") != 0 && strcmp(mode, "circular") != 0)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "mode '%.32s' is not supported", mode);
    for (int a = 0; a < past->rank; a++) {
        if (a != axis)
            RLX_TRY(rlx_shape_require_equal(graph, op, past->dims[a], update->dims[a], "the extents of past and update", diag));
    }
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, update->dims[axis], rlx_expr_add(e, past->dims[axis], rlx_expr_const(e, 1))),
                              "the update is longer than the past", diag));
    if (rlx_op_in(op, 2) != NULL) {
        RLX_TRY(rlx_shape_need_integer(op, 2, diag));
        RLX_TRY(rlx_shape_need_rank(op, 2, 1, 1, diag));
        RLX_TRY(rlx_shape_require_equal(graph, op, op->in[2]->dims[0], past->dims[0], "the count of write indices and the batch", diag));
    }
    return rlx_shape_set_like(graph, op, 0, past->dtype, 0, diag);
}

/* A float that an input gives counts by its whole part; a negative one is refused as an extent. */
static rlx_status_t one_hot_depth(rlx_graph_t *graph, const rlx_op_t *op, rlx_expr_t *out, rlx_diag_t *diag)
{
    rlx_value_t *depth = op->in[1];
    rlx_expr_t bits = depth->data == NULL && rlx_expr_is(graph->exprs, rlx_value_count(graph, depth), 1)
                          ? rlx_shape_float_bits(graph, depth, 0)
                          : RLX_EXPR_NONE;

    if (bits == RLX_EXPR_NONE)
        return rlx_shape_number(graph, op, 1, out, diag);
    *out = rlx_expr_binary(graph->exprs, RLX_EXPR_FSCALE, rlx_expr_const(graph->exprs, 1), bits);
    return RLX_OK;
}

/* Exporters build repeats and axes with one_hot: small integer results are followed symbolically. */
static void one_hot_elements(rlx_graph_t *graph, const rlx_op_t *op, int axis)
{
    const rlx_value_t *values = op->in[2];
    rlx_value_t *result = op->out[0];
    int64_t dims[RLX_RANK_MAX], indices[RLX_ELEMENTS_MAX], count, inner = 1, depth;
    int n;

    if (result == NULL || (result->dtype != RLX_I64 && result->dtype != RLX_I32) || values->n_elements != 2 || values->elements == NULL ||
        !rlx_value_dims_const(graph, result, dims) || !rlx_value_ints(graph, op->in[0], indices, RLX_ELEMENTS_MAX, &n) ||
        !rlx_dims_count(dims, result->rank, &count) || count > RLX_ELEMENTS_MAX)
        return;
    for (int i = axis + 1; i < result->rank; i++)
        inner *= dims[i];
    depth = dims[axis];
    result->n_elements = (int)count;
    result->elements = rlx_graph_alloc(graph, (size_t)(count + 1) * sizeof *result->elements);
    for (int64_t i = 0; i < count; i++) {
        int64_t place = i / inner % depth, index = indices[i / (inner * depth) * inner + i % inner];

        result->elements[i] = values->elements[index == place || index + depth == place];
    }
}

static rlx_status_t shape_one_hot(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *indices = op->in[0];
    rlx_expr_t dims[RLX_RANK_MAX + 1], depth;
    int64_t value;
    int axis;

    RLX_TRY(one_hot_depth(graph, op, &depth, diag));
    RLX_TRY(rlx_shape_need_rank(op, 2, 1, 1, diag));
    RLX_TRY(rlx_shape_require_equal(graph, op, op->in[2]->dims[0], rlx_expr_const(graph->exprs, 2), "the count of values and 2", diag));
    RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), indices->rank + 1, &axis, diag));
    if (rlx_expr_is_const(graph->exprs, depth, &value) && value < 0)
        return rlx_shape_fail(diag, op, RLX_E_CONST_VALUE, "the depth is %lld", (long long)value);
    for (int a = 0; a <= indices->rank; a++)
        dims[a] = a == axis ? depth : indices->dims[a - (a > axis)];
    RLX_TRY(rlx_shape_set(graph, op, 0, op->in[2]->dtype, indices->rank + 1, dims, diag));
    one_hot_elements(graph, op, axis);
    return RLX_OK;
}

rlx_status_t rlx_shape_gather(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_gather:
        return shape_gather(graph, op, diag);
    case RLX_OP_gather_elements:
        return shape_gather_elements(graph, op, diag);
    case RLX_OP_gather_nd:
        return shape_gather_nd(graph, op, diag);
    case RLX_OP_scatter_elements:
        return shape_scatter_elements(graph, op, diag);
    case RLX_OP_scatter_nd:
        return shape_scatter_nd(graph, op, diag);
    case RLX_OP_tensor_scatter:
        return shape_tensor_scatter(graph, op, diag);
    case RLX_OP_one_hot:
        return shape_one_hot(graph, op, diag);
    case RLX_OP_count_non_zero:
        return rlx_shape_op_count_non_zero(graph, op, diag);
    case RLX_OP_unique:
        return rlx_shape_op_unique(graph, op, diag);
    case RLX_OP_non_max_suppression:
        return rlx_shape_op_non_max_suppression(graph, op, diag);
    case RLX_OP_nms_rows:
        return rlx_shape_op_nms_rows(graph, op, diag);
    case RLX_OP_non_zero:
        return rlx_shape_op_non_zero(graph, op, diag);
    default:
        return rlx_shape_fail(diag, op, RLX_E_INTERNAL, "no shape rule");
    }
}
