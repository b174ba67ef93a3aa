/* matmul seen as a product: extents, strides, and the shape of what is stored. Used by the shape rule and the lowering. */
#include "ir/operator/matmul_read.h"

#include "ir/shape/common.h"

static rlx_expr_t one(const rlx_graph_t *graph) { return rlx_expr_const(graph->exprs, 1); }

/* Elements from one index of `axis` to the next in memory. */
static rlx_expr_t stored_stride(const rlx_graph_t *graph, const rlx_value_t *value, int axis)
{
    int last = value->rank - 1;
    rlx_expr_t row;

    if (value->layout != RLX_LAYOUT_ROWS_APART || axis == last)
        return rlx_shape_product(graph, value->dims, axis + 1, value->rank);
    row = rlx_expr_add(graph->exprs, value->dims[last], rlx_expr_const(graph->exprs, RLX_ROWS_APART));
    return rlx_expr_mul(graph->exprs, rlx_shape_product(graph, value->dims, axis + 1, last), row);
}

/* The operand as matrices: rank >= 2, last two axes row and column. A vector is one row (A) or one column (B). */
static rlx_status_t operand_view(rlx_graph_t *graph, const rlx_op_t *op, int index, rlx_view_t *out_view, rlx_diag_t *diag)
{
    const rlx_value_t *value = op->in[index];
    int64_t perm[RLX_RANK_MAX];
    rlx_view_t view;

    RLX_TRY(rlx_shape_need_rank(op, index, 1, RLX_RANK_MAX, diag));
    RLX_TRY(rlx_view_perm(op, index ? "perm_b" : "perm_a", value->rank, perm, diag));
    view = rlx_view_make(graph, value->rank, value->dims, perm);
    for (int i = 0; value->layout == RLX_LAYOUT_ROWS_APART && i < view.rank; i++)
        view.strides[i] = stored_stride(graph, value, (int)perm[i]);
    if (view.rank == 1) {
        view.rank = 2;
        view.dims[1 - index] = view.dims[0];
        view.strides[1 - index] = view.strides[0];
        view.dims[index] = one(graph);
        view.strides[index] = rlx_expr_const(graph->exprs, 0);
    } else if (rlx_op_int(op, index ? "trans_b" : "trans_a")) {
        rlx_expr_t dim = view.dims[view.rank - 1], stride = view.strides[view.rank - 1];
        view.dims[view.rank - 1] = view.dims[view.rank - 2];
        view.strides[view.rank - 1] = view.strides[view.rank - 2];
        view.dims[view.rank - 2] = dim;
        view.strides[view.rank - 2] = stride;
    }
    *out_view = view;
    return RLX_OK;
}

rlx_status_t rlx_matmul_views(rlx_graph_t *graph, const rlx_op_t *op, rlx_matmul_views_t *out_views, rlx_diag_t *diag)
{
    rlx_matmul_views_t v = {0};
    rlx_expr_t *dims = v.dims;
    int rank = 0;

    RLX_TRY(operand_view(graph, op, 0, &v.a, diag));
    RLX_TRY(operand_view(graph, op, 1, &v.b, diag));
    RLX_TRY(rlx_shape_broadcast_dims(graph, op, dims, &rank, v.a.dims, v.a.rank - 2, diag));
    RLX_TRY(rlx_shape_broadcast_dims(graph, op, dims, &rank, v.b.dims, v.b.rank - 2, diag));
    v.n_batch = rank;
    v.m = v.a.dims[v.a.rank - 2];
    v.k = v.a.dims[v.a.rank - 1];
    v.n = v.b.dims[v.b.rank - 1];
    if (op->in[0]->rank > 1)
        dims[rank++] = v.m;
    if (op->in[1]->rank > 1)
        dims[rank++] = v.n;
    v.rank = rank;
    RLX_TRY(rlx_view_perm(op, "perm_out", rank, v.perm_out, diag));
    *out_views = v;
    return RLX_OK;
}

rlx_expr_t rlx_matmul_batch_stride(const rlx_graph_t *graph, const rlx_view_t *view, int n_batch, int axis, rlx_expr_t extent)
{
    int at = axis - (n_batch + 2 - view->rank);
    rlx_exprs_t *e = graph->exprs;

    if (at < 0)
        return rlx_expr_const(e, 0);
    if (view->dims[at] == extent)
        return view->strides[at];
    return rlx_expr_select(e, rlx_expr_eq(e, view->dims[at], rlx_expr_const(e, 1)), rlx_expr_const(e, 0), view->strides[at]);
}

rlx_expr_t rlx_matmul_out_stride(const rlx_graph_t *graph, const rlx_matmul_views_t *views, const rlx_value_t *out, int axis)
{
    for (int i = 0; i < views->rank; i++)
        if (views->perm_out[i] == axis)
            return stored_stride(graph, out, i);
    return rlx_expr_const(graph->exprs, 0);
}
