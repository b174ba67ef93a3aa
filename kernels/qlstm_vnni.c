/* qlstm_vnni: qlstm for machines with AVX-512 VNNI, chosen when a model is loaded (exec/load.c). scripts/kernel_image.py compiles files named
 * *_vnni.c with that extension; elsewhere (the v3 image, the reference evaluator) this is qlstm once more. */
#include "kernels/qlstm_walk.h"

RLX_KERNEL_ENTRY(qlstm_vnni) { qlstm_run(args, tile_begin, tile_end); }
