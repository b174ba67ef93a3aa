/* Offline packing of convolution weights into the layouts of base/tensor.h. Pure functions on arrays; the caller owns both. Lanes past
 * the last output channel are zero. Sizes in floats come from rlx_pack_conv_floats. */
#ifndef RLX_IR_PACK_CONV_H
#define RLX_IR_PACK_CONV_H

#include <stdint.h>

typedef struct rlx_pack_conv {
    int64_t group, channels, outputs; /* per group */
    int64_t kernel[2], stride[2], dilation[2]; /* stride and dilation: conv_transpose only */
} rlx_pack_conv_t;

int64_t rlx_pack_conv_floats(const rlx_pack_conv_t *pack);
/* [group * outputs][channels][kernel...] to RLX_LAYOUT_CONV_16I16O. */
void rlx_pack_conv_16i16o(const rlx_pack_conv_t *pack, const float *w, float *out);
/* [group * outputs][channels][kernel...] to RLX_LAYOUT_CONV_GROUP; the size has a function of its own. */
int64_t rlx_pack_conv_group_floats(const rlx_pack_conv_t *pack);
void rlx_pack_conv_group(const rlx_pack_conv_t *pack, const float *w, float *out);
/* [outputs][channels][kernel...], group 1, to RLX_LAYOUT_CONV_16O. */
void rlx_pack_conv_16o(const rlx_pack_conv_t *pack, const float *w, float *out);
/* [group][1][kernel...] to RLX_LAYOUT_DW16; outputs and channels are 1. The size is 16 * ceil(group / 16) * kernel cells. */
void rlx_pack_conv_dw16(const rlx_pack_conv_t *pack, const float *w, float *out);
/* [group * channels][outputs][kernel...] to the order of kernels/conv_transpose_c16.c: per output block the
 * remainder pairs, each as 16I16O. */
void rlx_pack_conv_transpose(const rlx_pack_conv_t *pack, const float *w, float *out);
/* `count` floats, then zeros to a multiple of 16. */
void rlx_pack_conv_bias(const float *bias, int64_t count, float *out);

#endif
