/* See fma_peak.h. */
#include "bench/kernels/fma_peak.h"

#include <math.h>
#include <time.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_fma_peak(bool wide)
{
    double best = 0;

    for (int round = 0; round < 12; round++) {
        long n = 1000000;
        double t = now();

        if (wide)
            __asm__ volatile("1: .irp i,0,1,2,3,4,5,6,7,8,9,10,11\n vfmadd231ps %%zmm12,%%zmm13,%%zmm\\i\n .endr\n dec %0\n jnz 1b"
                             : "+r"(n)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11");
        else
            __asm__ volatile("1: .irp i,0,1,2,3,4,5,6,7,8,9,10,11\n vfmadd231ps %%ymm12,%%ymm13,%%ymm\\i\n .endr\n dec %0\n jnz 1b"
                             : "+r"(n)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11");
        t = now() - t;
        best = fmax(best, 12e6 * (wide ? 32 : 16) / t * 1e-9);
    }
    return best;
}
