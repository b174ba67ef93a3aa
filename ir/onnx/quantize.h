/* Pieces that the converters of quantised operators share. All pass NULL on. Internal to ir/onnx/. */
#ifndef RLX_IR_ONNX_QUANTIZE_H
#define RLX_IR_ONNX_QUANTIZE_H

#include "ir/onnx/convert.h"

/* Scale or zero point in a shape that broadcasts against x: per tensor, per axis, or per block of `block` (0: none). */
rlx_value_t *rlx_call_quant_parameter(rlx_onnx_call_t *call, rlx_value_t *parameter, const rlx_value_t *x, int64_t axis, int64_t block);
/* round(x) + zero point, saturated to `dtype`. x is f32. */
rlx_value_t *rlx_call_saturate(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t *zero_point, rlx_dtype_t dtype);
/* The quantize op: one f32 scale, bytes. */
rlx_value_t *rlx_call_quantize(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t *scale, rlx_value_t *point, rlx_dtype_t dtype);
/* The dequantize op: scales are f32, one or one per index of an axis. */
rlx_value_t *rlx_call_dequantize(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t *scale, rlx_value_t *point, int64_t axis);
/* u8 of x, with the scale and the zero point that its own range gives. */
rlx_value_t *rlx_call_dynamic_quantize(rlx_onnx_call_t *call, rlx_value_t *x, rlx_value_t **out_scale, rlx_value_t **out_point);
/* convert_qlinear.c: the i32 product of quantised matrices: an integer kernel where b is a constant matrix, else plain integers. */
rlx_value_t *rlx_call_matmul_integer(rlx_onnx_call_t *call, rlx_value_t *a, rlx_value_t *a_point, rlx_value_t *b, rlx_value_t *b_point);
/* convert_qlinear.c: the scales of a bias, x's times the weight's; both are constants, x's is one number. */
rlx_value_t *rlx_call_bias_scale(rlx_onnx_call_t *call, const rlx_value_t *x_scale, const rlx_value_t *w_scale);

#endif
