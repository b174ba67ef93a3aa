/* Every kernel: RLX_KERNEL(id, number, flags). One list per family; number ranges: elementwise 1-9, move 10-39, gather 40-59, make 60-69,
 * reduce 70-89, norm 90-99, conv 100-129, matmul 130-149, rnn 150-159, sample 160-179, quant 180-209. */
#include "kernels/list_elementwise.h"
#include "kernels/list_move.h"
#include "kernels/list_gather.h"
#include "kernels/list_make.h"
#include "kernels/list_reduce.h"
#include "kernels/list_norm.h"
#include "kernels/list_conv.h"
#include "kernels/list_matmul.h"
#include "kernels/list_rnn.h"
#include "kernels/list_sample.h"
#include "kernels/list_quant.h"
