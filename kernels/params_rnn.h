/* Parameter blocks of the rnn family. */
#ifndef RLX_KERNELS_PARAMS_RNN_H
#define RLX_KERNELS_PARAMS_RNN_H

#include <stdint.h>

#endif
