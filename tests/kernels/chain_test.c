/* The chain of products as ir/op_list.h defines it, written down once more as plain loops: every build of the plain kernels has these
 * bits. The sizes of segments are literal here: they are part of the definition. */
#include "tests/kernels/kernel_under_test.h"

#include <math.h>

#include "kernels/params_conv.h"

static kernel_build_t builds[KERNEL_BUILDS_MAX];
static int n_builds;

static int find_builds(void **state)
{
    (void)state;
    n_builds = kernel_builds(builds);
    return 0;
}

/* Takes products in order; `at` counts them, a segment is `length` long. */
typedef struct chain {
    float total, segment;
    int at, length;
} chain_t;

static void chain_take(chain_t *c, float a, float b)
{
    if (c->at > 0 && c->at % c->length == 0) {
        c->total = c->at == c->length ? c->segment : c->total + c->segment;
        c->segment = 0;
    }
    c->segment = fmaf(a, b, c->segment);
    c->at++;
}

static float chain_end(const chain_t *c) { return c->at <= c->length ? c->segment : c->total + c->segment; }

static void expect_same(const float *got, const float *expected, int n)
{
    for (int i = 0; i < n; i++)
        if (memcmp(&got[i], &expected[i], 4) != 0)
            fail_msg("output %d is %a, expected %a", i, (double)got[i], (double)expected[i]);
}

static void products_are_cut_every_128(void **state)
{
    enum { N = 9, K = 300 };
    float *a = kernel_floats(K), *b = kernel_floats(K * N), *bias = kernel_floats(N), expected[N], c[N];
    rlx_matmul_plain_params_t p = {.shape = {.m = 1, .n = N, .batch = {1, 1, 1, 1, 1, 1}, .a_col = 1, .b_row = N, .b_col = 1, .c_col = 1},
                                   .dtype = 1};
    static const int ks[] = {1, 127, 128, 129, 256, 257, 300};

    (void)state;
    for (size_t s = 0; s < sizeof ks / sizeof ks[0]; s++) {
        p.shape.k = ks[s];
        for (int n = 0; n < N; n++) {
            chain_t chain = {.segment = bias[n], .length = 128};

            for (int k = 0; k < ks[s]; k++)
                chain_take(&chain, a[k], b[k * N + n]);
            expected[n] = chain_end(&chain);
        }
        for (int i = 0; i < n_builds; i++) {
            kernel_run(&builds[i], RLX_K_matmul_plain, (rlx_operand_t[]){{.base = a}, {.base = b}, {.base = bias}},
                       &(rlx_operand_t){.base = c}, &p, 1, 0);
            expect_same(c, expected, N);
        }
    }
    free(a);
    free(b);
    free(bias);
}

static void a_recurrence_goes_on_from_the_total_of_x(void **state)
{
    enum { IN = 150, HIDDEN = 140 };
    float *x = kernel_floats(IN), *w = kernel_floats(HIDDEN * IN), *r = kernel_floats(HIDDEN * HIDDEN), *h = kernel_floats(HIDDEN);
    float expected[HIDDEN], y[HIDDEN];
    rlx_rnn_plain_params_t p = {.cell = {.kind = RLX_RNN_PLAIN, .dtype = 1, .steps = 1, .batch = 1, .input = IN, .hidden = HIDDEN,
                                         .directions = 1, .activation = {{RLX_RNN_RELU}}}};
    rlx_operand_t in[8] = {{.base = x}, {.base = w}, {.base = r}, {.base = NULL}, {.base = NULL}, {.base = h}};

    (void)state;
    for (int j = 0; j < HIDDEN; j++) {
        chain_t of_x = {.length = 128}, of_h = {.length = 128};

        for (int k = 0; k < IN; k++)
            chain_take(&of_x, x[k], w[j * IN + k]);
        of_h.segment = chain_end(&of_x);
        for (int k = 0; k < HIDDEN; k++)
            chain_take(&of_h, h[k], r[j * HIDDEN + k]);
        expected[j] = fmaxf(chain_end(&of_h), 0);
    }
    for (int i = 0; i < n_builds; i++) {
        assert_int_equal(kernel_run(&builds[i], RLX_K_rnn_plain, in, (rlx_operand_t[]){{.base = y}, {.base = NULL}, {.base = NULL}}, &p, 1,
                                    HIDDEN * 8 * RLX_RNN_PLAIN_SCRATCH), 0);
        expect_same(y, expected, HIDDEN);
    }
    free(x);
    free(w);
    free(r);
    free(h);
}

enum { OUT = 5 };

/* Channels in blocks of 16, then kernel columns, then the channel inside the block; `blocks` blocks are a segment. */
static float conv_output(const float *x, const float *w, float bias, int channels, int kernel, int column, int blocks)
{
    chain_t chain = {.segment = bias, .length = 16 * kernel * blocks};

    for (int block = 0; block < channels; block += 16)
        for (int k = 0; k < kernel; k++)
            for (int c = block; c < block + 16 && c < channels; c++)
                chain_take(&chain, x[c * (OUT + kernel - 1) + column + k], w[c * kernel + k]);
    return chain_end(&chain);
}

static void convolutions_are_cut_every_8_units(void **state)
{
    static const struct { int channels, kernel, blocks; } sizes[] = {
        {128, 1, 8}, {129, 1, 8}, {300, 1, 8}, {40, 3, 2}, {100, 2, 4}, {33, 9, 1}, {70, 5, 1}, {16, 9, 1}};
    float bias[1] = {-0.0f}, y[OUT], expected[OUT];

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int channels = sizes[s].channels, kernel = sizes[s].kernel, width = OUT + kernel - 1;
        float *x = kernel_floats(channels * width), *w = kernel_floats(channels * kernel);
        rlx_conv_plain_params_t p = {.dtype = 1, .batch = 1, .group = 1, .channels = channels, .outputs = 1,
            .window = {.in = {1, 1, width}, .out = {1, 1, OUT}, .kernel = {1, 1, kernel}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}}};

        for (int i = 0; i < OUT; i++)
            expected[i] = conv_output(x, w, bias[0], channels, kernel, i, sizes[s].blocks);
        for (int i = 0; i < n_builds; i++) {
            kernel_run(&builds[i], RLX_K_conv_plain, (rlx_operand_t[]){{.base = x}, {.base = w}, {.base = bias}},
                       &(rlx_operand_t){.base = y}, &p, 1, 16 * OUT);
            expect_same(y, expected, OUT);
        }
        free(x);
        free(w);
    }
}

/* One row, kernel 3, stride 2: ceil(3 / 2) = 2 cells, so a segment is 4 blocks, whether an output meets one cell or two. */
static void transposed_convolutions_count_cells_by_stride(void **state)
{
    enum { CHANNELS = 150, IN = 4, KERNEL = 3, STRIDE = 2, COLUMNS = (IN - 1) * STRIDE + KERNEL };
    float *x = kernel_floats(CHANNELS * IN), *w = kernel_floats(CHANNELS * KERNEL), bias[1] = {0.5f}, y[COLUMNS], expected[COLUMNS];
    rlx_conv_transpose_plain_params_t p = {.dtype = 1, .batch = 1, .group = 1, .channels = CHANNELS, .outputs = 1,
        .window = {.in = {1, 1, IN}, .out = {1, 1, COLUMNS}, .kernel = {1, 1, KERNEL}, .stride = {1, 1, STRIDE}, .dilation = {1, 1, 1}}};

    (void)state;
    for (int o = 0; o < COLUMNS; o++) {
        float total = 0;

        for (int first = 0; first < CHANNELS; first += 64) {
            float segment = first == 0 ? bias[0] : 0;

            for (int block = first; block < first + 64 && block < CHANNELS; block += 16)
                for (int k = o % STRIDE; k < KERNEL; k += STRIDE)
                    for (int c = block, i = (o - k) / STRIDE; c < block + 16 && c < CHANNELS; c++)
                        segment = fmaf(o >= k && i < IN ? x[c * IN + i] : 0, w[c * KERNEL + k], segment);
            total = first == 0 ? segment : total + segment;
        }
        expected[o] = total;
    }
    for (int i = 0; i < n_builds; i++) {
        kernel_run(&builds[i], RLX_K_conv_transpose_plain, (rlx_operand_t[]){{.base = x}, {.base = w}, {.base = bias}},
                   &(rlx_operand_t){.base = y}, &p, 1, 16 * COLUMNS);
        expect_same(y, expected, COLUMNS);
    }
    free(x);
    free(w);
}

static void without_offsets_a_deformable_convolution_is_a_convolution(void **state)
{
    enum { CHANNELS = 100, SIZE = 5, KERNEL = 2, CELLS = KERNEL * KERNEL, SIDE = SIZE - KERNEL + 1, OUTPUTS = SIDE * SIDE };
    float *x = kernel_floats(CHANNELS * SIZE * SIZE), *w = kernel_floats(CHANNELS * CELLS), bias[1] = {0.5f}, y[OUTPUTS], expected[OUTPUTS];
    float offsets[2 * CELLS * OUTPUTS] = {0};
    rlx_conv_window_t window = {.in = {1, SIZE, SIZE}, .out = {1, SIDE, SIDE}, .kernel = {1, KERNEL, KERNEL}, .stride = {1, 1, 1},
                                .dilation = {1, 1, 1}};
    rlx_conv_plain_params_t plain = {.dtype = 1, .batch = 1, .group = 1, .channels = CHANNELS, .outputs = 1, .window = window};
    rlx_deform_conv_params_t deform = {.dtype = 1, .batch = 1, .group = 1, .channels = CHANNELS, .outputs = 1, .offset_group = 1,
                                       .window = window};

    (void)state;
    kernel_run(&builds[0], RLX_K_conv_plain, (rlx_operand_t[]){{.base = x}, {.base = w}, {.base = bias}},
               &(rlx_operand_t){.base = expected}, &plain, SIDE, 16 * SIDE);
    for (int i = 0; i < n_builds; i++) {
        kernel_run(&builds[i], RLX_K_deform_conv,
                   (rlx_operand_t[]){{.base = x}, {.base = w}, {.base = offsets}, {.base = bias}, {.base = NULL}},
                   &(rlx_operand_t){.base = y}, &deform, SIDE, 0);
        expect_same(y, expected, OUTPUTS);
    }
    free(x);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_cut_every_128),
        cmocka_unit_test(a_recurrence_goes_on_from_the_total_of_x),
        cmocka_unit_test(convolutions_are_cut_every_8_units),
        cmocka_unit_test(transposed_convolutions_count_cells_by_stride),
        cmocka_unit_test(without_offsets_a_deformable_convolution_is_a_convolution),
    };

    return cmocka_run_group_tests_name("chain", tests, find_builds, NULL);
}
