/* Element-wise chains that are products and sums with one number per channel, in C16: affine_c16. */
#include "ir/lower/affine.h"

#define PAIRS_MAX 2

typedef struct affine {
    const rlx_value_t *x, *operand[2 * PAIRS_MAX]; /* factor, term, factor, term; NULL: none */
    int pairs;
    bool relu;
} affine_t;

/* One number per channel of `out`, the same in every cell. */
static bool is_per_channel(const rlx_graph_t *graph, const rlx_value_t *value, const rlx_value_t *out)
{
    if (value->dtype != RLX_F32 || value->layout != RLX_LAYOUT_C16 || value->rank != out->rank || value->dims[1] != out->dims[1] ||
        (!rlx_expr_is(graph->exprs, value->dims[0], 1) && value->dims[0] != out->dims[0]))
        return false;
    for (int i = 2; i < value->rank; ++i)
        if (!rlx_expr_is(graph->exprs, value->dims[i], 1))
            return false;
    return true;
}

static bool same_shape(const rlx_value_t *a, const rlx_value_t *b)
{
    for (int i = 0; i < a->rank && a->rank == b->rank; ++i)
        if (a->dims[i] != b->dims[i])
            return false;
    return a->rank == b->rank;
}

/* Takes the operand into the pairs: a factor opens a pair unless an empty one is open, a term closes it. */
static bool pair_add(affine_t *a, bool product, const rlx_value_t *operand)
{
    if (a->pairs == 0 || a->operand[2 * a->pairs - 1] != NULL || (product && a->operand[2 * a->pairs - 2] != NULL)) {
        if (a->pairs == PAIRS_MAX)
            return false;
        ++a->pairs;
    }
    a->operand[2 * a->pairs - (product ? 2 : 1)] = operand;
    return true;
}

/* Step `index` of the chain on the running value. */
static bool step_add(const rlx_graph_t *graph, const rlx_op_t *op, const rlx_chain_t *chain, int index, affine_t *a)
{
    const rlx_chain_step_t *step = &chain->steps[index];
    rlx_op_kind_t kind = step->op->kind;
    int running = index == 0 ? -1 : step->src[0] == ~(index - 1) ? 0 : step->src[1] == ~(index - 1) ? 1 : -1;
    const rlx_value_t *other;

    if (step->dtype != RLX_F32 || a->relu)
        return false;
    if (kind == RLX_OP_relu && index > 0 && running == 0 && index == chain->n_steps - 1)
        return a->relu = true;
    if ((kind != RLX_OP_mul && kind != RLX_OP_add) || step->src[0] == RLX_CHAIN_ABSENT || step->src[1] == RLX_CHAIN_ABSENT)
        return false;
    if (index == 0) {
        if (step->src[0] < 0 || step->src[1] < 0)
            return false;
        running = is_per_channel(graph, op->in[step->src[1]], op->out[0]) ? 0 : 1;
        a->x = op->in[step->src[running]];
        if (a->x->layout != RLX_LAYOUT_C16 || a->x->dtype != RLX_F32 || !same_shape(a->x, op->out[0]))
            return false;
    }
    if (running < 0 || step->src[1 - running] < 0)
        return false;
    other = op->in[step->src[1 - running]];
    return is_per_channel(graph, other, op->out[0]) && pair_add(a, kind == RLX_OP_mul, other);
}

bool rlx_affine_lower(rlx_builder_t *builder, const rlx_op_t *op, const rlx_chain_t *chain, rlx_status_t *out_status, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *out = op->out[0];
    affine_t a = {0};
    rlx_expr_t blocks, space, planes, chunks;
    rlx_step_t *step;

    if (op->n_out != 1 || out->layout != RLX_LAYOUT_C16 || out->dtype != RLX_F32 || chain->n_results != 1 ||
        chain->result[0] != chain->n_steps - 1)
        return false;
    for (int i = 0; i < chain->n_steps; ++i)
        if (!step_add(graph, op, chain, i, &a))
            return false;
    blocks = rlx_expr_ceildiv(e, out->dims[1], rlx_expr_const(e, 16));
    space = rlx_expr_const(e, 1);
    for (int i = 2; i < out->rank; ++i)
        space = rlx_expr_mul(e, space, out->dims[i]);
    planes = rlx_expr_mul(e, out->dims[0], blocks);
    chunks = rlx_expr_ceildiv(e, space, rlx_expr_const(e, RLX_AFFINE_CELLS));
    step = rlx_step_begin(builder, op, RLX_K_affine_c16, RLX_WORDS(rlx_affine_c16_params_t));
    rlx_step_in(step, a.x);
    for (int k = 0; k < 2 * a.pairs; ++k) {
        bool batched = a.operand[k] != NULL && !rlx_expr_is(e, a.operand[k]->dims[0], 1);

        rlx_step_in(step, a.operand[k]);
        rlx_step_param(step, RLX_WORD(rlx_affine_c16_params_t, stride) + k,
                       batched ? rlx_expr_mul(e, blocks, rlx_expr_const(e, 16)) : rlx_expr_const(e, 0));
    }
    rlx_step_out(step, out);
    rlx_step_param(step, RLX_WORD(rlx_affine_c16_params_t, blocks), blocks);
    rlx_step_param(step, RLX_WORD(rlx_affine_c16_params_t, space), space);
    rlx_step_param_const(step, RLX_WORD(rlx_affine_c16_params_t, pairs), a.pairs);
    rlx_step_param_const(step, RLX_WORD(rlx_affine_c16_params_t, relu), a.relu);
    *out_status = rlx_step_end(step, rlx_expr_mul(e, planes, chunks), RLX_EXPR_NONE,
                               rlx_expr_mul(e, rlx_expr_mul(e, planes, space), rlx_expr_const(e, 32 * a.pairs)), diag);
    return true;
}
