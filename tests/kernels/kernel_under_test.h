/* Every build of the kernels side by side: the host compiler's, and the code images this CPU can run. A test calls the same kernel in each
 * build and expects the same bits. */
#ifndef RLX_TESTS_KERNEL_UNDER_TEST_H
#define RLX_TESTS_KERNEL_UNDER_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/image.h"
#include "kernels/params_matmul.h"
#include "kernels/params_rnn.h"
#include "kernels/reference.h"

#define KERNEL_BUILDS_MAX 4

typedef struct kernel_build {
    const char *name;
    const rlx_kernel_image_t *image; /* NULL: the reference */
    char *code;
} kernel_build_t;

static inline int kernel_builds(kernel_build_t builds[KERNEL_BUILDS_MAX])
{
    int n_images, n = 1;
    const rlx_kernel_image_t *images = rlx_kernel_images(&n_images);

    builds[0] = (kernel_build_t){.name = "reference"};
    for (int i = 0; i < n_images && n < KERNEL_BUILDS_MAX; i++) {
        if (strcmp(images[i].isa, "x86-64-v4") == 0 ? !__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl")
                                                    : !__builtin_cpu_supports("avx2"))
            continue;
        builds[n].name = images[i].isa;
        builds[n].image = &images[i];
        builds[n].code = mmap(NULL, images[i].bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(builds[n].code, MAP_FAILED);
        memcpy(builds[n].code, images[i].data, images[i].bytes);
        assert_int_equal(mprotect(builds[n].code, images[i].bytes, PROT_READ | PROT_EXEC), 0);
        n++;
    }
    return n;
}

static inline rlx_kernel_fn_t *kernel_find(const kernel_build_t *build, rlx_kernel_id_t id)
{
    union { char *data; rlx_kernel_fn_t *fn; } entry = {NULL};

    if (build->image == NULL)
        return rlx_reference_kernel(id);
    for (uint32_t i = 0; i < build->image->n_entries; i++)
        if (build->image->entries[i].kernel == (uint32_t)id)
            entry.data = build->code + build->image->entries[i].offset;
    assert_non_null(entry.data);
    return entry.fn;
}

/* A pseudo-random sequence that is the same everywhere. */
static uint32_t kernel_random_state = 1;
static inline int64_t kernel_random(int64_t below)
{
    kernel_random_state = kernel_random_state * 1664525u + 1013904223u;
    return (int64_t)((kernel_random_state >> 8) % (uint32_t)below);
}

static inline float *kernel_floats(int64_t n)
{
    float *x = aligned_alloc(64, (size_t)((n * 4 + 127) & ~63ll));

    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(kernel_random(1 << 20) - (1 << 19)) / (1 << 19);
    return x;
}

/* Runs all tiles, in pieces of random size. */
static inline uint32_t kernel_run(const kernel_build_t *build, rlx_kernel_id_t id, const rlx_operand_t *in, const rlx_operand_t *out,
    const void *params, int64_t tiles, int64_t scratch)
{
    rlx_kernel_fn_t *fn = kernel_find(build, id);
    uint32_t error = 0;
    void *memory = aligned_alloc(64, (size_t)((scratch + 127) & ~63ll));
    rlx_kernel_args_t args = {.in = in, .out = out, .param = params, .scratch = memory, .error = &error};

    memset(memory, 0xa5, (size_t)((scratch + 127) & ~63ll));
    for (int64_t at = 0, end; at < tiles; at = end) {
        end = at + 1 + kernel_random(tiles);
        fn(&args, at, end < tiles ? end : tiles);
        end = end < tiles ? end : tiles;
    }
    free(memory);
    return error;
}

#endif
