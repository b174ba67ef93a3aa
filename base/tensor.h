/* What a tensor is: element type, logical shape, physical layout. Plain values, no ownership. */
#ifndef RLX_BASE_TENSOR_H
#define RLX_BASE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RLX_RANK_MAX 8

/* Stored in files: numbers are fixed. RLX_DTYPE(name, number, bytes, text, numpy descr) */
#define RLX_DTYPES(X)                 \
    X(F32, 1, 4, "f32", "<f4")        \
    X(F64, 2, 8, "f64", "<f8")        \
    X(F16, 3, 2, "f16", "<f2")        \
    X(BF16, 4, 2, "bf16", "<V2")      \
    X(I8, 5, 1, "i8", "|i1")          \
    X(I16, 6, 2, "i16", "<i2")        \
    X(I32, 7, 4, "i32", "<i4")        \
    X(I64, 8, 8, "i64", "<i8")        \
    X(U8, 9, 1, "u8", "|u1")          \
    X(U16, 10, 2, "u16", "<u2")       \
    X(U32, 11, 4, "u32", "<u4")       \
    X(U64, 12, 8, "u64", "<u8")       \
    X(BOOL, 13, 1, "bool", "|b1")

typedef enum rlx_dtype {
    RLX_DTYPE_NONE = 0,
#define X(name, number, bytes, text, descr) RLX_##name = number,
    RLX_DTYPES(X)
#undef X
    RLX_DTYPE_COUNT = 14,
} rlx_dtype_t;

/* Physical order. Shapes are always logical and row-major (N,C,H,W; O,I,H,W). Stored in files: numbers are fixed. */
typedef enum rlx_layout {
    RLX_LAYOUT_ROW_MAJOR = 0,
    RLX_LAYOUT_C16 = 1,        /* [N][ceil(C/16)][spatial...][16]; lanes past C hold unspecified values */
    RLX_LAYOUT_CONV_16I16O = 2, /* weights [G][ceil(O/16)][ceil(I/16)][kernel...][16 i][16 o]; lanes past O are zero;
                                * the last block holds I mod 16 rows */
    RLX_LAYOUT_GEMM_16N = 3,   /* B of a matmul: [ceil(N/16)][K][16]; lanes past N are zero */
    RLX_LAYOUT_DW16 = 4,       /* depthwise weights [ceil(C/16)][kernel...][16] */
    RLX_LAYOUT_CONV_16O = 5,   /* first-layer weights [ceil(O/16)][kernel...][I][16 o]; lanes past O are zero */
    RLX_LAYOUT_CONV_GROUP = 6, /* weights [G][output blocks the group touches][ceil(I/16)][kernel...][16 i][16 o], output blocks counted over
                                * all groups; lanes of other groups are zero; the last block holds I mod 16 rows */
    RLX_LAYOUT_WINOGRAD = 7,   /* transformed filters [ceil(O/32)][sum][blocks of the group: 2, or 1 in the last of an odd count][ceil(I/16)]
                                * [cell of the sum: one, with stride 2 one, two or four][16 i][16 o]; lanes past O are zero; the last block
                                * holds I mod 16 rows */
    RLX_LAYOUT_CHANNELS_LAST = 8, /* [N][spatial...][C]: NHWC and its like */
    RLX_LAYOUT_ROWS_APART = 9, /* row-major, but rows (the last axis) begin RLX_ROWS_APART elements further apart than they are long; what
                                * lies between is unspecified. Never of inputs, outputs and constants */
} rlx_layout_t;

#define RLX_ROWS_APART 16

/* 0 for a value outside the list. */
size_t rlx_dtype_size(rlx_dtype_t dtype);
const char *rlx_dtype_name(rlx_dtype_t dtype);
/* RLX_DTYPE_NONE when unknown. */
rlx_dtype_t rlx_dtype_parse(const char *text);
const char *rlx_layout_name(rlx_layout_t layout);

/* *out = a*b or a+b; false on overflow or when a factor is negative. */
static inline bool rlx_size_mul(int64_t a, int64_t b, int64_t *out) { return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out); }
static inline bool rlx_size_add(int64_t a, int64_t b, int64_t *out) { return a >= 0 && b >= 0 && !__builtin_add_overflow(a, b, out); }

/* A borrowed view of a row-major tensor in memory. `data` is aligned to its element. */
typedef struct rlx_tensor {
    rlx_dtype_t dtype;
    int rank;
    int64_t dims[RLX_RANK_MAX];
    void *data;
} rlx_tensor_t;

/* Number of elements; false when it overflows or an extent is negative. */
bool rlx_dims_count(const int64_t *dims, int rank, int64_t *out_count);

#endif
