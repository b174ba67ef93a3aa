/* Lowers the reduce family. Reductions: dimensions that neighbour and share a fate are merged; f32 with one merged reduced group goes to
 * the fast kernel, one over spatial axes of a C16 tensor to the blocked one, all else to the plain kernel, which also serves axes known
 * only at run time. The others see their operand as [outer, count, inner]. */
#include "ir/lower/dispatch.h"
#include "ir/operator/reduce_axes.h"

#define TILE_ELEMENTS 8192

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

static int reduce_code(rlx_op_kind_t kind)
{
    switch (kind) {
    case RLX_OP_reduce_mean: return RLX_REDUCE_MEAN;
    case RLX_OP_reduce_max: return RLX_REDUCE_MAX;
    case RLX_OP_reduce_min: return RLX_REDUCE_MIN;
    case RLX_OP_reduce_prod: return RLX_REDUCE_PROD;
    case RLX_OP_reduce_l1: return RLX_REDUCE_L1;
    case RLX_OP_reduce_l2: return RLX_REDUCE_L2;
    case RLX_OP_reduce_log_sum: return RLX_REDUCE_LOG_SUM;
    case RLX_OP_reduce_log_sum_exp: return RLX_REDUCE_LOG_SUM_EXP;
    case RLX_OP_reduce_sum_square: return RLX_REDUCE_SUM_SQUARE;
    default: return RLX_REDUCE_SUM;
    }
}

/* Dimensions after merging, right-aligned in 8 places. */
typedef struct merged {
    rlx_expr_t kept[RLX_RANK_MAX], reduced[RLX_RANK_MAX], stride[RLX_RANK_MAX];
    rlx_expr_t outputs, count;
    int n_groups;               /* merged dimensions, -1 when the axes are not constant */
    bool group_reduced[RLX_RANK_MAX];
    rlx_expr_t group[RLX_RANK_MAX];
} merged_t;

static void merge_groups(rlx_graph_t *graph, const rlx_value_t *x, const rlx_reduce_axes_t *axes, merged_t *m)
{
    for (int d = 0; d < x->rank; d++) {
        if (rlx_expr_is(graph->exprs, x->dims[d], 1))
            continue;
        if (m->n_groups > 0 && m->group_reduced[m->n_groups - 1] == axes->reduced[d]) {
            m->group[m->n_groups - 1] = rlx_expr_mul(graph->exprs, m->group[m->n_groups - 1], x->dims[d]);
        } else {
            m->group_reduced[m->n_groups] = axes->reduced[d];
            m->group[m->n_groups++] = x->dims[d];
        }
    }
}

static void merge_place(rlx_graph_t *graph, merged_t *m, int place, rlx_expr_t extent, rlx_expr_t flag, rlx_expr_t *stride)
{
    rlx_exprs_t *e = graph->exprs;

    m->kept[place] = rlx_expr_select(e, flag, num(graph, 1), extent);
    m->reduced[place] = rlx_expr_select(e, flag, extent, num(graph, 1));
    m->stride[place] = *stride;
    m->outputs = rlx_expr_mul(e, m->outputs, m->kept[place]);
    m->count = rlx_expr_mul(e, m->count, m->reduced[place]);
    *stride = rlx_expr_mul(e, *stride, extent);
}

static void merge(rlx_graph_t *graph, const rlx_value_t *x, const rlx_reduce_axes_t *axes, merged_t *m)
{
    rlx_expr_t one = num(graph, 1), stride = one;

    *m = (merged_t){.outputs = one, .count = one};
    for (int i = 0; i < RLX_RANK_MAX; i++)
        m->kept[i] = m->reduced[i] = m->stride[i] = one;
    if (axes->is_const) {
        merge_groups(graph, x, axes, m);
        for (int i = m->n_groups - 1, place = RLX_RANK_MAX - 1; i >= 0; i--, place--)
            merge_place(graph, m, place, m->group[i], num(graph, m->group_reduced[i]), &stride);
    } else {
        m->n_groups = -1;
        for (int d = x->rank - 1, place = RLX_RANK_MAX - 1; d >= 0; d--, place--)
            merge_place(graph, m, place, x->dims[d], axes->flag[d], &stride);
    }
}

/* How many units of `work` elements make a tile of decent size. */
static rlx_expr_t units_per_tile(rlx_graph_t *graph, rlx_expr_t work)
{
    rlx_exprs_t *e = graph->exprs;

    return rlx_expr_max(e, num(graph, 1), rlx_expr_floordiv(e, num(graph, TILE_ELEMENTS), rlx_expr_max(e, num(graph, 1), work)));
}

static rlx_status_t lower_reduce_plain(rlx_builder_t *builder, const rlx_op_t *op, const merged_t *m, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_reduce, RLX_WORDS(rlx_reduce_params_t));
    rlx_expr_t per_tile = units_per_tile(graph, m->count);

    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_reduce_params_t, dtype), op->in[0]->dtype);
    rlx_step_param_const(step, RLX_WORD(rlx_reduce_params_t, op), reduce_code(op->kind));
    rlx_step_param(step, RLX_WORD(rlx_reduce_params_t, outputs), m->outputs);
    rlx_step_param(step, RLX_WORD(rlx_reduce_params_t, count), m->count);
    rlx_step_param(step, RLX_WORD(rlx_reduce_params_t, per_tile), per_tile);
    for (int i = 0; i < RLX_RANK_MAX; i++) {
        rlx_step_param(step, RLX_WORD(rlx_reduce_params_t, kept) + i, m->kept[i]);
        rlx_step_param(step, RLX_WORD(rlx_reduce_params_t, reduced) + i, m->reduced[i]);
        rlx_step_param(step, RLX_WORD(rlx_reduce_params_t, stride) + i, m->stride[i]);
    }
    return rlx_step_end(step, rlx_expr_ceildiv(e, m->outputs, per_tile), RLX_EXPR_NONE, rlx_expr_mul(e, m->outputs, m->count), diag);
}

/* One reduced group: x is [outer, count, inner]. */
static bool is_single_group(rlx_graph_t *graph, const merged_t *m, rlx_expr_t *outer, rlx_expr_t *inner)
{
    int at = -1;

    *outer = *inner = num(graph, 1);
    for (int i = 0; i < m->n_groups; i++) {
        if (m->group_reduced[i] && at >= 0)
            return false;
        if (m->group_reduced[i])
            at = i;
        else if (at < 0)
            *outer = m->group[i];
        else
            *inner = m->group[i];
    }
    return at >= 0;
}

static rlx_status_t lower_reduce_f32(rlx_builder_t *builder, const rlx_op_t *op, const merged_t *m, rlx_expr_t outer, rlx_expr_t inner,
                                     rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_reduce_f32, RLX_WORDS(rlx_reduce_f32_params_t));
    rlx_expr_t units = rlx_expr_mul(e, outer, rlx_expr_ceildiv(e, inner, num(graph, 64)));
    rlx_expr_t per_tile = units_per_tile(graph, rlx_expr_mul(e, m->count, rlx_expr_min(e, inner, num(graph, 64))));

    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_reduce_f32_params_t, op), reduce_code(op->kind));
    rlx_step_param(step, RLX_WORD(rlx_reduce_f32_params_t, outer), outer);
    rlx_step_param(step, RLX_WORD(rlx_reduce_f32_params_t, count), m->count);
    rlx_step_param(step, RLX_WORD(rlx_reduce_f32_params_t, inner), inner);
    rlx_step_param(step, RLX_WORD(rlx_reduce_f32_params_t, per_tile), per_tile);
    return rlx_step_end(step, rlx_expr_ceildiv(e, units, per_tile), RLX_EXPR_NONE, rlx_expr_mul(e, m->outputs, m->count), diag);
}

/* The layout pass lets through constant spatial axes that neighbour. */
static rlx_status_t lower_reduce_c16(rlx_builder_t *builder, const rlx_op_t *op, const rlx_reduce_axes_t *axes, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_reduce_c16, RLX_WORDS(rlx_reduce_c16_params_t));
    rlx_expr_t blocks = rlx_expr_ceildiv(e, x->dims[1], num(graph, 16)), tiles = rlx_expr_mul(e, x->dims[0], blocks);
    int begin = 2, end;

    while (!axes->reduced[begin])
        begin++;
    for (end = begin; end < x->rank && axes->reduced[end];)
        end++;
    rlx_step_in(step, x);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_reduce_c16_params_t, op), reduce_code(op->kind));
    rlx_step_param(step, RLX_WORD(rlx_reduce_c16_params_t, channels), x->dims[1]);
    rlx_step_param(step, RLX_WORD(rlx_reduce_c16_params_t, blocks), blocks);
    rlx_step_param(step, RLX_WORD(rlx_reduce_c16_params_t, outer), rlx_shape_product(graph, x->dims, 2, begin));
    rlx_step_param(step, RLX_WORD(rlx_reduce_c16_params_t, count), rlx_shape_product(graph, x->dims, begin, end));
    rlx_step_param(step, RLX_WORD(rlx_reduce_c16_params_t, inner), rlx_shape_product(graph, x->dims, end, x->rank));
    rlx_step_param_const(step, RLX_WORD(rlx_reduce_c16_params_t, out_c16), op->out[0]->layout == RLX_LAYOUT_C16);
    return rlx_step_end(step, tiles, RLX_EXPR_NONE,
                        rlx_expr_mul(e, tiles, rlx_expr_mul(e, rlx_shape_product(graph, x->dims, 2, x->rank), num(graph, 16))), diag);
}

static rlx_status_t lower_reduction(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_expr_t outer, inner;
    rlx_reduce_axes_t axes;
    merged_t m;

    RLX_TRY(rlx_reduce_axes_get(graph, op, false, &axes, diag));
    if (op->in[0]->layout == RLX_LAYOUT_C16)
        return lower_reduce_c16(builder, op, &axes, diag);
    merge(graph, op->in[0], &axes, &m);
    if (op->in[0]->dtype == RLX_F32 && rlx_builder_level(builder) > 1 && is_single_group(graph, &m, &outer, &inner))
        return lower_reduce_f32(builder, op, &m, outer, inner, diag);
    return lower_reduce_plain(builder, op, &m, diag);
}

/* x as [outer, count, inner] around a constant axis. */
typedef struct line {
    rlx_expr_t outer, count, inner;
} line_t;

static rlx_status_t line_at(rlx_graph_t *graph, const rlx_op_t *op, line_t *out, rlx_diag_t *diag)
{
    const rlx_value_t *x = op->in[0];
    int axis;

    RLX_TRY(rlx_shape_axis(op, rlx_op_int(op, "axis"), x->rank, &axis, diag));
    *out = (line_t){rlx_shape_product(graph, x->dims, 0, axis), x->dims[axis], rlx_shape_product(graph, x->dims, axis + 1, x->rank)};
    return RLX_OK;
}

static rlx_status_t lower_arg(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_arg_reduce, RLX_WORDS(rlx_arg_reduce_params_t));
    line_t line;

    RLX_TRY(line_at(graph, op, &line, diag));
    rlx_expr_t outputs = rlx_expr_mul(e, line.outer, line.inner), per_tile = units_per_tile(graph, line.count);
    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_arg_reduce_params_t, dtype), op->in[0]->dtype);
    rlx_step_param(step, RLX_WORD(rlx_arg_reduce_params_t, outer), line.outer);
    rlx_step_param(step, RLX_WORD(rlx_arg_reduce_params_t, count), line.count);
    rlx_step_param(step, RLX_WORD(rlx_arg_reduce_params_t, inner), line.inner);
    rlx_step_param_const(step, RLX_WORD(rlx_arg_reduce_params_t, is_min), op->kind == RLX_OP_arg_min);
    rlx_step_param_const(step, RLX_WORD(rlx_arg_reduce_params_t, last), rlx_op_int(op, "select_last_index") != 0);
    rlx_step_param(step, RLX_WORD(rlx_arg_reduce_params_t, per_tile), per_tile);
    return rlx_step_end(step, rlx_expr_ceildiv(e, outputs, per_tile), RLX_EXPR_NONE, rlx_expr_mul(e, outputs, line.count), diag);
}

static rlx_status_t lower_top_k(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_top_k, RLX_WORDS(rlx_top_k_params_t));
    rlx_expr_t k;
    line_t line;

    RLX_TRY(line_at(graph, op, &line, diag));
    RLX_TRY(rlx_shape_int(graph, op, 1, &k, diag));
    rlx_expr_t lines = rlx_expr_mul(e, line.outer, line.inner);
    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, op->out[0]);
    rlx_step_out(step, op->n_out > 1 ? op->out[1] : NULL);
    rlx_step_param_const(step, RLX_WORD(rlx_top_k_params_t, dtype), op->in[0]->dtype);
    rlx_step_param(step, RLX_WORD(rlx_top_k_params_t, outer), line.outer);
    rlx_step_param(step, RLX_WORD(rlx_top_k_params_t, count), line.count);
    rlx_step_param(step, RLX_WORD(rlx_top_k_params_t, inner), line.inner);
    rlx_step_param(step, RLX_WORD(rlx_top_k_params_t, k), k);
    rlx_step_param_const(step, RLX_WORD(rlx_top_k_params_t, largest), rlx_op_int(op, "largest") != 0);
    return rlx_step_end(step, lines, rlx_expr_mul(e, k, num(graph, 16)), rlx_expr_mul(e, lines, line.count), diag);
}

/* The axis of a running sum may be a symbol: then extents are chosen at run time. */
static rlx_status_t line_at_symbol(rlx_graph_t *graph, const rlx_op_t *op, line_t *out, rlx_diag_t *diag)
{
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    rlx_expr_t axis, one = num(graph, 1);

    RLX_TRY(rlx_shape_int(graph, op, 1, &axis, diag));
    axis = rlx_expr_select(e, rlx_expr_lt(e, axis, num(graph, 0)), rlx_expr_add(e, axis, num(graph, x->rank)), axis);
    *out = (line_t){one, one, one};
    for (int d = 0; d < x->rank; d++) {
        out->outer = rlx_expr_mul(e, out->outer, rlx_expr_select(e, rlx_expr_lt(e, num(graph, d), axis), x->dims[d], one));
        out->count = rlx_expr_mul(e, out->count, rlx_expr_select(e, rlx_expr_eq(e, num(graph, d), axis), x->dims[d], one));
        out->inner = rlx_expr_mul(e, out->inner, rlx_expr_select(e, rlx_expr_lt(e, axis, num(graph, d)), x->dims[d], one));
    }
    return RLX_OK;
}

static rlx_status_t lower_cumulate(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_cumulate, RLX_WORDS(rlx_cumulate_params_t));
    line_t line;

    RLX_TRY(line_at_symbol(graph, op, &line, diag));
    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_cumulate_params_t, dtype), op->in[0]->dtype);
    rlx_step_param(step, RLX_WORD(rlx_cumulate_params_t, outer), line.outer);
    rlx_step_param(step, RLX_WORD(rlx_cumulate_params_t, count), line.count);
    rlx_step_param(step, RLX_WORD(rlx_cumulate_params_t, inner), line.inner);
    rlx_step_param_const(step, RLX_WORD(rlx_cumulate_params_t, is_product), op->kind == RLX_OP_cumprod);
    rlx_step_param_const(step, RLX_WORD(rlx_cumulate_params_t, exclusive), rlx_op_int(op, "exclusive") != 0);
    rlx_step_param_const(step, RLX_WORD(rlx_cumulate_params_t, reverse), rlx_op_int(op, "reverse") != 0);
    return rlx_step_end(step, rlx_expr_mul(e, line.outer, rlx_expr_ceildiv(e, line.inner, num(graph, 64))), RLX_EXPR_NONE,
                        rlx_value_count(graph, op->in[0]), diag);
}

static rlx_status_t lower_softmax(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    int kind = op->kind == RLX_OP_softmax ? RLX_SOFTMAX : op->kind == RLX_OP_log_softmax ? RLX_SOFTMAX_LOG : RLX_SOFTMAX_HARD;
    bool fast = op->in[0]->dtype == RLX_F32 && kind != RLX_SOFTMAX_HARD && rlx_builder_level(builder) > 1;
    rlx_step_t *step = rlx_step_begin(builder, op, fast ? RLX_K_softmax_f32 : RLX_K_softmax,
                                      fast ? RLX_WORDS(rlx_softmax_f32_params_t) : RLX_WORDS(rlx_softmax_params_t));
    int word = 0;
    line_t line;

    RLX_TRY(line_at(graph, op, &line, diag));
    rlx_expr_t tiles = rlx_expr_mul(e, line.outer, fast ? rlx_expr_ceildiv(e, line.inner, num(graph, 64)) : line.inner);
    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, op->out[0]);
    if (!fast)
        rlx_step_param_const(step, word++, op->in[0]->dtype);
    rlx_step_param_const(step, word++, kind);
    rlx_step_param(step, word++, line.outer);
    rlx_step_param(step, word++, line.count);
    rlx_step_param(step, word++, line.inner);
    return rlx_step_end(step, tiles, RLX_EXPR_NONE, rlx_expr_mul(e, rlx_value_count(graph, op->in[0]), num(graph, 12)), diag);
}

rlx_status_t rlx_lower_reduce(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_arg_max:
    case RLX_OP_arg_min: return lower_arg(builder, op, diag);
    case RLX_OP_top_k: return lower_top_k(builder, op, diag);
    case RLX_OP_cumsum:
    case RLX_OP_cumprod: return lower_cumulate(builder, op, diag);
    case RLX_OP_softmax:
    case RLX_OP_log_softmax:
    case RLX_OP_hardmax: return lower_softmax(builder, op, diag);
    default: return lower_reduction(builder, op, diag);
    }
}
