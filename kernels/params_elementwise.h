/* Parameter blocks of the elementwise family. */
#ifndef RLX_KERNELS_PARAMS_ELEMENTWISE_H
#define RLX_KERNELS_PARAMS_ELEMENTWISE_H

#include <stdint.h>

#endif
