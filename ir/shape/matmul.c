/* Shape rules of the matmul family: matmul, einsum, det. */
#include "ir/lower/dispatch.h"
#include "ir/operator/einsum.h"
#include "ir/operator/matmul_read.h"
#include "ir/schedule.h"
#include "ir/shape/common.h"

static int operands_proper(const rlx_op_t *op)
{
    const rlx_schedule_t *sched = op->sched;

    return sched != NULL && sched->epilogue != NULL ? sched->n_operands : op->n_in;
}

static rlx_status_t shape_matmul(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t dims[RLX_RANK_MAX];
    rlx_matmul_views_t v;

    if (op->in[0]->dtype == RLX_BOOL)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "element type bool is not supported; cast to an integer type first");
    RLX_TRY(rlx_shape_need_same_dtype(op, 0, 1, diag));
    RLX_TRY(rlx_matmul_views(graph, op, &v, diag));
    RLX_TRY(rlx_shape_require_equal(graph, op, v.k, v.b.dims[v.b.rank - 2], "columns of the first and rows of the second operand", diag));
    if (operands_proper(op) > 2 && op->in[2] != NULL) {
        RLX_TRY(rlx_shape_need_rank(op, 2, 1, 1, diag));
        RLX_TRY(rlx_shape_need_same_dtype(op, 0, 2, diag));
        RLX_TRY(rlx_shape_require_equal(graph, op, op->in[2]->dims[0], v.n, "bias and columns", diag));
    }
    for (int i = 0; i < v.rank; i++)
        dims[i] = v.dims[v.perm_out[i]];
    return rlx_shape_set(graph, op, 0, op->in[0]->dtype, v.rank, dims, diag);
}

static rlx_status_t shape_einsum(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t dims[RLX_RANK_MAX];
    rlx_einsum_t einsum;

    RLX_TRY(rlx_einsum_read(graph, op, &einsum, diag));
    for (int i = 0; i < einsum.out_rank; i++)
        dims[i] = einsum.extent[einsum.out[i]];
    return rlx_shape_set(graph, op, 0, op->in[0]->dtype, einsum.out_rank, dims, diag);
}

static rlx_status_t shape_det(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];

    RLX_TRY(rlx_shape_need_rank(op, 0, 2, RLX_RANK_MAX, diag));
    if (!rlx_dtype_is_float(x->dtype))
        return rlx_shape_fail(
            diag, op, RLX_E_ONNX_OPERATOR, "element type %s is not supported, only f32, f64, f16 and bf16", rlx_dtype_name(x->dtype));
    RLX_TRY(rlx_shape_require_equal(graph, op, x->dims[x->rank - 2], x->dims[x->rank - 1], "rows and columns of the matrix", diag));
    return rlx_shape_set(graph, op, 0, x->dtype, x->rank - 2, x->dims, diag);
}

/* As the product at its end had it. The operator exists only where a pass has fused one. */
static rlx_status_t shape_attention(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    const rlx_schedule_t *sched = op->sched;
    rlx_expr_t dims[RLX_RANK_MAX];
    rlx_matmul_views_t v;

    if (sched == NULL || sched->attention == NULL)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "it has no products: the compiler makes it of them, no model names it");
    RLX_TRY(rlx_matmul_views(graph, sched->attention->context, &v, diag));
    for (int i = 0; i < v.rank; i++)
        dims[i] = v.dims[v.perm_out[i]];
    return rlx_shape_set(graph, op, 0, op->in[0]->dtype, v.rank, dims, diag);
}

rlx_status_t rlx_shape_matmul(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag)
{
    if (op->kind == RLX_OP_attention)
        return shape_attention(graph, op, diag);
    if (op->kind == RLX_OP_matmul)
        return shape_matmul(graph, op, diag);
    return op->kind == RLX_OP_einsum ? shape_einsum(graph, op, diag) : shape_det(graph, op, diag);
}
