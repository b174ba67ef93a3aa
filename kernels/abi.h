/* The contract between kernels and the executor. Versioned: a bundle names the ABI its code image was built for.
 *
 * A kernel is a pure function of its argument block: it reads operands, writes operands, returns nothing, keeps no state, calls nothing
 * outside the code image, allocates nothing and never traps. It is called with a range of tiles; any split of [0, tiles) over any number
 * of threads, in any order, gives the same bits. What depends on data (indices, divisors) is bounds-safe in the kernel, which then sets
 * the sticky error word; the executor reads it between steps and fails that request alone.
 *
 * Kernel files include this header, kernels/params.h and kernels/math.h, nothing else: they are freestanding C17, built by clang for
 * x86-64-v3 and x86-64-v4 into one code image each, and by the host compiler into the reference evaluator. Both give the same bits:
 * -ffp-contract=off, explicit fma, no libm. */
#ifndef RLX_KERNELS_ABI_H
#define RLX_KERNELS_ABI_H

#include <stddef.h>
#include <stdint.h>

#define RLX_KERNEL_ABI 1
#define RLX_OPERAND_MAX 24
#define RLX_PARAM_MAX 512

/* One operand. `base` is 64-byte aligned for constants and arena values; element-aligned for graph inputs and outputs,
 * and for rows.
 * When `rows` is not NULL the outermost dimension is an array of row pointers (requests batched without a copy) and `base` is NULL. Only
 * the first input and the first output of kernels listed with RLX_KERNEL_ROWS ever are; other kernels are called once per row, with the
 * parameters of a batch of one, or get a contiguous copy (exec/by_row.h). */
typedef struct rlx_operand {
    void *base;
    void *const *rows;
    int64_t row_bytes; /* bytes of one index of the outermost dimension */
} rlx_operand_t;

static inline void *rlx_operand_row(const rlx_operand_t *operand, int64_t row)
{
    return operand->rows ? operand->rows[row] : (char *)operand->base + row * operand->row_bytes;
}

typedef struct rlx_kernel_args {
    const rlx_operand_t *in;  /* inputs, in the order of the kernel's params struct documentation; an absent optional has base NULL */
    const rlx_operand_t *out; /* outputs */
    const int64_t *param;     /* the kernel's params struct (kernels/params.h): int64 fields only */
    void *scratch;            /* this worker's own, 64-byte aligned, `scratch_bytes` of the step; contents unspecified at entry */
    uint32_t *error;          /* sticky bits, set with rlx_kernel_error */
} rlx_kernel_args_t;

typedef void rlx_kernel_fn_t(const rlx_kernel_args_t *args, int64_t tile_begin, int64_t tile_end);

/* Bits of the error word. */
enum {
    RLX_KERR_INDEX = 1u << 0,   /* an index outside its axis */
    RLX_KERR_DIVIDE = 1u << 1,  /* integer division by zero */
    RLX_KERR_VALUE = 1u << 2,   /* another value outside its domain */
    RLX_KERR_STEP = 1u << 3,    /* user code: a step larger than its max_step_size (kernels/params_custom.h) */
};

static inline void rlx_kernel_error(const rlx_kernel_args_t *args, uint32_t bits) { __atomic_fetch_or(args->error, bits, __ATOMIC_RELAXED); }

/* Flags in kernels/kernel_list.h. */
enum {
    RLX_KERNEL_ROWS = 1u << 0,  /* accepts row pointers for its first input and its first output */
    RLX_KERNEL_JOINT = 1u << 1, /* reads its weights once for many rows: a copy of the rows costs less than a call for each */
};

/* Kernels: RLX_KERNEL(id, number, flags). Symbol rlx_kernel_<id>; params struct rlx_<id>_params_t. Numbers stand in bundles: never reused.
 * From RLX_CUSTOM_FIRST (kernels/params_custom.h) on they are a bundle's own: user code. */
typedef enum rlx_kernel_id {
    RLX_K_NONE = 0,
#define RLX_KERNEL(id, number, flags) RLX_K_##id = number,
#include "kernels/kernel_list.h"
#undef RLX_KERNEL
    RLX_K_END = 256,
} rlx_kernel_id_t;

/* Marks an entry point: visible in the image, found by name. */
#define RLX_KERNEL_ENTRY(id)                                                                               \
    __attribute__((visibility("default"), used)) void rlx_kernel_##id(const rlx_kernel_args_t *args, int64_t tile_begin, int64_t tile_end)

/* Float parameters travel as their bits in an int64. */
static inline float rlx_param_f32(int64_t bits)
{
    union { uint32_t u; float f; } v = {.u = (uint32_t)bits};
    return v.f;
}
static inline double rlx_param_f64(int64_t bits)
{
    union { int64_t i; double d; } v = {.i = bits};
    return v.d;
}

#endif
