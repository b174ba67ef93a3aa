/* Parameter blocks of the move family: elements go from one place to another unchanged, by size (`bytes` 1, 2, 4 or 8). */
#ifndef RLX_KERNELS_PARAMS_MOVE_H
#define RLX_KERNELS_PARAMS_MOVE_H

#include <stdint.h>

/* copy: `size` contiguous bytes. Tile: `grain` bytes. */
typedef struct rlx_copy_params {
    int64_t size, grain;
} rlx_copy_params_t;

/* strided_copy: out[out_offset + i.out_stride] = in[in_offset + i.in_stride] for every i in dims, right-aligned in 8. Strides and offsets in
 * bytes; input strides may be zero or negative. Serves transpose, expand, slice, concat, split, depth_to_space. A row is one index of
 * dims[0..6]. Tile: `grain` rows times `chunk` elements of dims[7]; the chunks of a row follow each other. Axis 6 is the one contiguous in
 * the input where axis 7 is not (a transpose). Row pointers (RLX_KERNEL_ROWS) are by index of axis 0. */
typedef struct rlx_strided_copy_params {
    int64_t dims[8], in_stride[8], out_stride[8];
    int64_t in_offset, out_offset, bytes, grain, chunk;
} rlx_strided_copy_params_t;

enum { RLX_PAD_CONSTANT, RLX_PAD_REFLECT, RLX_PAD_EDGE, RLX_PAD_WRAP };

/* pad: out [dims] from x [in_dims], both right-aligned in 8 and row-major; begin may be negative (crops). Outside x: the value operand
 * (zero when absent), or x continued by the mode. Tile with repeats is pad by wrapping. in: x, value. Tile: `grain` rows. */
typedef struct rlx_pad_params {
    int64_t dims[8], in_dims[8], begin[8];
    int64_t mode, bytes, grain;
} rlx_pad_params_t;

/* reverse_sequence: x [batch, time, inner] by strides in bytes; lens i64 [batch]. in: x, lens. Tile: one batch. */
typedef struct rlx_reverse_sequence_params {
    int64_t batch, time, inner_bytes;
    int64_t batch_stride, time_stride;
} rlx_reverse_sequence_params_t;

/* trilu: [batch, rows, columns]; keeps columns - rows >= k (upper) or <= k (lower), zeroes the rest. Tile: one batch. */
typedef struct rlx_trilu_params {
    int64_t batch, rows, columns, k, upper, bytes;
} rlx_trilu_params_t;

/* to_c16: f32 [n, channels, spatial] to [n, blocks, spatial, 16]; lanes past `channels` are zero. from_c16: back. Tile: one (n, block). */
typedef struct rlx_to_c16_params {
    int64_t n, channels, spatial;
} rlx_to_c16_params_t;
typedef rlx_to_c16_params_t rlx_from_c16_params_t;

/* channels_c16: channels [from, from + count) of a C16 tensor to channels [to, to + count) of another; `spatial` cells a channel.
 * Tile: one (n, destination block). */
typedef struct rlx_channels_c16_params {
    int64_t n, spatial, in_channels, out_channels, from, to, count;
} rlx_channels_c16_params_t;

#endif
