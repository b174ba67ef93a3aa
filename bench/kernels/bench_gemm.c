/* Speed of the matrix product: GF/s, the fraction of this core's measured FMA peak, and for few rows GB/s of weights, per ISA.
 *
 *   bench_gemm [--isa v3|v4] [--warm] [--small-pages] [--seconds S] [FILTER]
 *
 * Shapes are those of BERT-base, MiniLM and ViT-B/16. Every call takes other weights, 128 MiB in turn, as the layers of a network do;
 * --warm takes the same ones again. --small-pages keeps the weights out of huge pages, as a bundle's are. Least and mean time of a call. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "bench/kernels/fma_peak.h"
#include "kernels/abi.h"
#include "kernels/image.h"
#include "kernels/params.h"

#define WEIGHT_BYTES (128ll << 20)

typedef struct shape {
    const char *name;
    int64_t m, k, n;
} shape_t;

static const shape_t shapes[] = {
    {"BERT projection", 128, 768, 768}, {"BERT up", 128, 768, 3072}, {"BERT down", 128, 3072, 768},
    {"MiniLM projection", 128, 384, 384}, {"MiniLM up", 128, 384, 1536}, {"MiniLM down", 128, 1536, 384},
    {"ViT projection", 197, 768, 768}, {"ViT up", 197, 768, 3072}, {"ViT down", 197, 3072, 768},
    {"1 row", 1, 768, 3072}, {"2 rows", 2, 768, 3072}, {"4 rows", 4, 768, 3072}, {"8 rows", 8, 768, 3072}, {"16 rows", 16, 768, 3072},
};

typedef struct bench {
    const rlx_kernel_image_t *image;
    char *code;
    double peak, seconds;
    bool warm, small_pages;
} bench_t;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static float *floats(int64_t n, bool small_pages)
{
    size_t bytes = ((size_t)n * 4 + (2 << 20)) & ~(((size_t)2 << 20) - 1);
    float *x = aligned_alloc(2 << 20, bytes);

    if (x == NULL)
        exit(1);
    madvise(x, bytes, small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    for (size_t i = 0; i < bytes / 4; i++)
        x[i] = (float)((int)(i * 2654435761u >> 20 & 255) - 128) / 128;
    return x;
}

static rlx_kernel_fn_t *gemm_find(const bench_t *bench)
{
    union { char *data; rlx_kernel_fn_t *fn; } entry = {NULL};

    for (uint32_t i = 0; i < bench->image->n_entries; i++)
        if (bench->image->entries[i].kernel == RLX_K_gemm)
            entry.data = bench->code + bench->image->entries[i].offset;
    return entry.fn;
}

static void shape_run(const bench_t *bench, const shape_t *s)
{
    int64_t weights = s->k * s->n, copies = bench->warm ? 1 : WEIGHT_BYTES / (weights * 4) + 1, blocks = (s->n + 15) / 16;
    rlx_gemm_params_t p = {.packed = 1, .m_blocks = (s->m + RLX_GEMM_ROWS - 1) / RLX_GEMM_ROWS, .n_tile = 2,
        .shape = {.m = s->m, .n = s->n, .k = s->k, .batch = {1, 1, 1, 1, 1, 1}, .a_row = s->k, .a_col = 1, .c_row = s->n, .c_col = 1}};
    float *a = floats(s->m * s->k, false), *b = floats(weights * copies, bench->small_pages), *bias = floats(s->n, false),
          *c = floats(s->m * s->n, false), *scratch = floats(RLX_GEMM_SCRATCH / 4, false);
    uint32_t error = 0;
    rlx_operand_t in[3] = {{.base = a}, {.base = b}, {.base = bias}}, out = {.base = c};
    rlx_kernel_args_t args = {.in = in, .out = &out, .param = (const int64_t *)&p, .scratch = scratch, .error = &error};
    rlx_kernel_fn_t *gemm = gemm_find(bench);
    double best = 1e9, begin = now(), flops = 2.0 * (double)s->m * (double)weights, sum = 0;
    int64_t calls = 0;

    for (; calls < 3 || now() - begin < bench->seconds; calls++) {
        double t = now();

        in[1].base = b + calls % copies * weights;
        gemm(&args, 0, p.m_blocks * ((blocks + 1) / 2));
        t = now() - t;
        best = fmin(best, t);
        sum += t;
    }
    printf("%-18s %4lld x %4lld x %4lld  least %8.4f ms %6.1f GF/s %5.1f %%  mean %5.1f %%  weights %5.1f GB/s\n", s->name, (long long)s->m,
           (long long)s->k, (long long)s->n, best * 1e3, flops / best * 1e-9, flops / best * 1e-7 / bench->peak,
           flops * (double)calls / sum * 1e-7 / bench->peak, (double)weights * 4e-9 / best);
    free(a);
    free(b);
    free(bias);
    free(c);
    free(scratch);
}

static void image_run(bench_t *bench, const char *filter)
{
    bench->code = mmap(NULL, bench->image->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bench->code == MAP_FAILED)
        exit(1);
    memcpy(bench->code, bench->image->data, bench->image->bytes);
    mprotect(bench->code, bench->image->bytes, PROT_READ | PROT_EXEC);
    bench->peak = bench_fma_peak(strcmp(bench->image->isa, "x86-64-v4") == 0);
    printf("%s, FMA peak %.1f GF/s, weights %s\n", bench->image->isa, bench->peak, bench->warm ? "warm" : "from memory");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (filter == NULL || strstr(shapes[i].name, filter) != NULL)
            shape_run(bench, &shapes[i]);
    munmap(bench->code, bench->image->bytes);
}

int main(int argc, char **argv)
{
    const char *isa = "", *filter = NULL;
    int n_images;
    const rlx_kernel_image_t *images = rlx_kernel_images(&n_images);
    bench_t bench = {.seconds = 0.5};

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--isa") == 0 && i + 1 < argc)
            isa = argv[++i];
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            bench.seconds = atof(argv[++i]);
        else if (strcmp(argv[i], "--warm") == 0)
            bench.warm = true;
        else if (strcmp(argv[i], "--small-pages") == 0)
            bench.small_pages = true;
        else
            filter = argv[i];
    }
    for (int i = 0; i < n_images; i++) {
        bool wide = strcmp(images[i].isa, "x86-64-v4") == 0;

        if ((wide && !__builtin_cpu_supports("avx512f")) || strstr(images[i].isa, isa) == NULL)
            continue;
        bench.image = &images[i];
        image_run(&bench, filter);
    }
    return 0;
}
