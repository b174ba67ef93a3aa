/* Parameter blocks of all kernels, one header per family. Every field is int64_t or an array of them: the executor fills them by word. */
#ifndef RLX_KERNELS_PARAMS_H
#define RLX_KERNELS_PARAMS_H

#include "kernels/params_elementwise.h"
#include "kernels/params_move.h"
#include "kernels/params_gather.h"
#include "kernels/params_make.h"
#include "kernels/params_reduce.h"
#include "kernels/params_norm.h"
#include "kernels/params_conv.h"
#include "kernels/params_matmul.h"
#include "kernels/params_rnn.h"
#include "kernels/params_sample.h"
#include "kernels/params_quant.h"

#endif
