/* The system's monotonic clock, for programs and measurements. Code that decides takes time as a parameter instead. */
#ifndef RLX_BASE_CLOCK_H
#define RLX_BASE_CLOCK_H

#include <stdint.h>

uint64_t rlx_clock_ns(void);

#endif
