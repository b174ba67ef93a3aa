/* Parameter blocks of the make family. */
#ifndef RLX_KERNELS_PARAMS_MAKE_H
#define RLX_KERNELS_PARAMS_MAKE_H

#include <stdint.h>

#endif
