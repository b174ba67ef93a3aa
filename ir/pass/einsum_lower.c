/* Lowers einsum: as a matrix product where one summed label is left after merging, else as the generic loop nest. */
#include "ir/operator/einsum.h"

#include "ir/lower/product.h"
#include "ir/shape/common.h"

static rlx_expr_t num(const rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

/* Stride of `label` in operand `operand`: axes that carry it add up (a diagonal); an axis of extent 1 repeats. */
static rlx_expr_t label_stride(const rlx_graph_t *graph, const rlx_einsum_t *e, const rlx_op_t *op, int operand, int label)
{
    const rlx_value_t *value = op->in[operand];
    rlx_exprs_t *x = graph->exprs;
    rlx_expr_t sum = num(graph, 0);

    for (int axis = 0; axis < value->rank; axis++) {
        rlx_expr_t stride = rlx_shape_stride(graph, value, axis);
        if (e->label[operand][axis] != label)
            continue;
        if (value->dims[axis] != e->extent[label])
            stride = rlx_expr_select(x, rlx_expr_eq(x, value->dims[axis], num(graph, 1)), num(graph, 0), stride);
        sum = rlx_expr_add(x, sum, stride);
    }
    return sum;
}

static bool operand_has(const rlx_einsum_t *e, const rlx_op_t *op, int operand, int label)
{
    for (int axis = 0; axis < op->in[operand]->rank; axis++)
        if (e->label[operand][axis] == label)
            return true;
    return false;
}

/* The summed labels as one axis k: possible when in both operands each label continues the next one. */
static bool sum_merge(const rlx_graph_t *graph, const rlx_einsum_t *e, const rlx_op_t *op, rlx_product_t *p)
{
    rlx_exprs_t *x = graph->exprs;

    for (int i = e->n_sum - 1; i >= 0; i--) {
        rlx_expr_t a = label_stride(graph, e, op, 0, e->sum[i]), b = label_stride(graph, e, op, 1, e->sum[i]);
        if (i == e->n_sum - 1) {
            p->a_col = a;
            p->b_row = b;
        } else if (a != rlx_expr_mul(x, p->a_col, p->k) || b != rlx_expr_mul(x, p->b_row, p->k)) {
            return false;
        }
        p->k = rlx_expr_mul(x, p->k, e->extent[e->sum[i]]);
    }
    return true;
}

/* Position in the output of the last label that only `operand` has; -1 for none. */
static int last_only(const rlx_einsum_t *e, const rlx_op_t *op, int operand)
{
    for (int i = e->out_rank - 1; i >= 0; i--)
        if (operand_has(e, op, operand, e->out[i]) && !operand_has(e, op, 1 - operand, e->out[i]))
            return i;
    return -1;
}

/* Rows, columns and batch axes. `left` is the operand that gives the rows. */
static bool out_assign(const rlx_graph_t *graph, const rlx_einsum_t *e, const rlx_op_t *op, int left, rlx_product_t *p)
{
    int row = last_only(e, op, left), col = last_only(e, op, 1 - left), batch = RLX_MATMUL_BATCH;

    for (int i = e->out_rank - 1; i >= 0; i--) {
        int label = e->out[i];
        rlx_expr_t c = rlx_shape_stride(graph, op->out[0], i), a = label_stride(graph, e, op, left, label),
                   b = label_stride(graph, e, op, 1 - left, label);
        if (i == row) {
            p->m = e->extent[label];
            p->a_row = a;
            p->c_row = c;
        } else if (i == col) {
            p->n = e->extent[label];
            p->b_col = b;
            p->c_col = c;
        } else if (--batch < 0) {
            return false;
        } else {
            p->batch[batch] = e->extent[label];
            p->a_batch[batch] = a;
            p->b_batch[batch] = b;
            p->c_batch[batch] = c;
        }
    }
    return true;
}

static bool match_product(rlx_graph_t *graph, const rlx_einsum_t *e, const rlx_op_t *op, rlx_product_t *p)
{
    int left;

    rlx_product_init(graph, p, op);
    if (e->n_operands != 2 || !sum_merge(graph, e, op, p))
        return false;
    left = last_only(e, op, 0) > last_only(e, op, 1); /* the operand whose label ends the output gives the columns */
    if (left) {
        rlx_expr_t t = p->a_col;
        p->a_col = p->b_row;
        p->b_row = t;
    }
    p->a = op->in[left];
    p->b = op->in[1 - left];
    p->c = op->out[0];
    return out_assign(graph, e, op, left, p);
}

static rlx_status_t lower_nest(rlx_builder_t *builder, const rlx_einsum_t *e, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_einsum, RLX_WORDS(rlx_einsum_params_t));
    rlx_expr_t count = rlx_value_count(graph, op->out[0]);
    int out = RLX_WORD(rlx_einsum_params_t, out), sum = RLX_WORD(rlx_einsum_params_t, sum);

    for (int i = 0; i < RLX_EINSUM_RANK; i++) {
        rlx_step_param_const(step, out + i, 1);
        rlx_step_param_const(step, sum + i, 1);
    }
    for (int i = 0; i < e->out_rank; i++)
        rlx_step_param(step, out + RLX_EINSUM_RANK - e->out_rank + i, e->extent[e->out[i]]);
    for (int i = 0; i < e->n_sum; i++)
        rlx_step_param(step, sum + RLX_EINSUM_RANK - e->n_sum + i, e->extent[e->sum[i]]);
    for (int o = 0; o < e->n_operands; o++) {
        int base = RLX_WORD(rlx_einsum_params_t, strides) + o * 2 * RLX_EINSUM_RANK;
        rlx_step_in(step, op->in[o]);
        for (int i = 0; i < e->out_rank; i++)
            rlx_step_param(step, base + RLX_EINSUM_RANK - e->out_rank + i, label_stride(graph, e, op, o, e->out[i]));
        for (int i = 0; i < e->n_sum; i++)
            rlx_step_param(step, base + 2 * RLX_EINSUM_RANK - e->n_sum + i, label_stride(graph, e, op, o, e->sum[i]));
    }
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_einsum_params_t, dtype), op->out[0]->dtype);
    rlx_step_param_const(step, RLX_WORD(rlx_einsum_params_t, operands), e->n_operands);
    rlx_step_param(step, RLX_WORD(rlx_einsum_params_t, count), count);
    return rlx_step_end(step, rlx_expr_ceildiv(graph->exprs, count, num(graph, RLX_EINSUM_TILE)), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

rlx_status_t rlx_einsum_lower(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_product_t product;
    rlx_einsum_t e;

    RLX_TRY(rlx_einsum_read(graph, op, &e, diag));
    if (match_product(graph, &e, op, &product))
        return rlx_product_lower(builder, &product, diag);
    return lower_nest(builder, &e, op, diag);
}
