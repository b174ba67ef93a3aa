/* Lowering of the matmul family: matmul, einsum, det. */
#include "ir/lower/dispatch.h"
#include "ir/operator/einsum.h"
#include "ir/operator/matmul_read.h"
#include "ir/schedule.h"
#include "ir/shape/common.h"

static void product_batch(const rlx_graph_t *graph, const rlx_matmul_views_t *v, rlx_product_t *p)
{
    for (int i = 0; i < v->n_batch; i++) {
        int at = RLX_MATMUL_BATCH - v->n_batch + i;
        p->batch[at] = v->dims[i];
        p->a_batch[at] = rlx_matmul_batch_stride(graph, &v->a, v->n_batch, i, v->dims[i]);
        p->b_batch[at] = rlx_matmul_batch_stride(graph, &v->b, v->n_batch, i, v->dims[i]);
        p->c_batch[at] = rlx_matmul_out_stride(graph, v, p->c, i);
    }
}

static rlx_status_t lower_matmul(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_schedule_t *sched = op->sched;
    int n_operands = sched != NULL && sched->epilogue != NULL ? sched->n_operands : op->n_in, axis;
    rlx_matmul_views_t v;
    rlx_product_t p;

    RLX_TRY(rlx_matmul_views(graph, op, &v, diag));
    rlx_product_init(graph, &p, op);
    p.a = op->in[0];
    p.b = op->in[1];
    p.bias = n_operands > 2 ? op->in[2] : NULL;
    p.c = op->out[0];
    p.m = v.m;
    p.n = v.n;
    p.k = v.k;
    p.a_row = v.a.strides[v.a.rank - 2];
    p.a_col = v.a.strides[v.a.rank - 1];
    p.b_row = v.b.strides[v.b.rank - 2];
    p.b_col = v.b.strides[v.b.rank - 1];
    axis = v.n_batch;
    if (op->in[0]->rank > 1)
        p.c_row = rlx_matmul_out_stride(graph, &v, p.c, axis++);
    p.c_col = op->in[1]->rank > 1 ? rlx_matmul_out_stride(graph, &v, p.c, axis) : rlx_expr_const(graph->exprs, 1);
    product_batch(graph, &v, &p);
    return rlx_product_lower(builder, &p, diag);
}

static rlx_status_t lower_det(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0];
    rlx_expr_t n = x->dims[x->rank - 1],
               bytes = rlx_expr_mul(graph->exprs, rlx_expr_mul(graph->exprs, n, n), rlx_expr_const(graph->exprs, 8));
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_det, RLX_WORDS(rlx_det_params_t));

    rlx_step_in(step, x);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_det_params_t, dtype), x->dtype);
    rlx_step_param(step, RLX_WORD(rlx_det_params_t, n), n);
    return rlx_step_end(step, rlx_shape_product(graph, x->dims, 0, x->rank - 2), bytes, RLX_EXPR_NONE, diag);
}

rlx_status_t rlx_lower_matmul(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    if (op->kind == RLX_OP_matmul)
        return lower_matmul(builder, op, diag);
    if (op->kind == RLX_OP_attention)
        return rlx_lower_attention(builder, op, diag);
    return op->kind == RLX_OP_einsum ? rlx_einsum_lower(builder, op, diag) : lower_det(builder, op, diag);
}
