/* Lowering of dynamic quantisation: the range first, then the bytes; both are shared out among threads by parts. See ir/operator/quant.h. */
#include "ir/operator/quant.h"
#include "ir/shape/common.h"

#define PART_ELEMENTS 8192
#define PARTS_MAX 16

static rlx_expr_t num(const rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }
static rlx_expr_t times(const rlx_graph_t *graph, rlx_expr_t a, rlx_expr_t b) { return rlx_expr_mul(graph->exprs, a, b); }

/* Pieces of each item. */
static rlx_expr_t parts_of(const rlx_graph_t *graph, const rlx_quant_items_t *items)
{
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t parts = rlx_expr_ceildiv(e, times(graph, items->steps, items->columns), num(graph, PART_ELEMENTS));

    return rlx_expr_max(e, num(graph, 1), rlx_expr_min(e, parts, rlx_expr_min(e, items->steps, num(graph, PARTS_MAX))));
}

static rlx_status_t step_end(const rlx_graph_t *graph, rlx_step_t *step, const rlx_quant_items_t *items, rlx_diag_t *diag)
{
    rlx_expr_t parts = parts_of(graph, items), count = times(graph, times(graph, items->steps, items->count), items->columns);

#define SET(name, value) rlx_step_param(step, RLX_WORD(rlx_qspan_params_t, name), value)
    SET(items, items->count);
    SET(steps, items->steps);
    SET(columns, items->columns);
    SET(step, items->step);
    SET(item_step, items->item_step);
    SET(parts, parts);
    SET(rows, num(graph, items->rows));
#undef SET
    return rlx_step_end(step, times(graph, items->count, parts), RLX_EXPR_NONE, times(graph, count, num(graph, 2)), diag);
}

rlx_status_t rlx_quant_lower_items(rlx_builder_t *builder, const rlx_op_t *op, const rlx_quant_items_t *items, const rlx_value_t *const out[3],
                                   rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_expr_t spans = times(graph, times(graph, items->count, parts_of(graph, items)), num(graph, 2));
    rlx_value_t *range = rlx_builder_temp(builder, RLX_F32, 1, &spans, RLX_LAYOUT_ROW_MAJOR);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_qspan, RLX_WORDS(rlx_qspan_params_t));

    rlx_step_in(step, op->in[0]);
    rlx_step_in(step, items->lengths);
    rlx_step_out(step, range);
    RLX_TRY(step_end(graph, step, items, diag));
    step = rlx_step_begin(builder, op, RLX_K_qdynamic, RLX_WORDS(rlx_qdynamic_params_t));
    rlx_step_in(step, op->in[0]);
    rlx_step_in(step, range);
    rlx_step_in(step, items->lengths);
    for (int i = 0; i < 3; i++)
        rlx_step_out(step, out[i]);
    return step_end(graph, step, items, diag);
}

rlx_status_t rlx_quant_lower_dynamic(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0];
    rlx_quant_items_t items = {.count = num(graph, 1), .steps = num(graph, 1), .columns = num(graph, 1), .item_step = num(graph, 0)};
    const rlx_value_t *out[3] = {NULL};

    for (int i = 0; i < op->n_out && i < 3; i++)
        out[i] = op->out[i];
    if (x->rank > 0) {
        items.steps = rlx_shape_product(graph, x->dims, 0, x->rank - 1);
        items.columns = x->dims[x->rank - 1];
    }
    items.step = items.columns;
    return rlx_quant_lower_items(builder, op, &items, out, diag);
}
