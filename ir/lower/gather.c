/* Lowers the gather family. Extents before and behind an axis are merged; kernels see [outer, axis, inner]. */
#include <string.h>

#include "ir/lower/dispatch.h"
#include "ir/lower/select.h"
#include "ir/shape/common.h"

#define TILE_BYTES 16384

static rlx_expr_t num(const rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

/* How many units of `unit_bytes` make a tile of decent size: at least one. */
static rlx_expr_t grain_of(const rlx_graph_t *graph, rlx_expr_t unit_bytes)
{
    rlx_exprs_t *e = graph->exprs;

    return rlx_expr_max(e, num(graph, 1), rlx_expr_floordiv(e, num(graph, TILE_BYTES), rlx_expr_max(e, unit_bytes, num(graph, 1))));
}

static int normal_axis(int64_t axis, int rank) { return (int)(axis < 0 ? axis + rank : axis); }

static int64_t bytes_of(const rlx_value_t *value) { return (int64_t)rlx_dtype_size(value->dtype); }

static rlx_status_t lower_gather(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    int axis = normal_axis(rlx_op_int(op, "axis"), x->rank);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_gather, RLX_WORDS(rlx_gather_params_t));
    rlx_expr_t outer = rlx_shape_product(graph, x->dims, 0, axis), count = rlx_value_count(graph, op->in[1]);
    rlx_expr_t inner = rlx_expr_mul(e, rlx_shape_product(graph, x->dims, axis + 1, x->rank), num(graph, bytes_of(x)));
    rlx_expr_t grain = grain_of(graph, inner);

    rlx_step_in(step, x);
    rlx_step_in(step, op->in[1]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_gather_params_t, outer), outer);
    rlx_step_param(step, RLX_WORD(rlx_gather_params_t, extent), x->dims[axis]);
    rlx_step_param(step, RLX_WORD(rlx_gather_params_t, inner_bytes), inner);
    rlx_step_param(step, RLX_WORD(rlx_gather_params_t, count), count);
    rlx_step_param_const(step, RLX_WORD(rlx_gather_params_t, index_bytes), bytes_of(op->in[1]));
    rlx_step_param(step, RLX_WORD(rlx_gather_params_t, grain), grain);
    return rlx_step_end(step, rlx_expr_ceildiv(e, rlx_expr_mul(e, outer, count), grain), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

/* dims of `shape` and row-major strides of `strided`, right-aligned in 8 words, with stride 0 at `axis`. */
static void aligned_walk(rlx_step_t *step, const rlx_graph_t *graph, const rlx_value_t *shape, const rlx_value_t *strided, int axis, int dims_word,
                         int stride_word)
{
    for (int i = 0; i < RLX_RANK_MAX; ++i) {
        int d = i - (RLX_RANK_MAX - shape->rank);

        rlx_step_param(step, dims_word + i, d < 0 ? num(graph, 1) : shape->dims[d]);
        rlx_step_param(step, stride_word + i, d < 0 || d == axis ? num(graph, 0) : rlx_shape_stride(graph, strided, d));
    }
}

static rlx_status_t lower_gather_elements(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0], *indices = op->in[1];
    int axis = normal_axis(rlx_op_int(op, "axis"), x->rank);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_gather_elements, RLX_WORDS(rlx_gather_elements_params_t));
    rlx_expr_t count = rlx_value_count(graph, indices), grain = num(graph, 2048);

    rlx_step_in(step, x);
    rlx_step_in(step, indices);
    rlx_step_out(step, op->out[0]);
    aligned_walk(step, graph, indices, x, axis, RLX_WORD(rlx_gather_elements_params_t, dims), RLX_WORD(rlx_gather_elements_params_t, x_stride));
    rlx_step_param(step, RLX_WORD(rlx_gather_elements_params_t, extent), x->dims[axis]);
    rlx_step_param(step, RLX_WORD(rlx_gather_elements_params_t, axis_stride), rlx_shape_stride(graph, x, axis));
    rlx_step_param(step, RLX_WORD(rlx_gather_elements_params_t, count), count);
    rlx_step_param_const(step, RLX_WORD(rlx_gather_elements_params_t, bytes), bytes_of(x));
    rlx_step_param_const(step, RLX_WORD(rlx_gather_elements_params_t, index_bytes), bytes_of(indices));
    rlx_step_param(step, RLX_WORD(rlx_gather_elements_params_t, grain), grain);
    return rlx_step_end(step, rlx_expr_ceildiv(graph->exprs, count, grain), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

/* The depth of an index row: the last extent of indices, which must be a constant. */
static rlx_status_t index_depth(const rlx_graph_t *graph, const rlx_op_t *op, const rlx_value_t *x, int first, int *out_depth, rlx_diag_t *diag)
{
    const rlx_value_t *indices = op->in[1];
    int64_t depth;

    if (!rlx_expr_is_const(graph->exprs, indices->dims[indices->rank - 1], &depth))
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_UNKNOWN, "the last extent of the indices must be a constant");
    if (depth < 0 || depth > x->rank - first)
        return rlx_shape_fail(diag, op, RLX_E_SHAPE_MISMATCH, "index rows of %lld coordinates into rank %d", (long long)depth, x->rank);
    *out_depth = (int)depth;
    return RLX_OK;
}

static void coordinate_walk(rlx_step_t *step, const rlx_graph_t *graph, const rlx_value_t *x, int first, int depth, int64_t scale, int dims_word,
                            int stride_word)
{
    for (int d = 0; d < depth; ++d) {
        rlx_step_param(step, dims_word + d, x->dims[first + d]);
        rlx_step_param(step, stride_word + d, rlx_expr_mul(graph->exprs, rlx_shape_stride(graph, x, first + d), num(graph, scale)));
    }
}

static rlx_status_t lower_gather_nd(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0], *indices = op->in[1];
    int first = (int)rlx_op_int(op, "batch_dims"), depth = 0;
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_gather_nd, RLX_WORDS(rlx_gather_nd_params_t));
    rlx_expr_t batch = rlx_shape_product(graph, x->dims, 0, first), rows = rlx_shape_product(graph, indices->dims, first, indices->rank - 1);
    rlx_expr_t size = num(graph, bytes_of(x)), inner, grain;

    RLX_TRY(index_depth(graph, op, x, first, &depth, diag));
    inner = rlx_expr_mul(e, rlx_shape_product(graph, x->dims, first + depth, x->rank), size);
    grain = grain_of(graph, inner);
    rlx_step_in(step, x);
    rlx_step_in(step, indices);
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_gather_nd_params_t, batch), batch);
    rlx_step_param(step, RLX_WORD(rlx_gather_nd_params_t, rows), rows);
    rlx_step_param_const(step, RLX_WORD(rlx_gather_nd_params_t, depth), depth);
    rlx_step_param(step, RLX_WORD(rlx_gather_nd_params_t, inner_bytes), inner);
    rlx_step_param(step, RLX_WORD(rlx_gather_nd_params_t, batch_bytes), rlx_expr_mul(e, rlx_shape_product(graph, x->dims, first, x->rank), size));
    rlx_step_param_const(step, RLX_WORD(rlx_gather_nd_params_t, index_bytes), bytes_of(indices));
    rlx_step_param(step, RLX_WORD(rlx_gather_nd_params_t, grain), grain);
    coordinate_walk(step, graph, x, first, depth, bytes_of(x), RLX_WORD(rlx_gather_nd_params_t, dims), RLX_WORD(rlx_gather_nd_params_t, stride));
    return rlx_step_end(step, rlx_expr_ceildiv(e, rlx_expr_mul(e, batch, rows), grain), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t scatter_reduction(const rlx_op_t *op, int64_t *out, rlx_diag_t *diag)
{
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    const char *wanted = rlx_op_string(op, "reduction");

    for (int i = 0; i < 5; ++i)
        if (strcmp(wanted, names[i]) == 0) {
            *out = i;
            return RLX_OK;
        }
    return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "reduction '%s' is not one of none, add, mul, max, min", wanted);
}

static rlx_status_t lower_scatter_elements(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0], *indices = op->in[1];
    int axis = normal_axis(rlx_op_int(op, "axis"), x->rank);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_scatter_elements, RLX_WORDS(rlx_scatter_elements_params_t));
    int64_t reduction;

    RLX_TRY(scatter_reduction(op, &reduction, diag));
    for (int i = 0; i < 3; ++i)
        rlx_step_in(step, op->in[i]);
    rlx_step_out(step, op->out[0]);
    aligned_walk(step, graph, indices, x, axis, RLX_WORD(rlx_scatter_elements_params_t, dims), RLX_WORD(rlx_scatter_elements_params_t, out_stride));
    rlx_step_param(step, RLX_WORD(rlx_scatter_elements_params_t, extent), x->dims[axis]);
    rlx_step_param(step, RLX_WORD(rlx_scatter_elements_params_t, axis_stride), rlx_shape_stride(graph, x, axis));
    rlx_step_param(step, RLX_WORD(rlx_scatter_elements_params_t, count), rlx_value_count(graph, indices));
    rlx_step_param(step, RLX_WORD(rlx_scatter_elements_params_t, out_count), rlx_value_count(graph, x));
    rlx_step_param_const(step, RLX_WORD(rlx_scatter_elements_params_t, dtype), x->dtype);
    rlx_step_param_const(step, RLX_WORD(rlx_scatter_elements_params_t, index_bytes), bytes_of(indices));
    rlx_step_param_const(step, RLX_WORD(rlx_scatter_elements_params_t, reduction), reduction);
    return rlx_step_end(step, num(graph, 1), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_scatter_nd(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0], *indices = op->in[1];
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_scatter_nd, RLX_WORDS(rlx_scatter_nd_params_t));
    int64_t reduction;
    int depth = 0;

    RLX_TRY(scatter_reduction(op, &reduction, diag));
    RLX_TRY(index_depth(graph, op, x, 0, &depth, diag));
    for (int i = 0; i < 3; ++i)
        rlx_step_in(step, op->in[i]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_scatter_nd_params_t, rows), rlx_shape_product(graph, indices->dims, 0, indices->rank - 1));
    rlx_step_param_const(step, RLX_WORD(rlx_scatter_nd_params_t, depth), depth);
    rlx_step_param(step, RLX_WORD(rlx_scatter_nd_params_t, inner), rlx_shape_product(graph, x->dims, depth, x->rank));
    rlx_step_param(step, RLX_WORD(rlx_scatter_nd_params_t, out_count), rlx_value_count(graph, x));
    rlx_step_param_const(step, RLX_WORD(rlx_scatter_nd_params_t, dtype), x->dtype);
    rlx_step_param_const(step, RLX_WORD(rlx_scatter_nd_params_t, index_bytes), bytes_of(indices));
    rlx_step_param_const(step, RLX_WORD(rlx_scatter_nd_params_t, reduction), reduction);
    coordinate_walk(step, graph, x, 0, depth, 1, RLX_WORD(rlx_scatter_nd_params_t, dims), RLX_WORD(rlx_scatter_nd_params_t, stride));
    return rlx_step_end(step, num(graph, 1), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_one_hot(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *out = op->out[0];
    int axis = normal_axis(rlx_op_int(op, "axis"), out->rank);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_one_hot, RLX_WORDS(rlx_one_hot_params_t));
    rlx_expr_t outer = rlx_shape_product(graph, out->dims, 0, axis), inner = rlx_shape_product(graph, out->dims, axis + 1, out->rank);
    rlx_expr_t grain = grain_of(graph, rlx_expr_mul(e, rlx_expr_mul(e, out->dims[axis], inner), num(graph, bytes_of(out))));

    rlx_step_in(step, op->in[0]);
    rlx_step_in(step, op->in[2]);
    rlx_step_out(step, out);
    rlx_step_param(step, RLX_WORD(rlx_one_hot_params_t, outer), outer);
    rlx_step_param(step, RLX_WORD(rlx_one_hot_params_t, depth), out->dims[axis]);
    rlx_step_param(step, RLX_WORD(rlx_one_hot_params_t, inner), inner);
    rlx_step_param_const(step, RLX_WORD(rlx_one_hot_params_t, bytes), bytes_of(out));
    rlx_step_param_const(step, RLX_WORD(rlx_one_hot_params_t, index_dtype), op->in[0]->dtype);
    rlx_step_param(step, RLX_WORD(rlx_one_hot_params_t, grain), grain);
    return rlx_step_end(step, rlx_expr_ceildiv(e, outer, grain), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_tensor_scatter(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *past = op->in[0];
    int axis = normal_axis(rlx_op_int(op, "axis"), past->rank);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_tensor_scatter, RLX_WORDS(rlx_tensor_scatter_params_t));
    rlx_expr_t inner = rlx_shape_product(graph, past->dims, axis + 1, past->rank);

    rlx_step_in(step, past);
    rlx_step_in(step, op->in[1]);
    rlx_step_in(step, rlx_op_in(op, 2));
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_tensor_scatter_params_t, batch), past->dims[0]);
    rlx_step_param(step, RLX_WORD(rlx_tensor_scatter_params_t, mid), rlx_shape_product(graph, past->dims, 1, axis));
    rlx_step_param(step, RLX_WORD(rlx_tensor_scatter_params_t, seq), past->dims[axis]);
    rlx_step_param(step, RLX_WORD(rlx_tensor_scatter_params_t, update_seq), op->in[1]->dims[axis]);
    rlx_step_param(step, RLX_WORD(rlx_tensor_scatter_params_t, inner_bytes), rlx_expr_mul(graph->exprs, inner, num(graph, bytes_of(past))));
    rlx_step_param_const(step, RLX_WORD(rlx_tensor_scatter_params_t, circular), strcmp(rlx_op_string(op, "mode"), "circular") == 0);
    return rlx_step_end(step, past->dims[0], RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

rlx_status_t rlx_lower_gather(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_gather: return lower_gather(builder, op, diag);
    case RLX_OP_gather_elements: return lower_gather_elements(builder, op, diag);
    case RLX_OP_gather_nd: return lower_gather_nd(builder, op, diag);
    case RLX_OP_scatter_elements: return lower_scatter_elements(builder, op, diag);
    case RLX_OP_scatter_nd: return lower_scatter_nd(builder, op, diag);
    case RLX_OP_one_hot: return lower_one_hot(builder, op, diag);
    case RLX_OP_tensor_scatter: return lower_tensor_scatter(builder, op, diag);
    default: return rlx_lower_select(builder, op, diag);
    }
}
