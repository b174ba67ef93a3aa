/* Lowers the move family: nearly everything is a strided copy; padding, triangles and reversals have kernels of their own. */
#include <string.h>

#include "ir/lower/dispatch.h"
#include "ir/shape/common.h"
#include "ir/operator/strided.h"

#define TILE_BYTES 65536

static rlx_expr_t num(const rlx_graph_t *graph, int64_t value) { return rlx_expr_const(graph->exprs, value); }

static int normal_axis(int64_t axis, int rank) { return (int)(axis < 0 ? axis + rank : axis); }

static int64_t bytes_of(const rlx_value_t *value) { return (int64_t)rlx_dtype_size(value->dtype); }

static rlx_status_t lower_copy(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_copy, RLX_WORDS(rlx_copy_params_t));
    rlx_expr_t size = rlx_expr_mul(graph->exprs, rlx_value_count(graph, op->out[0]), num(graph, bytes_of(op->out[0])));

    rlx_step_in(step, op->in[0]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_copy_params_t, size), size);
    rlx_step_param_const(step, RLX_WORD(rlx_copy_params_t, grain), TILE_BYTES);
    return rlx_step_end(step, rlx_expr_ceildiv(graph->exprs, size, num(graph, TILE_BYTES)), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_transpose(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0], *out = op->out[0];
    rlx_strided_t strided;

    rlx_strided_init(graph, &strided);
    for (int i = 0; i < out->rank; ++i)
        rlx_strided_axis(&strided, out->dims[i], rlx_shape_stride(graph, x, (int)rlx_op_ints_at(op, "perm", i, out->rank - 1 - i)),
                         rlx_shape_stride(graph, out, i));
    return rlx_strided_lower(builder, op, &strided, x, out, diag);
}

static rlx_status_t lower_expand(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *out = op->out[0];
    rlx_strided_t strided;

    rlx_strided_init(graph, &strided);
    for (int i = 0; i < out->rank; ++i)
        rlx_strided_axis(&strided, out->dims[i], rlx_shape_broadcast_stride(graph, op->in[0], out->rank, i), rlx_shape_stride(graph, out, i));
    return rlx_strided_lower(builder, op, &strided, op->in[0], out, diag);
}

static rlx_status_t lower_slice(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    rlx_expr_t starts[RLX_RANK_MAX], steps[RLX_RANK_MAX], dims[RLX_RANK_MAX];
    rlx_strided_t strided;

    RLX_TRY(rlx_shape_slice(graph, op, starts, steps, dims, diag));
    rlx_strided_init(graph, &strided);
    for (int i = 0; i < x->rank; ++i) {
        rlx_expr_t stride = rlx_shape_stride(graph, x, i);

        strided.in_offset = rlx_expr_add(e, strided.in_offset, rlx_expr_mul(e, starts[i], stride));
        rlx_strided_axis(&strided, dims[i], rlx_expr_mul(e, steps[i], stride), rlx_shape_stride(graph, op->out[0], i));
    }
    return rlx_strided_lower(builder, op, &strided, x, op->out[0], diag);
}

/* The whole of `part` to or from the place `offset` along `axis` of `whole`. */
static rlx_status_t lower_part(rlx_builder_t *builder, const rlx_op_t *op, const rlx_value_t *part, const rlx_value_t *whole, int axis,
                               rlx_expr_t offset, bool into, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_expr_t place = rlx_expr_mul(graph->exprs, offset, rlx_shape_stride(graph, whole, axis));
    rlx_strided_t strided;

    rlx_strided_init(graph, &strided);
    *(into ? &strided.out_offset : &strided.in_offset) = place;
    for (int i = 0; i < part->rank; ++i) {
        rlx_expr_t part_stride = rlx_shape_stride(graph, part, i), whole_stride = rlx_shape_stride(graph, whole, i);

        rlx_strided_axis(&strided, part->dims[i], into ? part_stride : whole_stride, into ? whole_stride : part_stride);
    }
    return rlx_strided_lower(builder, op, &strided, into ? part : whole, into ? whole : part, diag);
}

/* C16 along channels: channels [from, from + count) of `in` to `to` of `out`. */
static rlx_status_t lower_channels(rlx_builder_t *builder, const rlx_op_t *op, const rlx_value_t *in, rlx_expr_t from, const rlx_value_t *out,
                                   rlx_expr_t to, rlx_expr_t count, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    rlx_step_t *step = rlx_step_begin(builder, op, in->dtype == RLX_U8 ? RLX_K_qchannels_c16 : RLX_K_channels_c16,
                                       RLX_WORDS(rlx_channels_c16_params_t));
    rlx_expr_t lanes = num(graph, 16);
    rlx_expr_t before = rlx_expr_floordiv(e, to, lanes);
    rlx_expr_t blocks = rlx_expr_sub(e, rlx_expr_ceildiv(e, rlx_expr_add(e, to, count), lanes), before);

    rlx_step_in(step, in);
    rlx_step_out(step, out);
    rlx_step_param(step, RLX_WORD(rlx_channels_c16_params_t, n), in->dims[0]);
    rlx_step_param(step, RLX_WORD(rlx_channels_c16_params_t, spatial), rlx_shape_product(graph, in->dims, 2, in->rank));
    rlx_step_param(step, RLX_WORD(rlx_channels_c16_params_t, in_channels), in->dims[1]);
    rlx_step_param(step, RLX_WORD(rlx_channels_c16_params_t, out_channels), out->dims[1]);
    rlx_step_param(step, RLX_WORD(rlx_channels_c16_params_t, from), from);
    rlx_step_param(step, RLX_WORD(rlx_channels_c16_params_t, to), to);
    rlx_step_param(step, RLX_WORD(rlx_channels_c16_params_t, count), count);
    return rlx_step_end(step, rlx_expr_mul(e, in->dims[0], blocks), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_concat(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *out = op->out[0];
    int axis = normal_axis(rlx_op_int(op, "axis"), out->rank);
    rlx_expr_t offset = num(graph, 0);

    for (int i = 0; i < op->n_in; ++i) {
        const rlx_value_t *part = op->in[i];

        if (out->layout == RLX_LAYOUT_C16)
            RLX_TRY(lower_channels(builder, op, part, num(graph, 0), out, offset, part->dims[1], diag));
        else
            RLX_TRY(lower_part(builder, op, part, out, axis, offset, true, diag));
        offset = rlx_expr_add(graph->exprs, offset, part->dims[axis]);
    }
    return RLX_OK;
}

/* Extent of output `index` along the axis; an output that nobody asked for has none of its own. */
static rlx_status_t split_extent(rlx_graph_t *graph, const rlx_op_t *op, int axis, int index, rlx_expr_t *out, rlx_diag_t *diag)
{
    rlx_expr_t sizes[RLX_ELEMENTS_MAX];
    int count = 0;

    if (op->out[index] != NULL) {
        *out = op->out[index]->dims[axis];
        return RLX_OK;
    }
    if (rlx_op_in(op, 1) != NULL) {
        RLX_TRY(rlx_shape_ints(graph, op, 1, sizes, RLX_ELEMENTS_MAX, &count, diag));
        *out = index < count ? sizes[index] : num(graph, 0);
        return RLX_OK;
    }
    *out = rlx_expr_ceildiv(graph->exprs, op->in[0]->dims[axis], num(graph, op->n_out));
    return RLX_OK;
}

static rlx_status_t lower_split(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    int axis = normal_axis(rlx_op_int(op, "axis"), op->in[0]->rank);
    rlx_expr_t offset = num(graph, 0), extent;

    for (int i = 0; i < op->n_out; ++i) {
        RLX_TRY(split_extent(graph, op, axis, i, &extent, diag));
        if (op->out[i] != NULL && op->in[0]->layout == RLX_LAYOUT_C16)
            RLX_TRY(lower_channels(builder, op, op->in[0], offset, op->out[i], num(graph, 0), extent, diag));
        else if (op->out[i] != NULL)
            RLX_TRY(lower_part(builder, op, op->out[i], op->in[0], axis, offset, false, diag));
        offset = rlx_expr_add(graph->exprs, offset, extent);
    }
    return RLX_OK;
}

/* Trailing axes that are not padded, seen as one with the axis before them: rows get long. Only padding by a value can be seen so. Returns
 * the rank that is left; `dims`, `in_dims` and `begins` hold the axes. */
static int pad_merge(rlx_graph_t *graph, int rank, rlx_expr_t *dims, rlx_expr_t *in_dims, rlx_expr_t *begins)
{
    rlx_exprs_t *e = graph->exprs;

    while (rank > 1 && dims[rank - 1] == in_dims[rank - 1] && rlx_expr_is(e, begins[rank - 1], 0)) {
        begins[rank - 2] = rlx_expr_mul(e, begins[rank - 2], dims[rank - 1]);
        dims[rank - 2] = rlx_expr_mul(e, dims[rank - 2], dims[rank - 1]);
        in_dims[rank - 2] = rlx_expr_mul(e, in_dims[rank - 2], in_dims[rank - 1]);
        --rank;
    }
    return rank;
}

static rlx_status_t pad_step(rlx_builder_t *builder, const rlx_op_t *op, const rlx_expr_t *begins, const rlx_value_t *value, int mode, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0], *out = op->out[0];
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_pad, RLX_WORDS(rlx_pad_params_t));
    rlx_expr_t row = num(graph, bytes_of(out)), grain, rows = num(graph, 1), dims[RLX_RANK_MAX], in_dims[RLX_RANK_MAX], begin[RLX_RANK_MAX];
    int rank = out->rank;

    memcpy(dims, out->dims, sizeof dims);
    memcpy(in_dims, x->dims, sizeof in_dims);
    memcpy(begin, begins, (size_t)rank * sizeof *begin);
    if (mode == RLX_PAD_CONSTANT)
        rank = pad_merge(graph, rank, dims, in_dims, begin);
    rlx_step_in(step, x);
    rlx_step_in(step, value);
    rlx_step_out(step, out);
    for (int i = 0; i < RLX_RANK_MAX; ++i) {
        int axis = i - (RLX_RANK_MAX - rank);
        rlx_expr_t dim = axis < 0 ? num(graph, 1) : dims[axis];

        rlx_step_param(step, RLX_WORD(rlx_pad_params_t, dims) + i, dim);
        rlx_step_param(step, RLX_WORD(rlx_pad_params_t, in_dims) + i, axis < 0 ? num(graph, 1) : in_dims[axis]);
        rlx_step_param(step, RLX_WORD(rlx_pad_params_t, begin) + i, axis < 0 ? num(graph, 0) : begin[axis]);
        if (i + 1 < RLX_RANK_MAX)
            rows = rlx_expr_mul(e, rows, dim);
        else
            row = rlx_expr_mul(e, row, dim);
    }
    grain = rlx_expr_max(e, num(graph, 1), rlx_expr_floordiv(e, num(graph, TILE_BYTES / 4), rlx_expr_max(e, num(graph, 1), row)));
    rlx_step_param_const(step, RLX_WORD(rlx_pad_params_t, mode), mode);
    rlx_step_param_const(step, RLX_WORD(rlx_pad_params_t, bytes), bytes_of(out));
    rlx_step_param(step, RLX_WORD(rlx_pad_params_t, grain), grain);
    return rlx_step_end(step, rlx_expr_ceildiv(e, rows, grain), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

static rlx_status_t lower_pad(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    const char *wanted = rlx_op_string(op, "mode");
    rlx_expr_t begins[RLX_RANK_MAX], ends[RLX_RANK_MAX];

    RLX_TRY(rlx_shape_pad(rlx_builder_graph(builder), op, begins, ends, diag));
    for (int i = 0; i < 4; ++i)
        if (strcmp(wanted, modes[i]) == 0)
            return pad_step(builder, op, begins, rlx_op_in(op, 2), i, diag);
    return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "mode '%s' is not one of constant, reflect, edge, wrap", wanted);
}

static rlx_status_t lower_tile(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_expr_t begins[RLX_RANK_MAX];

    for (int i = 0; i < RLX_RANK_MAX; ++i)
        begins[i] = num(rlx_builder_graph(builder), 0);
    return pad_step(builder, op, begins, NULL, RLX_PAD_WRAP, diag);
}

static rlx_status_t lower_reverse_sequence(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    const rlx_value_t *x = op->in[0];
    int batch = normal_axis(rlx_op_int(op, "batch_axis"), x->rank), time = normal_axis(rlx_op_int(op, "time_axis"), x->rank);
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_reverse_sequence, RLX_WORDS(rlx_reverse_sequence_params_t));
    rlx_expr_t size = num(graph, bytes_of(x));

    if (batch + time != 1 || op->in[1]->dtype != RLX_I64)
        return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "batch_axis and time_axis must be 0 and 1, sequence_lens int64");
    rlx_step_in(step, x);
    rlx_step_in(step, op->in[1]);
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_reverse_sequence_params_t, batch), x->dims[batch]);
    rlx_step_param(step, RLX_WORD(rlx_reverse_sequence_params_t, time), x->dims[time]);
    rlx_step_param(step, RLX_WORD(rlx_reverse_sequence_params_t, inner_bytes), rlx_expr_mul(e, rlx_shape_product(graph, x->dims, 2, x->rank), size));
    rlx_step_param(step, RLX_WORD(rlx_reverse_sequence_params_t, batch_stride), rlx_expr_mul(e, rlx_shape_stride(graph, x, batch), size));
    rlx_step_param(step, RLX_WORD(rlx_reverse_sequence_params_t, time_stride), rlx_expr_mul(e, rlx_shape_stride(graph, x, time), size));
    return rlx_step_end(step, x->dims[batch], RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

/* Depth and space: the deep tensor is [n, (block, block, c) or (c, block, block), h, w], the wide one [n, c, h, block, w, block]. */
static rlx_status_t lower_depth_space(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    rlx_exprs_t *e = graph->exprs;
    bool to_space = op->kind == RLX_OP_depth_to_space;
    const rlx_value_t *deep = to_space ? op->in[0] : op->out[0], *wide = to_space ? op->out[0] : op->in[0];
    rlx_expr_t block = num(graph, rlx_op_int(op, "blocksize")), area = rlx_expr_mul(e, block, block);
    bool channels_first = to_space && strcmp(rlx_op_string(op, "mode"), "CRD") == 0;
    rlx_expr_t plane = rlx_shape_stride(graph, deep, 1), row = rlx_shape_stride(graph, deep, 2), one = num(graph, 1);
    rlx_expr_t channel_step = channels_first ? area : one, block_step = channels_first ? one : wide->dims[1];
    rlx_expr_t wide_row = rlx_shape_stride(graph, wide, 2);
    rlx_expr_t dims[6] = {deep->dims[0], wide->dims[1], deep->dims[2], block, deep->dims[3], block};
    rlx_expr_t in_deep[6] = {rlx_shape_stride(graph, deep, 0), rlx_expr_mul(e, plane, channel_step), row,
                             rlx_expr_mul(e, rlx_expr_mul(e, plane, block_step), block), one, rlx_expr_mul(e, plane, block_step)};
    rlx_expr_t in_wide[6] = {rlx_shape_stride(graph, wide, 0), rlx_shape_stride(graph, wide, 1), rlx_expr_mul(e, wide_row, block), wide_row, block, one};
    rlx_strided_t strided;

    rlx_strided_init(graph, &strided);
    for (int i = 0; i < 6; ++i)
        rlx_strided_axis(&strided, dims[i], to_space ? in_deep[i] : in_wide[i], to_space ? in_wide[i] : in_deep[i]);
    return rlx_strided_lower(builder, op, &strided, op->in[0], op->out[0], diag);
}

static rlx_status_t lower_trilu(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0];
    rlx_step_t *step = rlx_step_begin(builder, op, RLX_K_trilu, RLX_WORDS(rlx_trilu_params_t));
    rlx_expr_t batch = rlx_shape_product(graph, x->dims, 0, x->rank - 2), k = num(graph, 0);

    if (rlx_op_in(op, 1) != NULL)
        RLX_TRY(rlx_shape_int(graph, op, 1, &k, diag));
    rlx_step_in(step, x);
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_trilu_params_t, batch), batch);
    rlx_step_param(step, RLX_WORD(rlx_trilu_params_t, rows), x->dims[x->rank - 2]);
    rlx_step_param(step, RLX_WORD(rlx_trilu_params_t, columns), x->dims[x->rank - 1]);
    rlx_step_param(step, RLX_WORD(rlx_trilu_params_t, k), k);
    rlx_step_param_const(step, RLX_WORD(rlx_trilu_params_t, upper), rlx_op_int(op, "upper"));
    rlx_step_param_const(step, RLX_WORD(rlx_trilu_params_t, bytes), bytes_of(x));
    return rlx_step_end(step, batch, RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

/* Elements between neighbours along `axis` of a row-major or channels-last value. */
static rlx_expr_t layout_stride(rlx_graph_t *graph, const rlx_value_t *value, int axis)
{
    rlx_expr_t stride = value->dims[1];

    if (value->layout != RLX_LAYOUT_CHANNELS_LAST)
        return rlx_shape_stride(graph, value, axis);
    if (axis == 1)
        return num(graph, 1);
    for (int i = axis > 1 ? axis + 1 : 2; i < value->rank; ++i)
        stride = rlx_expr_mul(graph->exprs, stride, value->dims[i]);
    return stride;
}

static rlx_status_t lower_channels_last(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0], *y = op->out[0];
    rlx_strided_t strided;

    rlx_strided_init(graph, &strided);
    for (int i = 0; i < x->rank; ++i) {
        rlx_expr_t from = layout_stride(graph, x, i);

        rlx_strided_axis(&strided, x->dims[i], from, layout_stride(graph, y, i));
    }
    return rlx_strided_lower(builder, op, &strided, x, y, diag);
}

static rlx_status_t lower_reorder(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    rlx_graph_t *graph = rlx_builder_graph(builder);
    const rlx_value_t *x = op->in[0];
    bool to_blocks = op->out[0]->layout == RLX_LAYOUT_C16;
    rlx_kernel_id_t kernel = to_blocks ? RLX_K_to_c16 : RLX_K_from_c16;
    rlx_expr_t blocks = rlx_expr_ceildiv(graph->exprs, x->dims[1], num(graph, 16));
    rlx_step_t *step;

    if (x->layout == RLX_LAYOUT_CHANNELS_LAST || op->out[0]->layout == RLX_LAYOUT_CHANNELS_LAST)
        return lower_channels_last(builder, op, diag);
    if (x->dtype == RLX_U8)
        kernel = to_blocks ? RLX_K_qto_c16 : RLX_K_qfrom_c16;
    step = rlx_step_begin(builder, op, kernel, RLX_WORDS(rlx_to_c16_params_t));
    rlx_step_in(step, x);
    rlx_step_out(step, op->out[0]);
    rlx_step_param(step, RLX_WORD(rlx_to_c16_params_t, n), x->dims[0]);
    rlx_step_param(step, RLX_WORD(rlx_to_c16_params_t, channels), x->dims[1]);
    rlx_step_param(step, RLX_WORD(rlx_to_c16_params_t, spatial), rlx_shape_product(graph, x->dims, 2, x->rank));
    return rlx_step_end(step, rlx_expr_mul(graph->exprs, x->dims[0], blocks), RLX_EXPR_NONE, RLX_EXPR_NONE, diag);
}

rlx_status_t rlx_lower_move(rlx_builder_t *builder, const rlx_op_t *op, rlx_diag_t *diag)
{
    switch (op->kind) {
    case RLX_OP_reshape: return lower_copy(builder, op, diag);
    case RLX_OP_transpose: return lower_transpose(builder, op, diag);
    case RLX_OP_expand: return lower_expand(builder, op, diag);
    case RLX_OP_slice: return lower_slice(builder, op, diag);
    case RLX_OP_concat: return lower_concat(builder, op, diag);
    case RLX_OP_split: return lower_split(builder, op, diag);
    case RLX_OP_pad: return lower_pad(builder, op, diag);
    case RLX_OP_tile: return lower_tile(builder, op, diag);
    case RLX_OP_reverse_sequence: return lower_reverse_sequence(builder, op, diag);
    case RLX_OP_depth_to_space:
    case RLX_OP_space_to_depth: return lower_depth_space(builder, op, diag);
    case RLX_OP_trilu: return lower_trilu(builder, op, diag);
    case RLX_OP_reorder: return lower_reorder(builder, op, diag);
    default: return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "no lowering");
    }
}
