/* Windows of convolutions and pools: strides, dilations and pads of one node, auto_pad resolved. Shared by convert_conv*.c. */
#ifndef RLX_IR_ONNX_WINDOW_H
#define RLX_IR_ONNX_WINDOW_H

#include "ir/onnx/import.h"

#define RLX_SPATIAL_MAX (RLX_RANK_MAX - 2)

typedef enum rlx_auto_pad { RLX_PAD_NOTSET, RLX_PAD_VALID, RLX_PAD_SAME_UPPER, RLX_PAD_SAME_LOWER } rlx_auto_pad_t;

typedef struct rlx_onnx_window {
    int n; /* spatial rank */
    rlx_auto_pad_t auto_pad;
    int64_t strides[RLX_SPATIAL_MAX], dilations[RLX_SPATIAL_MAX];
    rlx_expr_t kernel[RLX_SPATIAL_MAX];
    int64_t pads[2 * RLX_SPATIAL_MAX];
} rlx_onnx_window_t;

/* Reads strides, dilations, pads, auto_pad and kernel_shape over the spatial axes of `x`. `weights`: where the kernel's extents stand when
 * kernel_shape is absent, or NULL. False when the call failed. */
bool rlx_window_read(rlx_onnx_call_t *call, const rlx_value_t *x, const rlx_value_t *weights, rlx_onnx_window_t *out_window);
/* (k-1)*d + 1 on a spatial axis. */
rlx_expr_t rlx_window_reach(rlx_onnx_call_t *call, const rlx_onnx_window_t *window, int axis);
/* Begins and ends of the pads of convolution and pooling. */
void rlx_window_pads(rlx_onnx_call_t *call, const rlx_value_t *x, const rlx_onnx_window_t *window, rlx_op_t *op);
/* Splits `total` into begin and end: the odd one at the end, or at the beginning when `begin_larger`. */
void rlx_window_halve(rlx_onnx_call_t *call, rlx_expr_t total, bool begin_larger, rlx_expr_t *out_begin, rlx_expr_t *out_end);
/* kernel_shape as numbers, for pools. */
bool rlx_window_kernel(rlx_onnx_call_t *call, const rlx_onnx_window_t *window, int64_t *out_kernel);

#endif
