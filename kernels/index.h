/* Reading indices from data: bounds-safe, negative ones count from the end. For the gather family. */
#ifndef RLX_KERNELS_INDEX_H
#define RLX_KERNELS_INDEX_H

#include "kernels/abi.h"

static inline int64_t rlx_index_load(const void *base, int64_t at, int64_t index_bytes)
{
    return index_bytes == 8 ? ((const int64_t *)base)[at] : ((const int32_t *)base)[at];
}

/* The index in [0, extent), or -1 with the error word set. */
static inline int64_t rlx_index_wrap(const rlx_kernel_args_t *args, int64_t index, int64_t extent)
{
    if (index < 0)
        index += extent;
    if (index >= 0 && index < extent)
        return index;
    rlx_kernel_error(args, RLX_KERR_INDEX);
    return -1;
}

static inline void rlx_copy_bytes(void *restrict to, const void *restrict from, int64_t bytes)
{
    if (bytes == 4)
        *(uint32_t *)to = *(const uint32_t *)from;
    else if (bytes == 8)
        *(uint64_t *)to = *(const uint64_t *)from;
    else
        __builtin_memcpy(to, from, (size_t)bytes);
}

/* Walks a multi-index in row-major order: `at` is advanced by one. */
static inline void rlx_index_next(int64_t *at, const int64_t *dims, int rank)
{
    for (int d = rank - 1; d >= 0; --d) {
        if (++at[d] < dims[d])
            return;
        at[d] = 0;
    }
}

static inline void rlx_index_unravel(int64_t flat, const int64_t *dims, int rank, int64_t *out_at)
{
    for (int d = rank - 1; d >= 0; --d) {
        out_at[d] = flat % dims[d];
        flat /= dims[d];
    }
}

static inline int64_t rlx_index_dot(const int64_t *at, const int64_t *stride, int rank)
{
    int64_t offset = 0;

    for (int d = 0; d < rank; ++d)
        offset += at[d] * stride[d];
    return offset;
}

#endif
