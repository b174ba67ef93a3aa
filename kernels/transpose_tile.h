/* Transposes 8 x 8 tiles of 4-byte elements in registers. Strides in bytes. */
#ifndef RLX_KERNELS_TRANSPOSE_TILE_H
#define RLX_KERNELS_TRANSPOSE_TILE_H

#include <stdint.h>

typedef uint32_t rlx_u32x8_t __attribute__((vector_size(32)));

static inline rlx_u32x8_t rlx_u32x8_load(const void *from)
{
    rlx_u32x8_t v;
    __builtin_memcpy(&v, from, 32);
    return v;
}

static inline void rlx_u32x8_store(void *to, rlx_u32x8_t v) { __builtin_memcpy(to, &v, 32); }

/* Row i of `to` is column i of `from`. */
static inline void rlx_transpose_8x8(char *to, int64_t to_stride, const char *from, int64_t from_stride)
{
    rlx_u32x8_t r[8], t[8];

    for (int i = 0; i < 4; i++) { /* pair rows i and i + 4 by halves, so that the last shuffles stay inside 16-byte lanes */
        rlx_u32x8_t a = rlx_u32x8_load(from + i * from_stride), b = rlx_u32x8_load(from + (i + 4) * from_stride);

        r[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int h = 0; h < 8; h += 4) {
        t[h] = __builtin_shufflevector(r[h], r[h + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        t[h + 1] = __builtin_shufflevector(r[h], r[h + 1], 2, 10, 3, 11, 6, 14, 7, 15);
        t[h + 2] = __builtin_shufflevector(r[h + 2], r[h + 3], 0, 8, 1, 9, 4, 12, 5, 13);
        t[h + 3] = __builtin_shufflevector(r[h + 2], r[h + 3], 2, 10, 3, 11, 6, 14, 7, 15);
        rlx_u32x8_store(to + h * to_stride, __builtin_shufflevector(t[h], t[h + 2], 0, 1, 8, 9, 4, 5, 12, 13));
        rlx_u32x8_store(to + (h + 1) * to_stride, __builtin_shufflevector(t[h], t[h + 2], 2, 3, 10, 11, 6, 7, 14, 15));
        rlx_u32x8_store(to + (h + 2) * to_stride, __builtin_shufflevector(t[h + 1], t[h + 3], 0, 1, 8, 9, 4, 5, 12, 13));
        rlx_u32x8_store(to + (h + 3) * to_stride, __builtin_shufflevector(t[h + 1], t[h + 3], 2, 3, 10, 11, 6, 7, 14, 15));
    }
}

#endif
