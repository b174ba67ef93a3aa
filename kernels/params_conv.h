/* Parameter blocks of the conv family. */
#ifndef RLX_KERNELS_PARAMS_CONV_H
#define RLX_KERNELS_PARAMS_CONV_H

#include <stdint.h>

#endif
