/* Parameter blocks of the matmul family. */
#ifndef RLX_KERNELS_PARAMS_MATMUL_H
#define RLX_KERNELS_PARAMS_MATMUL_H

#include <stdint.h>

#endif
