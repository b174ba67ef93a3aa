/* Every ONNX operator that RLX converts, one row each: name, first opset, operands (least, most), results, converter, op kind. Operators
 * that are known and refused stand below with the reason. */
#include "base/closest.h"
#include "ir/onnx/convert.h"

#include <stdlib.h>
#include <string.h>

#define MANY RLX_ONNX_PORTS_MAX

static const rlx_onnx_row_t rows[] = {
    {"Abs", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_abs},
    {"Acos", 7, 1, 1, 1, rlx_convert_unary, RLX_OP_acos},
    {"Acosh", 9, 1, 1, 1, rlx_convert_unary, RLX_OP_acosh},
    {"Add", 1, 2, 2, 1, rlx_convert_binary, RLX_OP_add},
    {"AffineGrid", 20, 2, 2, 1, rlx_convert_affine_grid, RLX_OP_affine_grid},
    {"And", 1, 2, 2, 1, rlx_convert_binary, RLX_OP_and},
    {"ArgMax", 1, 1, 1, 1, rlx_convert_arg, RLX_OP_arg_max},
    {"ArgMin", 1, 1, 1, 1, rlx_convert_arg, RLX_OP_arg_min},
    {"Asin", 7, 1, 1, 1, rlx_convert_unary, RLX_OP_asin},
    {"Asinh", 9, 1, 1, 1, rlx_convert_unary, RLX_OP_asinh},
    {"Atan", 7, 1, 1, 1, rlx_convert_unary, RLX_OP_atan},
    {"Atanh", 9, 1, 1, 1, rlx_convert_unary, RLX_OP_atanh},
    {"Attention", 23, 3, 7, 4, rlx_convert_attention, RLX_OP_NONE},
    {"AveragePool", 1, 1, 1, 1, rlx_convert_pool, RLX_OP_avg_pool},
    {"BatchNormalization", 1, 5, 5, 5, rlx_convert_batch_norm, RLX_OP_batch_norm},
    {"BitShift", 11, 2, 2, 1, rlx_convert_bit_shift, RLX_OP_bit_shift},
    {"BitwiseAnd", 18, 2, 2, 1, rlx_convert_binary, RLX_OP_bit_and},
    {"BitwiseNot", 18, 1, 1, 1, rlx_convert_unary, RLX_OP_bit_not},
    {"BitwiseOr", 18, 2, 2, 1, rlx_convert_binary, RLX_OP_bit_or},
    {"BitwiseXor", 18, 2, 2, 1, rlx_convert_binary, RLX_OP_bit_xor},
    {"BlackmanWindow", 17, 1, 1, 1, rlx_convert_window, RLX_OP_window},
    {"Cast", 1, 1, 1, 1, rlx_convert_cast, RLX_OP_cast},
    {"CastLike", 15, 2, 2, 1, rlx_convert_cast_like, RLX_OP_cast},
    {"Ceil", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_ceil},
    {"Celu", 12, 1, 1, 1, rlx_convert_alpha, RLX_OP_celu},
    {"CenterCropPad", 18, 2, 2, 1, rlx_convert_center_crop_pad, RLX_OP_NONE},
    {"Clip", 1, 1, 3, 1, rlx_convert_clip, RLX_OP_clip},
    {"Col2Im", 18, 3, 3, 1, rlx_convert_col2im, RLX_OP_col2im},
    {"Compress", 9, 2, 2, 1, rlx_convert_compress, RLX_OP_NONE},
    {"Concat", 4, 1, MANY, 1, rlx_convert_concat, RLX_OP_concat},
    {"Constant", 1, 0, 0, 1, rlx_convert_constant, RLX_OP_NONE},
    {"ConstantOfShape", 9, 1, 1, 1, rlx_convert_constant_of_shape, RLX_OP_constant_of_shape},
    {"Conv", 1, 2, 3, 1, rlx_convert_conv, RLX_OP_conv},
    {"ConvInteger", 10, 2, 4, 1, rlx_convert_conv_integer, RLX_OP_conv},
    {"ConvTranspose", 1, 2, 3, 1, rlx_convert_conv_transpose, RLX_OP_conv_transpose},
    {"Cos", 7, 1, 1, 1, rlx_convert_unary, RLX_OP_cos},
    {"Cosh", 9, 1, 1, 1, rlx_convert_unary, RLX_OP_cosh},
    {"CumProd", 26, 2, 2, 1, rlx_convert_cumulative, RLX_OP_cumprod},
    {"CumSum", 11, 2, 2, 1, rlx_convert_cumulative, RLX_OP_cumsum},
    {"DFT", 17, 1, 3, 1, rlx_convert_dft, RLX_OP_dft},
    {"DeformConv", 19, 3, 5, 1, rlx_convert_deform_conv, RLX_OP_deform_conv},
    {"DepthToSpace", 1, 1, 1, 1, rlx_convert_depth_to_space, RLX_OP_depth_to_space},
    {"DequantizeLinear", 10, 2, 3, 1, rlx_convert_dequantize, RLX_OP_NONE},
    {"Det", 11, 1, 1, 1, rlx_convert_unary, RLX_OP_det},
    {"Div", 1, 2, 2, 1, rlx_convert_binary, RLX_OP_div},
    {"Dropout", 1, 1, 3, 2, rlx_convert_dropout, RLX_OP_NONE},
    {"DynamicQuantizeLinear", 11, 1, 1, 3, rlx_convert_dynamic_quantize, RLX_OP_NONE},
    {"Einsum", 12, 1, MANY, 1, rlx_convert_einsum, RLX_OP_einsum},
    {"Elu", 1, 1, 1, 1, rlx_convert_alpha, RLX_OP_elu},
    {"Equal", 1, 2, 2, 1, rlx_convert_binary, RLX_OP_equal},
    {"Erf", 9, 1, 1, 1, rlx_convert_unary, RLX_OP_erf},
    {"Exp", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_exp},
    {"Expand", 8, 2, 2, 1, rlx_convert_plain, RLX_OP_expand},
    {"EyeLike", 9, 1, 1, 1, rlx_convert_eye_like, RLX_OP_eye_like},
    {"Flatten", 1, 1, 1, 1, rlx_convert_flatten, RLX_OP_reshape},
    {"Floor", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_floor},
    {"GRU", 1, 3, 6, 2, rlx_convert_rnn, RLX_OP_gru},
    {"Gather", 1, 2, 2, 1, rlx_convert_axis0, RLX_OP_gather},
    {"GatherElements", 11, 2, 2, 1, rlx_convert_axis0, RLX_OP_gather_elements},
    {"GatherND", 11, 2, 2, 1, rlx_convert_gather_nd, RLX_OP_gather_nd},
    {"Gelu", 20, 1, 1, 1, rlx_convert_gelu, RLX_OP_gelu},
    {"Gemm", 1, 2, 3, 1, rlx_convert_gemm, RLX_OP_matmul},
    {"GlobalAveragePool", 1, 1, 1, 1, rlx_convert_global_pool, RLX_OP_reduce_mean},
    {"GlobalLpPool", 1, 1, 1, 1, rlx_convert_global_lp_pool, RLX_OP_NONE},
    {"GlobalMaxPool", 1, 1, 1, 1, rlx_convert_global_pool, RLX_OP_reduce_max},
    {"Greater", 1, 2, 2, 1, rlx_convert_binary, RLX_OP_greater},
    {"GreaterOrEqual", 12, 2, 2, 1, rlx_convert_binary, RLX_OP_greater_equal},
    {"GridSample", 16, 2, 2, 1, rlx_convert_grid_sample, RLX_OP_grid_sample},
    {"GroupNormalization", 18, 3, 3, 1, rlx_convert_group_norm, RLX_OP_group_norm},
    {"HammingWindow", 17, 1, 1, 1, rlx_convert_window, RLX_OP_window},
    {"HannWindow", 17, 1, 1, 1, rlx_convert_window, RLX_OP_window},
    {"HardSigmoid", 1, 1, 1, 1, rlx_convert_hard_sigmoid, RLX_OP_hard_sigmoid},
    {"HardSwish", 14, 1, 1, 1, rlx_convert_unary, RLX_OP_hard_swish},
    {"Hardmax", 1, 1, 1, 1, rlx_convert_softmax, RLX_OP_hardmax},
    {"Identity", 1, 1, 1, 1, rlx_convert_identity, RLX_OP_NONE},
    {"If", 1, 1, 1, MANY, rlx_convert_if, RLX_OP_if},
    {"InstanceNormalization", 1, 3, 3, 1, rlx_convert_instance_norm, RLX_OP_instance_norm},
    {"IsInf", 10, 1, 1, 1, rlx_convert_is_inf, RLX_OP_is_inf},
    {"IsNaN", 9, 1, 1, 1, rlx_convert_unary, RLX_OP_is_nan},
    {"LRN", 1, 1, 1, 1, rlx_convert_lrn, RLX_OP_lrn},
    {"LSTM", 1, 3, 8, 3, rlx_convert_rnn, RLX_OP_lstm},
    {"LayerNormalization", 17, 2, 3, 3, rlx_convert_layer_norm, RLX_OP_layer_norm},
    {"LeakyRelu", 1, 1, 1, 1, rlx_convert_leaky_relu, RLX_OP_leaky_relu},
    {"Less", 1, 2, 2, 1, rlx_convert_binary, RLX_OP_less},
    {"LessOrEqual", 12, 2, 2, 1, rlx_convert_binary, RLX_OP_less_equal},
    {"Log", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_log},
    {"LogSoftmax", 1, 1, 1, 1, rlx_convert_softmax, RLX_OP_log_softmax},
    {"Loop", 1, 0, MANY, MANY, rlx_convert_loop, RLX_OP_loop},
    {"LpNormalization", 1, 1, 1, 1, rlx_convert_lp_norm, RLX_OP_NONE},
    {"LpPool", 2, 1, 1, 1, rlx_convert_pool, RLX_OP_lp_pool},
    {"MatMul", 1, 2, 2, 1, rlx_convert_plain, RLX_OP_matmul},
    {"MatMulInteger", 10, 2, 4, 1, rlx_convert_matmul_integer, RLX_OP_matmul},
    {"Max", 1, 1, MANY, 1, rlx_convert_variadic, RLX_OP_max},
    {"MaxPool", 1, 1, 1, 2, rlx_convert_pool, RLX_OP_max_pool},
    {"MaxRoiPool", 1, 2, 2, 1, rlx_convert_max_roi_pool, RLX_OP_max_roi_pool},
    {"MaxUnpool", 9, 2, 3, 1, rlx_convert_max_unpool, RLX_OP_max_unpool},
    {"Mean", 1, 1, MANY, 1, rlx_convert_mean, RLX_OP_add},
    {"MeanVarianceNormalization", 9, 1, 1, 1, rlx_convert_mean_variance, RLX_OP_NONE},
    {"MelWeightMatrix", 17, 5, 5, 1, rlx_convert_mel_weight_matrix, RLX_OP_mel_weight_matrix},
    {"Min", 1, 1, MANY, 1, rlx_convert_variadic, RLX_OP_min},
    {"Mish", 18, 1, 1, 1, rlx_convert_unary, RLX_OP_mish},
    {"Mod", 10, 2, 2, 1, rlx_convert_mod, RLX_OP_mod},
    {"Mul", 1, 2, 2, 1, rlx_convert_binary, RLX_OP_mul},
    {"Neg", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_neg},
    {"NegativeLogLikelihoodLoss", 12, 2, 3, 1, rlx_convert_nll_loss, RLX_OP_NONE},
    {"NonMaxSuppression", 10, 2, 5, 1, rlx_convert_nms, RLX_OP_non_max_suppression},
    {"NonZero", 9, 1, 1, 1, rlx_convert_non_zero, RLX_OP_non_zero},
    {"Not", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_not},
    {"OneHot", 9, 3, 3, 1, rlx_convert_one_hot, RLX_OP_one_hot},
    {"Or", 1, 2, 2, 1, rlx_convert_binary, RLX_OP_or},
    {"PRelu", 1, 2, 2, 1, rlx_convert_binary, RLX_OP_prelu},
    {"Pad", 1, 1, 4, 1, rlx_convert_pad, RLX_OP_pad},
    {"Pow", 1, 2, 2, 1, rlx_convert_pow, RLX_OP_pow},
    {"QLinearConv", 10, 8, 9, 1, rlx_convert_qlinear_conv, RLX_OP_conv},
    {"QLinearMatMul", 10, 8, 8, 1, rlx_convert_qlinear_matmul, RLX_OP_matmul},
    {"QuantizeLinear", 10, 2, 3, 1, rlx_convert_quantize, RLX_OP_NONE},
    {"RMSNormalization", 23, 2, 2, 1, rlx_convert_rms_norm, RLX_OP_rms_norm},
    {"RNN", 1, 3, 6, 2, rlx_convert_rnn, RLX_OP_rnn},
    {"Range", 11, 3, 3, 1, rlx_convert_plain, RLX_OP_range},
    {"Reciprocal", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_reciprocal},
    {"ReduceL1", 1, 1, 2, 1, rlx_convert_reduce, RLX_OP_reduce_l1},
    {"ReduceL2", 1, 1, 2, 1, rlx_convert_reduce, RLX_OP_reduce_l2},
    {"ReduceLogSum", 1, 1, 2, 1, rlx_convert_reduce, RLX_OP_reduce_log_sum},
    {"ReduceLogSumExp", 1, 1, 2, 1, rlx_convert_reduce, RLX_OP_reduce_log_sum_exp},
    {"ReduceMax", 1, 1, 2, 1, rlx_convert_reduce, RLX_OP_reduce_max},
    {"ReduceMean", 1, 1, 2, 1, rlx_convert_reduce, RLX_OP_reduce_mean},
    {"ReduceMin", 1, 1, 2, 1, rlx_convert_reduce, RLX_OP_reduce_min},
    {"ReduceProd", 1, 1, 2, 1, rlx_convert_reduce, RLX_OP_reduce_prod},
    {"ReduceSum", 1, 1, 2, 1, rlx_convert_reduce, RLX_OP_reduce_sum},
    {"ReduceSumSquare", 1, 1, 2, 1, rlx_convert_reduce, RLX_OP_reduce_sum_square},
    {"Relu", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_relu},
    {"Reshape", 5, 2, 2, 1, rlx_convert_reshape, RLX_OP_reshape},
    {"Resize", 10, 1, 4, 1, rlx_convert_resize, RLX_OP_resize},
    {"ReverseSequence", 10, 2, 2, 1, rlx_convert_reverse_sequence, RLX_OP_reverse_sequence},
    {"RoiAlign", 10, 3, 3, 1, rlx_convert_roi_align, RLX_OP_roi_align},
    {"RotaryEmbedding", 23, 3, 4, 1, rlx_convert_rotary, RLX_OP_NONE},
    {"Round", 11, 1, 1, 1, rlx_convert_unary, RLX_OP_round},
    {"STFT", 17, 2, 4, 1, rlx_convert_stft, RLX_OP_stft},
    {"Scan", 8, 0, MANY, MANY, rlx_convert_scan, RLX_OP_loop},
    {"Scatter", 9, 3, 3, 1, rlx_convert_scatter, RLX_OP_scatter_elements},
    {"ScatterElements", 11, 3, 3, 1, rlx_convert_scatter, RLX_OP_scatter_elements},
    {"ScatterND", 11, 3, 3, 1, rlx_convert_scatter_nd, RLX_OP_scatter_nd},
    {"Selu", 1, 1, 1, 1, rlx_convert_selu, RLX_OP_selu},
    {"Shape", 1, 1, 1, 1, rlx_convert_shape, RLX_OP_shape},
    {"Shrink", 9, 1, 1, 1, rlx_convert_shrink, RLX_OP_shrink},
    {"Sigmoid", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_sigmoid},
    {"Sign", 9, 1, 1, 1, rlx_convert_unary, RLX_OP_sign},
    {"Sin", 7, 1, 1, 1, rlx_convert_unary, RLX_OP_sin},
    {"Sinh", 9, 1, 1, 1, rlx_convert_unary, RLX_OP_sinh},
    {"Size", 1, 1, 1, 1, rlx_convert_plain, RLX_OP_size},
    {"Slice", 1, 1, 5, 1, rlx_convert_slice, RLX_OP_slice},
    {"Softmax", 1, 1, 1, 1, rlx_convert_softmax, RLX_OP_softmax},
    {"SoftmaxCrossEntropyLoss", 12, 2, 3, 2, rlx_convert_cross_entropy, RLX_OP_NONE},
    {"Softplus", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_softplus},
    {"Softsign", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_softsign},
    {"SpaceToDepth", 1, 1, 1, 1, rlx_convert_space_to_depth, RLX_OP_space_to_depth},
    {"Split", 2, 1, 2, MANY, rlx_convert_split, RLX_OP_split},
    {"Sqrt", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_sqrt},
    {"Squeeze", 1, 1, 2, 1, rlx_convert_squeeze, RLX_OP_reshape},
    {"Sub", 1, 2, 2, 1, rlx_convert_binary, RLX_OP_sub},
    {"Sum", 1, 1, MANY, 1, rlx_convert_variadic, RLX_OP_add},
    {"Swish", 24, 1, 1, 1, rlx_convert_alpha, RLX_OP_swish},
    {"Tan", 7, 1, 1, 1, rlx_convert_unary, RLX_OP_tan},
    {"Tanh", 1, 1, 1, 1, rlx_convert_unary, RLX_OP_tanh},
    {"TensorScatter", 24, 2, 3, 1, rlx_convert_tensor_scatter, RLX_OP_tensor_scatter},
    {"ThresholdedRelu", 10, 1, 1, 1, rlx_convert_alpha, RLX_OP_thresholded_relu},
    {"Tile", 6, 2, 2, 1, rlx_convert_plain, RLX_OP_tile},
    {"TopK", 1, 1, 2, 2, rlx_convert_top_k, RLX_OP_top_k},
    {"Transpose", 1, 1, 1, 1, rlx_convert_transpose, RLX_OP_transpose},
    {"Trilu", 14, 1, 2, 1, rlx_convert_trilu, RLX_OP_trilu},
    {"Unique", 11, 1, 1, 4, rlx_convert_unique, RLX_OP_unique},
    {"Unsqueeze", 1, 1, 2, 1, rlx_convert_unsqueeze, RLX_OP_reshape},
    {"Upsample", 7, 1, 2, 1, rlx_convert_upsample, RLX_OP_resize},
    {"Where", 9, 3, 3, 1, rlx_convert_plain, RLX_OP_where},
    {"Xor", 1, 2, 2, 1, rlx_convert_binary, RLX_OP_xor},
};

static const rlx_onnx_row_t ml_rows[] = {
    {"ArrayFeatureExtractor", 1, 2, 2, 1, rlx_convert_feature_extractor, RLX_OP_gather},
    {"Binarizer", 1, 1, 1, 1, rlx_convert_binarizer, RLX_OP_greater},
    {"Scaler", 1, 1, 1, 1, rlx_convert_scaler, RLX_OP_NONE},
};

/* com.microsoft: what onnxruntime's quantiser and optimiser write. */
static const rlx_onnx_row_t contrib_rows[] = {
    {"DequantizeLinear", 1, 2, 3, 1, rlx_convert_dequantize, RLX_OP_NONE},
    {"DynamicQuantizeLSTM", 1, 3, 12, 3, rlx_convert_dynamic_quantize_lstm, RLX_OP_lstm},
    {"DynamicQuantizeMatMul", 1, 3, 5, 1, rlx_convert_dynamic_quantize_matmul, RLX_OP_matmul},
    {"FusedMatMul", 1, 2, 2, 1, rlx_convert_fused_matmul, RLX_OP_matmul},
    {"MatMulIntegerToFloat", 1, 4, 7, 1, rlx_convert_matmul_integer_to_float, RLX_OP_matmul},
    {"QGemm", 1, 2, 9, 1, rlx_convert_qgemm, RLX_OP_matmul},
    {"QLinearAdd", 1, 2, 8, 1, rlx_convert_qlinear_binary, RLX_OP_add},
    {"QLinearAveragePool", 1, 2, 5, 1, rlx_convert_qlinear_unary, RLX_OP_avg_pool},
    {"QLinearConcat", 1, 5, MANY, 1, rlx_convert_qlinear_concat, RLX_OP_concat},
    {"QLinearGlobalAveragePool", 1, 2, 5, 1, rlx_convert_qlinear_unary, RLX_OP_reduce_mean},
    {"QLinearLeakyRelu", 1, 2, 5, 1, rlx_convert_qlinear_unary, RLX_OP_leaky_relu},
    {"QLinearMul", 1, 2, 8, 1, rlx_convert_qlinear_binary, RLX_OP_mul},
    {"QLinearSigmoid", 1, 2, 5, 1, rlx_convert_qlinear_unary, RLX_OP_sigmoid},
    {"QuantizeLinear", 1, 2, 3, 1, rlx_convert_quantize, RLX_OP_NONE},
};

/* Names known and refused; a final '*' stands for any ending. */
static const struct {
    const char *name, *reason;
} refused[] = {
    {"Sequence*", "sequence values are missing"},
    {"SplitToSequence", "sequence values are missing"},
    {"ConcatFromSequence", "sequence values are missing"},
    {"Optional*", "optional values are missing"},
    {"String*", "string tensors are missing"},
    {"RegexFullMatch", "string tensors are missing"},
    {"TfIdfVectorizer", "text features are missing"},
    {"Random*", "random numbers are missing; feed them as an input"},
    {"Multinomial", "random numbers are missing; feed them as an input"},
    {"Bernoulli", "random numbers are missing; feed them as an input"},
    {"ImageDecoder", "decode the image before the model"},
    {"BitCast", "reinterpretation of bits is missing"},
    {"Adagrad", "training is missing"},
    {"Adam", "training is missing"},
    {"Momentum", "training is missing"},
    {"Gradient", "training is missing"},
};

static int row_compare(const void *key, const void *row)
{
    return strcmp(key, ((const rlx_onnx_row_t *)row)->name);
}

static const char *reason_find(const char *op_type)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        size_t n = strlen(refused[i].name);

        if (refused[i].name[n - 1] == '*' ? strncmp(refused[i].name, op_type, n - 1) == 0 : strcmp(refused[i].name, op_type) == 0)
            return refused[i].reason;
    }
    return NULL;
}

const rlx_onnx_row_t *rlx_onnx_row_find(const char *domain, const char *op_type, const char **out_reason)
{
    *out_reason = reason_find(op_type);
    if (strcmp(domain, "ai.onnx.ml") == 0)
        return bsearch(op_type, ml_rows, sizeof ml_rows / sizeof *ml_rows, sizeof *ml_rows, row_compare);
    if (strcmp(domain, "com.microsoft") == 0)
        return bsearch(op_type, contrib_rows, sizeof contrib_rows / sizeof *contrib_rows, sizeof *contrib_rows, row_compare);
    if (domain[0] != '\0') {
        *out_reason = "its domain is not known and the model has no such function";
        return NULL;
    }
    return bsearch(op_type, rows, sizeof rows / sizeof *rows, sizeof *rows, row_compare);
}

const char *rlx_onnx_row_closest(const char *op_type)
{
    rlx_closest_t closest;

    rlx_closest_init(&closest, op_type, strlen(op_type));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        rlx_closest_offer(&closest, rows[i].name);
    return closest.best;
}
