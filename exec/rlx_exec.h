/* librlx_exec: run compiled models inside your own C or C++ program. No network, no daemon, no compiler. docs/EMBEDDING.md is the tour.
 *
 *     rlx_exec_t *exec;
 *     rlx_exec_error_t error;
 *     if (rlx_exec_open("model.rlxb", 4, &exec, &error) != 0) { fprintf(stderr, "%s\n", error.text); ... }
 *     rlx_exec_tensor_t in = {RLX_EXEC_F32, 4, {1, 3, 224, 224}, pixels}, out = {0};
 *     if (rlx_exec_run(exec, &in, &out, &error) == 0) use(out.data);
 *     rlx_exec_free(&out);
 *     rlx_exec_close(exec);
 *
 * This header stands alone and only grows. Threads: an rlx_exec_t may be used from any thread; runs on one rlx_exec_t take turns. The bits
 * of an answer depend on the model and the inputs only, not on threads, CPU or earlier runs. Functions return 0, or a status above 0 and
 * fill `error` (which may be NULL). Nothing here prints, exits, or touches signals. */
#ifndef RLX_EXEC_RLX_EXEC_H
#define RLX_EXEC_RLX_EXEC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RLX_EXEC_RANK_MAX 8
#define RLX_EXEC_API __attribute__((visibility("default")))

typedef struct rlx_exec rlx_exec_t;

typedef enum rlx_exec_type {
    RLX_EXEC_F32 = 1,
    RLX_EXEC_F64 = 2,
    RLX_EXEC_F16 = 3,
    RLX_EXEC_BF16 = 4,
    RLX_EXEC_I8 = 5,
    RLX_EXEC_I16 = 6,
    RLX_EXEC_I32 = 7,
    RLX_EXEC_I64 = 8,
    RLX_EXEC_U8 = 9,
    RLX_EXEC_U16 = 10,
    RLX_EXEC_U32 = 11,
    RLX_EXEC_U64 = 12,
    RLX_EXEC_BOOL = 13
} rlx_exec_type_t;

/* A dense row-major tensor. As an input, `data` is read in place. As an output, `data == NULL` lets the run allocate (free with
 * rlx_exec_free) and fill in type and shape; otherwise type and shape must be those the model gives, and `data` is written in place. */
typedef struct rlx_exec_tensor {
    int32_t type; /* rlx_exec_type_t */
    int32_t rank;
    int64_t dims[RLX_EXEC_RANK_MAX];
    void *data;
} rlx_exec_tensor_t;

typedef struct rlx_exec_error {
    int32_t code;    /* RLX-1402 gives 1402; docs/ERRORS.md lists them */
    char text[1408]; /* what, where and what to do, in one line */
} rlx_exec_error_t;

/* Opens and verifies a bundle. `threads` >= 1 counts the caller; 0 takes one per CPU this process may use. */
RLX_EXEC_API int rlx_exec_open(const char *path, int threads, rlx_exec_t **out_exec, rlx_exec_error_t *error);
/* No run may be under way. NULL is allowed. */
RLX_EXEC_API void rlx_exec_close(rlx_exec_t *exec);

RLX_EXEC_API int rlx_exec_input_count(const rlx_exec_t *exec);
RLX_EXEC_API int rlx_exec_output_count(const rlx_exec_t *exec);
/* Name, type and shape of input or output `index`, in the model's order. An open dimension is -1. `data` is NULL. Names live until close.
 */
RLX_EXEC_API const char *rlx_exec_input(const rlx_exec_t *exec, int index, rlx_exec_tensor_t *out_shape);
RLX_EXEC_API const char *rlx_exec_output(const rlx_exec_t *exec, int index, rlx_exec_tensor_t *out_shape);
/* The ISA whose code runs: "x86-64-v4". */
RLX_EXEC_API const char *rlx_exec_target(const rlx_exec_t *exec);

/* Runs the model: one tensor per input, one per output. On failure outputs that this run allocated are freed and NULL again. */
RLX_EXEC_API int rlx_exec_run(rlx_exec_t *exec, const rlx_exec_tensor_t *inputs, rlx_exec_tensor_t *outputs, rlx_exec_error_t *error);
/* Frees memory that a run allocated for an output and sets `data` to NULL. */
RLX_EXEC_API void rlx_exec_free(rlx_exec_tensor_t *output);

#ifdef __cplusplus
}
#endif

#endif
