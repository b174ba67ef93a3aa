/* Parameter blocks of the gather family. Index operands are i32 or i64 (`index_bytes` 4 or 8); negative indices count from the end. */
#ifndef RLX_KERNELS_PARAMS_GATHER_H
#define RLX_KERNELS_PARAMS_GATHER_H

#include <stdint.h>

/* gather: x [outer, extent, inner], indices [count] -> [outer, count, inner]. in: x, indices. Tile: `grain` of the outer*count rows. */
typedef struct rlx_gather_params {
    int64_t outer, extent, inner_bytes, count, index_bytes, grain;
} rlx_gather_params_t;

/* gather_elements: out has the shape of indices, `dims`, right-aligned in 8; x_stride in elements, 0 at the gathered axis, whose extent and
 * stride stand apart. in: x, indices. Tile: `grain` elements. */
typedef struct rlx_gather_elements_params {
    int64_t dims[8], x_stride[8];
    int64_t extent, axis_stride, count, bytes, index_bytes, grain;
} rlx_gather_elements_params_t;

/* gather_nd: indices [batch, rows, depth]; each row picks `inner_bytes` from x's batch. dims and stride (bytes) of the indexed axes.
 * in: x, indices. Tile: `grain` of the batch*rows rows. */
typedef struct rlx_gather_nd_params {
    int64_t batch, rows, depth, inner_bytes, batch_bytes, index_bytes, grain;
    int64_t dims[8], stride[8];
} rlx_gather_nd_params_t;

enum { RLX_SCATTER_NONE, RLX_SCATTER_ADD, RLX_SCATTER_MUL, RLX_SCATTER_MAX, RLX_SCATTER_MIN };

/* scatter_elements: out = x, then in ascending order of indices out[...] op= updates[...]. in: x, indices, updates. One tile: duplicates
 * are applied in order. dims: shape of indices; out_stride in elements, 0 at the axis. */
typedef struct rlx_scatter_elements_params {
    int64_t dims[8], out_stride[8];
    int64_t extent, axis_stride, count, out_count, dtype, index_bytes, reduction;
} rlx_scatter_elements_params_t;

/* scatter_nd: out = x, then row by row out[index] op= updates[row], `inner` elements each. in: x, indices [rows, depth], updates. One tile.
 * stride in elements. */
typedef struct rlx_scatter_nd_params {
    int64_t rows, depth, inner, out_count, dtype, index_bytes, reduction;
    int64_t dims[8], stride[8];
} rlx_scatter_nd_params_t;

/* one_hot: indices (any number type) [outer, inner], values [2] -> [outer, depth, inner]. An index outside [-depth, depth) gives a row of
 * off values. in: indices, values. Tile: `grain` of the outer rows. */
typedef struct rlx_one_hot_params {
    int64_t outer, depth, inner, bytes, index_dtype, grain;
} rlx_one_hot_params_t;

/* tensor_scatter: out = past [batch, mid, seq, inner]; out[b, m, write[b] + u] = update[b, m, u]. in: past, update, write (i64, optional).
 * circular: positions modulo seq; else one outside is an index error. Tile: one batch. */
typedef struct rlx_tensor_scatter_params {
    int64_t batch, mid, seq, update_seq, inner_bytes, circular;
} rlx_tensor_scatter_params_t;

/* count_non_zero: out [1] i64, how many of x's `count` elements are not zero (NaN is not). in: x. One tile. */
typedef struct rlx_count_non_zero_params {
    int64_t count, dtype;
} rlx_count_non_zero_params_t;

/* non_zero: coordinates of the elements that are not zero, in row-major order: out [rank, found] i64. in: x, of extents `dims`, the first
 * `rank` of 8. Elements past `found` are left out, columns past the last one are zero. One tile. */
typedef struct rlx_non_zero_params {
    int64_t dims[8];
    int64_t rank, count, found, dtype;
} rlx_non_zero_params_t;

/* unique: x [outer, extent, inner] seen as `extent` slices; equal slices (by value; all NaN are equal) are one. out: first [extent] (by
 * unique slice: least index), inverse [extent] (by slice: which unique one), counts [extent], found [1], all i64; first and counts are zero
 * from found on. sorted: unique slices ascend, compared element by element; else they stand as they occur. in: x. scratch: 2 * extent words.
 * One tile. */
typedef struct rlx_unique_params {
    int64_t outer, extent, inner, dtype, sorted;
} rlx_unique_params_t;

/* non_max_suppression: boxes [batch, boxes, 4] f32, scores [batch, classes, boxes] f32, most (i64, one; absent: 0), iou (f32, one; absent:
 * 0), least score (f32, one; absent: none). out: selected [batch * classes, keep] i64, counts [batch * classes] i64. Boxes whose score is
 * above the least one are taken by falling score, ties by index; one that overlaps a taken box by more than iou is dropped. At most
 * min(most, keep) are taken. centre: boxes are x, y, width, height; else two corners y, x. scratch: `boxes` words. Tile: a batch and class. */
typedef struct rlx_non_max_suppression_params {
    int64_t batch, classes, boxes, keep, centre;
} rlx_non_max_suppression_params_t;

/* nms_rows: out [found, 3] i64: batch, class, box of every selected box, in order. in: selected, counts. One tile. */
typedef struct rlx_nms_rows_params {
    int64_t batch, classes, keep, found;
} rlx_nms_rows_params_t;

#endif
