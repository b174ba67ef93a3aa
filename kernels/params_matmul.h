/* Parameter blocks of the matmul family. Strides count elements; a stride of 0 repeats an operand along an axis. */
#ifndef RLX_KERNELS_PARAMS_MATMUL_H
#define RLX_KERNELS_PARAMS_MATMUL_H

#include <stdint.h>

#include "kernels/params_elementwise.h"

#define RLX_MATMUL_BATCH 6
#define RLX_MATMUL_COLUMNS 256 /* of a tile of matmul_plain */

/* C[batch][m][n] = chain of fma over k ascending of A[batch][m][k] * B[batch][k][n], starting from bias[n], or +0 without one, in
 * segments of RLX_SEGMENT_K (kernels/segment.h).
 * Batch axes come first to last; unused ones have extent 1. */
typedef struct rlx_matmul_shape {
    int64_t m, n, k;
    int64_t batch[RLX_MATMUL_BATCH];
    int64_t a_batch[RLX_MATMUL_BATCH], b_batch[RLX_MATMUL_BATCH], c_batch[RLX_MATMUL_BATCH];
    int64_t a_row, a_col; /* of m, of k */
    int64_t b_row, b_col; /* of k, of n */
    int64_t c_row, c_col; /* of m, of n */
} rlx_matmul_shape_t;

/* matmul_plain: in A, B, bias?; out C. Any dtype. Tiles: batch x m x ceil(n / RLX_MATMUL_COLUMNS). */
typedef struct rlx_matmul_plain_params {
    rlx_matmul_shape_t shape;
    int64_t dtype;
} rlx_matmul_plain_params_t;

/* gemm: in A, B, bias?, then the epilogue's tensors; out C. f32. `packed`: B is constant in RLX_LAYOUT_GEMM_16N and has no batch; b_row
 * and b_col are unused. Tiles: batch x m_blocks x ceil(ceil(n / 16) / n_tile), columns fastest; rows are split evenly over m_blocks
 * blocks of at most RLX_GEMM_ROWS. Scratch: RLX_GEMM_SCRATCH. */
#define RLX_GEMM_ROWS 192
#define RLX_GEMM_K 768         /* k up to here is one chunk: whole segments (kernels/segment.h) */
#define RLX_GEMM_DEPTH 384     /* of a chunk where there are several */
#define RLX_GEMM_LDA (RLX_GEMM_K + 16)
#define RLX_GEMM_PANEL 4       /* 16-column blocks of a panel of B, at most */
#define RLX_GEMM_SCRATCH ((RLX_GEMM_ROWS * RLX_GEMM_LDA + RLX_GEMM_K * 16 * RLX_GEMM_PANEL) * 4)
typedef struct rlx_gemm_params {
    rlx_matmul_shape_t shape;
    int64_t packed;
    int64_t m_blocks, n_tile;
    rlx_epilogue_params_t epilogue; /* residuals have the shape and strides of C */
} rlx_gemm_params_t;

/* attention: in Q, K, V, then the steps' tensors; out C. f32. For every batch index and query row: scores over the keys as matmul_plain
 * (no bias), the steps on them in order, softmax over the keys, context as matmul_plain; bit for bit what those kernels do one after
 * another. A step is a unary operation with immediates a, b, or with operand >= 0 a binary one with that operand (reversed: the scores come
 * second). Tiles: batch x ceil(m / rows), rows evenly. Scratch: RLX_ATTENTION_SCRATCH floats. */
#define RLX_ATTENTION_BATCH 4
#define RLX_ATTENTION_STEPS 4
#define RLX_ATTENTION_ROWS 64 /* that share a visit to the packed keys and values */
#define RLX_ATTENTION_SCRATCH(n, depth, width) \
    (((n) + 15) / 16 * 16 * ((depth) + ((width) + 15) / 16 * 16 + RLX_ATTENTION_ROWS) + RLX_ATTENTION_ROWS * ((depth) + 32 + 16))
typedef struct rlx_attention_step_params {
    int64_t kind, operand, reversed, a, b;
    int64_t batch[RLX_ATTENTION_BATCH], row, col; /* strides of the operand */
} rlx_attention_step_params_t;

typedef struct rlx_attention_params {
    int64_t m, n, depth, width; /* queries, keys, size of a query, of a value */
    int64_t batch[RLX_ATTENTION_BATCH];
    int64_t q_batch[RLX_ATTENTION_BATCH], k_batch[RLX_ATTENTION_BATCH], v_batch[RLX_ATTENTION_BATCH], c_batch[RLX_ATTENTION_BATCH];
    int64_t q_row, q_col; /* of the query, of depth */
    int64_t k_row, k_col; /* of depth, of the key */
    int64_t v_row, v_col; /* of the key, of width */
    int64_t c_row, c_col; /* of the query, of width */
    int64_t rows;
    int64_t n_steps;
    rlx_attention_step_params_t step[RLX_ATTENTION_STEPS];
} rlx_attention_params_t;

/* einsum: in the operands; out C, row-major. Each output is a chain over the summed labels, the last fastest, from +0, in segments of
 * RLX_SEGMENT_K products: fma(p, x, acc) with x the last operand and p the product of the others, left to right (one operand: acc + x). Unused labels have extent 1. strides[o]
 * are operand o's, by output label and by summed label. Tiles: ceil(count / RLX_EINSUM_TILE). */
#define RLX_EINSUM_RANK 8
#define RLX_EINSUM_OPERANDS 16
#define RLX_EINSUM_TILE 64
typedef struct rlx_einsum_params {
    int64_t dtype, operands, count;
    int64_t out[RLX_EINSUM_RANK], sum[RLX_EINSUM_RANK];
    int64_t strides[RLX_EINSUM_OPERANDS][2 * RLX_EINSUM_RANK];
} rlx_einsum_params_t;

/* det: in X[batch][n][n], out [batch]; f32, f64, f16, bf16. LU with partial pivoting (largest magnitude, first row among equals); each
 * elimination is fma(-factor, pivot row, row); the pivots are multiplied in order, then the sign. Tiles: batch. Scratch: n * n * 8. */
typedef struct rlx_det_params {
    int64_t dtype, n;
} rlx_det_params_t;

#endif
