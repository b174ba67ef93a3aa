/* Parameter blocks of the make family. */
#ifndef RLX_KERNELS_PARAMS_MAKE_H
#define RLX_KERNELS_PARAMS_MAKE_H

#include <stdint.h>

#define RLX_STORE_WORDS 256

/* fill: `count` elements of `bytes` bytes, each the low bytes of `value`. Tile: `grain` elements. */
typedef struct rlx_fill_params {
    int64_t count, bytes, value, grain;
} rlx_fill_params_t;

/* range: out[i] = start + i*delta in the type's arithmetic (floats: one multiplication, one addition, each rounded; f16 and bf16 in f32).
 * in: start, delta (scalars). Tile: `grain` elements. */
typedef struct rlx_range_params {
    int64_t count, dtype, grain;
} rlx_range_params_t;

/* eye: ones on diagonal `k`, else zeros. One tile. */
typedef struct rlx_eye_params {
    int64_t rows, columns, k, dtype;
} rlx_eye_params_t;

enum { RLX_WINDOW_HANN, RLX_WINDOW_HAMMING, RLX_WINDOW_BLACKMAN };

/* signal_window: computed in f64, stored in dtype. One tile. */
typedef struct rlx_signal_window_params {
    int64_t count, kind, periodic, dtype;
} rlx_signal_window_params_t;

/* mel_weights: [spectrogram_bins, mel_bins]. in: num_mel_bins, dft_length, sample_rate (integers), lower, upper edge (f32 hertz). One tile. */
typedef struct rlx_mel_weights_params {
    int64_t spectrogram_bins, mel_bins, dtype, integer_dtype, edge_dtype;
} rlx_mel_weights_params_t;

/* store_elements: writes the first `count` words as elements of `bytes` bytes. One tile. */
typedef struct rlx_store_elements_params {
    int64_t count, bytes;
    int64_t words[RLX_STORE_WORDS];
} rlx_store_elements_params_t;

#endif
