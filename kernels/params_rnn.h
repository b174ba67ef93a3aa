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
 *   rnn   H = f(.) */
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

#endif
