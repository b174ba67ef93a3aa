/* qlstm: the LSTM on bytes with constant weights, for every machine. See kernels/qlstm_walk.h. */
#include "kernels/qlstm_walk.h"

RLX_KERNEL_ENTRY(qlstm) { qlstm_run(args, tile_begin, tile_end); }
