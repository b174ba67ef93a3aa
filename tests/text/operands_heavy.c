/* Operands of convolutions, products, recurrent, sampling and quantised ops (tests/text/generator.h). */
#include "generator.h"
#include "ir/shape/common.h"

int convolved(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    rlx_value_t *x = find(g, kind == RLX_OP_qconv ? is_u8 : is_real, 3, 5);
    int64_t out = (int64_t)(1 + pick(g, 20)), dims[5] = {out}, channels = x == NULL ? 0 : extent(g, x, 1);
    bool quantised = kind == RLX_OP_qconv, transposed = kind == RLX_OP_conv_transpose;

    if (channels == 0)
        return -1;
    dims[transposed ? 0 : 1] = channels;
    if (transposed)
        dims[1] = out = 1 + out % 4;
    for (int i = 2; i < x->rank; i++)
        dims[i] = 1 + (int64_t)pick(g, 3);
    in[0] = x;
    in[1] = quantised ? numbers(g, RLX_I16, x->rank, dims, -9, 9) : floats(g, x->dtype, x->rank, dims);
    in[2] = quantised ? numbers(g, RLX_I32, 1, &out, -99, 99) : vector(g, x->dtype, out);
    in[3] = quantised ? vector(g, RLX_F32, out) : NULL;
    return quantised ? 2 + 2 * (int)pick(g, 2) : 2 + (int)pick(g, 2);
}

int deformed(generator_t *g, rlx_value_t **in)
{
    rlx_value_t *x = find(g, is_f32, 4, 4);
    int64_t dims[4], weight[4] = {(int64_t)(1 + pick(g, 6)), 0, 1 + (int64_t)pick(g, 2), 1 + (int64_t)pick(g, 2)};

    if (x == NULL || !extents(g, x, dims) || dims[2] < weight[2] || dims[3] < weight[3])
        return -1;
    weight[1] = dims[1];
    in[0] = x;
    in[1] = floats(g, RLX_F32, 4, weight);
    in[2] = floats(g, RLX_F32, 4, (int64_t[]){dims[0], 2 * weight[2] * weight[3], dims[2] - weight[2] + 1, dims[3] - weight[3] + 1});
    in[3] = vector(g, RLX_F32, weight[0]);
    in[4] = floats(g, RLX_F32, 4, (int64_t[]){dims[0], weight[2] * weight[3], dims[2] - weight[2] + 1, dims[3] - weight[3] + 1});
    return 3 + (int)pick(g, 3);
}

int multiplied(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    rlx_value_t *x = find(g, kind == RLX_OP_qmatmul ? is_u8 : is_number, 2, 4);
    int64_t k, n = (int64_t)(1 + pick(g, 20));

    if (x == NULL || (k = extent(g, x, x->rank - 1)) == 0)
        return -1;
    in[0] = x;
    if (kind == RLX_OP_qmatmul) {
        in[1] = numbers(g, RLX_I16, 2, (int64_t[]){n, k}, -9, 9);
        in[2] = numbers(g, RLX_I32, 1, &n, -99, 99);
        in[3] = vector(g, RLX_F32, n);
        return 2 + 2 * (int)pick(g, 2);
    }
    in[1] = numbers(g, x->dtype, 2, (int64_t[]){k, n}, rlx_dtype_is_float(x->dtype) ? -2 : 0, 3);
    in[2] = numbers(g, x->dtype, 1, &n, 0, 3);
    return 2 + (int)pick(g, 2);
}

int recurrent(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    int64_t gates = kind == RLX_OP_gru ? 3 : kind == RLX_OP_rnn ? 1 : 4, hidden = (int64_t)(1 + pick(g, 5)), dims[RLX_RANK_MAX];
    rlx_value_t *x = find(g, is_f32, 3, 3);

    if (x == NULL || !extents(g, x, dims))
        return -1;
    in[0] = x;
    in[1] = floats(g, RLX_F32, 3, (int64_t[]){1, gates * hidden, dims[2]});
    in[2] = floats(g, RLX_F32, 3, (int64_t[]){1, gates * hidden, hidden});
    in[3] = pick(g, 2) ? floats(g, RLX_F32, 2, (int64_t[]){1, 2 * gates * hidden}) : NULL;
    in[4] = NULL;
    in[5] = floats(g, RLX_F32, 3, (int64_t[]){1, dims[1], hidden});
    if (kind != RLX_OP_qlstm)
        return pick(g, 2) ? 6 : 4;
    in[1] = numbers(g, RLX_I16, 3, (int64_t[]){1, 4 * hidden, dims[2]}, -99, 99);
    in[2] = numbers(g, RLX_I16, 3, (int64_t[]){1, 4 * hidden, hidden}, -99, 99);
    in[8] = floats(g, RLX_F32, 2, (int64_t[]){1, 4 * hidden});
    in[9] = floats(g, RLX_F32, 2, (int64_t[]){1, 4 * hidden});
    return 10;
}

int sampled(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    rlx_value_t *x = find(g, is_real, kind == RLX_OP_stft || kind == RLX_OP_dft ? 2 : 4, 4);
    int64_t dims[RLX_RANK_MAX], rois = 1 + (int64_t)pick(g, 3);

    if (kind == RLX_OP_affine_grid) {
        in[0] = floats(g, RLX_F32, 3, (int64_t[]){rois, 2, 3});
        in[1] = ints(g, 4, (int64_t[]){rois, 1, 3, 2});
        return 2;
    }
    if (x == NULL || !extents(g, x, dims) || dims[0] < 1)
        return -1;
    in[0] = x;
    switch (kind) {
    case RLX_OP_resize:
        for (int i = 0; i < x->rank; i++)
            dims[i] = i < 2 ? dims[i] : 1 + (int64_t)pick(g, 2) * 2 + dims[i] / 2;
        in[1] = in[2] = NULL;
        in[3] = ints(g, x->rank, dims);
        return 4;
    case RLX_OP_grid_sample: in[1] = floats(g, x->dtype, 4, (int64_t[]){dims[0], 3, 2, 2}); return 2;
    case RLX_OP_roi_align:
        in[1] = numbers(g, x->dtype, 2, (int64_t[]){rois, 4}, 0, 6);
        in[2] = numbers(g, RLX_I64, 1, &rois, 0, (int)dims[0] - 1);
        return 3;
    case RLX_OP_max_roi_pool: in[1] = numbers(g, x->dtype, 2, (int64_t[]){rois, 5}, 0, 0); return 2;
    case RLX_OP_dft: return 1;
    default: /* stft */
        in[0] = x->rank == 2 ? x : floats(g, RLX_F32, 2, (int64_t[]){2, 24});
        in[1] = scalar(g, RLX_I64, 1 + (double)pick(g, 3));
        in[2] = NULL;
        in[3] = scalar(g, RLX_I64, 1 + (double)pick(g, 3));
        return 4;
    }
}

int quantised(generator_t *g, rlx_op_kind_t kind, rlx_value_t **in)
{
    bool wide = kind == RLX_OP_quantize || kind == RLX_OP_quantize_dynamic;
    rlx_value_t *x = find(g, wide ? is_f32 : kind == RLX_OP_dequantize || kind == RLX_OP_qflip ? is_byte : is_u8, 0, 5);
    int64_t dims[RLX_RANK_MAX];

    if (x == NULL)
        return -1;
    in[0] = x;
    switch (kind) {
    case RLX_OP_quantize:
        in[1] = scalar(g, RLX_F32, 0.05);
        in[2] = scalar(g, RLX_U8, (double)pick(g, 256));
        return 3;
    case RLX_OP_dequantize:
        in[1] = scalar(g, RLX_F32, 0.05);
        in[2] = scalar(g, x->dtype, (double)pick(g, 100));
        return 2 + (int)pick(g, 2);
    case RLX_OP_qadd:
    case RLX_OP_qmul: in[1] = extents(g, x, dims) && pick(g, 2) ? numbers(g, RLX_U8, x->rank, dims, 0, 255) : x; return in[1] == NULL ? -1 : 2;
    case RLX_OP_qlookup: in[1] = numbers(g, RLX_U8, 1, (int64_t[]){256}, 0, 255); return 2;
    default: return 1;
    }
}

