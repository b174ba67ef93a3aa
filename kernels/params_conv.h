/* Parameter blocks of the conv family. Every kernel works on three spatial axes (depth, height, width); operators of lower rank have
 * leading axes of extent, kernel, stride and dilation 1 and no padding. `pad` is the padding before the first cell. */
#ifndef RLX_KERNELS_PARAMS_CONV_H
#define RLX_KERNELS_PARAMS_CONV_H

#include <stdint.h>

#include "kernels/params_elementwise.h"

/* A window that moves over the spatial axes. */
typedef struct rlx_conv_window {
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
} rlx_conv_window_t;

/* conv_plain, conv_transpose_plain. In: x, w, bias or absent, the epilogue's tensors. Out: y. Row-major. channels and outputs
 * count all groups.
 * dtype F32, F64, F16, BF16. Tiles: batch * outputs * out depth * out height (one row of the output).
 * Scratch: 16 bytes per output column. */
typedef struct rlx_conv_plain_params {
    int64_t dtype, batch, group, channels, outputs;
    rlx_conv_window_t window;
    rlx_epilogue_params_t epilogue; /* f32 only */
} rlx_conv_plain_params_t;
typedef rlx_conv_plain_params_t rlx_conv_transpose_plain_params_t;

/* max_pool, avg_pool, lp_pool. In: x. Out: y, and for max_pool the i64 indices or absent. Row-major. planes: batch * channels.
 * max_pool: dtype F32, F64, F16, BF16, I8, U8; avg_pool and lp_pool: F32, F64, F16, BF16. Tiles: planes. */
typedef struct rlx_pool_params {
    int64_t dtype, planes;
    rlx_conv_window_t window;
    int64_t storage_order;     /* max_pool: 1 counts indices column-major */
    int64_t count_include_pad; /* avg_pool */
    int64_t p;                 /* lp_pool */
} rlx_pool_params_t;
typedef rlx_pool_params_t rlx_max_pool_params_t;
typedef rlx_pool_params_t rlx_avg_pool_params_t;
typedef rlx_pool_params_t rlx_lp_pool_params_t;

/* max_unpool. In: x, i64 indices. Out: y. An index counts cells of the whole tensor of extents [planes, pooled...], which is then placed
 * at the origin of the output [planes, out...]; indices outside are errors. Tiles: 1 (later duplicates win, so the order is serial). */
typedef struct rlx_max_unpool_params {
    int64_t element_bytes, count; /* of x */
    int64_t planes;
    int64_t pooled[3], out[3];
} rlx_max_unpool_params_t;

/* deform_conv. In: x, w, offset, bias or absent, mask or absent. Out: y. Two spatial axes (depth is 1). dtype F32, F64, F16.
 * Tiles: batch * outputs * out height. */
typedef struct rlx_deform_conv_params {
    int64_t dtype, batch, group, channels, outputs, offset_group;
    rlx_conv_window_t window;
} rlx_deform_conv_params_t;

/* col2im. In: x [batch, channels * kernel cells, blocks]. Out: y [batch, channels, image...]. window.in is the image, window.out the
 * grid of blocks. dtype F32, F64, F16, BF16. Tiles: batch * channels. */
typedef struct rlx_col2im_params {
    int64_t dtype, batch, channels;
    rlx_conv_window_t window;
} rlx_col2im_params_t;

/* conv_c16, conv_first_c16, conv_transpose_c16. f32, depth 1. In: x, packed w, padded bias [16 * output blocks] or absent, the
 * epilogue's tensors. Out: y in RLX_LAYOUT_C16. x is RLX_LAYOUT_C16 (first: row-major).
 * Weights: RLX_LAYOUT_CONV_16I16O (first: RLX_LAYOUT_CONV_16O).
 * Tiles: batch * group * row blocks * output-block ranges, the last fastest. */
typedef struct rlx_conv_c16_params {
    int64_t batch, group, channels, outputs;
    rlx_conv_window_t window;
    int64_t rows;   /* output rows in a row block */
    int64_t blocks; /* output-channel blocks in a range */
    int64_t gathered; /* conv_c16: x is what conv_gather_c16 made, not the activations */
    rlx_epilogue_params_t epilogue;
} rlx_conv_c16_params_t;
typedef rlx_conv_c16_params_t rlx_conv_first_c16_params_t;
typedef rlx_conv_c16_params_t rlx_conv_transpose_c16_params_t;

/* conv_group_c16. f32, depth 1, groups of any number of channels. In: x (C16), w (RLX_LAYOUT_CONV_GROUP), padded bias or absent, index or
 * absent, the epilogue's tensors. Out: y (C16). index: i64 [channels], the channel of x that is the convolution's input channel i.
 * Tiles: batch * row blocks. Scratch: 8 bytes per channel and kernel cell (a multiple of 64 in all), then as conv_c16. */
typedef struct rlx_conv_group_c16_params {
    int64_t batch, group, channels, outputs;
    rlx_conv_window_t window;
    int64_t rows;
    rlx_epilogue_params_t epilogue;
} rlx_conv_group_c16_params_t;

/* conv_width. f32, depth 1. In: x, w [group][block of outputs][k][block] with k in the order of the chain, the last block padded; bias or
 * absent, the epilogue's tensors. Out: y. Row-major; x with `channels_last` [batch][height][width][channels].
 * A work tile is a piece of an image's rows times a range of a group's outputs, cut into gathered tiles of rows x columns.
 * Tiles: batch * group * pieces * ranges, the ranges fastest (`outputs_outside`: the pieces). Scratch: 8 bytes per k (a multiple of 64 in all),
 * `across` floats, the planes of a gathered tile (kernels/conv_planar.h), 64 bytes that are read and mean nothing.
 * across: 4 * (rows * pitch rounded up to 16), pitch the columns of a plane. */
typedef struct rlx_conv_width_params {
    int64_t batch, group, channels, outputs; /* all groups */
    rlx_conv_window_t window;
    int64_t channels_last;
    int64_t piece;                         /* output rows of a work tile, whole tiles but for the last */
    int64_t rows, columns;                 /* of a gathered tile */
    int64_t range, block;                  /* outputs of a work tile and of a weight block; a range is whole blocks */
    int64_t outputs_outside;
    int64_t unroll_width, unroll_outputs;  /* vectors and outputs of a register tile; 0: what fits the registers */
    int64_t across;
    rlx_epilogue_params_t epilogue;
} rlx_conv_width_params_t;

/* conv_gather_c16. f32, depth 1. In: x (C16). Out: the input of each image and group gathered for all output rows (kernels/conv_gather.h).
 * Tiles: batch * group * input blocks of the group * row_tiles, where row_tiles is the gathered rows of one block. */
typedef struct rlx_conv_gather_c16_params {
    int64_t batch, group, channels;
    rlx_conv_window_t window;
    int64_t row_tiles;
} rlx_conv_gather_c16_params_t;

/* conv_winograd_plain. 3x3, stride 1 or (m 2 only) 2 along both axes, dilation 1, group 1, depth 1, f32. In: x, filters
 * [outputs][channels][side^2] transformed offline, bias or absent, the epilogue's tensors. Out: y. Row-major. m: 2 or 4; side: winograd_side
 * (kernels/winograd.h). Tiles: batch * patches of an image. Scratch: 4 * channels * side^2 bytes. */
typedef struct rlx_conv_winograd_plain_params {
    int64_t m, batch, channels, outputs;
    rlx_conv_window_t window;
    rlx_epilogue_params_t epilogue;
} rlx_conv_winograd_plain_params_t;

/* conv_winograd_c16: the same, blocked. In: x (C16), filters (RLX_LAYOUT_WINOGRAD), padded bias or absent, the epilogue's tensors. Out: y (C16).
 * The patches of all images are cut into blocks of `patches`.
 * Tiles: blocks of patches * ranges of `blocks` output-channel blocks (a multiple of WINOGRAD_GROUP, or all), the last fastest.
 * Scratch: a block's transformed input (rlx_winograd_input), unless `transformed`; then winograd_sums^2 * WINOGRAD_GROUP * (patches | 1) lines. */
typedef struct rlx_conv_winograd_c16_params {
    int64_t m, batch, channels, outputs;
    rlx_conv_window_t window;
    int64_t patches;
    int64_t blocks;
    int64_t transformed; /* x is what conv_winograd_input_c16 made, not the activations */
    rlx_epilogue_params_t epilogue;
} rlx_conv_winograd_c16_params_t;

/* conv_winograd_input_c16. In: x (C16). Out: the transformed input of all blocks of patches, one after another.
 * Tiles: blocks of patches * input-channel blocks, the last fastest. */
typedef struct rlx_conv_winograd_input_c16_params {
    int64_t m, batch, channels;
    rlx_conv_window_t window;
    int64_t patches;
} rlx_conv_winograd_input_c16_params_t;

/* conv_depthwise_c16. f32, depth 1, group == channels == outputs. In: x (C16), w (RLX_LAYOUT_DW16), padded bias
 * or absent, the epilogue's tensors. Out: y (C16).
 * Tiles: batch * row blocks * channel blocks, the last fastest. */
typedef struct rlx_conv_depthwise_c16_params {
    int64_t batch, channels;
    rlx_conv_window_t window;
    int64_t rows;
    rlx_epilogue_params_t epilogue;
} rlx_conv_depthwise_c16_params_t;

/* max_pool_c16, avg_pool_c16. f32, depth 1. In: x (C16). Out: y (C16). Tiles: batch * channel blocks * out height. */
typedef struct rlx_pool_c16_params {
    int64_t batch, channels;
    rlx_conv_window_t window;
    int64_t count_include_pad;
} rlx_pool_c16_params_t;
typedef rlx_pool_c16_params_t rlx_max_pool_c16_params_t;
typedef rlx_pool_c16_params_t rlx_avg_pool_c16_params_t;

#endif
