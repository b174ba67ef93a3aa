/* strided_copy steps. Axes of extent 1 vanish and contiguous neighbours merge, as far as expressions prove it, so that inner runs are
 * long. Where a side is a graph input or output whose rows a server may leave apart, the batch stays an axis of its own, axis 0. */
#include "ir/builder.h"
#include "ir/shape/common.h"
#include "ir/operator/strided.h"

#define TILE_BYTES 32768
#define PLANE_ROWS 16      /* a transpose moves whole cache lines of its input */
#define PLANE_COLUMNS 1024

static rlx_expr_t num(const rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

void rlx_strided_init(const rlx_graph_t *graph, rlx_strided_t *strided)
{
    *strided = (rlx_strided_t){.in_offset = num(graph, 0), .out_offset = num(graph, 0)};
}

void rlx_strided_axis(rlx_strided_t *strided, rlx_expr_t dim, rlx_expr_t in_stride, rlx_expr_t out_stride)
{
    strided->dims[strided->n_axes] = dim;
    strided->in_stride[strided->n_axes] = in_stride;
    strided->out_stride[strided->n_axes++] = out_stride;
}

static bool contiguous(const rlx_graph_t *graph, const rlx_expr_t *stride, const rlx_expr_t *dims, int outer)
{
    return stride[outer] == rlx_expr_mul(graph->exprs, stride[outer + 1], dims[outer + 1]);
}

static void merge_axes(const rlx_graph_t *graph, rlx_strided_t *s)
{
    int kept = 0;

    for (int i = 0; i < s->n_axes; ++i) {
        if (rlx_expr_is(graph->exprs, s->dims[i], 1))
            continue;
        s->dims[kept] = s->dims[i];
        s->in_stride[kept] = s->in_stride[i];
        s->out_stride[kept++] = s->out_stride[i];
    }
    s->n_axes = kept;
    for (int i = s->n_axes - 2; i >= 0; --i) {
        if (!contiguous(graph, s->in_stride, s->dims, i) || !contiguous(graph, s->out_stride, s->dims, i))
            continue;
        s->dims[i] = rlx_expr_mul(graph->exprs, s->dims[i], s->dims[i + 1]);
        s->in_stride[i] = s->in_stride[i + 1];
        s->out_stride[i] = s->out_stride[i + 1];
        for (int k = i + 1; k + 1 < s->n_axes; ++k) {
            s->dims[k] = s->dims[k + 1];
            s->in_stride[k] = s->in_stride[k + 1];
            s->out_stride[k] = s->out_stride[k + 1];
        }
        --s->n_axes;
    }
}

/* A copy may take its axes in any order: the one contiguous in the input goes next to the last, where the kernel transposes tiles. True
 * when the copy is such a transpose. */
static bool order_axes(const rlx_graph_t *graph, rlx_strided_t *s)
{
    int last = s->n_axes - 1, from = last - 1;
    rlx_expr_t dim, in_stride, out_stride;

    if (last < 1 || rlx_expr_is(graph->exprs, s->in_stride[last], 1))
        return false;
    while (from >= 0 && !rlx_expr_is(graph->exprs, s->in_stride[from], 1))
        --from;
    if (from < 0)
        return false;
    dim = s->dims[from];
    in_stride = s->in_stride[from];
    out_stride = s->out_stride[from];
    for (; from < last - 1; ++from) {
        s->dims[from] = s->dims[from + 1];
        s->in_stride[from] = s->in_stride[from + 1];
        s->out_stride[from] = s->out_stride[from + 1];
    }
    s->dims[from] = dim;
    s->in_stride[from] = in_stride;
    s->out_stride[from] = out_stride;
    return true;
}

static bool is_batched(const rlx_builder_t *builder, const rlx_value_t *value, rlx_expr_t dim)
{
    const rlx_graph_t *graph = builder->graph;
    const rlx_expr_node_t *node = rlx_expr_node(graph->exprs, dim);

    value = rlx_builder_root(builder, value);
    return (value->is_input || value->is_output) && node->op == RLX_EXPR_SYMBOL && graph->symbols[node->value].independent;
}

static void drop_axis(rlx_strided_t *s, int axis)
{
    for (--s->n_axes; axis < s->n_axes; ++axis) {
        s->dims[axis] = s->dims[axis + 1];
        s->in_stride[axis] = s->in_stride[axis + 1];
        s->out_stride[axis] = s->out_stride[axis + 1];
    }
}

/* Takes the batch's axis out of `s`; false when there is none to keep apart. */
static bool take_batch(const rlx_builder_t *builder, rlx_strided_t *s, const rlx_value_t *in, const rlx_value_t *out, rlx_strided_t *out_batch)
{
    for (int i = 0; i < s->n_axes; ++i) {
        if (!is_batched(builder, in, s->dims[i]) && !is_batched(builder, out, s->dims[i]))
            continue;
        rlx_strided_init(builder->graph, out_batch);
        rlx_strided_axis(out_batch, s->dims[i], s->in_stride[i], s->out_stride[i]);
        drop_axis(s, i);
        return true;
    }
    return false;
}

/* The axes as the kernel wants them: eight, right-aligned, the batch at axis 0. Returns whether the copy is a transpose; `s` has more than
 * RLX_RANK_MAX axes where they do not fit. */
static bool arrange_axes(const rlx_builder_t *builder, rlx_strided_t *s, const rlx_value_t *in, const rlx_value_t *out)
{
    const rlx_graph_t *graph = builder->graph;
    rlx_strided_t batch, sorted = {.in_offset = s->in_offset, .out_offset = s->out_offset};
    bool has_batch = take_batch(builder, s, in, out, &batch), is_plane;

    merge_axes(graph, s);
    is_plane = order_axes(graph, s);
    if (has_batch)
        rlx_strided_axis(&sorted, batch.dims[0], batch.in_stride[0], batch.out_stride[0]);
    while (sorted.n_axes + s->n_axes < RLX_RANK_MAX)
        rlx_strided_axis(&sorted, num(graph, 1), num(graph, 1), num(graph, 1));
    for (int i = 0; i < s->n_axes; ++i)
        rlx_strided_axis(&sorted, s->dims[i], s->in_stride[i], s->out_stride[i]);
    *s = sorted;
    return is_plane;
}

/* Rows of a tile: about TILE_BYTES, in whole cache lines for a transpose. */
static rlx_expr_t rows_per_tile(const rlx_graph_t *graph, rlx_expr_t inner, int64_t chunk, int64_t size, bool is_plane)
{
    rlx_exprs_t *e = graph->exprs;
    int64_t unit = is_plane ? PLANE_ROWS : 1;
    rlx_expr_t columns = rlx_expr_max(e, num(graph, 1), rlx_expr_min(e, inner, num(graph, chunk)));
    rlx_expr_t units = rlx_expr_floordiv(e, num(graph, TILE_BYTES / unit), rlx_expr_mul(e, columns, num(graph, size)));

    return rlx_expr_mul(e, num(graph, unit), rlx_expr_max(e, num(graph, 1), units));
}

rlx_status_t rlx_strided_lower(rlx_builder_t *builder, const rlx_op_t *op, rlx_strided_t *s, const rlx_value_t *in, const rlx_value_t *out,
                               rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_strided_copy, RLX_WORDS(rlx_strided_copy_params_t));
    int64_t bytes = (int64_t)rlx_dtype_size(in->dtype), chunk;
    rlx_expr_t size = num(graph, bytes), rows = num(graph, 1), inner = num(graph, 1), grain, tiles;
    bool is_plane;

    is_plane = arrange_axes(builder, s, in, out);
    chunk = is_plane ? PLANE_COLUMNS : TILE_BYTES / bytes;
    if (s->n_axes > RLX_RANK_MAX)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "needs more than %d independent axes", RLX_RANK_MAX);
    rlx_step_in(step, in);
    rlx_step_out(step, out);
    for (int i = 0; i < RLX_RANK_MAX; ++i) {
        rlx_step_param(step, RLX_WORD(rlx_strided_copy_params_t, dims) + i, s->dims[i]);
        rlx_step_param(step, RLX_WORD(rlx_strided_copy_params_t, in_stride) + i, rlx_expr_mul(e, s->in_stride[i], size));
        rlx_step_param(step, RLX_WORD(rlx_strided_copy_params_t, out_stride) + i, rlx_expr_mul(e, s->out_stride[i], size));
        if (i + 1 < RLX_RANK_MAX)
            rows = rlx_expr_mul(e, rows, s->dims[i]);
        else
            inner = s->dims[i];
    }
    grain = rows_per_tile(graph, inner, chunk, bytes, is_plane);
    rlx_step_param(step, RLX_WORD(rlx_strided_copy_params_t, in_offset), rlx_expr_mul(e, s->in_offset, size));
    rlx_step_param(step, RLX_WORD(rlx_strided_copy_params_t, out_offset), rlx_expr_mul(e, s->out_offset, size));
    rlx_step_param(step, RLX_WORD(rlx_strided_copy_params_t, bytes), size);
    rlx_step_param(step, RLX_WORD(rlx_strided_copy_params_t, grain), grain);
    rlx_step_param_const(step, RLX_WORD(rlx_strided_copy_params_t, chunk), chunk);
    tiles = rlx_expr_ceildiv(e, rows, grain);
    tiles = rlx_expr_mul(e, tiles, rlx_expr_ceildiv(e, inner, num(graph, chunk)));
    return rlx_step_end(step, tiles, RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}
