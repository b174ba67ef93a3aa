/* Packing of run-time operands into a worker's scratch. Pure functions; bits move, nothing is computed.
 *
 * A: rows of at most RLX_GEMM_K floats, RLX_GEMM_LDA apart (an odd number of cache lines, so rows of a tile never share a cache set).
 * B: blocks of 16 columns as [k][16]; lanes past the last column are zero. */
#ifndef RLX_KERNELS_GEMM_PACK_H
#define RLX_KERNELS_GEMM_PACK_H

#include <stdbool.h>
#include <string.h>

#include "kernels/gemm_tile.h"
#include "kernels/params_matmul.h"

typedef float gemm_v8 __attribute__((vector_size(32), aligned(4), may_alias));

/* dst[c][r] = src[r][c] for 8 x 8 floats. */
GEMM_INLINE void gemm_transpose8(const float *src, int64_t src_stride, float *dst, int64_t dst_stride)
{
    gemm_v8 r[8], t[8];

    for (int i = 0; i < 8; i++)
        r[i] = *(const gemm_v8 *)(src + i * src_stride);
    for (int i = 0; i < 8; i += 2) {
        t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; j++) {
            r[i + j] = __builtin_shufflevector(t[i + j], t[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            r[i + j + 2] = __builtin_shufflevector(t[i + j], t[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int j = 0; j < 4; j++) {
        *(gemm_v8 *)(dst + j * dst_stride) = __builtin_shufflevector(r[j], r[j + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(gemm_v8 *)(dst + (j + 4) * dst_stride) = __builtin_shufflevector(r[j], r[j + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* dst[c * dst_stride + r] = src[r * src_stride + c] for any extents. */
static inline void gemm_transpose(const float *src, int64_t src_stride, int64_t rows, int64_t cols, float *dst, int64_t dst_stride)
{
    int64_t rows8 = rows & ~7, cols8 = cols & ~7;

    for (int64_t r = 0; r < rows8; r += 8)
        for (int64_t c = 0; c < cols8; c += 8)
            gemm_transpose8(src + r * src_stride + c, src_stride, dst + c * dst_stride + r, dst_stride);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = r < rows8 ? cols8 : 0; c < cols; c++)
            dst[c * dst_stride + r] = src[r * src_stride + c];
}

#define GEMM_PACK_AHEAD 4 /* rows: they begin too far apart for the hardware to foresee, and come from the last cache */

static inline void gemm_pack_a(float *dst, const float *a, int64_t rows, int64_t k, int64_t a_row, int64_t a_col)
{
    if (a_row == 1 && a_col != 1) {
        gemm_transpose(a, a_col, k, rows, dst, RLX_GEMM_LDA);
        return;
    }
    for (int64_t r = 0; r < rows; r++)
        if (a_col == 1) {
            for (int64_t i = 0; i < k && r + GEMM_PACK_AHEAD < rows; i += 16)
                __builtin_prefetch(a + (r + GEMM_PACK_AHEAD) * a_row + i, 0, 3);
            memcpy(dst + r * RLX_GEMM_LDA, a + r * a_row, (size_t)k * sizeof *dst);
        } else
            for (int64_t i = 0; i < k; i++)
                dst[r * RLX_GEMM_LDA + i] = a[r * a_row + i * a_col];
}

/* One block of `cols` <= 16 columns. */
static inline void gemm_pack_b(float *dst, const float *b, int64_t k, int64_t cols, int64_t b_row, int64_t b_col)
{
    if (cols < 16)
        memset(dst, 0, (size_t)k * 16 * sizeof *dst);
    if (b_row == 1 && b_col != 1) {
        gemm_transpose(b, b_col, cols, k, dst, 16);
        return;
    }
    for (int64_t i = 0; i < k; i++)
        if (b_col == 1 && cols == 16)
            *(gemm_v16 *)(dst + i * 16) = *(const gemm_v16 *)(b + i * b_row);
        else
            for (int64_t j = 0; j < cols; j++)
                dst[i * 16 + j] = b[i * b_row + j * b_col];
}

#endif
