/* Reads the axes operand of a reduction. */
#include "ir/operator/reduce_axes.h"

static rlx_status_t run_time_flags(rlx_graph_t *graph, const rlx_op_t *op, bool check, const rlx_expr_t *axes, int count,
                                   rlx_reduce_axes_t *out, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    int rank = op->in[0]->rank;
    rlx_expr_t total = rlx_expr_const(e, 0);

    for (int d = 0; d < rank; d++) {
        out->flag[d] = rlx_expr_const(e, 0);
        for (int i = 0; i < count; i++) {
            out->flag[d] = rlx_expr_max(e, out->flag[d], rlx_expr_eq(e, axes[i], rlx_expr_const(e, d)));
            out->flag[d] = rlx_expr_max(e, out->flag[d], rlx_expr_eq(e, axes[i], rlx_expr_const(e, d - rank)));
        }
        total = rlx_expr_add(e, total, out->flag[d]);
    }
    out->n_reduced = count;
    if (!check)
        return RLX_OK;
    return rlx_shape_require_equal(graph, op, total, rlx_expr_const(e, count), "distinct axes inside the operand's rank and axes given",
                                   diag);
}

rlx_status_t rlx_reduce_axes_get(rlx_graph_t *graph, const rlx_op_t *op, bool check, rlx_reduce_axes_t *out_axes, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t axes[RLX_RANK_MAX];
    int rank = op->in[0]->rank, count = 0, axis;
    bool constant = true;

    *out_axes = (rlx_reduce_axes_t){.is_const = true};
    if (rlx_op_in(op, 1) != NULL)
        RLX_TRY(rlx_shape_ints(graph, op, 1, axes, RLX_RANK_MAX, &count, diag));
    for (int d = 0; d < rank; d++)
        out_axes->reduced[d] = count == 0 && rlx_op_int(op, "noop_with_empty_axes") == 0;
    for (int i = 0; i < count; i++) {
        int64_t value;
        if (!rlx_expr_is_const(e, axes[i], &value)) {
            constant = false;
            continue;
        }
        RLX_TRY(rlx_shape_axis(op, value, rank, &axis, diag));
        if (out_axes->reduced[axis])
            return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "axis %d is given twice", axis);
        out_axes->reduced[axis] = true;
    }
    if (!constant) {
        out_axes->is_const = false;
        return run_time_flags(graph, op, check, axes, count, out_axes, diag);
    }
    for (int d = 0; d < rank; d++) {
        out_axes->flag[d] = rlx_expr_const(e, out_axes->reduced[d]);
        out_axes->n_reduced += out_axes->reduced[d];
    }
    return RLX_OK;
}
