/* Normalisations: every build gives the same bits, the fast kernels give those of the plain one, and the plain one is close to the
 * definition in double. */
#include <math.h>

#include "kernels/params_norm.h"
#include "tests/kernels/kernel_under_test.h"

static kernel_build_t builds[KERNEL_BUILDS_MAX];
static int n_builds;

static int find_builds(void **state)
{
    (void)state;
    n_builds = kernel_builds(builds);
    return 0;
}

static int64_t float_bits(float value)
{
    union { float f; uint32_t u; } v = {.f = value};

    return (int64_t)v.u;
}

/* x [batch, channels, space]; a row is `group` channels, or when `vector` the last extent. */
typedef struct problem {
    int64_t batch, channels, space, group, rows, count;
    bool vector, center;
    float *x, *scale, *bias;
} problem_t;

static problem_t problem_make(void)
{
    problem_t p = {
        .batch = 1 + kernel_random(3), .group = 1 + kernel_random(4), .space = 1 + kernel_random(90), .vector = kernel_random(2)};
    int64_t groups = 1 + kernel_random(4);

    if (kernel_random(2))
        p.space = 16 * (1 + kernel_random(6)); /* whole vectors: rows are done side by side */
    p.channels = p.group * groups;
    p.rows = p.vector ? p.batch * p.channels : p.batch * groups;
    p.count = p.vector ? p.space : p.group * p.space;
    p.center = !p.vector || kernel_random(2);
    p.x = kernel_floats(p.batch * p.channels * p.space);
    p.scale = kernel_floats(p.vector ? p.space : p.channels);
    p.bias = p.center && kernel_random(4) ? kernel_floats(p.vector ? p.space : p.channels) : NULL;
    return p;
}

static rlx_norm_params_t plain_params(const problem_t *q)
{
    rlx_norm_params_t p = {.dtype = 1, .rows = q->rows, .count = q->count, .center = q->center, .epsilon = float_bits(1e-5f),
        .dims = {1, 1, 1, 1, 1, q->batch, q->channels, q->space}};

    p.scale_stride[q->vector ? 7 : 6] = p.bias_stride[q->vector ? 7 : 6] = 1;
    return p;
}

static double expected(const problem_t *q, int64_t i)
{
    const float *row = q->x + i / q->count * q->count;
    int64_t at = q->vector ? i % q->space : i / q->space % q->channels;
    double mean = 0, spread = 0;

    for (int64_t k = 0; k < q->count && q->center; k++)
        mean += (double)row[k] / (double)q->count;
    for (int64_t k = 0; k < q->count; k++)
        spread += ((double)row[k] - mean) * ((double)row[k] - mean) / (double)q->count;
    return ((double)q->x[i] - mean) / sqrt(spread + 1e-5) * (double)q->scale[at] + (q->bias ? (double)q->bias[at] : 0);
}

static void rows_agree(void **state)
{
    (void)state;
    for (int round = 0; round < 150; round++) {
        problem_t q = problem_make();
        int64_t n = q.rows * q.count;
        rlx_norm_params_t plain = plain_params(&q);
        rlx_norm_f32_params_t fast = {.rows = q.rows, .count = q.count, .center = q.center, .epsilon = plain.epsilon,
            .inner = q.vector ? 1 : q.space, .period = q.vector ? q.space : q.channels};
        float *want = kernel_floats(n), *got = kernel_floats(n), *mean = kernel_floats(q.rows), *inv = kernel_floats(q.rows);
        rlx_operand_t in[3] = {{.base = q.x}, {.base = q.scale}, {.base = q.bias}},
                      out[3] = {{.base = want}, {.base = mean}, {.base = inv}};

        assert_int_equal(kernel_run(&builds[0], RLX_K_norm, in, out, &plain, q.rows, 0), 0);
        for (int64_t i = 0; i < n; i++)
            assert_true(fabs((double)want[i] - expected(&q, i)) <= 2e-5);
        out[0].base = got;
        for (int b = 0; b < n_builds; b++) {
            assert_int_equal(kernel_run(&builds[b], RLX_K_norm, in, out, &plain, q.rows, 0), 0);
            assert_memory_equal(got, want, (size_t)n * 4);
            assert_int_equal(kernel_run(&builds[b], RLX_K_norm_f32, in, out, &fast, q.rows, 0), 0);
            assert_memory_equal(got, want, (size_t)n * 4);
        }
        float *all[] = {q.x, q.scale, q.bias, want, got, mean, inv};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free(all[i]);
    }
}

static void batch_norm_in_blocks_has_the_bits_of_planes(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        int64_t batch = 1 + kernel_random(2), channels = 1 + kernel_random(40), space = 1 + kernel_random(60),
                blocks = (channels + 15) / 16;
        int64_t n = batch * channels * space;
        rlx_batch_norm_params_t p = {.dtype = 1, .scale_dtype = 1, .stat_dtype = 1, .batch = batch, .channels = channels, .space = space,
            .epsilon = float_bits(1e-5f)}, blocked = p;
        float *x = kernel_floats(n), *want = kernel_floats(n), *got = kernel_floats(n), *xb = kernel_floats(batch * blocks * space * 16);
        float *yb = kernel_floats(batch * blocks * space * 16), *v[4];
        rlx_operand_t in[5] = {{.base = x}}, out = {.base = want};

        blocked.blocks = blocks;
        for (int i = 0; i < 4; i++)
            in[i + 1].base = v[i] = kernel_floats(channels);
        for (int64_t c = 0; c < channels; c++)
            v[3][c] = 0.1f + v[3][c] * v[3][c];
        for (int64_t i = 0; i < n; i++)
            xb[((i / space / channels * blocks + i / space % channels / 16) * space + i % space) * 16 + i / space % channels % 16] = x[i];
        assert_int_equal(kernel_run(&builds[0], RLX_K_batch_norm, in, &out, &p, batch * channels, 0), 0);
        for (int64_t i = 0; i < n; i++) {
            int64_t c = i / space % channels;
            double value = ((double)x[i] - (double)v[2][c]) * (double)v[0][c] / sqrt((double)v[3][c] + 1e-5) + (double)v[1][c];
            assert_true(fabs((double)want[i] - value) <= 1e-5 * (1 + fabs(value)));
        }
        for (int b = 0; b < n_builds; b++) {
            in[0].base = x;
            out.base = got;
            assert_int_equal(kernel_run(&builds[b], RLX_K_batch_norm, in, &out, &p, batch * channels, 0), 0);
            assert_memory_equal(got, want, (size_t)n * 4);
            in[0].base = xb;
            out.base = yb;
            assert_int_equal(kernel_run(&builds[b], RLX_K_batch_norm, in, &out, &blocked, batch * blocks, 0), 0);
            for (int64_t i = 0; i < n; i++)
                assert_memory_equal(&yb[((i / space / channels * blocks + i / space % channels / 16) * space + i % space) * 16 +
                                        i / space % channels % 16],
                                    &want[i], 4);
        }
        float *all[] = {x, want, got, xb, yb, v[0], v[1], v[2], v[3]};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free(all[i]);
    }
}

static double lrn_expected(const rlx_lrn_params_t *p, const float *x, int64_t i)
{
    int64_t c = i / p->space % p->channels, image = i / p->space / p->channels;
    double sum = 0;

    for (int64_t k = c - (p->size - 1) / 2; k < c - (p->size - 1) / 2 + p->size; k++)
        if (k >= 0 && k < p->channels) {
            double v = (double)x[(image * p->channels + k) * p->space + i % p->space];

            sum += v * v;
        }
    return (double)x[i] / pow(1 + 0.5 * sum / (double)p->size, p->beta == float_bits(0.75f) ? 0.75 : 0.5);
}

/* Lanes past the last channel hold NaN: nothing may read them. */
static void lrn_in_blocks_has_the_bits_of_planes(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        rlx_lrn_params_t p = {.dtype = 1, .batch = 1 + kernel_random(2), .channels = 1 + kernel_random(40), .space = 1 + kernel_random(150),
            .size = 1 + kernel_random(16), .alpha = float_bits(0.5f), .beta = float_bits(round % 3 ? 0.75f : 0.5f), .bias = float_bits(1)};
        int64_t n = p.batch * p.channels * p.space, blocks = (p.channels + 15) / 16, padded = p.batch * blocks * p.space * 16;
        float *x = kernel_floats(n), *want = kernel_floats(n), *xb = kernel_floats(padded), *yb = kernel_floats(padded + 16);
        rlx_operand_t in = {.base = x}, out = {.base = want};

        assert_int_equal(kernel_run(&builds[0], RLX_K_lrn, &in, &out, &p, p.batch * p.channels, 0), 0);
        for (int64_t i = 0; i < n; i++)
            assert_true(fabs((double)want[i] - lrn_expected(&p, x, i)) <= 4e-7 * fabs((double)x[i]));
        for (int64_t i = 0; i < padded; i++)
            xb[i] = NAN;
        for (int64_t i = 0; i < n; i++)
            xb[((i / p.space / p.channels * blocks + i / p.space % p.channels / 16) * p.space + i % p.space) * 16 +
               i / p.space % p.channels % 16] = x[i];
        in.base = xb;
        out.base = yb;
        for (int b = 0; b < n_builds; b++) {
            memset(yb, 0x77, (size_t)(padded + 16) * 4);
            assert_int_equal(kernel_run(&builds[b], RLX_K_lrn_c16, &in, &out, &p,
                                        p.batch * blocks * ((p.space + RLX_LRN_CELLS - 1) / RLX_LRN_CELLS), 0), 0);
            for (int64_t i = 0; i < n; i++)
                assert_memory_equal(&yb[((i / p.space / p.channels * blocks + i / p.space % p.channels / 16) * p.space + i % p.space) * 16 +
                                        i / p.space % p.channels % 16],
                                    &want[i], 4);
            for (int k = 0; k < 64; k++)
                assert_int_equal(((unsigned char *)(yb + padded))[k], 0x77);
        }
        free(x);
        free(want);
        free(xb);
        free(yb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_agree),
        cmocka_unit_test(batch_norm_in_blocks_has_the_bits_of_planes),
        cmocka_unit_test(lrn_in_blocks_has_the_bits_of_planes),
    };
    return cmocka_run_group_tests(tests, find_builds, NULL);
}
