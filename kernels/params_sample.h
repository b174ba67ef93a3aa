/* Parameter blocks of the sample family. Extents, strides and table places in elements. */
#ifndef RLX_KERNELS_PARAMS_SAMPLE_H
#define RLX_KERNELS_PARAMS_SAMPLE_H

#include <stdint.h>

enum { RLX_RESIZE_NEAREST, RLX_RESIZE_LINEAR, RLX_RESIZE_CUBIC };
enum {
    RLX_COORD_HALF_PIXEL, RLX_COORD_HALF_PIXEL_SYMMETRIC, RLX_COORD_PYTORCH_HALF_PIXEL, RLX_COORD_ALIGN_CORNERS, RLX_COORD_ASYMMETRIC,
    RLX_COORD_TF_CROP_AND_RESIZE, RLX_COORD_TF_HALF_PIXEL_FOR_NN,
};
enum { RLX_NEAREST_ROUND_PREFER_FLOOR, RLX_NEAREST_ROUND_PREFER_CEIL, RLX_NEAREST_FLOOR, RLX_NEAREST_CEIL };

/* in: roi? (float vector). out: index i32, weight? (f64 when `wide`, else f32): for output place o of dimension d, `taps[d]` entries from
 * first[d] + o * taps[d] on. An index of -1 means outside (the extrapolation value). Scale of a dimension: `scale` as f64 bits, or when
 * that is zero scale_num / scale_den, computed exactly when it is out / in. `roi_begin`, `roi_end`: places in roi. Tile: one dimension.
 */
typedef struct rlx_resize_table_params {
    int64_t mode, coord, nearest, exclude_outside, antialias, cubic_a, wide, roi_dtype;
    int64_t in[8], out[8], taps[8], first[8], scale[8], scale_num[8], scale_den[8], roi_begin[8], roi_end[8];
} rlx_resize_table_params_t;

/* in: x, index. out: y of the same dtype (`bytes` each). first[d] is -1 where the dimension is not resized. Only when
 * `cropped` a place may be outside. Tile: `rows_per_tile` rows of y. */
typedef struct rlx_resize_nearest_params {
    int64_t dtype, bytes, rows, rows_per_tile, extrapolation, cropped;
    int64_t in[8], out[8], first[8];
} rlx_resize_nearest_params_t;

/* in: x, index, weight. out: y. taps[d] is 0 where the dimension is not resized. Tile: `rows_per_tile` rows of y. */
typedef struct rlx_resize_params {
    int64_t dtype, rows, rows_per_tile, extrapolation;
    int64_t in[8], out[8], taps[8], first[8];
} rlx_resize_params_t;

/* The f32 form for the last two dimensions: x [planes, in_h, in_w], index, weight. out: y [planes, out_h, out_w]. No place is outside.
 * Tile: `rows_per_tile` rows of one plane. Scratch: taps_h rows of out_w floats and taps_h words of 8 bytes. */
typedef struct rlx_resize_f32_params {
    int64_t planes, in_h, in_w, out_h, out_w, taps_h, taps_w, first_h, first_w, rows_per_tile;
} rlx_resize_f32_params_t;

/* The C16 form, f32: planes are blocks of 16 channels. Nearest: no weights (`weight` absent). Tile: `rows_per_tile` rows of one plane. */
typedef struct rlx_resize_c16_params {
    int64_t planes, in_h, in_w, out_h, out_w, taps_h, taps_w, first_h, first_w, rows_per_tile;
} rlx_resize_c16_params_t;

enum { RLX_PAD_ZEROS, RLX_PAD_BORDER, RLX_PAD_REFLECTION };

/* in: x [batch, channels, in_d, in_h, in_w], grid [batch, out_space, rank]. out: y [batch, channels, out_space]. 4-D: in_d is 1, rank 2.
 * `mode` as for resize. Tile: `per_tile` places of the grid (counted over batch and out_space). */
typedef struct rlx_grid_sample_params {
    int64_t dtype, grid_dtype, mode, padding, align_corners, batch, channels, rank, out_space, per_tile;
    int64_t in[3];
} rlx_grid_sample_params_t;

/* The same for f32 data of rank 2, mode linear, fewer than 2^31 elements a plane. */
typedef rlx_grid_sample_params_t rlx_grid_bilinear_params_t;

/* in: theta [batch, rank, rank + 1]. out: grid [batch, out..., rank]. Tile: one batch index. */
typedef struct rlx_affine_grid_params {
    int64_t dtype, batch, rank, align_corners;
    int64_t out[3]; /* depth (1 when rank is 2), height, width */
} rlx_affine_grid_params_t;

/* in: x [batch, channels, in_h, in_w], rois [rois, 4], batch indices (i64). out: y [rois, channels, out_h, out_w]. Tile: one roi and
 * channel. */
typedef struct rlx_roi_align_params {
    int64_t dtype, batch, channels, in_h, in_w, rois, out_h, out_w, sampling_ratio, spatial_scale, half_pixel, is_max;
} rlx_roi_align_params_t;

/* in: x [batch, channels, in_h, in_w], rois [rois, 5]. out: y [rois, channels, out_h, out_w]. Tile: one roi and channel. */
typedef struct rlx_max_roi_pool_params {
    int64_t dtype, batch, channels, in_h, in_w, rois, out_h, out_w, spatial_scale;
} rlx_max_roi_pool_params_t;

/* in: x [outer, in_count, inner, in_parts]. out: y [outer, out_count, inner, out_parts]; parts: 1 real, 2 complex. `length`: transform
 * length; the input is cut or padded with zeros. `inverse`: conjugate and divide by length. `half`: the input holds length / 2 + 1 values
 * of a spectrum with Hermitian symmetry. Tile: `per_tile` lines. Scratch: 16 bytes times 3 lengths. */
typedef struct rlx_dft_params {
    int64_t dtype, outer, inner, in_count, in_parts, out_count, out_parts, length, inverse, half, per_tile;
} rlx_dft_params_t;

/* in: signal [batch, signal_count, in_parts], window? [length]. out: y [batch, frames, out_count, 2].
 * Tile: `per_tile` frames. Scratch: 16 bytes times 3 lengths. */
typedef struct rlx_stft_params {
    int64_t dtype, batch, signal_count, in_parts, frames, step, length, window_dtype, out_count, per_tile;
} rlx_stft_params_t;

#endif
