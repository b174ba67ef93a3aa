/* Lowers attention to one step of its kernel: products as strides, steps as numbers. */
#include "ir/lower/dispatch.h"
#include "ir/pass/epilogue.h"
#include "ir/operator/matmul_read.h"
#include "ir/schedule.h"
#include "ir/shape/common.h"

#define TILE_ROWS 128

static rlx_expr_t num(const rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }
static rlx_expr_t times(const rlx_graph_t *graph, rlx_expr_t a, rlx_expr_t b) { return rlx_expr_mul(graph->exprs, a, b); }

#define FIELD(name) RLX_WORD(rlx_attention_params_t, name)

/* Strides along the batch axes, right-aligned in the kernel's. */
static void batch_params(const rlx_graph_t *graph, rlx_step_t *step, const rlx_matmul_views_t *scores, int word, const rlx_view_t *view)
{
    int lead = RLX_ATTENTION_BATCH - scores->n_batch;

    for (int i = 0; i < RLX_ATTENTION_BATCH; i++)
        rlx_step_param(step, word + i,
                       i < lead ? num(graph, 0) : rlx_matmul_batch_stride(graph, view, scores->n_batch, i - lead, scores->dims[i - lead]));
}

static void score_params(const rlx_graph_t *graph, rlx_step_t *step, const rlx_matmul_views_t *s)
{
    int lead = RLX_ATTENTION_BATCH - s->n_batch;

    rlx_step_param(step, FIELD(m), s->m);
    rlx_step_param(step, FIELD(n), s->n);
    rlx_step_param(step, FIELD(depth), s->k);
    for (int i = 0; i < RLX_ATTENTION_BATCH; i++)
        rlx_step_param(step, FIELD(batch) + i, i < lead ? num(graph, 1) : s->dims[i - lead]);
    batch_params(graph, step, s, FIELD(q_batch), &s->a);
    batch_params(graph, step, s, FIELD(k_batch), &s->b);
    rlx_step_param(step, FIELD(q_row), s->a.strides[s->a.rank - 2]);
    rlx_step_param(step, FIELD(q_col), s->a.strides[s->a.rank - 1]);
    rlx_step_param(step, FIELD(k_row), s->b.strides[s->b.rank - 2]);
    rlx_step_param(step, FIELD(k_col), s->b.strides[s->b.rank - 1]);
}

static void context_params(const rlx_graph_t *graph, rlx_step_t *step, const rlx_matmul_views_t *s, const rlx_matmul_views_t *c,
                           const rlx_value_t *out)
{
    int lead = RLX_ATTENTION_BATCH - s->n_batch;

    rlx_step_param(step, FIELD(width), c->n);
    batch_params(graph, step, s, FIELD(v_batch), &c->b);
    rlx_step_param(step, FIELD(v_row), c->b.strides[c->b.rank - 2]);
    rlx_step_param(step, FIELD(v_col), c->b.strides[c->b.rank - 1]);
    for (int i = 0; i < RLX_ATTENTION_BATCH; i++)
        rlx_step_param(step, FIELD(c_batch) + i, i < lead ? num(graph, 0) : rlx_matmul_out_stride(graph, c, out, i - lead));
    rlx_step_param(step, FIELD(c_row), rlx_matmul_out_stride(graph, c, out, c->n_batch));
    rlx_step_param(step, FIELD(c_col), rlx_matmul_out_stride(graph, c, out, c->n_batch + 1));
}

/* One step; `operand` is where its tensor stands among the inputs. */
static rlx_status_t step_params(const rlx_graph_t *graph, rlx_step_t *step, const rlx_matmul_views_t *s, int word, int operand,
                                const rlx_epilogue_step_t *from, rlx_diag_t *diag)
{
#define WORD(name) (word + RLX_WORD(rlx_attention_step_params_t, name))
    float a, b;
    rlx_map_op_t kind = rlx_epilogue_step_kind(from, &a, &b);
    rlx_view_t view;
    int64_t perm[RLX_RANK_MAX];

    if (kind == RLX_MAP_none)
        return rlx_fail(diag, RLX_E_INTERNAL, "%s: no form for a step of attention", from->op->source);
    rlx_step_param_const(step, WORD(kind), kind);
    rlx_step_param_const(step, WORD(operand), from->tensor != NULL ? operand : -1);
    rlx_step_param_const(step, WORD(reversed), from->running_is_second);
    rlx_step_param_f32(step, WORD(a), a);
    rlx_step_param_f32(step, WORD(b), b);
    if (from->tensor == NULL)
        return RLX_OK;
    for (int i = 0; i < from->tensor->rank; i++)
        perm[i] = i;
    view = rlx_view_make(graph, from->tensor->rank, from->tensor->dims, perm);
    batch_params(graph, step, s, WORD(batch), &view);
    rlx_step_param(step, WORD(row), rlx_matmul_batch_stride(graph, &view, s->n_batch, s->n_batch, s->m));
    rlx_step_param(step, WORD(col), rlx_matmul_batch_stride(graph, &view, s->n_batch, s->n_batch + 1, s->n));
    return RLX_OK;
#undef WORD
}

/* RLX_ATTENTION_SCRATCH, in bytes. */
static rlx_expr_t scratch(const rlx_graph_t *graph, rlx_expr_t n, rlx_expr_t depth, rlx_expr_t width)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t block = num(graph, 16), keys = times(graph, rlx_expr_ceildiv(e, n, block), block),
               padded = times(graph, rlx_expr_ceildiv(e, width, block), block);
    rlx_expr_t per_key = rlx_expr_add(e, rlx_expr_add(e, depth, padded), num(graph, RLX_ATTENTION_ROWS));
    rlx_expr_t rest = times(graph, rlx_expr_add(e, depth, num(graph, 48)), num(graph, RLX_ATTENTION_ROWS));

    return times(graph, rlx_expr_add(e, times(graph, keys, per_key), rest), num(graph, 4));
}

static rlx_expr_t flops(const rlx_graph_t *graph, const rlx_matmul_views_t *s, rlx_expr_t batches, rlx_expr_t width)
{
    rlx_expr_t scores = times(graph, batches, times(graph, s->m, s->n));
    rlx_expr_t each = times(graph, rlx_expr_add(graph->exprs, s->k, width), num(graph, 2));

    return times(graph, scores, each);
}

rlx_status_t rlx_lower_attention(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_attention_t *attention = ((const rlx_schedule_t *)op->sched)->attention;
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_attention, RLX_WORDS(rlx_attention_params_t));
    rlx_expr_t batches, rows = num(graph, TILE_ROWS);
    rlx_matmul_views_t s, c;
    int operand = 3;

    RLX_TRY(rlx_matmul_views(graph, attention->scores, &s, diag));
    RLX_TRY(rlx_matmul_views(graph, attention->context, &c, diag));
    for (int i = 0; i < op->n_in; i++)
        rlx_step_in(step, op->in[i]);
    rlx_step_out(step, op->out[0]);
    score_params(graph, step, &s);
    context_params(graph, step, &s, &c, op->out[0]);
    rlx_step_param(step, FIELD(rows), rows);
    rlx_step_param_const(step, FIELD(n_steps), attention->n_steps);
    for (int i = 0; i < attention->n_steps; i++) {
        int word = FIELD(step) + i * RLX_WORDS(rlx_attention_step_params_t);

        RLX_TRY(step_params(graph, step, &s, word, operand, &attention->steps[i], diag));
        operand += attention->steps[i].tensor != NULL;
    }
    batches = rlx_shape_product(graph, s.dims, 0, s.n_batch);
    return rlx_step_end(step, times(graph, batches, rlx_expr_ceildiv(graph->exprs, s.m, rows)), scratch(graph, s.n, s.k, c.n),
                        flops(graph, &s, batches, c.n), diag);
}
