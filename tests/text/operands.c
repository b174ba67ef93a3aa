/* Operands of random ops (tests/text/generator.h): a value of the pool, and beside it constants that fit its type and extents. What is not special
 * about an operator is tried with anything. */
#include <string.h>

#include "generator.h"
#include "ir/shape/common.h"

static int binary(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    bool (*fits)(rlx_dtype_t) = is_number;

    if (kind == RLX_OP_and || kind == RLX_OP_or || kind == RLX_OP_xor)
        fits = is_bool;
    else if (kind == RLX_OP_bit_shift)
        fits = is_unsigned;
    else if (kind == RLX_OP_bit_and || kind == RLX_OP_bit_or || kind == RLX_OP_bit_xor)
        fits = is_whole;
    in[0] = find(g, fits, 0, 6);
    if (in[0] == NULL)
        return -1;
    in[1] = pick(g, 3) == 0 ? any(g) : pick(g, 4) == 0 ? in[0] : beside(g, in[0], in[0]->dtype);
    if (pick(g, 3) == 0 && kind != RLX_OP_prelu) {
        rlx_value_t *swap = in[0];

        in[0] = in[1];
        in[1] = swap;
    }
    return 2;
}

static int chosen(generator_t *g, rlx_value_t **in)
{
    in[1] = any(g);
    in[0] = find(g, is_bool, 0, 5);
    if (in[0] == NULL || pick(g, 2))
        in[0] = beside(g, in[1], RLX_BOOL);
    in[2] = pick(g, 3) ? beside(g, in[1], in[1]->dtype) : any(g);
    return 3;
}

static int clipped(generator_t *g, rlx_value_t **in)
{
    in[0] = find(g, is_number, 0, 6);
    if (in[0] == NULL)
        return -1;
    in[1] = pick(g, 3) ? scalar(g, in[0]->dtype, 0) : NULL;
    in[2] = pick(g, 3) ? scalar(g, in[0]->dtype, 2) : NULL;
    return in[2] != NULL ? 3 : 2;
}

static int normed(generator_t *g, rlx_value_t **in, int n, int axis)
{
    rlx_value_t *x = find(g, is_real, 2, 5);
    int64_t channels;

    if (x == NULL || (channels = extent(g, x, axis < 0 ? x->rank - 1 : axis)) == 0)
        return -1;
    in[0] = x;
    for (int i = 1; i < n; i++)
        in[i] = vector(g, x->dtype, channels);
    return n;
}

static int shaped(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    rlx_value_t *x = find(g, is_any, 1, 6);
    int64_t small[8], larger[8], places[8];

    if (x == NULL)
        return -1;
    for (int i = 0; i < 8; i++) {
        small[i] = kind == RLX_OP_reshape ? (i == 0 ? -1 : 1) : (int64_t)pick(g, 2);
        larger[i] = kind == RLX_OP_expand && i < x->rank && extent(g, x, i) != 1 ? 1 : 2 + (int64_t)pick(g, 4);
        places[i] = i;
    }
    in[0] = x;
    in[1] = ints(g, 1, places);
    switch (kind) {
    case RLX_OP_slice:
        in[1] = ints(g, 1, small);
        in[2] = ints(g, 1, larger);
        in[3] = ints(g, 1, places);
        return 4;
    case RLX_OP_reshape: in[1] = ints(g, 1 + (int)pick(g, 3), small); return 2;
    case RLX_OP_tile: in[1] = ints(g, x->rank, larger); return 2;
    case RLX_OP_expand: in[1] = ints(g, x->rank, larger); return 2;
    case RLX_OP_pad: in[1] = ints(g, x->rank * 2, small); return 2;
    case RLX_OP_cumsum:
    case RLX_OP_cumprod: in[1] = scalar(g, RLX_I64, (double)pick(g, (uint64_t)x->rank)); return 2;
    case RLX_OP_reverse_sequence:
        if (x->rank < 2 || extent(g, x, 1) == 0 || extent(g, x, 0) == 0)
            return -1;
        in[1] = numbers(g, RLX_I64, 1, (int64_t[]){extent(g, x, 1)}, 0, (int)extent(g, x, 0));
        return 2;
    default: return 2;
    }
}

static int indexed(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    rlx_value_t *x = find(g, is_any, 1, 4);
    int64_t dims[RLX_RANK_MAX], n = 1 + (int64_t)pick(g, 3);
    bool pairs = kind == RLX_OP_gather_nd || kind == RLX_OP_scatter_nd;

    if (x == NULL || !extents(g, x, dims) || dims[0] < 1)
        return -1;
    in[0] = x;
    in[1] = numbers(g, RLX_I64, 2, (int64_t[]){n, 1}, -1, (int)dims[0] - 1);
    if (!pairs) {
        dims[0] = n;
        in[1] = numbers(g, RLX_I64, x->rank, dims, -1, (int)extent(g, x, 0) - 1);
    }
    dims[0] = n;
    if (kind == RLX_OP_scatter_elements || kind == RLX_OP_scatter_nd)
        in[2] = numbers(g, x->dtype, x->rank, dims, 0, 3);
    return kind == RLX_OP_scatter_elements || kind == RLX_OP_scatter_nd ? 3 : 2;
}

static int hot(generator_t *g, rlx_value_t **in)
{
    rlx_value_t *x = find(g, is_whole, 0, 4);

    in[0] = x != NULL ? x : numbers(g, RLX_I64, 1, (int64_t[]){3}, 0, 5);
    in[1] = scalar(g, RLX_I64, 1 + (double)pick(g, 6));
    in[2] = numbers(g, pick(g, 2) ? RLX_F32 : RLX_I64, 1, (int64_t[]){2}, 0, 3);
    return 3;
}

static int selected(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    int64_t n = 2 + (int64_t)pick(g, 5), axis = 0;
    rlx_value_t *boxes[5], *count[2];
    rlx_op_t *op;

    if (kind == RLX_OP_non_zero) {
        in[0] = find(g, is_any, 1, 4);
        op = in[0] == NULL ? NULL : op_add(g, RLX_OP_count_non_zero, "found", 1, in, 1);
        in[1] = op == NULL ? NULL : op->out[0];
        return op == NULL ? -1 : 2;
    }
    boxes[0] = floats(g, RLX_F32, 3, (int64_t[]){1, n, 4});
    boxes[1] = find(g, is_f32, 3, 3);
    if (boxes[1] == NULL || extent(g, boxes[1], 0) != 1 || extent(g, boxes[1], 2) != n)
        boxes[1] = floats(g, RLX_F32, 3, (int64_t[]){1, 2, n});
    boxes[2] = scalar(g, RLX_I64, (double)pick(g, 4));
    boxes[3] = scalar(g, RLX_F32, 0.5);
    boxes[4] = scalar(g, RLX_F32, 0);
    memcpy(in, boxes, sizeof boxes);
    if (kind == RLX_OP_non_max_suppression)
        return 3 + (int)pick(g, 3);
    op = op_add(g, RLX_OP_non_max_suppression, "kept", 5, boxes, 2);
    if (op == NULL)
        return -1;
    in[0] = op->out[0];
    in[1] = count[0] = op->out[1];
    count[1] = ints(g, 1, &axis);
    in[3] = boxes[1];
    op = op_add(g, RLX_OP_reduce_sum, "sum", 2, count, 1);
    in[2] = op == NULL ? NULL : op->out[0];
    return op == NULL ? -1 : 4;
}

static int unpooled(generator_t *g, rlx_value_t **in)
{
    in[0] = find(g, is_f32, 4, 4);
    for (rlx_op_t *op = in[0] == NULL ? NULL : op_add(g, RLX_OP_max_pool, "pooled", 1, in, 2); op != NULL; op = NULL) {
        in[0] = op->out[0];
        in[1] = op->out[1];
        return 2;
    }
    return -1;
}

static int made(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    int64_t dims[4];

    switch (kind) {
    case RLX_OP_constant_of_shape:
        for (int i = 0; i < 3; i++)
            dims[i] = 1 + (int64_t)pick(g, 4);
        in[0] = ints(g, (int)pick(g, 4), dims);
        return 1;
    case RLX_OP_range:
        for (int i = 0; i < 3; i++)
            in[i] = scalar(g, RLX_I64, i == 0 ? (double)pick(g, 3) : i == 1 ? 4 + (double)pick(g, 9) : 1 + (double)pick(g, 3));
        if (pick(g, 2) == 0)
            for (int i = 0; i < 3; i++)
                in[i] = scalar(g, RLX_F32, i == 0 ? 0.25 : i == 1 ? 3 + (double)pick(g, 4) : 0.5);
        return 3;
    case RLX_OP_window: in[0] = scalar(g, RLX_I64, 2 + (double)pick(g, 30)); return 1;
    case RLX_OP_mel_weight_matrix:
        in[0] = scalar(g, RLX_I64, 2 + (double)pick(g, 6));
        in[1] = scalar(g, RLX_I64, 16);
        in[2] = scalar(g, RLX_I64, 8000);
        in[3] = scalar(g, RLX_F32, 0);
        in[4] = scalar(g, RLX_F32, 4000);
        return 5;
    default: /* eye_like */ in[0] = find(g, is_number, 2, 2); return in[0] == NULL ? -1 : 1;
    }
}

static int anything(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    const rlx_op_info_t *info = rlx_op_info(kind);
    int span = info->max_in - info->min_in, n = info->min_in + (int)pick(g, (uint64_t)(span > 3 ? 4 : span + 1));

    n = n > OPERANDS_MAX ? OPERANDS_MAX : n;
    for (int i = 0; i < n; i++)
        in[i] = i >= info->min_in && pick(g, 4) == 0 ? NULL : any(g);
    return n;
}

static int of_image(generator_t *g, bool (*fits)(rlx_dtype_t), rlx_value_t **in)
{
    in[0] = find(g, fits, 3, 5);
    return in[0] == NULL ? -1 : 1;
}

int operands_make(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    const char *family = rlx_op_info(kind)->family;

    switch (kind) {
    case RLX_OP_not: in[0] = find(g, is_bool, 0, 6); return in[0] == NULL ? -1 : 1;
    case RLX_OP_bit_not: in[0] = find(g, is_whole, 0, 6); return in[0] == NULL ? -1 : 1;
    case RLX_OP_where: return chosen(g, in);
    case RLX_OP_clip: return clipped(g, in);
    case RLX_OP_conv:
    case RLX_OP_conv_transpose:
    case RLX_OP_qconv: return convolved(g, kind, in);
    case RLX_OP_max_pool:
    case RLX_OP_avg_pool:
    case RLX_OP_lp_pool: return of_image(g, is_real, in);
    case RLX_OP_qavg_pool: return of_image(g, is_u8, in);
    case RLX_OP_deform_conv: return deformed(g, in);
    case RLX_OP_col2im:
        in[0] = floats(g, RLX_F32, 3, (int64_t[]){2, 8, 6});
        in[1] = ints(g, 2, (int64_t[]){3, 4});
        in[2] = ints(g, 2, (int64_t[]){2, 2});
        return 3;
    case RLX_OP_max_unpool: return unpooled(g, in);
    case RLX_OP_matmul:
    case RLX_OP_qmatmul: return multiplied(g, kind, in);
    case RLX_OP_batch_norm: return normed(g, in, 5, 1);
    case RLX_OP_instance_norm:
    case RLX_OP_group_norm: return normed(g, in, 3, 1);
    case RLX_OP_layer_norm: return normed(g, in, 2 + (int)pick(g, 2), -1);
    case RLX_OP_rms_norm: return normed(g, in, 2, -1);
    case RLX_OP_reshape:
    case RLX_OP_slice:
    case RLX_OP_tile:
    case RLX_OP_expand:
    case RLX_OP_pad:
    case RLX_OP_top_k:
    case RLX_OP_gather:
    case RLX_OP_cumsum:
    case RLX_OP_cumprod:
    case RLX_OP_reverse_sequence:
    case RLX_OP_reduce_sum:
    case RLX_OP_reduce_mean:
    case RLX_OP_reduce_max: return shaped(g, kind, in);
    case RLX_OP_gather_elements:
    case RLX_OP_gather_nd:
    case RLX_OP_scatter_elements:
    case RLX_OP_scatter_nd: return indexed(g, kind, in);
    case RLX_OP_one_hot: return hot(g, in);
    case RLX_OP_non_zero:
    case RLX_OP_non_max_suppression:
    case RLX_OP_nms_rows: return selected(g, kind, in);
    case RLX_OP_shape:
    case RLX_OP_size: return anything(g, kind, in);
    default: break;
    }
    if (rlx_op_info(kind)->min_in == 2 && rlx_op_info(kind)->max_in == 2 && strcmp(family, "elementwise") == 0)
        return binary(g, kind, in);
    if (strcmp(family, "rnn") == 0)
        return recurrent(g, kind, in);
    if (strcmp(family, "make") == 0)
        return made(g, kind, in);
    if (strcmp(family, "sample") == 0)
        return sampled(g, kind, in);
    if (strcmp(family, "quant") == 0)
        return quantised(g, kind, in);
    return anything(g, kind, in);
}
