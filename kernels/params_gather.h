/* Parameter blocks of the gather family. */
#ifndef RLX_KERNELS_PARAMS_GATHER_H
#define RLX_KERNELS_PARAMS_GATHER_H

#include <stdint.h>

#endif
