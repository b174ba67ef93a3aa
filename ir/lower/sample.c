/* Lowers the sample family (resize: ir/lower/resize.c). */
#include <string.h>

#include "ir/lower/dispatch.h"
#include "ir/operator/resize.h"
#include "ir/operator/sample.h"

static rlx_expr_t num(rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

static bool is_word(const rlx_op_t *op, const char *attr, const char *word) { return strstr(rlx_op_string(op, attr), word) != NULL; }

static rlx_expr_t units_per_tile(rlx_graph_t *graph, int64_t elements, rlx_expr_t work)
{
    rlx_exprs_t *e = graph->exprs;

    return rlx_expr_max(e, num(graph, 1), rlx_expr_floordiv(e, num(graph, elements), rlx_expr_max(e, num(graph, 1), work)));
}

/* Places of a plane fit 32 bits, whatever the request. */
static bool is_small_plane(rlx_graph_t *graph, const rlx_value_t *x)
{
    rlx_expr_t plane = rlx_shape_product(graph, x->dims, 2, x->rank);

    return plane >= 0 && rlx_expr_node(graph->exprs, plane)->max < INT32_MAX;
}

static rlx_status_t lower_grid_sample(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0], *grid = op->in[1];
    int rank = x->rank - 2;
    /* "bilinear" and "bicubic" are the names of the first opset. */
    int mode = is_word(op, "mode", "linear") ? RLX_RESIZE_LINEAR : is_word(op, "mode", "cubic") ? RLX_RESIZE_CUBIC : RLX_RESIZE_NEAREST;
    int padding = is_word(op, "padding_mode", "border")       ? RLX_PAD_BORDER
                  : is_word(op, "padding_mode", "reflection") ? RLX_PAD_REFLECTION
                                                              : RLX_PAD_ZEROS;
    rlx_expr_t space = rlx_shape_product(graph, grid->dims, 1, grid->rank - 1), places = rlx_expr_mul(e, x->dims[0], space);
    rlx_expr_t per_tile = rlx_expr_max(e, num(graph, 64), units_per_tile(graph, 2048, x->dims[1]));
    bool fast =
        x->dtype == RLX_F32 && rank == 2 && mode == RLX_RESIZE_LINEAR && rlx_builder_level(builder) > 1 && is_small_plane(graph, x);
    rlx_step_t *step = rlx_step_begin(builder, op, fast ? RLX_K_grid_bilinear : RLX_K_grid_sample, RLX_WORDS(rlx_grid_sample_params_t));

    rlx_step_in(step, x);
    rlx_step_in(step, grid);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_grid_sample_params_t, dtype), x->dtype);
    rlx_step_param_const(step, RLX_WORD(rlx_grid_sample_params_t, grid_dtype), grid->dtype);
    rlx_step_param_const(step, RLX_WORD(rlx_grid_sample_params_t, mode), mode);
    rlx_step_param_const(step, RLX_WORD(rlx_grid_sample_params_t, padding), padding);
    rlx_step_param_const(step, RLX_WORD(rlx_grid_sample_params_t, align_corners), rlx_op_int(op, "align_corners") != 0);
    rlx_step_param(step, RLX_WORD(rlx_grid_sample_params_t, batch), x->dims[0]);
    rlx_step_param(step, RLX_WORD(rlx_grid_sample_params_t, channels), x->dims[1]);
    rlx_step_param_const(step, RLX_WORD(rlx_grid_sample_params_t, rank), rank);
    rlx_step_param(step, RLX_WORD(rlx_grid_sample_params_t, out_space), space);
    rlx_step_param(step, RLX_WORD(rlx_grid_sample_params_t, per_tile), per_tile);
    for (int d = 0; d < 3; d++)
        rlx_step_param(step, RLX_WORD(rlx_grid_sample_params_t, in) + d, d < 3 - rank ? num(graph, 1) : x->dims[2 + d - (3 - rank)]);
    return rlx_step_end(step, rlx_expr_ceildiv(e, places, per_tile), RLX_EXPR_NONE,
                        rlx_expr_mul(e, rlx_value_count(graph, op->out[0]), num(graph, mode == RLX_RESIZE_CUBIC ? 32 : 8)), diag);
}

static rlx_status_t lower_affine_grid(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *y = op->out[0];
    int rank = y->rank - 2;
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_affine_grid, RLX_WORDS(rlx_affine_grid_params_t));

    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, y);
    rlx_step_param_const(step, RLX_WORD(rlx_affine_grid_params_t, dtype), y->dtype);
    rlx_step_param(step, RLX_WORD(rlx_affine_grid_params_t, batch), y->dims[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_affine_grid_params_t, rank), rank);
    rlx_step_param_const(step, RLX_WORD(rlx_affine_grid_params_t, align_corners), rlx_op_int(op, "align_corners") != 0);
    for (int d = 0; d < 3; d++)
        rlx_step_param(step, RLX_WORD(rlx_affine_grid_params_t, out) + d, d < 3 - rank ? num(graph, 1) : y->dims[1 + d - (3 - rank)]);
    return rlx_step_end(step, y->dims[0], RLX_EXPR_NONE, rlx_expr_mul(graph->exprs, rlx_value_count(graph, y), num(graph, 8)), diag);
}

static rlx_status_t lower_roi_align(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0], *y = op->out[0];
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_roi_align, RLX_WORDS(rlx_roi_align_params_t));
    rlx_expr_t fields[] = {num(graph, x->dtype), x->dims[0], x->dims[1], x->dims[2], x->dims[3], y->dims[0], y->dims[2], y->dims[3],
                           num(graph, rlx_op_int(op, "sampling_ratio"))};

    for (int i = 0; i < 3; i++)
        rlx_step_in(step, op->in[i]);
    rlx_step_out(step, y);
    _Static_assert(RLX_WORD(rlx_roi_align_params_t, sampling_ratio) == 8, "order of the fields above");
    for (int i = 0; i < 9; i++)
        rlx_step_param(step, i, fields[i]);
    rlx_step_param_f32(step, RLX_WORD(rlx_roi_align_params_t, spatial_scale), rlx_op_float(op, "spatial_scale"));
    rlx_step_param_const(step, RLX_WORD(rlx_roi_align_params_t, half_pixel), strcmp(rlx_op_string(op, "coord"), "half_pixel") == 0);
    rlx_step_param_const(step, RLX_WORD(rlx_roi_align_params_t, is_max), is_word(op, "mode", "max"));
    return rlx_step_end(step, rlx_expr_mul(graph->exprs, y->dims[0], y->dims[1]), RLX_EXPR_NONE,
                        rlx_expr_mul(graph->exprs, rlx_value_count(graph, y), num(graph, 40)), diag);
}

static rlx_status_t lower_max_roi_pool(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0], *y = op->out[0];
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_max_roi_pool, RLX_WORDS(rlx_max_roi_pool_params_t));
    rlx_expr_t fields[] = {num(graph, x->dtype), x->dims[0], x->dims[1], x->dims[2], x->dims[3], y->dims[0], y->dims[2], y->dims[3]};

    rlx_step_in(step, x);
    rlx_step_in(step, op->in[1]);
    rlx_step_out(step, y);
    _Static_assert(RLX_WORD(rlx_max_roi_pool_params_t, out_w) == 7, "order of the fields above");
    for (int i = 0; i < 8; i++)
        rlx_step_param(step, i, fields[i]);
    rlx_step_param_f32(step, RLX_WORD(rlx_max_roi_pool_params_t, spatial_scale), rlx_op_float(op, "spatial_scale"));
    return rlx_step_end(step, rlx_expr_mul(graph->exprs, y->dims[0], y->dims[1]), RLX_EXPR_NONE,
                        rlx_expr_mul(graph->exprs, rlx_value_count(graph, y), num(graph, 16)), diag);
}

static rlx_expr_t line_scratch(rlx_graph_t *graph, rlx_expr_t length) { return rlx_expr_mul(graph->exprs, length, num(graph, 48)); }

static rlx_status_t lower_dft(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_dft, RLX_WORDS(rlx_dft_params_t));
    rlx_dft_geometry_t g;

    RLX_TRY(rlx_dft_geometry_get(graph, op, &g, diag));
    rlx_expr_t lines = rlx_expr_mul(e, g.outer, g.inner), per_tile = units_per_tile(graph, 8192, g.length);
    rlx_step_in(step, x);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_dft_params_t, dtype), x->dtype);
    rlx_step_param(step, RLX_WORD(rlx_dft_params_t, outer), g.outer);
    rlx_step_param(step, RLX_WORD(rlx_dft_params_t, inner), g.inner);
    rlx_step_param(step, RLX_WORD(rlx_dft_params_t, in_count), g.in_count);
    rlx_step_param(step, RLX_WORD(rlx_dft_params_t, in_parts), x->dims[x->rank - 1]);
    rlx_step_param(step, RLX_WORD(rlx_dft_params_t, out_count), g.out_count);
    rlx_step_param_const(step, RLX_WORD(rlx_dft_params_t, out_parts), g.out_parts);
    rlx_step_param(step, RLX_WORD(rlx_dft_params_t, length), g.length);
    rlx_step_param_const(step, RLX_WORD(rlx_dft_params_t, inverse), g.inverse);
    rlx_step_param_const(step, RLX_WORD(rlx_dft_params_t, half), g.half);
    rlx_step_param(step, RLX_WORD(rlx_dft_params_t, per_tile), per_tile);
    return rlx_step_end(step, rlx_expr_ceildiv(e, lines, per_tile), line_scratch(graph, g.length),
                        rlx_expr_mul(e, rlx_expr_mul(e, lines, g.length), num(graph, 64)), diag);
}

static rlx_status_t lower_stft(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0], *window = rlx_op_in(op, 2);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_stft, RLX_WORDS(rlx_stft_params_t));
    rlx_stft_geometry_t g;

    RLX_TRY(rlx_stft_geometry_get(graph, op, &g, diag));
    rlx_expr_t frames = rlx_expr_mul(e, x->dims[0], g.frames), per_tile = units_per_tile(graph, 8192, g.length);
    rlx_step_in(step, x);
    rlx_step_in(step, window);
    rlx_step_out(step, op->out[0]);
    rlx_step_param_const(step, RLX_WORD(rlx_stft_params_t, dtype), x->dtype);
    rlx_step_param(step, RLX_WORD(rlx_stft_params_t, batch), x->dims[0]);
    rlx_step_param(step, RLX_WORD(rlx_stft_params_t, signal_count), x->dims[1]);
    rlx_step_param(step, RLX_WORD(rlx_stft_params_t, in_parts), x->rank == 3 ? x->dims[2] : num(graph, 1));
    rlx_step_param(step, RLX_WORD(rlx_stft_params_t, frames), g.frames);
    rlx_step_param(step, RLX_WORD(rlx_stft_params_t, step), g.step);
    rlx_step_param(step, RLX_WORD(rlx_stft_params_t, length), g.length);
    rlx_step_param_const(step, RLX_WORD(rlx_stft_params_t, window_dtype), window != NULL ? window->dtype : x->dtype);
    rlx_step_param(step, RLX_WORD(rlx_stft_params_t, out_count), g.out_count);
    rlx_step_param(step, RLX_WORD(rlx_stft_params_t, per_tile), per_tile);
    return rlx_step_end(step, rlx_expr_ceildiv(e, frames, per_tile), line_scratch(graph, g.length),
                        rlx_expr_mul(e, rlx_expr_mul(e, frames, g.length), num(graph, 64)), diag);
}

rlx_status_t rlx_lower_sample(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_resize: return rlx_lower_resize(builder, op, diag);
    case RLX_OP_grid_sample: return lower_grid_sample(builder, op, diag);
    case RLX_OP_affine_grid: return lower_affine_grid(builder, op, diag);
    case RLX_OP_roi_align: return lower_roi_align(builder, op, diag);
    case RLX_OP_max_roi_pool: return lower_max_roi_pool(builder, op, diag);
    case RLX_OP_dft: return lower_dft(builder, op, diag);
    default: return lower_stft(builder, op, diag);
    }
}
