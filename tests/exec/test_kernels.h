/* Tiny kernels for tests of the executor, under numbers that no real kernel has. Each reads as its definition. */
#ifndef RLX_TESTS_EXEC_TEST_KERNELS_H
#define RLX_TESTS_EXEC_TEST_KERNELS_H

#include "exec/executor.h"

enum {
    TK_ADD = 240,      /* out[i] = a[i] + b[i], i = a tile; f32 */
    TK_SCALE = 241,    /* out[i] = in[i] * param[0]; f32 */
    TK_COUNT = 242,    /* out[i] += 1: shows that every tile ran once; i32 */
    TK_BAD = 243,      /* sets the error word at tile param[0] */
    TK_SCRATCH = 244,  /* fills its scratch, waits, checks it is still its own; out[i] = 1 if so; i32 */
    TK_LENGTH = 245,   /* out[0] = number of non-zero elements of the input (param[0] elements); i64 */
    TK_IOTA = 246,     /* out[i] = i; i32 */
    TK_DENORMAL = 247, /* out[i] = in[i] * 0.5f: shows whether denormals are kept; f32 */
    TK_ROW_ADD = 248,  /* tile = a row of param[0] f32: out = in + 1, through rlx_operand_row */
    TK_ADD_EACH = 249, /* out[i] = a[i] + b[i % param[0]]; i32 */
};

void tk_table(rlx_kernel_table_t *out_table);

#endif
