/* Parameter blocks of the norm family. */
#ifndef RLX_KERNELS_PARAMS_NORM_H
#define RLX_KERNELS_PARAMS_NORM_H

#include <stdint.h>

#endif
