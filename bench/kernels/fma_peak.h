/* What one core can do at most: the yardstick of the kernel benchmarks. */
#ifndef RLX_BENCH_KERNELS_FMA_PEAK_H
#define RLX_BENCH_KERNELS_FMA_PEAK_H

#include <stdbool.h>

/* Best GF/s of twelve independent fma chains on the calling thread's core, in 512-bit (`wide`; the machine must have AVX-512) or 256-bit
 * registers. Takes some milliseconds. */
double bench_fma_peak(bool wide);

#endif
