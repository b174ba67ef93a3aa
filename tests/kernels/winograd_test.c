/* F(2,3), also of stride 2, and F(4,3): the plain kernel is the definition of ir/op_list.h, written down once more in
 * winograd_definition.h; the blocked kernels have its bits however patches, channels and threads are cut; and both are convolutions.
 * Lanes past the last channel hold NaN: nothing may read them. */
#include "tests/kernels/kernel_under_test.h"

#include <math.h>
#include <stdio.h>

#include "ir/lower/pack_conv.h"
#include "ir/lower/pack_winograd.h"
#include "kernels/params_conv.h"
#include "tests/kernels/winograd_definition.h"

static kernel_build_t builds[KERNEL_BUILDS_MAX];
static int n_builds;

static int find_builds(void **state)
{
    (void)state;
    n_builds = kernel_builds(builds);
    return 0;
}

static void case_fill(winograd_case_t *t)
{
    t->stride = t->stride == 2 ? 2 : 1;
    for (int i = 0; i < 2; i++)
        t->out[i] = (t->in[i] + t->pad[i] + t->pad_end[i] - 3) / t->stride + 1;
    t->x = kernel_floats(t->n * t->c * t->in[0] * t->in[1]);
    t->w = kernel_floats(t->o * t->c * 9);
    t->b = kernel_floats(t->o);
}

static void case_free(winograd_case_t *t)
{
    free(t->x);
    free(t->w);
    free(t->b);
}

static int64_t patches_of(const winograd_case_t *t) { return t->n * ((t->out[0] + t->m - 1) / t->m) * ((t->out[1] + t->m - 1) / t->m); }
static int64_t side_of(const winograd_case_t *t) { return t->stride == 2 ? 5 : t->m + 2; }
static int64_t cells_of(const winograd_case_t *t) { return t->out[0] * t->out[1]; }

static rlx_conv_window_t window_of(const winograd_case_t *t)
{
    return (rlx_conv_window_t){.in = {1, t->in[0], t->in[1]}, .out = {1, t->out[0], t->out[1]}, .kernel = {1, 3, 3},
                               .stride = {1, t->stride, t->stride},
                               .dilation = {1, 1, 1}, .pad = {0, t->pad[0], t->pad[1]}, .pad_end = {0, t->pad_end[0], t->pad_end[1]}};
}

static float *plain_run(const winograd_case_t *t, const kernel_build_t *build, const rlx_epilogue_params_t *epilogue, float *residual)
{
    int64_t taps = side_of(t) * side_of(t);
    float *u = kernel_floats(t->o * t->c * taps), *y = kernel_floats(t->n * t->o * cells_of(t));
    rlx_conv_winograd_plain_params_t p = {.m = t->m, .batch = t->n, .channels = t->c, .outputs = t->o, .window = window_of(t)};

    if (epilogue != NULL)
        p.epilogue = *epilogue;
    rlx_pack_winograd_plain(t->m, t->stride, t->o, t->c, t->w, u);
    kernel_run(build, RLX_K_conv_winograd_plain,
               (rlx_operand_t[]){{.base = t->x}, {.base = u}, {.base = t->bias ? t->b : NULL}, {.base = residual}},
               &(rlx_operand_t){.base = y}, &p, patches_of(t), 4 * t->c * taps);
    free(u);
    return y;
}

static void plain_is_the_definition(void **state)
{
    static const winograd_case_t cases[] = {
        {.m = 4, .n = 1, .c = 3, .o = 2, .in = {9, 7}, .pad = {1, 1}, .pad_end = {1, 1}, .bias = true},
        {.m = 2, .n = 2, .c = 5, .o = 1, .in = {5, 4}, .pad = {0, 1}, .pad_end = {1, 0}},
        {.m = 4, .n = 1, .c = 257, .o = 1, .in = {4, 5}, .pad = {1, 0}, .pad_end = {0, 2}, .bias = true},
        {.m = 2, .n = 1, .c = 128, .o = 2, .in = {3, 3}, .pad = {1, 1}, .pad_end = {1, 1}, .bias = true},
        {.m = 2, .n = 1, .c = 129, .o = 1, .in = {3, 3}},
        {.m = 2, .stride = 2, .n = 2, .c = 5, .o = 2, .in = {9, 8}, .pad = {1, 1}, .pad_end = {1, 1}, .bias = true},
        {.m = 2, .stride = 2, .n = 1, .c = 150, .o = 1, .in = {4, 5}, .pad = {0, 1}, .pad_end = {1, 0}},
        {.m = 2, .stride = 2, .n = 1, .c = 33, .o = 2, .in = {3, 6}, .bias = true}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        winograd_case_t t = cases[k];
        float *u;

        case_fill(&t);
        u = kernel_floats(t.o * t.c * 36);
        rlx_pack_winograd_plain(t.m, t.stride, t.o, t.c, t.w, u);
        for (int i = 0; i < n_builds; i++) {
            float *y = plain_run(&t, &builds[i], NULL, NULL);

            for (int64_t at = 0; at < t.n * t.o * cells_of(&t); at++) {
                int64_t cell = at % cells_of(&t), o = at / cells_of(&t) % t.o, n = at / cells_of(&t) / t.o;
                float expected = defined_output(&t, u, n, o, cell / t.out[1], cell % t.out[1]);

                if (memcmp(&y[at], &expected, 4) != 0)
                    fail_msg("%s: case %zu: output %ld is %a, expected %a", builds[i].name, k, (long)at, (double)y[at], (double)expected);
            }
            free(y);
        }
        free(u);
        case_free(&t);
    }
}

/* ---- a convolution ---- */

static double convolution(const winograd_case_t *t, int64_t n, int64_t o, int64_t h, int64_t w)
{
    double sum = t->bias ? (double)t->b[o] : 0;

    for (int64_t c = 0; c < t->c; c++)
        for (int64_t k = 0; k < 9; k++)
            sum += (double)t->w[(o * t->c + c) * 9 + k] * (double)input_of(t, n, c, h * t->stride - t->pad[0] + k / 3,
                                                                                  w * t->stride - t->pad[1] + k % 3);
    return sum;
}

static void it_is_a_convolution(void **state)
{
    (void)state;
    for (int round = 0; round < 30; round++) {
        winograd_case_t t = {.m = round % 2 ? 4 : 2, .stride = round % 4 == 2 ? 2 : 1, .n = 1 + kernel_random(2),
                             .c = 1 + kernel_random(40), .o = 1 + kernel_random(4),
                             .in = {3 + kernel_random(9), 3 + kernel_random(9)}, .pad = {kernel_random(3), kernel_random(3)},
                             .pad_end = {kernel_random(3), kernel_random(3)}, .bias = kernel_random(2)};
        double allowed;
        float *y;

        case_fill(&t);
        allowed = 3e-6 * sqrt((double)t.c * 9);
        y = plain_run(&t, &builds[0], NULL, NULL);
        for (int64_t at = 0; at < t.n * t.o * cells_of(&t); at++) {
            int64_t cell = at % cells_of(&t);
            double expected = convolution(&t, at / cells_of(&t) / t.o, at / cells_of(&t) % t.o, cell / t.out[1], cell % t.out[1]);

            if (!(fabs((double)y[at] - expected) <= allowed))
                fail_msg("round %d: output %ld is %g, expected %g", round, (long)at, (double)y[at], expected);
        }
        free(y);
        case_free(&t);
    }
}

/* Quarters of small integers: every operation of F(2,3) is exact. */
static void small_integers_are_exact_in(int64_t stride)
{
    winograd_case_t t = {.m = 2, .stride = stride, .n = 1, .c = 20, .o = 3, .in = {7, 6}, .pad = {1, 1}, .pad_end = {1, 1}, .bias = true};
    float *y;

    case_fill(&t);
    for (int64_t i = 0; i < t.c * t.in[0] * t.in[1]; i++)
        t.x[i] = (float)(kernel_random(33) - 16);
    for (int64_t i = 0; i < t.o * t.c * 9; i++)
        t.w[i] = (float)(kernel_random(33) - 16);
    t.b[0] = t.b[1] = t.b[2] = 7;
    y = plain_run(&t, &builds[0], NULL, NULL);
    for (int64_t at = 0; at < t.o * cells_of(&t); at++)
        assert_true((double)y[at] == convolution(&t, 0, at / cells_of(&t), at % cells_of(&t) / t.out[1], at % cells_of(&t) % t.out[1]));
    free(y);
    case_free(&t);
}

static void small_integers_are_exact_in_f23(void **state)
{
    (void)state;
    small_integers_are_exact_in(1);
    small_integers_are_exact_in(2);
}

/* ---- blocked ---- */

static float *block(const float *x, int64_t n, int64_t c, int64_t cells)
{
    int64_t blocks = (c + 15) / 16;
    float *to = kernel_floats(n * blocks * cells * 16);

    for (int64_t i = 0; i < n * blocks * cells * 16; i++) {
        int64_t cell = i / 16 % cells, plane = i / 16 / cells, channel = plane % blocks * 16 + i % 16;

        to[i] = channel < c ? x[(plane / blocks * c + channel) * cells + cell] : NAN;
    }
    return to;
}

static void fill_guard(float *x) { memset(x, 0x77, 64); }

static void expect_guard(const float *x)
{
    for (int k = 0; k < 64; k++)
        assert_int_equal(((const unsigned char *)x)[k], 0x77);
}

/* How the work is cut. */
typedef struct cut {
    int64_t patches, blocks;
    bool transformed;
} cut_t;

static float *input_run(const winograd_case_t *t, const kernel_build_t *build, const cut_t *cut, float *x)
{
    int64_t blocks_in = (t->c + 15) / 16, blocks = (patches_of(t) + cut->patches - 1) / cut->patches;
    int64_t floats = blocks * side_of(t) * side_of(t) * (blocks_in * cut->patches + 1) * 16;
    float *v = kernel_floats(floats + 16);
    rlx_conv_winograd_input_c16_params_t p = {.m = t->m, .batch = t->n, .channels = t->c, .window = window_of(t), .patches = cut->patches};

    fill_guard(v + floats);
    kernel_run(build, RLX_K_conv_winograd_input_c16, &(rlx_operand_t){.base = x}, &(rlx_operand_t){.base = v}, &p, blocks * blocks_in, 0);
    expect_guard(v + floats);
    return v;
}

static void blocked_check(const winograd_case_t *t, const kernel_build_t *build, const cut_t *cut, const rlx_epilogue_params_t *epilogue,
                          float *residual, const float *expected)
{
    int64_t taps = side_of(t) * side_of(t), sums = t->stride == 2 ? 9 : taps, blocks_in = (t->c + 15) / 16;
    int64_t blocks_out = (t->o + 15) / 16, cells = cells_of(t);
    int64_t floats = t->n * blocks_out * cells * 16, pieces = (patches_of(t) + cut->patches - 1) / cut->patches;
    int64_t scratch = sums * 64 * 2 * (cut->patches | 1) + (cut->transformed ? 0 : taps * 64 * (blocks_in * cut->patches + 1));
    float *x = block(t->x, t->n, t->c, t->in[0] * t->in[1]), *y = kernel_floats(floats + 16), *b = kernel_floats(blocks_out * 16);
    float *u = kernel_floats(rlx_pack_winograd_floats(t->m, t->stride, t->o, t->c)), *r = block(residual, t->n, t->o, cells);
    float *v = cut->transformed ? input_run(t, build, cut, x) : NULL;
    rlx_conv_winograd_c16_params_t p = {.m = t->m, .batch = t->n, .channels = t->c, .outputs = t->o, .window = window_of(t),
                                        .patches = cut->patches, .blocks = cut->blocks, .transformed = cut->transformed,
                                        .epilogue = *epilogue};

    rlx_pack_winograd(t->m, t->stride, t->o, t->c, t->w, u);
    rlx_pack_conv_bias(t->b, t->o, b);
    fill_guard(y + floats);
    kernel_run(build, RLX_K_conv_winograd_c16,
               (rlx_operand_t[]){{.base = v != NULL ? v : x}, {.base = u}, {.base = t->bias ? b : NULL}, {.base = r}},
               &(rlx_operand_t){.base = y}, &p, pieces * ((blocks_out + cut->blocks - 1) / cut->blocks), scratch);
    expect_guard(y + floats);
    for (int64_t i = 0; i < t->n * t->o * cells; i++) {
        int64_t cell = i % cells, o = i / cells % t->o, n = i / cells / t->o;
        const float *got = &y[((n * blocks_out + o / 16) * cells + cell) * 16 + o % 16];

        if (memcmp(got, &expected[i], 4) != 0)
            fail_msg("%s: F(%d,3) stride %ld n %ld c %ld o %ld in %ldx%ld pad %ld,%ld,%ld,%ld, blocks of %ld patches and %ld channel blocks%s: "
                     "output %ld of channel %ld is %a, expected %a", build->name, t->m, (long)t->stride, (long)t->n, (long)t->c, (long)t->o,
                     (long)t->in[0], (long)t->in[1], (long)t->pad[0], (long)t->pad[1], (long)t->pad_end[0], (long)t->pad_end[1], (long)cut->patches,
                     (long)cut->blocks, cut->transformed ? ", transformed" : "", (long)cell, (long)o, (double)*got, (double)expected[i]);
    }
    free(x), free(y), free(b), free(u), free(r), free(v);
}

static rlx_epilogue_params_t epilogue_pick(void)
{
    static const rlx_epilogue_step_params_t steps[] = {
        {.kind = RLX_MAP_add, .operand = 3}, {.kind = RLX_MAP_relu, .operand = -1}, {.kind = RLX_MAP_hard_swish, .operand = -1}};
    rlx_epilogue_params_t epilogue = {0};

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (kernel_random(2))
            epilogue.step[epilogue.n_steps++] = steps[i];
    return epilogue;
}

static void blocked_has_the_bits_of_plain(void **state)
{
    (void)state;
    for (int round = 0; round < 160; round++) {
        winograd_case_t t = {.m = round % 2 ? 4 : 2, .stride = round % 4 == 2 ? 2 : 1, .n = 1 + kernel_random(3),
                             .c = 1 + kernel_random(round % 5 == 0 ? 280 : 50),
                             .o = 1 + kernel_random(90), .in = {2 + kernel_random(20), 2 + kernel_random(20)},
                             .pad = {kernel_random(3), kernel_random(3)}, .pad_end = {kernel_random(3), kernel_random(3)},
                             .bias = kernel_random(2)};
        rlx_epilogue_params_t epilogue = epilogue_pick();
        float *expected, *residual;
        cut_t cut;

        for (int i = 0; i < 2; i++)
            t.in[i] += t.in[i] + t.pad[i] + t.pad_end[i] < 3;
        case_fill(&t);
        residual = kernel_floats(t.n * t.o * cells_of(&t));
        expected = plain_run(&t, &builds[0], &epilogue, residual);
        cut = (cut_t){.patches = 1 + kernel_random(kernel_random(2) ? 8 : 60), .transformed = kernel_random(2)};
        cut.blocks = kernel_random(2) ? 2 * (1 + kernel_random(2)) : (t.o + 15) / 16;
        for (int i = 0; i < n_builds; i++)
            blocked_check(&t, &builds[i], &cut, &epilogue, residual, expected);
        free(residual);
        free(expected);
        case_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_is_the_definition),
        cmocka_unit_test(it_is_a_convolution),
        cmocka_unit_test(small_integers_are_exact_in_f23),
        cmocka_unit_test(blocked_has_the_bits_of_plain),
    };

    return cmocka_run_group_tests_name("winograd", tests, find_builds, NULL);
}
