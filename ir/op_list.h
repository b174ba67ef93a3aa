/* Every operator of the tensor level, declared once. Parser, printer, verifier, ONNX importer, docs and the tracer expand this list.
 *
 *   RLX_OP(id, family, min_in, max_in, max_out, traits, attributes, doc)
 *
 * Operands follow ONNX's newest opset unless said otherwise; shape-like operands (extents, axes, pads, k) are ordinary integer values
 * whose elements are symbolic expressions (`value->elements`). Attributes are written "name:type[=default]": i int, f float, s string,
 * is list of int, t dtype; they are set on the op by rlx_op_set_*, read by rlx_op_get_*.
 *
 * `family` names ir/shape_<family>.c (shape rule) and ir/lower_<family>.c (lowering to kernels).
 *
 * Order of reductions (part of the definition; kernels obey it bit for bit):
 *   chain    the products of an output in order, cut into segments (kernels/segment.h). The first segment is an fma chain that starts
 *            from the bias (or +0); a later one is an fma chain that starts from +0 and at its end is added: total = total + segment.
 *            conv, conv_transpose, deform_conv: input channel block of 16 (inside the group), kernel depth, row, column, channel inside
 *            the block; a segment is max(1, 8 / cells) blocks, where cells is the kernel's cells, for conv_transpose the product over the
 *            axes of ceil(kernel / stride). Padded taps are +0 factors and take part; channels past C do not exist.
 *            matmul, einsum: k (the summed labels, the last fastest) ascending; a segment is 128 products. lstm, gru, rnn: two matmuls, x
 *            then h, the second from the total of the first.
 *   winograd a conv of kernel 3x3, stride 1, dilation 1 and one group, by patches of m x m outputs, m = 2 or 4; the grid of patches is
 *            anchored at output (0, 0) of every image. F(m,3) has m + 2 points: 0, 1, -1, infinity, or 0, 1, -1, 1/2, -2, infinity.
 *            A patch meets (m + 2) x (m + 2) input cells, +0 outside the map. They are transformed along height, then along width; so are
 *            the sums of products, per output channel and tap (one of (m + 2)^2), after the summation over input channels, which is
 *            matmul's chain without a bias; then the bias, or +0, is added. Filters are transformed in float64 (height, then width, sums
 *            from left to right) and rounded once. kernels/winograd_type.h has every operation of the transforms, ir/lower/pack_winograd.c those
 *            of filters. Outputs outside the map are dropped. With stride 2 (F(2,3) only) a patch meets 5 x 5 cells, transformed along an
 *            axis to d0 - d2, d1, d2, d4 - d2, d3; cells 0 and 1, 2, 3 and 4 of an axis make one sum each, nine in all, by a conv's chain
 *            over those cells without a bias; outputs along an axis are sum 0 + sum 1 and sum 1 + sum 2. A NaN or an infinity in the input spoils its whole patch.
 *   lanes16  16 partial chains, element i (logical row-major index inside the reduced set) in chain i mod 16, each starting from the
 *            identity; then the tree l[j] = l[j] op l[j+8], +4, +2, +1.
 *   serial   ascending logical index.
 * Every float operation is IEEE round-to-nearest-even in the operand's type; f16 and bf16 compute in f32 and round once per operator.
 * exp, erf, tanh, log, sin, cos ... are kernels/math.h, the same polynomial everywhere. */

/* Element-wise, one input. f32, f64 natively; integers where the operation exists. */
#define RLX_OPS_UNARY(X) \
    X(abs, "") X(neg, "") X(sign, "") X(ceil, "") X(floor, "") X(round, "") X(sqrt, "") X(reciprocal, "") X(exp, "") X(log, "") \
    X(sin, "") X(cos, "") X(tan, "") X(asin, "") X(acos, "") X(atan, "") X(sinh, "") X(cosh, "") X(tanh, "") X(asinh, "") X(acosh, "") \
    X(atanh, "") X(erf, "") X(sigmoid, "") X(softplus, "") X(softsign, "") X(relu, "") X(leaky_relu, "alpha:f=0.01") X(elu, "alpha:f=1") \
    X(celu, "alpha:f=1") X(selu, "alpha:f=1.67326319217681884765625 gamma:f=1.05070102214813232421875") \
    X(thresholded_relu, "alpha:f=1") X(hard_sigmoid, "alpha:f=0.2 beta:f=0.5") X(hard_swish, "") X(mish, "") \
    X(gelu, "approximate:s=none") X(swish, "alpha:f=1") X(shrink, "lambd:f=0.5 bias:f=0") X(not, "") X(bit_not, "") X(is_nan, "") \
    X(is_inf, "detect_negative:i=1 detect_positive:i=1") X(identity, "") X(cast, "to:t saturate:i=1")
/* Element-wise with broadcasting, two inputs. */
#define RLX_OPS_BINARY(X) \
    X(add, "") X(sub, "") X(mul, "") X(div, "") X(pow, "") X(mod, "fmod:i=0") X(min, "") X(max, "") X(and, "") X(or, "") X(xor, "") \
    X(bit_and, "") X(bit_or, "") X(bit_xor, "") X(bit_shift, "direction:s") X(equal, "") X(less, "") X(less_equal, "") X(greater, "") \
    X(greater_equal, "") X(prelu, "")
/* Element-wise with broadcasting, three inputs: where(cond, a, b); clip(x, lo?, hi?). */
#define RLX_OPS_TERNARY(X) X(where, "") X(clip, "")

#ifdef RLX_OP
#define RLX_OP_U(id, attrs) RLX_OP(id, elementwise, 1, 1, 1, RLX_TRAIT_ELEMENTWISE, attrs, "element-wise")
#define RLX_OP_B(id, attrs) RLX_OP(id, elementwise, 2, 2, 1, RLX_TRAIT_ELEMENTWISE, attrs, "element-wise, broadcasting")
RLX_OPS_UNARY(RLX_OP_U)
RLX_OPS_BINARY(RLX_OP_B)
#undef RLX_OP_U
#undef RLX_OP_B
RLX_OP(where, elementwise, 3, 3, 1, RLX_TRAIT_ELEMENTWISE, "", "cond ? a : b, broadcasting")
RLX_OP(clip, elementwise, 1, 3, 1, RLX_TRAIT_ELEMENTWISE, "", "min(max(x, lo), hi); NaN passes")

RLX_OP(fused, elementwise, 1, 20, 4, RLX_TRAIT_ELEMENTWISE, "", "a chain of element-wise ops in one pass, see ir/schedule.h; made by the fusion pass only")

/* Movement of elements: any dtype, no arithmetic. */
RLX_OP(reshape, move, 2, 2, 1, RLX_TRAIT_VIEW, "allowzero:i=0", "same elements, new shape (x, shape)")
RLX_OP(transpose, move, 1, 1, 1, 0, "perm:is", "permutes axes")
RLX_OP(expand, move, 2, 2, 1, 0, "", "broadcast to the common shape (x, shape)")
RLX_OP(slice, move, 3, 5, 1, 0, "", "x, starts, ends, axes?, steps?")
RLX_OP(concat, move, 1, 65535, 1, 0, "axis:i", "joins along axis")
RLX_OP(split, move, 1, 2, 65535, 0, "axis:i=0 num_outputs:i=0", "x, split?")
RLX_OP(pad, move, 2, 4, 1, 0, "mode:s=constant", "x, pads, value?, axes?; modes constant, reflect, edge, wrap")
RLX_OP(tile, move, 2, 2, 1, 0, "", "x, repeats")
RLX_OP(reverse_sequence, move, 2, 2, 1, 0, "batch_axis:i=1 time_axis:i=0", "x, sequence_lens")
RLX_OP(depth_to_space, move, 1, 1, 1, 0, "blocksize:i mode:s=DCR", "")
RLX_OP(space_to_depth, move, 1, 1, 1, 0, "blocksize:i", "")
RLX_OP(trilu, move, 1, 2, 1, 0, "upper:i=1", "x, k?")
RLX_OP(reorder, move, 1, 1, 1, RLX_TRAIT_LAYOUT, "to:i", "same tensor in another physical layout; made by the layout pass only")

/* Indexed movement. */
RLX_OP(gather, gather, 2, 2, 1, 0, "axis:i=0", "x, indices; negative indices count from the end")
RLX_OP(gather_elements, gather, 2, 2, 1, 0, "axis:i=0", "")
RLX_OP(gather_nd, gather, 2, 2, 1, 0, "batch_dims:i=0", "")
RLX_OP(scatter_elements, gather, 3, 3, 1, 0, "axis:i=0 reduction:s=none", "x, indices, updates; serial")
RLX_OP(scatter_nd, gather, 3, 3, 1, 0, "reduction:s=none", "x, indices, updates; serial")
RLX_OP(tensor_scatter, gather, 2, 3, 1, 0, "axis:i=-2 mode:s=linear", "past, update, write_indices?")
RLX_OP(one_hot, gather, 3, 3, 1, 0, "axis:i=-1", "indices, depth, values")
RLX_OP(count_non_zero, gather, 1, 1, 1, 0, "", "how many elements are not zero, [1]")
RLX_OP(non_zero, gather, 1, 2, 1, 0, "", "x, count_non_zero(x), which a known x does not need")
RLX_OP(unique, gather, 1, 1, 4, 0, "axis:i=0 sorted:i=1", "slices along axis; first [n], inverse [n], counts [n], found [1]: the first found of first and counts hold")
RLX_OP(non_max_suppression, gather, 2, 5, 2, 0, "center_point_box:i=0", "boxes, scores, most?, iou?, least score?; selected [batch * classes, keep], counts [batch * classes]")
RLX_OP(nms_rows, gather, 4, 4, 1, 0, "", "selected, counts, the sum of counts, scores (for its extents): rows of batch, class, box")

/* Makers. */
RLX_OP(constant_of_shape, make, 1, 1, 1, 0, "value:tensor", "shape")
RLX_OP(range, make, 3, 3, 1, 0, "", "start, limit, delta")
RLX_OP(shape, make, 1, 1, 1, 0, "start:i=0 end:i=2147483647", "extents as i64")
RLX_OP(size, make, 1, 1, 1, 0, "", "element count as i64")
RLX_OP(eye_like, make, 1, 1, 1, 0, "dtype:t=none k:i=0", "")
RLX_OP(window, make, 1, 1, 1, 0, "kind:s periodic:i=1 dtype:t=f32", "hann, hamming, blackman; size")
RLX_OP(mel_weight_matrix, make, 5, 5, 1, 0, "dtype:t=f32", "")
RLX_OP(store_elements, make, 0, 0, 1, 0, "", "writes the output's symbolic elements as data; made by the compiler")

/* Reductions over axes. sum, mean, l1, l2, log_sum, log_sum_exp, sum_square, prod: lanes16. max, min: order free, NaN wins. */
RLX_OP(reduce_sum, reduce, 1, 2, 1, 0, "keepdims:i=1 noop_with_empty_axes:i=0", "x, axes?")
RLX_OP(reduce_mean, reduce, 1, 2, 1, 0, "keepdims:i=1 noop_with_empty_axes:i=0", "sum / count")
RLX_OP(reduce_max, reduce, 1, 2, 1, 0, "keepdims:i=1 noop_with_empty_axes:i=0", "")
RLX_OP(reduce_min, reduce, 1, 2, 1, 0, "keepdims:i=1 noop_with_empty_axes:i=0", "")
RLX_OP(reduce_prod, reduce, 1, 2, 1, 0, "keepdims:i=1 noop_with_empty_axes:i=0", "")
RLX_OP(reduce_l1, reduce, 1, 2, 1, 0, "keepdims:i=1 noop_with_empty_axes:i=0", "")
RLX_OP(reduce_l2, reduce, 1, 2, 1, 0, "keepdims:i=1 noop_with_empty_axes:i=0", "")
RLX_OP(reduce_log_sum, reduce, 1, 2, 1, 0, "keepdims:i=1 noop_with_empty_axes:i=0", "")
RLX_OP(reduce_log_sum_exp, reduce, 1, 2, 1, 0, "keepdims:i=1 noop_with_empty_axes:i=0", "max first")
RLX_OP(reduce_sum_square, reduce, 1, 2, 1, 0, "keepdims:i=1 noop_with_empty_axes:i=0", "fma chains")
RLX_OP(arg_max, reduce, 1, 1, 1, 0, "axis:i=0 keepdims:i=1 select_last_index:i=0", "")
RLX_OP(arg_min, reduce, 1, 1, 1, 0, "axis:i=0 keepdims:i=1 select_last_index:i=0", "")
RLX_OP(top_k, reduce, 2, 2, 2, 0, "axis:i=-1 largest:i=1 sorted:i=1", "x, k; NaN greatest; ties by index")
RLX_OP(cumsum, reduce, 2, 2, 1, 0, "exclusive:i=0 reverse:i=0", "x, axis; serial")
RLX_OP(cumprod, reduce, 2, 2, 1, 0, "exclusive:i=0 reverse:i=0", "x, axis; serial")
RLX_OP(softmax, reduce, 1, 1, 1, 0, "axis:i=-1", "e = exp(x-max), in f32 0 below exp(-87); e (1 / sum of e), lanes16")
RLX_OP(log_softmax, reduce, 1, 1, 1, 0, "axis:i=-1", "")
RLX_OP(hardmax, reduce, 1, 1, 1, 0, "axis:i=-1", "first maximum is 1")

/* Normalisations: mean lanes16, variance two-pass lanes16 (fma of centred values), 1/sqrt by sqrt and divide. */
RLX_OP(layer_norm, norm, 2, 3, 3, 0, "axis:i=-1 epsilon:f=1e-5", "x, scale, bias?; outputs y, mean?, inv_std?")
RLX_OP(rms_norm, norm, 2, 2, 1, 0, "axis:i=-1 epsilon:f=1e-5", "x, scale")
RLX_OP(instance_norm, norm, 3, 3, 1, 0, "epsilon:f=1e-5", "x, scale, bias")
RLX_OP(group_norm, norm, 3, 3, 1, 0, "num_groups:i epsilon:f=1e-5", "x, scale[C], bias[C]")
RLX_OP(batch_norm, norm, 5, 5, 3, 0, "epsilon:f=1e-5 momentum:f=0.9 training_mode:i=0", "x, scale, bias, mean, var")
RLX_OP(lrn, norm, 1, 1, 1, 0, "size:i alpha:f=1e-4 beta:f=0.75 bias:f=1", "")

/* Convolution and pooling; spatial rank 1 to 3; pads are begins then ends (auto_pad is resolved at import into pads expressions). */
RLX_OP(conv, conv, 2, 3, 1, 0, "strides:is dilations:is group:i=1 algorithm:s=direct channels:is", "x, w, b?; pads as symbolic list op->pads; algorithm direct: chain; F(2,3), F(4,3): winograd; channels: input channel i is channel channels[i] of x (made by the layout pass)")
RLX_OP(conv_transpose, conv, 2, 3, 1, 0, "strides:is dilations:is group:i=1 output_padding:is", "x, w, b?; chain as conv; kernel cells that fall between input cells do not exist, those outside the input are +0 factors")
RLX_OP(max_pool, conv, 1, 1, 2, 0, "kernel:is strides:is dilations:is ceil_mode:i=0 storage_order:i=0", "y, indices?")
RLX_OP(avg_pool, conv, 1, 1, 1, 0, "kernel:is strides:is dilations:is ceil_mode:i=0 count_include_pad:i=0", "serial, then divide")
RLX_OP(lp_pool, conv, 1, 1, 1, 0, "kernel:is strides:is dilations:is ceil_mode:i=0 p:i=2", "")
RLX_OP(max_unpool, conv, 2, 3, 1, 0, "kernel:is strides:is", "")
RLX_OP(deform_conv, conv, 3, 5, 1, 0, "strides:is dilations:is group:i=1 offset_group:i=1", "")
RLX_OP(col2im, conv, 3, 3, 1, 0, "strides:is dilations:is", "")

/* Products. */
RLX_OP(matmul, matmul, 2, 3, 1, 0, "trans_a:i=0 trans_b:i=0 perm_a:is perm_b:is perm_out:is", "numpy matmul of the last two axes, optionally transposed; third operand is a bias [N]; chain; perm_a, perm_b: the stored operand, permuted so, is the logical one; perm_out: the result, permuted so, is stored")
RLX_OP(attention, matmul, 3, 7, 1, 0, "", "softmax(steps(Q K)) V, see ir/schedule.h; made by the fusion pass only")
RLX_OP(einsum, matmul, 1, 65535, 1, 0, "equation:s", "chain over the summed labels in order of appearance")
RLX_OP(det, matmul, 1, 1, 1, 0, "", "")

/* Control flow: ops that run graphs (op->bodies, ir/flow.h). */
RLX_OP(if, flow, 1, 65535, 65535, 0, "", "condition, the inputs of body 0, those of body 1; runs body 0 where the condition is not zero, else body 1")
RLX_OP(loop, flow, 0, 65535, 65535, 0, "carried:i", "trip count?, condition?, carried values, captured values; the body takes iteration, condition, carried, captured and gives condition, carried, appended; results: carried, appended along a new first axis")

/* Code that is not RLX's: it can be verified and dumped. Results have the types that the text gives them. */
RLX_OP(custom_op, foreign, 0, 64, 16, 0, "function:s", "user code; the first result is like the first operand unless its type is given")
RLX_OP(remote_call, foreign, 0, 64, 16, 0, "target:s function:s inputs:s", "a function of another cluster; inputs: their names, separated by commas")

/* Recurrent, as ONNX opset 22. */
RLX_OP(lstm, rnn, 3, 8, 3, 0, "direction:s=forward hidden_size:i activations:s clip:f=0 input_forget:i=0 layout:i=0 alpha:fs beta:fs", "chain")
RLX_OP(qlstm, rnn, 3, 10, 3, 0, "direction:s=forward hidden_size:i activations:s clip:f=0 input_forget:i=0 layout:i=0 alpha:fs beta:fs", "lstm on bytes: x, w i16, r i16, b?, sequence_lens?, initial_h?, initial_c?, p?, w_scale, r_scale; quantised dynamically, see below")
RLX_OP(gru, rnn, 3, 6, 2, 0, "direction:s=forward hidden_size:i activations:s clip:f=0 linear_before_reset:i=0 layout:i=0 alpha:fs beta:fs", "chain")
RLX_OP(rnn, rnn, 3, 6, 2, 0, "direction:s=forward hidden_size:i activations:s clip:f=0 layout:i=0 alpha:fs beta:fs", "chain")

/* Sampling. */
RLX_OP(resize, sample, 1, 4, 1, 0, "mode:s=nearest coord:s=half_pixel nearest_mode:s=round_prefer_floor cubic_coeff_a:f=-0.75 exclude_outside:i=0 extrapolation_value:f=0 antialias:i=0 policy:s=stretch axes:is", "x, roi?, scales?, sizes?")
RLX_OP(grid_sample, sample, 2, 2, 1, 0, "mode:s=linear padding_mode:s=zeros align_corners:i=0", "")
RLX_OP(affine_grid, sample, 2, 2, 1, 0, "align_corners:i=0", "theta, size")
RLX_OP(roi_align, sample, 3, 3, 1, 0, "mode:s=avg coord:s=half_pixel output_height:i=1 output_width:i=1 sampling_ratio:i=0 spatial_scale:f=1", "")
RLX_OP(max_roi_pool, sample, 2, 2, 1, 0, "pooled_shape:is spatial_scale:f=1", "")
RLX_OP(dft, sample, 1, 3, 1, 0, "inverse:i=0 onesided:i=0", "x, dft_length?, axis?")
RLX_OP(stft, sample, 2, 4, 1, 0, "onesided:i=1", "")

/* Dynamic quantisation of a set of f32 numbers: least and greatest of them and 0 (a NaN counts for nothing); scale = (greatest - least) / 255, or
 * 1 / 255 where they are equal; point = round(-least / scale), half to even, kept in 0 to 255; bytes(v / scale) as below.
 * qlstm: w and r are integers less their zero points, scales are f32 [directions, 4 hidden]. x of a batch item, all steps of its length together,
 * and h of a batch item before each step are quantised dynamically. A gate's preactivation, with exact sums:
 * fma(f32(sum of x), x_scale * w_scale[o], Wb + Rb) = t; fma(f32(sum of h), h_scale * r_scale[o], t). The rest is lstm. */

/* Quantised arithmetic. Inside, activations are u8 with a zero point (x_point, a_point ...); i8 becomes u8 by qflip, point + 128.
 *   bytes(v)  point + round(min(max(v, lo - point), hi - point)), round half to even; lo and hi (0 to 255) are saturation and what a clamp
 *             (relu, clip) before a quantisation leaves of it. NaN becomes lo.
 *   sum       of products, in i32 modulo 2^32: exact, in any order.
 * qconv, qmatmul: sum = sums[o] + sum of (x - x_point) * w, padding counts as x_point; v = f32(sum) * s with s = scale[o], or
 * scale[o] * factor. result 0: bytes(v). 1: v, or v + bias[o]. 2: sum. The operand `point` (a scalar u8 or i8; i8 counts + 128) takes
 * x_point's place. Scales: x_scale * w_scale / y_scale, computed in that order in f32, when the graph is imported. */
RLX_OP(quantize, quant, 2, 3, 1, 0, "to:t=u8", "x f32, scale, point? (u8 or i8): point + round(x / scale), saturated; NaN becomes the least")
RLX_OP(quantize_dynamic, quant, 1, 1, 3, 0, "", "x f32: bytes of all its elements by dynamic quantisation, scale f32, point u8")
RLX_OP(dequantize, quant, 2, 3, 1, 0, "axis:i=1", "x, scale, point?: (f32(x) - f32(point)) * scale; scale and point are scalars or have axis' extent")
RLX_OP(qflip, quant, 1, 1, 1, 0, "", "u8 to i8 or back: the top bit flips")
RLX_OP(qconv, quant, 2, 7, 1, 0, "strides:is dilations:is group:i=1 result:i=0 x_point:i=0 x_max:i=255 lo:i=0 hi:i=255 point:i=0", "x u8, w i16 constant less its zero point, sums i32?, scale?, point?, factor?, bias?; pads as conv; x_max: x is known not to exceed it")
RLX_OP(qmatmul, quant, 2, 7, 1, 0, "result:i=0 x_point:i=0 x_max:i=255 lo:i=0 hi:i=255 point:i=0", "x [..., K], w [N, K]; operands and attributes as qconv")
RLX_OP(qadd, quant, 2, 2, 1, 0, "a_point:i=0 b_point:i=0 a_scale:f=1 b_scale:f=1 lo:i=0 hi:i=255 point:i=0", "u8 of one shape: bytes(fma(f32(b - b_point), b_scale, f32(a - a_point) * a_scale))")
RLX_OP(qmul, quant, 2, 2, 1, 0, "a_point:i=0 b_point:i=0 a_scale:f=1 lo:i=0 hi:i=255 point:i=0", "u8; b has a's shape, or 1 for every spatial extent: bytes(f32((a - a_point) * (b - b_point)) * a_scale)")
RLX_OP(qlookup, quant, 2, 2, 1, 0, "", "x u8, table u8[256] constant: any function of one quantised operand, computed by the compiler")
RLX_OP(qavg_pool, quant, 1, 1, 1, 0, "kernel:is strides:is dilations:is ceil_mode:i=0 count_include_pad:i=0 global:i=0 x_point:i=0 scale:f=1 lo:i=0 hi:i=255 point:i=0", "bytes(f32(sum of x - x_point) * (scale / f32(cells))); global: one window over all spatial axes")
#endif
