/* Parameter blocks of the reduce family. Extents in elements; strides in elements of the operand named. */
#ifndef RLX_KERNELS_PARAMS_REDUCE_H
#define RLX_KERNELS_PARAMS_REDUCE_H

#include <stdint.h>

/* What a reduction computes; the order is lanes16 (ir/op_list.h). */
enum {
    RLX_REDUCE_SUM, RLX_REDUCE_MEAN, RLX_REDUCE_MAX, RLX_REDUCE_MIN, RLX_REDUCE_PROD, RLX_REDUCE_L1, RLX_REDUCE_L2,
    RLX_REDUCE_LOG_SUM, RLX_REDUCE_LOG_SUM_EXP, RLX_REDUCE_SUM_SQUARE,
};

/* in: x. out: y, the kept extents in row-major order. A dimension is kept (reduced extent 1) or reduced (kept extent 1).
 * Tile: `per_tile` outputs. */
typedef struct rlx_reduce_params {
    int64_t dtype, op;
    int64_t outputs;    /* product of kept */
    int64_t count;      /* product of reduced */
    int64_t per_tile;
    int64_t kept[8], reduced[8], stride[8];
} rlx_reduce_params_t;

/* in: x f32 [outer, count, inner]. out: y [outer, inner]. A unit is one row (inner == 1) or up to 64 neighbouring columns.
 * Tile: `per_tile` units. */
typedef struct rlx_reduce_f32_params {
    int64_t op, outer, count, inner, per_tile;
} rlx_reduce_f32_params_t;

/* in: x f32 in C16 layout [N, blocks, outer, count, inner, 16]. out: y [N, channels, outer, inner], C16 or row-major. Tile: one block of
 * one N. */
typedef struct rlx_reduce_c16_params {
    int64_t op, channels, blocks, outer, count, inner, out_c16;
} rlx_reduce_c16_params_t;

/* in: x [outer, count, inner]. out: y i64 [outer, inner]. NaN is the extreme value. Tile: `per_tile` outputs. */
typedef struct rlx_arg_reduce_params {
    int64_t dtype, outer, count, inner, is_min, last, per_tile;
} rlx_arg_reduce_params_t;

/* in: x [outer, count, inner]. out: values? and indices? (i64) [outer, k, inner]. Sorted, NaN greatest, ties by lower index.
 * Tile: one line. Scratch: 16 bytes times k. */
typedef struct rlx_top_k_params {
    int64_t dtype, outer, count, inner, k, largest;
} rlx_top_k_params_t;

/* in: x [outer, count, inner]. out: y, same. Running sum or product along the middle axis, serial.
 * Tile: up to 64 neighbouring columns of one outer index: blocks of ceil(inner / 64). */
typedef struct rlx_cumulate_params {
    int64_t dtype, outer, count, inner, is_product, exclusive, reverse;
} rlx_cumulate_params_t;

enum { RLX_SOFTMAX, RLX_SOFTMAX_LOG, RLX_SOFTMAX_HARD };

/* in: x [outer, count, inner]. out: y, same. Tile: one line (index = outer * inner + inner index). */
typedef struct rlx_softmax_params {
    int64_t dtype, kind, outer, count, inner;
} rlx_softmax_params_t;

/* The f32 form: soft and log only. Tile: one row when inner == 1, else up to 64 neighbouring columns of one outer index. */
typedef struct rlx_softmax_f32_params {
    int64_t kind, outer, count, inner;
} rlx_softmax_f32_params_t;

#endif
