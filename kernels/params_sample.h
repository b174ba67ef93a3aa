/* Parameter blocks of the sample family. */
#ifndef RLX_KERNELS_PARAMS_SAMPLE_H
#define RLX_KERNELS_PARAMS_SAMPLE_H

#include <stdint.h>

#endif
