/* Parameter blocks of the rnn family: lstm, gru and rnn share one block and one body.
 *
 * Gates: lstm i o f c, gru z r h, rnn i. Preactivation of a gate, per output: (Wb + Rb, rounded once; +0 without B), then
 * x[k] * W[.][k] with k ascending, then h[k] * R[.][k] with k ascending, each a product as matmul's: the first segment goes on from what
 * there is, later ones are added (kernels/segment.h); gru with linear_before_reset keeps h * R of gate h apart: that
 * chain starts from Rb, the one of x from Wb. Peepholes enter after both, by fma. Then clip, then the activation; the cell state is not
 * clipped (neither does ONNX Runtime).
 *
 *   lstm  i = f(i), f = input_forget ? 1 - i : f(f), c = g(c); C = fma(f, C, i * c); o = f(o + Po C); H = o * h(C)
 *   gru   z, r = f(.); h = g(x + (r * H) R) or g(fma(r, H R + Rb, x)); H = fma(z, H, (1 - z) * h)
 *   rnn   H = f(.)
 *
 * qlstm is lstm on bytes. x of a batch item, all its steps together, and h of a batch item before every step are quantised dynamically
 * (kernels/quant_dynamic.h). Sums of products with the integer weights are exact, modulo 2^32. Preactivation:
 *   t = fma(f32(sum over x), x_scale * w_scale[o], Wb + Rb); fma(f32(sum over h), h_scale * r_scale[o], t) */
#ifndef RLX_KERNELS_PARAMS_RNN_H
#define RLX_KERNELS_PARAMS_RNN_H

#include <stdint.h>

enum { RLX_RNN_LSTM = 0, RLX_RNN_GRU = 1, RLX_RNN_PLAIN = 2 };

enum {
    RLX_RNN_SIGMOID, RLX_RNN_TANH, RLX_RNN_RELU, RLX_RNN_AFFINE, RLX_RNN_LEAKY_RELU, RLX_RNN_THRESHOLDED_RELU, RLX_RNN_SCALED_TANH,
    RLX_RNN_HARD_SIGMOID, RLX_RNN_ELU, RLX_RNN_SOFTSIGN, RLX_RNN_SOFTPLUS,
};

typedef struct rlx_rnn_cell {
    int64_t kind, dtype;
    int64_t steps, batch, input, hidden, directions;
    int64_t reverse;               /* of direction 0; direction 1 always runs backwards */
    int64_t clip;                  /* float bits; 0: none */
    int64_t input_forget, linear_before_reset;
    int64_t activation[2][3], alpha[2][3], beta[2][3]; /* by direction: f, g, h; float bits */
    int64_t x_step, x_batch;       /* strides in elements */
    int64_t y_step, y_batch, y_direction;
    int64_t h_batch, h_direction;  /* of initial and final states */
} rlx_rnn_cell_t;

/* rnn_plain: in X, W, R, B?, sequence_lens?, initial_h?, initial_c?, P?; out Y?, Y_h?, Y_c?. f32, f64, f16, bf16. One tile is one
 * direction of one batch item. Scratch: RLX_RNN_PLAIN_SCRATCH(hidden). */
#define RLX_RNN_PLAIN_SCRATCH 14 /* doubles per hidden unit */
typedef struct rlx_rnn_plain_params {
    rlx_rnn_cell_t cell;
} rlx_rnn_plain_params_t;

/* rnn_fast: f32, bit for bit rnn_plain. in XW0, XW1? (one per direction: [steps][batch] rows, or [batch][steps] with layout 1, of
 * gates * hidden preactivations after the x chain), R packed, B?, sequence_lens?, initial_h?, initial_c?, P?; out Y?, Y_h?, Y_c?.
 * R: [directions][gates][ceil(hidden / 16)][hidden][16], lanes past hidden zero. One tile is one direction of up to `rows` batch items.
 * Scratch: rows * RLX_RNN_FAST_SCRATCH * (hidden rounded up to 16) floats, plus 64. */
#define RLX_RNN_FAST_ROWS 6
#define RLX_RNN_FAST_SCRATCH 8
typedef struct rlx_rnn_fast_params {
    rlx_rnn_cell_t cell;
    int64_t rows;
    int64_t xw_step, xw_batch; /* strides of XW in elements */
} rlx_rnn_fast_params_t;

/* qlstm_plain: in X, W i16, R i16, B?, sequence_lens?, initial_h?, initial_c?, P?, W scale [directions][4 * hidden], R scale likewise; out Y?,
 * Y_h?, Y_c?. W and R less their zero points; everything else f32. One tile is one direction of one batch item.
 * Scratch: RLX_QLSTM_PLAIN_SCRATCH * hidden + input bytes. */
#define RLX_QLSTM_PLAIN_SCRATCH (11 * 4 + 1)
typedef struct rlx_qlstm_plain_params {
    rlx_rnn_cell_t cell;
} rlx_qlstm_plain_params_t;

/* What turns sums into preactivations, for one gate of sixteen hidden units. */
typedef struct rlx_qlstm_numbers {
    int32_t w_sum[16], r_sum[16]; /* of all weights of an output */
    float w_scale[16], r_scale[16];
    float bias[16];               /* Wb + Rb */
} rlx_qlstm_numbers_t;

/* qlstm, and qlstm_vnni, its form for machines with VNNI. Outputs of a direction are ordered [ceil(hidden / 16)][gate][16]; weights past
 * hidden are zero. In: sums of the bytes of X with W, i32 [rows of X][directions][outputs]; scale f32 and zero point u8 of each batch item's x;
 * packed R for VNNI, its further chunks or absent, packed R for others, their further chunks or absent, numbers [directions][outputs / 16]
 * (rlx_qlstm_numbers_t), sequence_lens?, initial_h?, initial_c?, P?; out Y?, Y_h?, Y_c?.
 * Packed R: ir/lower/pack_quant.h with outputs of all directions and one cell, but the chunks of the four gates of sixteen hidden units alternate.
 * One tile is one direction of up to RLX_QLSTM_ROWS batch items. Scratch: RLX_QLSTM_ROWS * RLX_QLSTM_SCRATCH * (hidden rounded up to 16)
 * bytes and 8 bytes per further half chunk of a direction. */
#define RLX_QLSTM_ROWS 4
#define RLX_QLSTM_SCRATCH (7 * 4 + 1)
typedef struct rlx_qlstm_params {
    rlx_rnn_cell_t cell;
    int64_t sums_step, sums_batch; /* strides in elements */
    int64_t pairs;                 /* the packing for others allows sums of two quads in i16 */
} rlx_qlstm_params_t;
typedef rlx_qlstm_params_t rlx_qlstm_vnni_params_t;

#endif
