/* The quantise pass: finds the quantised arithmetic that a model spells out in floats (dequantize -> operator -> quantize) or in integers
 * with scales (dynamic quantisation), and replaces it by the integer operators of the quant family. Internal to ir/.
 *
 * It runs at every optimisation level, since it changes arithmetic: products are summed exactly and requantised once. Scales and zero points
 * must be constants, except that those of an activation may come from dynamic quantisation. What does not match stays as it is. */
#ifndef RLX_IR_QUANTISE_H
#define RLX_IR_QUANTISE_H

#include "ir/pass.h"

/* An activation of bytes: value = (q - point) * scale. */
typedef struct rlx_quant_tensor {
    rlx_value_t *q; /* u8 */
    float scale;
    int32_t point;
} rlx_quant_tensor_t;

/* What a quantisation makes of numbers: bytes of `scale` and `point`, kept in [lo, hi] by saturation and by clamps that were found before it. */
typedef struct rlx_quant_target {
    float scale;
    int32_t point, lo, hi;
} rlx_quant_target_t;

/* `value` is a dequantised u8 activation with a constant scale and zero point. */
bool rlx_quant_tensor_read(const rlx_graph_t *graph, const rlx_value_t *value, rlx_quant_tensor_t *out);
/* The byte of a number under a target. */
uint8_t rlx_quant_target_byte(const rlx_quant_target_t *target, float number);

/* An op before `before`, without attributes and shape yet; `like` gives the name and the source. */
rlx_op_t *rlx_quant_op(rlx_graph_t *graph, rlx_op_t *before, rlx_op_kind_t kind, const rlx_op_t *like, int n_in, rlx_value_t *const *in);
/* Its shape, once attributes are set; its result, or NULL (diag set). */
rlx_value_t *rlx_quant_op_end(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
void rlx_quant_target_set(rlx_graph_t *graph, rlx_op_t *op, const rlx_quant_target_t *target);

/* Each tries to compute quantize(value) for `quantize`, the op that makes bytes of `value`; `*out` is the replacement, or NULL where the
 * pattern is another. Fails only where a made op is refused. ir/pass/quantise_product.c, ir/pass/quantise_map.c */
typedef rlx_status_t rlx_quant_rule_t(rlx_graph_t *graph, rlx_op_t *quantize, rlx_value_t *value, const rlx_quant_target_t *target,
                                      rlx_value_t **out, rlx_diag_t *diag);
rlx_quant_rule_t rlx_quant_rule_product, rlx_quant_rule_add, rlx_quant_rule_mul, rlx_quant_rule_average, rlx_quant_rule_lookup,
    rlx_quant_rule_concat;
/* A convolution or product of dequantised operands whose result stays f32; the op is replaced. */
rlx_status_t rlx_quant_rewrite_product(rlx_graph_t *graph, rlx_op_t *op, rlx_diag_t *diag);
/* f32(sum) * scale [+ bias] of an integer product, as dynamic quantisation spells it: `mul` is replaced. ir/pass/quantise_dynamic.c */
rlx_status_t rlx_quant_rewrite_scaled(rlx_graph_t *graph, rlx_op_t *mul, rlx_diag_t *diag);

#endif
