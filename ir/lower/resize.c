/* Lowers a resize: one step makes the tables of the resized dimensions, a second one moves or sums elements by them. */
#include "ir/pass/layout_support.h"
#include "ir/operator/resize.h"

#define TILE_ELEMENTS 4096

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

/* Tables as operands of the second step. */
typedef struct tables {
    rlx_resize_geometry_t g;
    rlx_expr_t first[RLX_RANK_MAX];
    const rlx_value_t *index, *weight;
} tables_t;

static int place_of(const rlx_resize_geometry_t *g, int d) { return RLX_RANK_MAX - g->rank + d; }

static rlx_expr_t table_places(rlx_graph_t *graph, tables_t *t)
{
    rlx_expr_t total = num(graph, 0);

    for (int d = 0; d < t->g.rank; d++) {
        t->first[d] = t->g.resized[d] ? total : num(graph, -1);
        if (t->g.resized[d])
            total = rlx_expr_add(graph->exprs, total, rlx_expr_mul(graph->exprs, t->g.out[d], t->g.taps[d]));
    }
    return total;
}

static void table_dim(rlx_graph_t *graph, rlx_step_t *step, const tables_t *t, const rlx_value_t *x, int d)
{
    const rlx_resize_geometry_t *g = &t->g;
    int place = place_of(g, d);

    rlx_step_param(step, RLX_WORD(rlx_resize_table_params_t, in) + place, x->dims[d]);
    rlx_step_param(step, RLX_WORD(rlx_resize_table_params_t, out) + place, g->resized[d] ? g->out[d] : num(graph, 0));
    rlx_step_param(step, RLX_WORD(rlx_resize_table_params_t, taps) + place, g->taps[d]);
    rlx_step_param(step, RLX_WORD(rlx_resize_table_params_t, first) + place, t->first[d]);
    rlx_step_param(step, RLX_WORD(rlx_resize_table_params_t, scale) + place, g->scale_bits[d]);
    rlx_step_param(step, RLX_WORD(rlx_resize_table_params_t, scale_num) + place, g->num[d]);
    rlx_step_param(step, RLX_WORD(rlx_resize_table_params_t, scale_den) + place, g->den[d]);
    rlx_step_param_const(step, RLX_WORD(rlx_resize_table_params_t, roi_begin) + place, g->roi_place[d]);
    rlx_step_param_const(step, RLX_WORD(rlx_resize_table_params_t, roi_end) + place,
                         g->roi_place[d] < 0 ? -1 : g->roi_place[d] + g->n_axes);
}

static rlx_status_t lower_tables(rlx_builder_t *builder, const rlx_op_t *op, tables_t *t, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0], *roi = t->g.coord == RLX_COORD_TF_CROP_AND_RESIZE ? rlx_op_in(op, 1) : NULL;
    rlx_expr_t entries = table_places(graph, t);
    bool wide = x->dtype != RLX_F32 && x->dtype != RLX_F16 && x->dtype != RLX_BF16;
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_resize_table, RLX_WORDS(rlx_resize_table_params_t));

    t->index = rlx_builder_temp(builder, RLX_I32, 1, &entries, RLX_LAYOUT_ROW_MAJOR);
    t->weight =
        t->g.mode == RLX_RESIZE_NEAREST ? NULL : rlx_builder_temp(builder, wide ? RLX_F64 : RLX_F32, 1, &entries, RLX_LAYOUT_ROW_MAJOR);
    rlx_step_in(step, roi);
    rlx_step_out(step, t->index);
    rlx_step_out(step, t->weight);
    rlx_step_param_const(step, RLX_WORD(rlx_resize_table_params_t, mode), t->g.mode);
    rlx_step_param_const(step, RLX_WORD(rlx_resize_table_params_t, coord), t->g.coord);
    rlx_step_param_const(step, RLX_WORD(rlx_resize_table_params_t, nearest), t->g.nearest);
    rlx_step_param_const(step, RLX_WORD(rlx_resize_table_params_t, exclude_outside), t->g.exclude_outside);
    rlx_step_param_const(step, RLX_WORD(rlx_resize_table_params_t, antialias), t->g.antialias);
    rlx_step_param_f32(step, RLX_WORD(rlx_resize_table_params_t, cubic_a), rlx_op_float(op, "cubic_coeff_a"));
    rlx_step_param_const(step, RLX_WORD(rlx_resize_table_params_t, wide), wide);
    rlx_step_param_const(step, RLX_WORD(rlx_resize_table_params_t, roi_dtype), roi != NULL ? roi->dtype : RLX_F32);
    for (int d = 0; d < t->g.rank; d++)
        table_dim(graph, step, t, x, d);
    return rlx_step_end(step, num(graph, RLX_RANK_MAX), RLX_EXPR_NONE, rlx_expr_mul(graph->exprs, entries, num(graph, 20)), diag);
}

static rlx_expr_t rows_per_tile(rlx_graph_t *graph, rlx_expr_t row)
{
    rlx_exprs_t *e = graph->exprs;

    return rlx_expr_max(e, num(graph, 1), rlx_expr_floordiv(e, num(graph, TILE_ELEMENTS), rlx_expr_max(e, num(graph, 1), row)));
}

/* Weighted reads per output element. */
static rlx_expr_t work_of(rlx_graph_t *graph, const rlx_op_t *op, const tables_t *t)
{
    rlx_expr_t work = rlx_value_count(graph, op->out[0]);

    for (int d = 0; d < t->g.rank; d++)
        if (t->g.resized[d])
            work = rlx_expr_mul(graph->exprs, work, t->g.taps[d]);
    return work;
}

/* Nearest and plain kernels: all dimensions, in eight places. The two params structs share the names of their fields, not the places. */
static rlx_status_t lower_general(rlx_builder_t *builder, const rlx_op_t *op, const tables_t *t, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0], *y = op->out[0];
    bool nearest = t->g.mode == RLX_RESIZE_NEAREST;
    rlx_step_t *step = rlx_step_begin(builder, op, nearest ? RLX_K_resize_nearest : RLX_K_resize,
                                      nearest ? RLX_WORDS(rlx_resize_nearest_params_t) : RLX_WORDS(rlx_resize_params_t));
    rlx_expr_t rows = rlx_shape_product(graph, y->dims, 0, y->rank - 1), per_tile = rows_per_tile(graph, y->dims[y->rank - 1]),
               one = num(graph, 1);
    int word = 0;

    rlx_step_in(step, x);
    rlx_step_in(step, t->index);
    if (!nearest)
        rlx_step_in(step, t->weight);
    rlx_step_out(step, y);
    rlx_step_param_const(step, word++, x->dtype);
    if (nearest)
        rlx_step_param_const(step, word++, (int64_t)rlx_dtype_size(x->dtype));
    rlx_step_param(step, word++, rows);
    rlx_step_param(step, word++, per_tile);
    rlx_step_param_f32(step, word++, rlx_op_float(op, "extrapolation_value"));
    if (nearest)
        rlx_step_param_const(step, word++, t->g.coord == RLX_COORD_TF_CROP_AND_RESIZE);
    for (int place = 0; place < RLX_RANK_MAX; place++, word++) {
        int d = place - (RLX_RANK_MAX - t->g.rank), at = word;
        rlx_step_param(step, at, d >= 0 ? x->dims[d] : one);
        rlx_step_param(step, at += RLX_RANK_MAX, d >= 0 ? y->dims[d] : one);
        if (!nearest)
            rlx_step_param(step, at += RLX_RANK_MAX, d >= 0 && t->g.resized[d] ? t->g.taps[d] : num(graph, 0));
        rlx_step_param(step, at + RLX_RANK_MAX, d >= 0 ? t->first[d] : num(graph, -1));
    }
    return rlx_step_end(step, rlx_expr_ceildiv(e, rows, per_tile), RLX_EXPR_NONE, work_of(graph, op, t), diag);
}

/* Only the last two dimensions (rank 3 in C16: the last) are resized, and no place is outside. */
static bool is_planar(const rlx_resize_geometry_t *g, int first_spatial)
{
    for (int d = 0; d < g->rank && d < first_spatial; d++)
        if (g->resized[d])
            return false;
    return g->coord != RLX_COORD_TF_CROP_AND_RESIZE;
}

/* The f32 kernel and the C16 kernel, whose params structs are alike. */
static rlx_status_t lower_planar(rlx_builder_t *builder, const rlx_op_t *op, const tables_t *t, bool blocked, rlx_diag_t *diag)
{
    _Static_assert(sizeof(rlx_resize_f32_params_t) == sizeof(rlx_resize_c16_params_t), "one lowering fills both");
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0], *y = op->out[0];
    int h = y->rank - 2, w = y->rank - 1;
    bool has_h = !blocked || y->rank == 4;
    rlx_step_t *step = rlx_step_begin(builder, op, blocked ? RLX_K_resize_c16 : RLX_K_resize_f32, RLX_WORDS(rlx_resize_f32_params_t));
    rlx_expr_t planes =
        blocked ? rlx_expr_mul(e, y->dims[0], rlx_expr_ceildiv(e, y->dims[1], num(graph, 16))) : rlx_shape_product(graph, y->dims, 0, h);
    rlx_expr_t out_h = has_h ? y->dims[h] : num(graph, 1), zero = num(graph, 0);
    rlx_expr_t taps_h = has_h && t->g.resized[h] ? t->g.taps[h] : zero, taps_w = t->g.resized[w] ? t->g.taps[w] : zero;
    rlx_expr_t per_tile = num(graph, blocked ? 4 : 16),
               row_bytes = rlx_expr_add(e, rlx_expr_mul(e, y->dims[w], num(graph, 4)), num(graph, 8));

    rlx_step_in(step, x);
    rlx_step_in(step, t->index);
    rlx_step_in(step, t->weight);
    rlx_step_out(step, y);
    rlx_step_param(step, RLX_WORD(rlx_resize_f32_params_t, planes), planes);
    rlx_step_param(step, RLX_WORD(rlx_resize_f32_params_t, in_h), has_h ? x->dims[h] : num(graph, 1));
    rlx_step_param(step, RLX_WORD(rlx_resize_f32_params_t, in_w), x->dims[w]);
    rlx_step_param(step, RLX_WORD(rlx_resize_f32_params_t, out_h), out_h);
    rlx_step_param(step, RLX_WORD(rlx_resize_f32_params_t, out_w), y->dims[w]);
    rlx_step_param(step, RLX_WORD(rlx_resize_f32_params_t, taps_h), taps_h);
    rlx_step_param(step, RLX_WORD(rlx_resize_f32_params_t, taps_w), taps_w);
    rlx_step_param(step, RLX_WORD(rlx_resize_f32_params_t, first_h), has_h ? t->first[h] : num(graph, -1));
    rlx_step_param(step, RLX_WORD(rlx_resize_f32_params_t, first_w), t->first[w]);
    rlx_step_param(step, RLX_WORD(rlx_resize_f32_params_t, rows_per_tile), per_tile);
    return rlx_step_end(step, rlx_expr_mul(e, planes, rlx_expr_ceildiv(e, out_h, per_tile)),
                        blocked ? RLX_EXPR_NONE : rlx_expr_mul(e, taps_h, row_bytes), work_of(graph, op, t), diag);
}

bool rlx_sample_carries_c16(const rlx_graph_t *graph, const rlx_op_t *op)
{
    const rlx_value_t *x = rlx_op_in(op, 0);
    rlx_resize_geometry_t g;

    if (op->kind != RLX_OP_resize || x == NULL || x->layout != RLX_LAYOUT_C16 || x->dtype != RLX_F32 || (x->rank != 3 && x->rank != 4))
        return false;
    return rlx_resize_geometry_get((rlx_graph_t *)(uintptr_t)graph, op, false, &g, NULL) == RLX_OK && is_planar(&g, 2);
}

rlx_status_t rlx_lower_resize(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    tables_t t = {0};

    RLX_TRY(rlx_resize_geometry_get(graph, op, false, &t.g, diag));
    RLX_TRY(lower_tables(builder, op, &t, diag));
    if (op->in[0]->layout == RLX_LAYOUT_C16)
        return lower_planar(builder, op, &t, true, diag);
    if (op->in[0]->dtype == RLX_F32 && t.g.mode != RLX_RESIZE_NEAREST && rlx_builder_level(builder) > 1 && t.g.rank >= 2 &&
        is_planar(&t.g, t.g.rank - 2))
        return lower_planar(builder, op, &t, false, diag);
    return lower_general(builder, op, &t, diag);
}
