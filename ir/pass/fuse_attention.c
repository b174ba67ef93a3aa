/* Fuses attention: a product (scores), up to four element-wise steps on it (scale, mask, cap), softmax over the last axis and a product of
 * the result (context) become one op, whose kernel keeps a block of scores in cache. Keeps every bit: the kernel does the same operations
 * on each element in the same order. Runs after transposes were folded into products, so heads are read and written with strides. */
#include "ir/operator/matmul_read.h"
#include "ir/pass.h"

/* A product of two f32 tensors without bias that nobody else has scheduled. */
static bool is_product(const rlx_op_t *op)
{
    return op != NULL && op->kind == RLX_OP_matmul && op->n_in == 2 && op->sched == NULL && op->out[0]->dtype == RLX_F32 &&
           op->in[0] != op->in[1] && op->in[0]->rank >= 2 && op->in[1]->rank >= 2 && op->in[1]->data == NULL;
}

static bool used_once(const rlx_value_t *value) { return value->n_uses == 1 && !value->is_output; }

/* The product whose result `value` is, after the steps in `out` (the last one first, from index `depth` on). */
static rlx_op_t *find_scores(const rlx_graph_t *graph, rlx_value_t *value, int depth, rlx_epilogue_step_t *out, int *out_steps)
{
    rlx_op_t *op = value->producer;

    if (op == NULL || !used_once(value))
        return NULL;
    if (is_product(op)) {
        *out_steps = depth;
        return rlx_op_attr(op, "perm_out") == NULL ? op : NULL;
    }
    for (int i = 0; i < op->n_in && depth < RLX_ATTENTION_STEPS_MAX; i++) {
        rlx_op_t *scores;

        if (op->in[i] == NULL || !rlx_epilogue_step_of(graph, op, op->in[i], &out[depth]))
            continue;
        scores = find_scores(graph, op->in[i], depth + 1, out, out_steps);
        if (scores != NULL && rlx_epilogue_step_of(graph, op, op->in[i], &out[depth]))
            return scores;
    }
    return NULL;
}

static bool over_last_axis(const rlx_op_t *softmax)
{
    int64_t axis = rlx_op_int(softmax, "axis");

    return softmax->in[0]->dtype == RLX_F32 && (axis == -1 || axis == softmax->in[0]->rank - 1);
}

/* The product that reads the softmax as its rows. */
static rlx_op_t *find_context(const rlx_graph_t *graph, const rlx_op_t *softmax)
{
    rlx_op_t *op = used_once(softmax->out[0]) ? rlx_value_single_user(graph, softmax->out[0]) : NULL;

    if (!is_product(op) || op->in[0] != softmax->out[0] || rlx_op_int(op, "trans_a") != 0 || rlx_op_attr(op, "perm_a") != NULL)
        return NULL;
    return op;
}

/* Both products run over the same batch axes, few enough for the kernel. */
static bool same_batch(rlx_graph_t *graph, const rlx_op_t *scores, const rlx_op_t *context)
{
    rlx_matmul_views_t s, c;
    rlx_diag_t ignored = {0};

    if (rlx_matmul_views(graph, scores, &s, &ignored) != RLX_OK || rlx_matmul_views(graph, context, &c, &ignored) != RLX_OK)
        return false;
    if (s.n_batch != c.n_batch || s.n_batch > RLX_ATTENTION_BATCH)
        return false;
    for (int i = 0; i < s.n_batch; i++)
        if (s.dims[i] != c.dims[i])
            return false;
    return true;
}

static void replace(rlx_graph_t *graph, const rlx_attention_t *found, rlx_op_t *context)
{
    rlx_value_t *in[3 + RLX_ATTENTION_STEPS_MAX] = {found->scores->in[0], found->scores->in[1], context->in[1]}, *out = context->out[0];
    rlx_attention_t *attention = rlx_graph_alloc(graph, sizeof *attention);
    int n_in = 3;
    rlx_op_t *op;

    *attention = *found;
    for (int i = 0; i < found->n_steps; i++)
        if (found->steps[i].tensor != NULL)
            in[n_in++] = found->steps[i].tensor;
    out->producer = NULL; /* changes hands */
    op = rlx_graph_op(graph, context, RLX_OP_attention, context->name, n_in, in, 1, &out);
    op->source = context->source;
    rlx_op_schedule(graph, op)->attention = attention;
    context->out[0] = NULL;
    rlx_graph_remove(graph, context);
}

static void fuse_at(rlx_graph_t *graph, rlx_op_t *softmax)
{
    rlx_epilogue_step_t steps[RLX_ATTENTION_STEPS_MAX];
    rlx_op_t *context = over_last_axis(softmax) ? find_context(graph, softmax) : NULL;
    rlx_attention_t found = {.context = context};

    if (context == NULL)
        return;
    found.scores = find_scores(graph, softmax->in[0], 0, steps, &found.n_steps);
    if (found.scores == NULL || !same_batch(graph, found.scores, context))
        return;
    for (int i = 0; i < found.n_steps; i++)
        found.steps[i] = steps[found.n_steps - 1 - i];
    replace(graph, &found, context);
}

rlx_status_t rlx_pass_fuse_attention(rlx_graph_t *graph, rlx_diag_t *diag)
{
    (void)diag;
    for (rlx_op_t *op = graph->first; op != NULL; op = op->next)
        if (op->kind == RLX_OP_softmax)
            fuse_at(graph, op);
    rlx_pass_dead_code(graph); /* softmax, steps and scores */
    return RLX_OK;
}
