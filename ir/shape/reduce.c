/* Shape rules of the reduce family. Reductions of small integer tensors whose elements are known fold symbolically, so that shape
 * arithmetic (an element count as a product of extents) stays symbolic. */
#include "ir/lower/dispatch.h"
#include "ir/operator/reduce_axes.h"

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

/* Extent of the `place`-th kept axis when which axes are kept is decided at run time. */
static rlx_expr_t kept_extent(rlx_graph_t *graph, const rlx_value_t *x, const rlx_reduce_axes_t *axes, int place)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t before = num(graph, 0), extent = num(graph, 0);

    for (int d = 0; d < x->rank; d++) {
        rlx_expr_t kept = rlx_expr_sub(e, num(graph, 1), axes->flag[d]);
        rlx_expr_t here = rlx_expr_mul(e, kept, rlx_expr_eq(e, before, num(graph, place)));
        extent = rlx_expr_add(e, extent, rlx_expr_mul(e, here, x->dims[d]));
        before = rlx_expr_add(e, before, kept);
    }
    return extent;
}

static int reduced_dims(rlx_graph_t *graph, const rlx_value_t *x, const rlx_reduce_axes_t *axes, bool keep, rlx_expr_t *dims)
{
    int rank = 0;

    for (int d = 0; keep && d < x->rank; d++)
        dims[d] = rlx_expr_select(graph->exprs, axes->flag[d], num(graph, 1), x->dims[d]);
    if (keep)
        return x->rank;
    for (int d = 0; axes->is_const && d < x->rank; d++)
        if (!axes->reduced[d])
            dims[rank++] = x->dims[d];
    for (; !axes->is_const && rank < x->rank - axes->n_reduced; rank++)
        dims[rank] = kept_extent(graph, x, axes, rank);
    return rank;
}

static rlx_expr_t fold_join(rlx_exprs_t *e, rlx_op_kind_t kind, rlx_expr_t a, rlx_expr_t b)
{
    if (kind == RLX_OP_reduce_max || kind == RLX_OP_reduce_min)
        return kind == RLX_OP_reduce_max ? rlx_expr_max(e, a, b) : rlx_expr_min(e, a, b);
    return kind == RLX_OP_reduce_prod ? rlx_expr_mul(e, a, b) : rlx_expr_add(e, a, b);
}

/* Elements of an integer sum, product, maximum or minimum whose operand's elements are tracked. */
static void fold_elements(rlx_graph_t *graph, rlx_op_t *op, const rlx_reduce_axes_t *axes)
{
    rlx_value_t *x = op->in[0], *y = op->out[0];
    int64_t dims[RLX_RANK_MAX], out_dims[RLX_RANK_MAX], index[RLX_RANK_MAX];
    bool is_sum = op->kind == RLX_OP_reduce_sum, is_prod = op->kind == RLX_OP_reduce_prod, seen[RLX_ELEMENTS_MAX] = {false};
    bool is_extreme = op->kind == RLX_OP_reduce_max || op->kind == RLX_OP_reduce_min;
    rlx_expr_t *elements;

    if (!(is_sum || is_prod || is_extreme) || !rlx_dtype_is_integer(x->dtype) || x->n_elements < 0 || !axes->is_const ||
        !rlx_value_dims_const(graph, x, dims) || (elements = rlx_shape_track(graph, y)) == NULL)
        return;
    for (int d = 0; d < x->rank; d++)
        out_dims[d] = axes->reduced[d] ? 1 : dims[d];
    for (int i = 0; i < y->n_elements; i++)
        elements[i] = is_sum ? num(graph, 0) : is_prod ? num(graph, 1) : RLX_EXPR_NONE;
    for (int i = 0; i < x->n_elements; i++) {
        rlx_shape_unravel(i, x->rank, dims, index);
        for (int d = 0; d < x->rank; d++)
            index[d] = axes->reduced[d] ? 0 : index[d];
        int64_t o = rlx_shape_ravel(x->rank, out_dims, index);
        rlx_expr_t element = rlx_shape_element(x, i);
        elements[o] = is_extreme && !seen[o] ? element : fold_join(graph->exprs, op->kind, elements[o], element);
        seen[o] = true;
    }
    for (int i = 0; i < y->n_elements; i++)
        elements[i] = rlx_shape_wrap(graph, y->dtype, elements[i]);
}

static rlx_status_t shape_reduction(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_value_t *x = op->in[0];
    rlx_reduce_axes_t axes;
    rlx_expr_t dims[RLX_RANK_MAX];

    if (x->dtype == RLX_BOOL && op->kind != RLX_OP_reduce_max && op->kind != RLX_OP_reduce_min)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "a bool operand is not supported; cast it to an integer first");
    RLX_TRY(rlx_reduce_axes_get(graph, op, true, &axes, diag));
    int rank = reduced_dims(graph, x, &axes, rlx_op_int(op, "keepdims") != 0, dims);
    RLX_TRY(rlx_shape_set(graph, op, 0, x->dtype, rank, dims, diag));
    if (op->out[0] != NULL)
        fold_elements(graph, op, &axes);
    return RLX_OK;
}

static rlx_status_t need_number(const rlx_op_t *op, rlx_diag_t *diag)
{
    if (op->in[0]->dtype == RLX_BOOL)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "a bool operand is not supported; cast it to an integer first");
    return RLX_OK;
}

static rlx_status_t shape_arg(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_value_t *x = op->in[0];
    rlx_expr_t dims[RLX_RANK_MAX];
    int axis, rank = 0;

    RLX_TRY(need_number(op, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 1, -1, diag));
    RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), x->rank, &axis, diag));
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(graph->exprs, num(graph, 0), x->dims[axis]), "the axis searched must not be empty",
                              diag));
    for (int d = 0; d < x->rank; d++)
        if (d != axis)
            dims[rank++] = x->dims[d];
        else if (rlx_op_int(op, "keepdims") != 0)
            dims[rank++] = num(graph, 1);
    return rlx_shape_set(graph, op, 0, RLX_I64, rank, dims, diag);
}

static rlx_status_t shape_top_k(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_value_t *x = op->in[0];
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t dims[RLX_RANK_MAX], k;
    int axis;

    RLX_TRY(need_number(op, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 1, -1, diag));
    RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), x->rank, &axis, diag));
    RLX_TRY(rlx_shape_int(graph, op, 1, &k, diag));
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, num(graph, -1), k), "k must not be negative", diag));
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, k, rlx_expr_add(e, x->dims[axis], num(graph, 1))), "k is larger than the axis",
                              diag));
    for (int d = 0; d < x->rank; d++)
        dims[d] = d == axis ? k : x->dims[d];
    RLX_TRY(rlx_shape_set(graph, op, 0, x->dtype, x->rank, dims, diag));
    return rlx_shape_set(graph, op, 1, RLX_I64, x->rank, dims, diag);
}

static rlx_status_t shape_cumulate(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    int rank = op->in[0]->rank;
    rlx_expr_t axis;

    RLX_TRY(need_number(op, diag));
    RLX_TRY(rlx_shape_need_rank(op, 0, 1, -1, diag));
    RLX_TRY(rlx_shape_int(graph, op, 1, &axis, diag));
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, num(graph, -rank - 1), axis), "axis lies below the operand's rank", diag));
    RLX_TRY(rlx_shape_require(graph, op, rlx_expr_lt(e, axis, num(graph, rank)), "axis lies above the operand's rank", diag));
    return rlx_shape_set_like(graph, op, 0, op->in[0]->dtype, 0, diag);
}

static rlx_status_t shape_softmax(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    int axis;

    if (!rlx_dtype_is_float(op->in[0]->dtype))
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "element type %s is not supported, only f32, f64, f16 and bf16",
                              rlx_dtype_name(op->in[0]->dtype));
    RLX_TRY(rlx_shape_need_rank(op, 0, 1, -1, diag));
    RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), op->in[0]->rank, &axis, diag));
    return rlx_shape_set_like(graph, op, 0, op->in[0]->dtype, 0, diag);
}

rlx_status_t rlx_shape_reduce(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_arg_max:
    case RLX_OP_arg_min: return shape_arg(graph, op, diag);
    case RLX_OP_top_k: return shape_top_k(graph, op, diag);
    case RLX_OP_cumsum:
    case RLX_OP_cumprod: return shape_cumulate(graph, op, diag);
    case RLX_OP_softmax:
    case RLX_OP_log_softmax:
    case RLX_OP_hardmax: return shape_softmax(graph, op, diag);
    default: return shape_reduction(graph, op, diag);
    }
}
