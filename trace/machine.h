/* What this machine can do at best, measured: the yardsticks of `rlx bench` and of profiles. */
#ifndef RLX_TRACE_MACHINE_H
#define RLX_TRACE_MACHINE_H

#include <stdint.h>

typedef struct rlx_machine {
    double gflops; /* f32 fma of `isa`, all threads together */
    double gbytes; /* reading from memory, GB/s, all threads together */
} rlx_machine_t;

/* `isa`: "x86-64-v4" measures 512-bit vectors, anything else 256-bit. Takes about 0.5 s. */
rlx_machine_t rlx_machine_measure(const char *isa, int n_threads);

/* The rate of fma alone over at least `ns`, all threads together, in GF/s: no best moment, but what a stretch this long gets, interruptions
 * and changes of frequency included. 0 where it cannot be measured. */
double rlx_machine_fma_over(const char *isa, int n_threads, uint64_t ns);

#endif
