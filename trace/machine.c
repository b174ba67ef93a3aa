/* FMA peak and memory bandwidth. Threads run at the same time, as the kernels do; each thread's best stretch counts, so that a
 * neighbour's interruption does not lower the yardstick. What FMA alone gets over a longer stretch is another measure beside it. */
#include "trace/machine.h"

#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"

#define CHAINS_512 24 /* more than latency x ports, fewer than registers */
#define CHAINS_256 12
#define ROUNDS 100000
#define STRETCHES 40
#define READ_BYTES ((size_t)64 << 20)
#define READ_PASSES 8

typedef struct probe {
    pthread_t thread;
    pthread_barrier_t *barrier;
    int wide;
    uint64_t ns; /* of a stretch that is measured as a whole */
    double gflops, gbytes;
} probe_t;

static _Thread_local volatile float sink; /* keeps the loops alive */

__attribute__((target("avx512f"))) static double fma_512(void)
{
    __m512 a[CHAINS_512], x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f);

    for (int i = 0; i < CHAINS_512; i++)
        a[i] = _mm512_set1_ps((float)i);
    for (int k = 0; k < ROUNDS; k++) {
#pragma GCC unroll 24
        for (int i = 0; i < CHAINS_512; i++)
            a[i] = _mm512_fmadd_ps(a[i], x, y);
    }
    for (int i = 1; i < CHAINS_512; i++)
        a[0] = _mm512_add_ps(a[0], a[i]);
    sink = _mm512_cvtss_f32(a[0]);
    return 2.0 * 16 * CHAINS_512 * ROUNDS;
}

__attribute__((target("avx2,fma"))) static double fma_256(void)
{
    __m256 a[CHAINS_256], x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f);

    for (int i = 0; i < CHAINS_256; i++)
        a[i] = _mm256_set1_ps((float)i);
    for (int k = 0; k < ROUNDS; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS_256; i++)
            a[i] = _mm256_fmadd_ps(a[i], x, y);
    }
    for (int i = 1; i < CHAINS_256; i++)
        a[0] = _mm256_add_ps(a[0], a[i]);
    sink = _mm256_cvtss_f32(a[0]);
    return 2.0 * 8 * CHAINS_256 * ROUNDS;
}

__attribute__((target("avx2"))) static void read_all(const char *data)
{
    __m256i sum[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};

    for (size_t at = 0; at < READ_BYTES; at += 128)
        for (int i = 0; i < 4; i++)
            sum[i] = _mm256_xor_si256(sum[i], _mm256_load_si256((const __m256i *)(data + at + 32 * i)));
    sum[0] = _mm256_xor_si256(_mm256_xor_si256(sum[0], sum[1]), _mm256_xor_si256(sum[2], sum[3]));
    sink = (float)_mm256_extract_epi32(sum[0], 0);
}

static void probe_read(probe_t *probe)
{
    char *data = aligned_alloc(64, READ_BYTES);

    if (data != NULL)
        memset(data, 1, READ_BYTES);
    pthread_barrier_wait(probe->barrier);
    for (int i = 0; i < READ_PASSES && data != NULL; i++) {
        uint64_t start = rlx_clock_ns();
        double rate;

        read_all(data);
        rate = (double)READ_BYTES / (double)(rlx_clock_ns() - start);
        if (rate > probe->gbytes)
            probe->gbytes = rate;
    }
    free(data);
}

static int isa_is_wide(const char *isa) { return strcmp(isa, "x86-64-v4") == 0 && __builtin_cpu_supports("avx512f"); }

static void *stretch_main(void *context)
{
    probe_t *probe = context;
    uint64_t start, passed;
    double flops = 0;

    pthread_barrier_wait(probe->barrier);
    start = rlx_clock_ns();
    do {
        flops += probe->wide ? fma_512() : fma_256();
        passed = rlx_clock_ns() - start;
    } while (passed < probe->ns);
    probe->gflops = flops / (double)passed;
    return NULL;
}

double rlx_machine_fma_over(const char *isa, int n_threads, uint64_t ns)
{
    probe_t *probes = calloc((size_t)n_threads, sizeof *probes);
    pthread_barrier_t barrier;
    double sum = 0;

    if (probes == NULL || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        free(probes);
        return 0;
    }
    pthread_barrier_init(&barrier, NULL, (unsigned)n_threads);
    for (int i = 0; i < n_threads; i++) {
        probes[i] = (probe_t){.barrier = &barrier, .wide = isa_is_wide(isa), .ns = ns};
        if (i > 0)
            RLX_ASSERT(pthread_create(&probes[i].thread, NULL, stretch_main, &probes[i]) == 0); /* a team as large was started before */
    }
    stretch_main(&probes[0]);
    for (int i = 0; i < n_threads; i++) {
        if (i > 0)
            pthread_join(probes[i].thread, NULL);
        sum += probes[i].gflops;
    }
    pthread_barrier_destroy(&barrier);
    free(probes);
    return sum;
}

static void *probe_main(void *context)
{
    probe_t *probe = context;

    pthread_barrier_wait(probe->barrier);
    for (int i = 0; i < STRETCHES; i++) {
        uint64_t start = rlx_clock_ns();
        double flops = probe->wide ? fma_512() : fma_256();
        double rate = flops / (double)(rlx_clock_ns() - start);

        if (rate > probe->gflops)
            probe->gflops = rate;
    }
    probe_read(probe);
    return NULL;
}

rlx_machine_t rlx_machine_measure(const char *isa, int n_threads)
{
    rlx_machine_t machine = {0};
    probe_t *probes = calloc((size_t)n_threads, sizeof *probes);
    pthread_barrier_t barrier;

    if (probes == NULL || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        free(probes);
        return machine;
    }
    pthread_barrier_init(&barrier, NULL, (unsigned)n_threads);
    for (int i = 0; i < n_threads; i++) {
        probes[i] = (probe_t){.barrier = &barrier, .wide = isa_is_wide(isa)};
        if (i > 0)
            RLX_ASSERT(pthread_create(&probes[i].thread, NULL, probe_main, &probes[i]) == 0); /* a team as large was started before */
    }
    probe_main(&probes[0]);
    for (int i = 0; i < n_threads; i++) {
        if (i > 0)
            pthread_join(probes[i].thread, NULL);
        machine.gflops += probes[i].gflops;
        machine.gbytes += probes[i].gbytes;
    }
    pthread_barrier_destroy(&barrier);
    free(probes);
    return machine;
}
