/* Words of the text forms (ir/text/names.h). */
#include "ir/text/names.h"

#include <string.h>

static const struct {
    const char *word;
    rlx_op_kind_t kind;
    int spatial;
} words[] = {
    {"conv1d", RLX_OP_conv, 1},
    {"conv2d", RLX_OP_conv, 2},
    {"conv3d", RLX_OP_conv, 3},
    {"conv_transpose1d", RLX_OP_conv_transpose, 1},
    {"conv_transpose2d", RLX_OP_conv_transpose, 2},
    {"conv_transpose3d", RLX_OP_conv_transpose, 3},
    {"max_pool2d", RLX_OP_max_pool, 2},
    {"avg_pool2d", RLX_OP_avg_pool, 2},
    {"negative", RLX_OP_neg, 0},
    {"divide", RLX_OP_div, 0},
    {"multiply", RLX_OP_mul, 0},
    {"subtract", RLX_OP_sub, 0},
    {"power", RLX_OP_pow, 0},
    {"maximum", RLX_OP_max, 0},
    {"minimum", RLX_OP_min, 0},
    {"remainder", RLX_OP_mod, 0},
};

/* Operands by name, in order. What is not here: one operand is `input`, two are `a` and `b`. */
static const struct {
    rlx_op_kind_t kind;
    const char *names;
} operands[] = {
    {RLX_OP_conv, "input weight bias"},
    {RLX_OP_conv_transpose, "input weight bias"},
    {RLX_OP_deform_conv, "input weight offset bias mask"},
    {RLX_OP_matmul, "a b bias"},
    {RLX_OP_where, "condition a b"},
    {RLX_OP_clip, "input min max"},
    {RLX_OP_prelu, "input slope"},
    {RLX_OP_reshape, "input shape"},
    {RLX_OP_expand, "input shape"},
    {RLX_OP_slice, "input starts ends axes steps"},
    {RLX_OP_split, "input split"},
    {RLX_OP_pad, "input pads value axes"},
    {RLX_OP_tile, "input repeats"},
    {RLX_OP_trilu, "input k"},
    {RLX_OP_reverse_sequence, "input sequence_lens"},
    {RLX_OP_gather, "input indices"},
    {RLX_OP_gather_elements, "input indices"},
    {RLX_OP_gather_nd, "input indices"},
    {RLX_OP_scatter_elements, "input indices updates"},
    {RLX_OP_scatter_nd, "input indices updates"},
    {RLX_OP_one_hot, "indices depth values"},
    {RLX_OP_range, "start limit delta"},
    {RLX_OP_constant_of_shape, "shape"},
    {RLX_OP_reduce_sum, "input axes"},
    {RLX_OP_reduce_mean, "input axes"},
    {RLX_OP_reduce_max, "input axes"},
    {RLX_OP_reduce_min, "input axes"},
    {RLX_OP_reduce_prod, "input axes"},
    {RLX_OP_reduce_l1, "input axes"},
    {RLX_OP_reduce_l2, "input axes"},
    {RLX_OP_reduce_log_sum, "input axes"},
    {RLX_OP_reduce_log_sum_exp, "input axes"},
    {RLX_OP_reduce_sum_square, "input axes"},
    {RLX_OP_top_k, "input k"},
    {RLX_OP_cumsum, "input axis"},
    {RLX_OP_cumprod, "input axis"},
    {RLX_OP_layer_norm, "input scale bias"},
    {RLX_OP_rms_norm, "input scale"},
    {RLX_OP_instance_norm, "input scale bias"},
    {RLX_OP_group_norm, "input scale bias"},
    {RLX_OP_batch_norm, "input scale bias mean variance"},
    {RLX_OP_max_unpool, "input indices output_shape"},
    {RLX_OP_col2im, "input image_shape block_shape"},
    {RLX_OP_resize, "input roi scales sizes"},
    {RLX_OP_grid_sample, "input grid"},
    {RLX_OP_affine_grid, "theta size"},
    {RLX_OP_roi_align, "input rois batch_indices"},
    {RLX_OP_max_roi_pool, "input rois"},
    {RLX_OP_lstm, "input weight recurrence bias sequence_lens initial_h initial_c peephole"},
    {RLX_OP_qlstm, "input weight recurrence bias sequence_lens initial_h initial_c peephole weight_scale recurrence_scale"},
    {RLX_OP_gru, "input weight recurrence bias sequence_lens initial_h"},
    {RLX_OP_rnn, "input weight recurrence bias sequence_lens initial_h"},
    {RLX_OP_quantize, "input scale point"},
    {RLX_OP_dequantize, "input scale point"},
};

static const struct {
    const char *word, *name;
} attributes[] = {
    {"stride", "strides"},     {"dilation", "dilations"}, {"groups", "group"},  {"kernel_size", "kernel"}, {"kernel_shape", "kernel"},
    {"pads", "padding"},       {"eps", "epsilon"},        {"dim", "axis"},      {"negative_slope", "alpha"},
};

#define N(table) (sizeof(table) / sizeof(table)[0])

/* Made by passes only. */
static bool is_internal(rlx_op_kind_t kind)
{
    return kind == RLX_OP_fused || kind == RLX_OP_attention || kind == RLX_OP_reorder;
}

rlx_op_kind_t rlx_op_kind_parse(const char *word, int *out_spatial)
{
    *out_spatial = 0;
    for (size_t i = 0; i < N(words); i++)
        if (strcmp(words[i].word, word) == 0) {
            *out_spatial = words[i].spatial;
            return words[i].kind;
        }
    for (int kind = 1; kind < RLX_OP_COUNT; kind++)
        if (strcmp(rlx_op_info((rlx_op_kind_t)kind)->name, word) == 0 && !is_internal((rlx_op_kind_t)kind))
            return (rlx_op_kind_t)kind;
    return RLX_OP_NONE;
}

void rlx_op_kind_offer(rlx_closest_t *closest)
{
    for (size_t i = 0; i < N(words); i++)
        rlx_closest_offer(closest, words[i].word);
    for (int kind = 1; kind < RLX_OP_COUNT; kind++)
        if (!is_internal((rlx_op_kind_t)kind))
            rlx_closest_offer(closest, rlx_op_info((rlx_op_kind_t)kind)->name);
}

const char *rlx_op_text_name(const rlx_op_t *op)
{
    int spatial = op->kind == RLX_OP_conv || op->kind == RLX_OP_conv_transpose ? rlx_op_spatial(op) : 0;

    for (size_t i = 0; spatial > 0 && i < N(words); i++)
        if (words[i].kind == op->kind && words[i].spatial == spatial)
            return words[i].word;
    return rlx_op_info(op->kind)->name;
}

const char *rlx_operand_names(rlx_op_kind_t kind)
{
    for (size_t i = 0; i < N(operands); i++)
        if (operands[i].kind == kind)
            return operands[i].names;
    if (rlx_op_info(kind)->max_in == 1)
        return "input";
    return rlx_op_info(kind)->max_in == 2 ? "a b" : "";
}

int rlx_operand_parse(rlx_op_kind_t kind, const char *word)
{
    const char *at = rlx_operand_names(kind);
    size_t bytes = strlen(word);

    for (int index = 0; *at; index++) {
        size_t length = strcspn(at, " ");

        if (length == bytes && memcmp(at, word, bytes) == 0)
            return index;
        at += length;
        at += strspn(at, " ");
    }
    return strcmp(word, "x") == 0 && rlx_op_info(kind)->max_in > 0 ? 0 : -1;
}

const char *rlx_attr_canonical(const char *word)
{
    for (size_t i = 0; i < N(attributes); i++)
        if (strcmp(attributes[i].word, word) == 0)
            return attributes[i].name;
    return word;
}

bool rlx_op_has_padding(rlx_op_kind_t kind)
{
    switch (kind) {
    case RLX_OP_conv:
    case RLX_OP_conv_transpose:
    case RLX_OP_deform_conv:
    case RLX_OP_max_pool:
    case RLX_OP_avg_pool:
    case RLX_OP_lp_pool:
    case RLX_OP_max_unpool:
    case RLX_OP_col2im:
    case RLX_OP_qconv:
    case RLX_OP_qavg_pool: return true;
    default: return false;
    }
}

int rlx_op_spatial(const rlx_op_t *op)
{
    const rlx_value_t *value = rlx_op_in(op, op->kind == RLX_OP_col2im ? 1 : 0);

    if (value == NULL || value->rank < 0)
        return -1;
    return op->kind == RLX_OP_col2im ? value->n_elements : value->rank - 2;
}
