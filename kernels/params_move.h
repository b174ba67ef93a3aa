/* Parameter blocks of the move family. */
#ifndef RLX_KERNELS_PARAMS_MOVE_H
#define RLX_KERNELS_PARAMS_MOVE_H

#include <stdint.h>

#endif
