/* Filters of F(2,3) and F(4,3), transformed offline: in float64, rounded once. Pure functions on arrays; the caller owns both. m is 2 or 4,
 * stride 1, or 2 where m is 2; side is winograd_side() of kernels/winograd_shape.h. */
#ifndef RLX_IR_PACK_WINOGRAD_H
#define RLX_IR_PACK_WINOGRAD_H

#include <stdint.h>

/* Weights [outputs][channels][3][3] to [outputs][channels][side^2]. */
void rlx_pack_winograd_plain(int m, int64_t stride, int64_t outputs, int64_t channels, const float *w, float *out);
/* The same weights to RLX_LAYOUT_WINOGRAD; lanes past the last output are zero. */
int64_t rlx_pack_winograd_floats(int m, int64_t stride, int64_t outputs, int64_t channels);
void rlx_pack_winograd(int m, int64_t stride, int64_t outputs, int64_t channels, const float *w, float *out);

#endif
