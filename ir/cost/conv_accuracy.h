/* How far F(2,3) or F(4,3) would be from the exact result with the weights of one layer. Internal to ir/. */
#ifndef RLX_IR_CONV_ACCURACY_H
#define RLX_IR_CONV_ACCURACY_H

#include <stdint.h>

/* Absolute errors by the root mean square of the outputs. */
typedef struct rlx_conv_error {
    double mean, max;
} rlx_conv_error_t;

/* Runs the plain kernel with m = 2 or 4 on a map of half-normal numbers (always the same ones) for at most 32 of the output channels and compares it
 * with sums in float64. `w` is [outputs][channels][3][3]. The same figures on every machine. NaN where the weights are not finite. */
rlx_conv_error_t rlx_conv_error_estimate(int m, int64_t stride, int64_t outputs, int64_t channels, const float *w);

#endif
