/* Parameter blocks of the reduce family. */
#ifndef RLX_KERNELS_PARAMS_REDUCE_H
#define RLX_KERNELS_PARAMS_REDUCE_H

#include <stdint.h>

#endif
