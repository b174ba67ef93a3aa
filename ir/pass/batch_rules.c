/* One rule per operator, by table. A rule may assume that no operand but a shape is MIXED; it names the axis, and ir/pass/batch.c compares the
 * extents. Operands without rows are the same for every row: where they meet the axis they must be of extent 1 there. */
#include "ir/pass/batch_rules.h"

#include "ir/operator/reduce_axes.h"
#include "ir/operator/resize.h"
#include "ir/shape/common.h"

#define NONE RLX_BATCH_NONE
#define MIXED RLX_BATCH_MIXED

typedef int rule_t(rlx_batch_t *batch, const rlx_op_t *op, int index);

static int x_rows(const rlx_batch_t *batch, const rlx_op_t *op) { return rlx_batch_in(batch, op, 0); }

/* Operands [from, n_in) have no rows. */
static bool rest_none(const rlx_batch_t *batch, const rlx_op_t *op, int from)
{
    for (int i = from; i < op->n_in; i++)
        if (rlx_batch_in(batch, op, i) != NONE)
            return false;
    return true;
}

static int axis_attr(const rlx_op_t *op, const char *name, int rank)
{
    int64_t axis = rlx_op_int(op, name);

    return (int)(axis < 0 ? axis + rank : axis);
}

/* The one constant integer of operand `index`. */
static bool int_operand(const rlx_batch_t *batch, const rlx_op_t *op, int index, int64_t *out)
{
    int count;

    return rlx_op_in(op, index) != NULL && rlx_value_ints(batch->graph, op->in[index], out, 1, &count) && count == 1;
}

static int elementwise(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rank = op->out[index]->rank, axis = NONE;

    for (int i = 0; i < op->n_in; i++) {
        int rows = rlx_batch_in(batch, op, i), at = rows + rank - (rows >= 0 ? op->in[i]->rank : 0);

        if (rows < 0)
            continue;
        if (axis != NONE && at != axis)
            return MIXED;
        axis = at;
    }
    for (int i = 0; i < op->n_in; i++)
        if (rlx_op_in(op, i) != NULL && rlx_batch_in(batch, op, i) == NONE && !rlx_batch_repeats_at(batch, op->in[i], rank, axis))
            return MIXED;
    return axis;
}

/* The axis where the elements before it are as many as those before `rows` of x. */
static int reshape(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    const rlx_value_t *x = op->in[0], *y = op->out[index];
    int rows = x_rows(batch, op);
    rlx_expr_t before;

    if (rows < 0)
        return rows;
    before = rlx_shape_product(batch->graph, x->dims, 0, rows);
    for (int i = 0; i < y->rank; i++)
        if (y->dims[i] == batch->extent && rlx_shape_product(batch->graph, y->dims, 0, i) == before)
            return i;
    return MIXED;
}

static int transpose(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rank = op->in[0]->rank;

    (void)index;
    for (int i = 0; i < rank; i++)
        if (rlx_op_ints_at(op, "perm", i, rank - 1 - i) == x_rows(batch, op))
            return i;
    return MIXED;
}

/* expand, constant_of_shape, tile: rows of x stay, or the result repeats something without rows. */
static int repeated(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    const rlx_value_t *y = op->out[index];
    bool has_x = op->kind != RLX_OP_constant_of_shape;
    int rows = has_x ? x_rows(batch, op) : NONE;

    if (rows >= 0)
        return rows + y->rank - op->in[0]->rank; /* of tile: 0 more, and the extents tell whether it was repeated */
    for (int i = 0; i < y->rank; i++)
        if (y->dims[i] == batch->extent)
            return !has_x || rlx_batch_repeats_at(batch, op->in[0], y->rank, i) ? i : MIXED;
    return NONE;
}

static int slice(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    rlx_expr_t starts[RLX_RANK_MAX], steps[RLX_RANK_MAX], dims[RLX_RANK_MAX];
    int rows = x_rows(batch, op);

    (void)index;
    if (rlx_shape_slice(batch->graph, op, starts, steps, dims, NULL) != RLX_OK)
        return MIXED;
    for (int i = 0; i < op->in[0]->rank; i++)
        if (i == rows ? !rlx_expr_is(batch->graph->exprs, starts[i], 0) || !rlx_expr_is(batch->graph->exprs, steps[i], 1)
                      : rlx_batch_depends(batch, starts[i]) || rlx_batch_depends(batch, steps[i]))
            return MIXED;
    return rows;
}

static int pad(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    rlx_expr_t begins[RLX_RANK_MAX], ends[RLX_RANK_MAX];
    int rows = x_rows(batch, op);

    (void)index;
    if (rlx_batch_in(batch, op, 2) != NONE || rlx_shape_pad(batch->graph, op, begins, ends, NULL) != RLX_OK)
        return MIXED;
    for (int i = 0; i < op->in[0]->rank; i++)
        if (i == rows ? !rlx_expr_is(batch->graph->exprs, begins[i], 0) || !rlx_expr_is(batch->graph->exprs, ends[i], 0)
                      : rlx_batch_depends(batch, begins[i]) || rlx_batch_depends(batch, ends[i]))
            return MIXED;
    return rows;
}

static int concat(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rows = x_rows(batch, op);

    for (int i = 1; i < op->n_in; i++)
        if (rlx_batch_in(batch, op, i) != rows)
            return MIXED;
    return rows != axis_attr(op, "axis", op->out[index]->rank) ? rows : MIXED;
}

/* The attribute `axis` is not the rows', and nothing but x has rows: softmax, split, top_k, hardmax... */
static int along_axis(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rows = x_rows(batch, op);

    (void)index;
    return rest_none(batch, op, 1) && rows != axis_attr(op, "axis", op->in[0]->rank) ? rows : MIXED;
}

/* The same for an axis that is operand 1 (cumsum) or 2 (dft). */
static int along_operand(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int which = op->kind == RLX_OP_dft ? 2 : 1, rank = op->in[0]->rank, rows = x_rows(batch, op);
    int64_t axis = -2;

    (void)index;
    if (!rest_none(batch, op, 1) || (rlx_op_in(op, which) != NULL && !int_operand(batch, op, which, &axis)))
        return MIXED;
    return rows != (axis < 0 ? axis + rank : axis) ? rows : MIXED;
}

static int arg(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rows = along_axis(batch, op, index), axis = axis_attr(op, "axis", op->in[0]->rank);

    return rows >= 0 && rlx_op_int(op, "keepdims") == 0 && axis < rows ? rows - 1 : rows;
}

static int reduction(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rows = x_rows(batch, op), place = rows;
    rlx_reduce_axes_t axes;

    (void)index;
    if (rows < 0 || rlx_reduce_axes_get(batch->graph, op, false, &axes, NULL) != RLX_OK || !axes.is_const || axes.reduced[rows])
        return MIXED;
    for (int i = 0; i < rows && rlx_op_int(op, "keepdims") == 0; i++)
        place -= axes.reduced[i];
    return place;
}

/* Rows at axis 0 of x, and nothing else has any: convolutions, pools, norms over channels. */
static int first_axis(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    (void)index;
    return x_rows(batch, op) == 0 && rest_none(batch, op, 1) ? 0 : MIXED;
}

static int max_pool(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    return index == 0 ? first_axis(batch, op, index) : MIXED; /* indices count through the whole tensor */
}

static int batch_norm(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    return rlx_op_int(op, "training_mode") == 0 ? first_axis(batch, op, index) : MIXED;
}

static int layer_norm(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rows = x_rows(batch, op);

    (void)index;
    return rest_none(batch, op, 1) && rows < axis_attr(op, "axis", op->in[0]->rank) ? rows : MIXED;
}

/* The last two axes are worked on: trilu, det. */
static int last_two(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rows = x_rows(batch, op);

    (void)index;
    return rest_none(batch, op, 1) && rows < op->in[0]->rank - 2 ? rows : MIXED;
}

/* Axis 0 of all that are there. */
static int all_first(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    (void)index;
    for (int i = 0; i < op->n_in; i++)
        if (rlx_op_in(op, i) != NULL && rlx_batch_in(batch, op, i) != 0)
            return MIXED;
    return 0;
}

static int tensor_scatter(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    return axis_attr(op, "axis", op->in[0]->rank) != 0 ? all_first(batch, op, index) : MIXED;
}

static int affine_grid(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    (void)index;
    return x_rows(batch, op) == 0 ? 0 : MIXED;
}

/* x, w, offset, b?, mask? */
static int deform_conv(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    bool weights = rlx_batch_in(batch, op, 1) == NONE && rlx_batch_in(batch, op, 3) == NONE;
    bool mask = rlx_op_in(op, 4) == NULL || rlx_batch_in(batch, op, 4) == 0;

    (void)index;
    return x_rows(batch, op) == 0 && rlx_batch_in(batch, op, 2) == 0 && weights && mask ? 0 : MIXED;
}

static int reverse_sequence(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rank = op->in[0]->rank, rows = x_rows(batch, op);

    (void)index;
    return rows == axis_attr(op, "batch_axis", rank) && rows != axis_attr(op, "time_axis", rank) && rlx_batch_in(batch, op, 1) == 0 ? rows
                                                                                                                                   : MIXED;
}

static int gather(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int x = x_rows(batch, op), indices = rlx_batch_in(batch, op, 1), axis = axis_attr(op, "axis", op->in[0]->rank);

    (void)index;
    if (x == NONE)
        return axis + indices;
    if (indices != NONE || x == axis)
        return MIXED;
    return x < axis ? x : x + op->in[1]->rank - 1;
}

/* All operands have their rows at the same axis, which is not the one indexed. */
static int elements(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rows = x_rows(batch, op);

    (void)index;
    for (int i = 1; i < op->n_in; i++)
        if (rlx_batch_in(batch, op, i) != rows)
            return MIXED;
    return rows != axis_attr(op, "axis", op->in[0]->rank) ? rows : MIXED;
}

static int gather_nd(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int x = x_rows(batch, op), indices = rlx_batch_in(batch, op, 1);
    int64_t shared = rlx_op_int(op, "batch_dims");

    (void)index;
    if (x == NONE && shared == 0)
        return indices < op->in[1]->rank - 1 ? indices : MIXED;
    return x == indices && x < shared ? x : MIXED;
}

static int one_hot(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rows = x_rows(batch, op), axis = axis_attr(op, "axis", op->out[index]->rank);

    return rest_none(batch, op, 1) ? (rows < axis ? rows : rows + 1) : MIXED;
}

static int resize(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rows = x_rows(batch, op);
    rlx_resize_geometry_t geometry;

    (void)index;
    if (rlx_batch_in(batch, op, 1) != NONE || rlx_batch_in(batch, op, 2) != NONE ||
        rlx_resize_geometry_get(batch->graph, op, false, &geometry, NULL) != RLX_OK)
        return MIXED;
    return rows >= 0 && !geometry.resized[rows] ? rows : MIXED;
}

/* x, w, r, b?, sequence_lens?, initial_h?, initial_c?, p?, scales? */
static int recurrent(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    bool first = rlx_op_int(op, "layout") != 0;
    const int want[8] = {first ? 0 : 1, NONE, NONE, NONE, 0, first ? 0 : 1, first ? 0 : 1, NONE};

    for (int i = 0; i < op->n_in && i < 8; i++)
        if (rlx_op_in(op, i) != NULL && rlx_batch_in(batch, op, i) != want[i])
            return MIXED;
    if (!rest_none(batch, op, 8))
        return MIXED;
    return first ? 0 : index == 0 ? 2 : 1;
}

/* Rows of x stay, nothing else has any. */
static int first_operand(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    (void)index;
    return rest_none(batch, op, 1) ? x_rows(batch, op) : MIXED;
}

static int quant_matmul(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    int rows = first_operand(batch, op, index);

    return rows < op->in[0]->rank - 1 ? rows : MIXED;
}

static rule_t *const rules[RLX_OP_COUNT] = {
#define X(id, attrs) [RLX_OP_##id] = elementwise,
    RLX_OPS_UNARY(X) RLX_OPS_BINARY(X) RLX_OPS_TERNARY(X)
#undef X
    [RLX_OP_reshape] = reshape, [RLX_OP_transpose] = transpose, [RLX_OP_expand] = repeated, [RLX_OP_tile] = repeated,
    [RLX_OP_constant_of_shape] = repeated, [RLX_OP_slice] = slice, [RLX_OP_pad] = pad, [RLX_OP_concat] = concat,
    [RLX_OP_split] = along_axis, [RLX_OP_reverse_sequence] = reverse_sequence, [RLX_OP_depth_to_space] = first_axis,
    [RLX_OP_space_to_depth] = first_axis, [RLX_OP_trilu] = last_two, [RLX_OP_gather] = gather, [RLX_OP_gather_elements] = elements,
    [RLX_OP_scatter_elements] = elements, [RLX_OP_gather_nd] = gather_nd, [RLX_OP_tensor_scatter] = tensor_scatter,
    [RLX_OP_one_hot] = one_hot, [RLX_OP_reduce_sum] = reduction, [RLX_OP_reduce_mean] = reduction, [RLX_OP_reduce_max] = reduction,
    [RLX_OP_reduce_min] = reduction, [RLX_OP_reduce_prod] = reduction, [RLX_OP_reduce_l1] = reduction, [RLX_OP_reduce_l2] = reduction,
    [RLX_OP_reduce_log_sum] = reduction, [RLX_OP_reduce_log_sum_exp] = reduction, [RLX_OP_reduce_sum_square] = reduction,
    [RLX_OP_arg_max] = arg, [RLX_OP_arg_min] = arg, [RLX_OP_top_k] = along_axis, [RLX_OP_cumsum] = along_operand,
    [RLX_OP_cumprod] = along_operand, [RLX_OP_softmax] = along_axis, [RLX_OP_log_softmax] = along_axis, [RLX_OP_hardmax] = along_axis,
    [RLX_OP_layer_norm] = layer_norm, [RLX_OP_rms_norm] = layer_norm, [RLX_OP_instance_norm] = first_axis, [RLX_OP_group_norm] = first_axis,
    [RLX_OP_batch_norm] = batch_norm, [RLX_OP_lrn] = first_axis, [RLX_OP_conv] = first_axis, [RLX_OP_conv_transpose] = first_axis,
    [RLX_OP_max_pool] = max_pool, [RLX_OP_avg_pool] = first_axis, [RLX_OP_lp_pool] = first_axis, [RLX_OP_deform_conv] = deform_conv,
    [RLX_OP_col2im] = first_axis, [RLX_OP_matmul] = rlx_batch_matmul, [RLX_OP_einsum] = rlx_batch_einsum, [RLX_OP_det] = last_two, [RLX_OP_lstm] = recurrent, [RLX_OP_qlstm] = recurrent,
    [RLX_OP_gru] = recurrent, [RLX_OP_rnn] = recurrent, [RLX_OP_resize] = resize, [RLX_OP_grid_sample] = all_first,
    [RLX_OP_quantize] = first_operand, [RLX_OP_dequantize] = first_operand, [RLX_OP_qflip] = first_operand, [RLX_OP_qlookup] = first_operand,
    [RLX_OP_qconv] = first_axis, [RLX_OP_qmatmul] = quant_matmul, [RLX_OP_qadd] = elementwise, [RLX_OP_qmul] = elementwise,
    [RLX_OP_qavg_pool] = first_axis, [RLX_OP_affine_grid] = affine_grid, [RLX_OP_dft] = along_operand, [RLX_OP_stft] = first_axis,
};

int rlx_batch_rule(rlx_batch_t *batch, const rlx_op_t *op, int index)
{
    return rules[op->kind] != NULL ? rules[op->kind](batch, op, index) : MIXED;
}

bool rlx_batch_is_shape(const rlx_op_t *op, int index)
{
    switch (op->kind) {
    case RLX_OP_constant_of_shape: return true;
    case RLX_OP_reshape:
    case RLX_OP_expand:
    case RLX_OP_tile:
    case RLX_OP_affine_grid: return index == 1;
    case RLX_OP_slice: return index >= 1;
    case RLX_OP_pad: return index == 1;
    case RLX_OP_resize: return index == 3;
    default: return false;
    }
}
