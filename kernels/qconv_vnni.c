/* qconv_vnni: qconv for machines with AVX-512 VNNI, chosen when a model is loaded (exec/load.c). scripts/kernel_image.py compiles files named
 * *_vnni.c with that extension; elsewhere (the v3 image, the reference evaluator) this is qconv once more. */
#include <stdbool.h>

#include "kernels/quant_conv.h"

RLX_KERNEL_ENTRY(qconv_vnni) { quant_conv_run(args, tile_begin, tile_end); }
