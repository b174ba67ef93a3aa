/* Parameter blocks of the norm family. Extents and strides in elements. */
#ifndef RLX_KERNELS_PARAMS_NORM_H
#define RLX_KERNELS_PARAMS_NORM_H

#include <stdint.h>

/* in: x [rows, count] seen as the 8 right-aligned extents `dims`, scale, bias?. out: y?, mean?, inv_std? (f32, one per row).
 * Element at index (i0..i7) takes scale[sum i*scale_stride] and bias[sum i*bias_stride]. `center`: 0 leaves the mean out (rms norm).
 * `epsilon`: f32 bits. Tile: one row. */
typedef struct rlx_norm_params {
    int64_t dtype, rows, count, center, epsilon;
    int64_t dims[8], scale_stride[8], bias_stride[8];
} rlx_norm_params_t;

/* The f32 form: the scale of element i of the whole tensor is scale[i / inner mod period], the bias likewise. */
typedef struct rlx_norm_f32_params {
    int64_t rows, count, center, epsilon, inner, period;
} rlx_norm_f32_params_t;

/* in: x [batch, channels, space], scale, bias, mean, var (each [channels], `stat_dtype`). out: y. `blocks`: 0 for row-major, else C16
 * with that many blocks (f32). Tile: one channel of one batch index, or one C16 block of it. */
typedef struct rlx_batch_norm_params {
    int64_t dtype, scale_dtype, stat_dtype, batch, channels, space, blocks, epsilon;
} rlx_batch_norm_params_t;

/* Training: in as above; out: y, running_mean?, running_var?. Statistics over batch and space. Tile: one channel. */
typedef struct rlx_batch_norm_train_params {
    int64_t dtype, scale_dtype, stat_dtype, batch, channels, space, epsilon, momentum;
} rlx_batch_norm_train_params_t;

/* in: x [batch, channels, space]. out: y. Window of `size` channels from c - (size - 1) / 2. Tile: one batch index and channel. */
typedef struct rlx_lrn_params {
    int64_t dtype, batch, channels, space, size, alpha, beta, bias;
} rlx_lrn_params_t;

/* lrn_c16: lrn on f32 in C16, size at most 16. Tile: RLX_LRN_CELLS cells of a block of one batch index, the cells of a block one after
 * another. */
#define RLX_LRN_CELLS 64
typedef rlx_lrn_params_t rlx_lrn_c16_params_t;

#endif
