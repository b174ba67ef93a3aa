/* qconv: quantised convolution and product with constant weights, for every machine. See kernels/quant_conv.h. */
#include <stdbool.h>

#include "kernels/quant_conv.h"

RLX_KERNEL_ENTRY(qconv) { quant_conv_run(args, tile_begin, tile_end); }
