/* Reductions: every build gives the same bits, the fast kernels give those of the plain one, and the plain one is close to the same
 * definition computed in double. Searches and sorts equal a naive one. */
#include <math.h>

#include "kernels/params_reduce.h"
#include "tests/kernels/kernel_under_test.h"

static kernel_build_t builds[KERNEL_BUILDS_MAX];
static int n_builds;

static int find_builds(void **state)
{
    (void)state;
    n_builds = kernel_builds(builds);
    return 0;
}

/* x is [outer, count, inner]. */
typedef struct shape {
    int64_t outer, count, inner;
} shape_t;

static shape_t random_shape(void)
{
    return (shape_t){1 + kernel_random(4), kernel_random(600), 1 + kernel_random(2) * kernel_random(150)};
}
static int64_t elements(shape_t s) { return s.outer * s.count * s.inner; }

static rlx_reduce_params_t plain_params(int64_t op, shape_t s)
{
    rlx_reduce_params_t p = {.dtype = 1, .op = op, .outputs = s.outer * s.inner, .count = s.count, .per_tile = 3};

    for (int d = 0; d < 8; d++)
        p.kept[d] = p.reduced[d] = p.stride[d] = 1;
    p.kept[5] = s.outer;
    p.stride[5] = s.count * s.inner;
    p.reduced[6] = s.count;
    p.stride[6] = s.inner;
    p.kept[7] = s.inner;
    return p;
}

static double element_of(int64_t op, double x)
{
    if (op == RLX_REDUCE_L1)
        return fabs(x);
    return op == RLX_REDUCE_L2 || op == RLX_REDUCE_SUM_SQUARE ? x * x : op == RLX_REDUCE_LOG_SUM_EXP ? exp(x) : x;
}

static double expected(int64_t op, const float *x, shape_t s, int64_t o)
{
    double sum = op == RLX_REDUCE_MAX ? -INFINITY : op == RLX_REDUCE_MIN ? INFINITY : op == RLX_REDUCE_PROD ? 1 : 0;

    for (int64_t i = 0; i < s.count; i++) {
        double v = element_of(op, (double)x[(o / s.inner * s.count + i) * s.inner + o % s.inner]);
        sum = op == RLX_REDUCE_MAX ? fmax(sum, v) : op == RLX_REDUCE_MIN ? fmin(sum, v) : op == RLX_REDUCE_PROD ? sum * v : sum + v;
    }
    if (op == RLX_REDUCE_MEAN)
        return sum / (double)s.count;
    return op == RLX_REDUCE_L2 ? sqrt(sum) : op == RLX_REDUCE_LOG_SUM || op == RLX_REDUCE_LOG_SUM_EXP ? log(sum) : sum;
}

static bool near(double got, double want)
{
    return (isnan(got) && isnan(want)) || got == want || fabs(got - want) <= 1e-5 + 1e-5 * fabs(want);
}

static bool same_bits(const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!(isnan(a[i]) && isnan(b[i])) && memcmp(&a[i], &b[i], sizeof *a) != 0)
            return false;
    return true;
}

static void run(int build, rlx_kernel_id_t id, const void *x, void *y, const void *params, int64_t tiles)
{
    rlx_operand_t in = {.base = (void *)(uintptr_t)x}, out = {.base = y};

    assert_int_equal(kernel_run(&builds[build], id, &in, &out, params, tiles, 0), 0);
}

static float *positive_floats(int64_t n)
{
    float *x = kernel_floats(n);

    for (int64_t i = 0; i < n; i++)
        x[i] = 1 + x[i] / 64;
    return x;
}

static void reductions_agree(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        shape_t s = random_shape();
        int64_t op = round % 10, n = s.outer * s.inner, units = s.outer * ((s.inner + 63) / 64);
        rlx_reduce_params_t plain = plain_params(op, s);
        rlx_reduce_f32_params_t fast = {.op = op, .outer = s.outer, .count = s.count, .inner = s.inner, .per_tile = 1 + kernel_random(5)};
        float *x = positive_floats(elements(s) + 1), *want = kernel_floats(n), *got = kernel_floats(n);

        run(0, RLX_K_reduce, x, want, &plain, (n + 2) / 3);
        for (int64_t o = 0; o < n; o++)
            assert_true(near((double)want[o], expected(op, x, s, o)));
        for (int b = 0; b < n_builds; b++) {
            run(b, RLX_K_reduce, x, got, &plain, (n + 2) / 3);
            assert_true(same_bits(got, want, n));
            run(b, RLX_K_reduce_f32, x, got, &fast, (units + fast.per_tile - 1) / fast.per_tile);
            assert_true(same_bits(got, want, n));
        }
        free(x);
        free(want);
        free(got);
    }
}

/* Blocks of 16 channels, reduced over all of space or the middle of it: the bits of the same reduction in row-major order. */
static void blocked_reduction_has_the_bits_of_rows(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        int64_t batch = 1 + kernel_random(2), channels = 1 + kernel_random(40), count = 1 + kernel_random(100), blocks = (channels + 15) / 16;
        int64_t outer = round % 3 ? 1 + kernel_random(6) : 1, inner = round % 2 ? 1 + kernel_random(9) : 1;
        int64_t space = outer * count * inner, cells = outer * inner, planes = batch * channels;
        rlx_reduce_params_t plain = plain_params(round % 10, (shape_t){planes * outer, count, inner});
        rlx_reduce_c16_params_t p = {.op = round % 10, .channels = channels, .blocks = blocks, .outer = outer, .count = count, .inner = inner,
                                     .out_c16 = kernel_random(2)};
        float *x = positive_floats(planes * space), *xb = positive_floats(batch * blocks * space * 16);
        float *want = kernel_floats(planes * cells), *got = kernel_floats(batch * blocks * cells * 16);

        for (int64_t i = 0; i < planes * space; i++) {
            int64_t n = i / space / channels, c = i / space % channels;
            xb[((n * blocks + c / 16) * space + i % space) * 16 + c % 16] = x[i];
        }
        run(0, RLX_K_reduce, x, want, &plain, (planes * cells + 2) / 3);
        for (int b = 0; b < n_builds; b++) {
            run(b, RLX_K_reduce_c16, xb, got, &p, batch * blocks);
            for (int64_t i = 0; i < planes * cells; i++) {
                int64_t n = i / cells / channels, c = i / cells % channels, cell = i % cells;
                assert_true(same_bits(&got[p.out_c16 ? ((n * blocks + c / 16) * cells + cell) * 16 + c % 16 : i], &want[i], 1));
            }
        }
        free(x);
        free(xb);
        free(want);
        free(got);
    }
}

static void maximum_keeps_nan_and_empty_sets_have_identities(void **state)
{
    float x[3] = {1, NAN, 3}, y;

    (void)state;
    for (int b = 0; b < n_builds; b++) {
        rlx_reduce_params_t p = plain_params(RLX_REDUCE_MAX, (shape_t){1, 3, 1});
        run(b, RLX_K_reduce, x, &y, &p, 1);
        assert_true(isnan(y));
        p = plain_params(RLX_REDUCE_MAX, (shape_t){1, 0, 1});
        run(b, RLX_K_reduce, x, &y, &p, 1);
        assert_true(y == -INFINITY);
        p = plain_params(RLX_REDUCE_PROD, (shape_t){1, 0, 1});
        run(b, RLX_K_reduce, x, &y, &p, 1);
        assert_true(y == 1);
    }
}

static void softmax_agrees(void **state)
{
    (void)state;
    for (int round = 0; round < 120; round++) {
        shape_t s = random_shape();
        int64_t n = elements(s), kind = round % 2;
        rlx_softmax_params_t plain = {.dtype = 1, .kind = kind, .outer = s.outer, .count = s.count, .inner = s.inner};
        rlx_softmax_f32_params_t fast = {.kind = kind, .outer = s.outer, .count = s.count, .inner = s.inner};
        float *x = kernel_floats(n + 1), *want = kernel_floats(n + 1), *got = kernel_floats(n + 1);

        for (int64_t i = 0; i < n; i++)
            x[i] *= 30;
        run(0, RLX_K_softmax, x, want, &plain, s.outer * s.inner);
        for (int64_t o = 0; o < s.outer * s.inner; o++) {
            double sum = 0;
            for (int64_t i = 0; i < s.count; i++)
                sum += exp((double)x[(o / s.inner * s.count + i) * s.inner + o % s.inner]);
            for (int64_t i = 0; i < s.count; i++) {
                int64_t at = (o / s.inner * s.count + i) * s.inner + o % s.inner;
                double value = exp((double)x[at]) / sum;
                assert_true(near((double)want[at], kind == RLX_SOFTMAX ? value : log(value)));
            }
        }
        for (int b = 0; b < n_builds; b++) {
            run(b, RLX_K_softmax, x, got, &plain, s.outer * s.inner);
            assert_true(same_bits(got, want, n));
            run(b, RLX_K_softmax_f32, x, got, &fast, s.outer * ((s.inner + 63) / 64));
            assert_true(same_bits(got, want, n));
        }
        free(x);
        free(want);
        free(got);
    }
}

/* Place of the best element not yet taken: lower index on ties, NaN greatest. */
static int64_t best_of(const float *line, const bool *taken, int64_t n, bool largest)
{
    int64_t best = -1;

    for (int64_t i = 0; i < n; i++) {
        if (taken[i])
            continue;
        bool above = best >= 0 && ((isnan(line[i]) && !isnan(line[best])) || line[i] > line[best]);
        bool below = best >= 0 && ((isnan(line[best]) && !isnan(line[i])) || line[i] < line[best]);
        if (best < 0 || (largest ? above : below))
            best = i;
    }
    return best;
}

static void top_k_and_arg_equal_a_naive_search(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        int64_t n = 1 + kernel_random(300), k = kernel_random(n + 1), index[300], first;
        bool taken[300] = {false}, largest = kernel_random(2);
        rlx_top_k_params_t p = {.dtype = 1, .outer = 1, .count = n, .inner = 1, .k = k, .largest = largest};
        rlx_arg_reduce_params_t arg = {.dtype = 1, .outer = 1, .count = n, .inner = 1, .is_min = 0, .per_tile = 1};
        float x[300], values[300];

        for (int64_t i = 0; i < n; i++)
            x[i] = kernel_random(20) == 0 ? NAN : (float)(kernel_random(40) - 20);
        for (int b = 0; b < n_builds; b++) {
            rlx_operand_t in = {.base = x}, out[2] = {{.base = values}, {.base = index}};
            assert_int_equal(kernel_run(&builds[b], RLX_K_top_k, &in, out, &p, 1, 16 * k), 0);
            memset(taken, 0, sizeof taken);
            for (int64_t i = 0; i < k; i++) {
                assert_int_equal(index[i], best_of(x, taken, n, largest));
                assert_memory_equal(&values[i], &x[index[i]], sizeof(float));
                taken[index[i]] = true;
            }
            memset(taken, 0, sizeof taken);
            run(b, RLX_K_arg_reduce, x, &first, &arg, 1);
            assert_int_equal(first, best_of(x, taken, n, true));
        }
    }
}

static void running_sums_equal_a_naive_one(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        shape_t s = {1 + kernel_random(3), kernel_random(40), 1 + kernel_random(100)};
        bool exclusive = kernel_random(2), reverse = kernel_random(2);
        rlx_cumulate_params_t p = {
            .dtype = 1, .outer = s.outer, .count = s.count, .inner = s.inner, .exclusive = exclusive, .reverse = reverse};
        float *x = kernel_floats(elements(s) + 1), *y = kernel_floats(elements(s) + 1);

        for (int b = 0; b < n_builds; b++) {
            run(b, RLX_K_cumulate, x, y, &p, s.outer * ((s.inner + 63) / 64));
            for (int64_t o = 0; o < s.outer * s.inner; o++) {
                float sum = 0;
                for (int64_t i = 0; i < s.count; i++) {
                    int64_t at = (o / s.inner * s.count + (reverse ? s.count - 1 - i : i)) * s.inner + o % s.inner;
                    float before = sum;
                    sum += x[at];
                    assert_true(y[at] == (exclusive ? before : sum));
                }
            }
        }
        free(x);
        free(y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_agree),
        cmocka_unit_test(blocked_reduction_has_the_bits_of_rows),
        cmocka_unit_test(maximum_keeps_nan_and_empty_sets_have_identities),
        cmocka_unit_test(softmax_agrees),
        cmocka_unit_test(top_k_and_arg_equal_a_naive_search),
        cmocka_unit_test(running_sums_equal_a_naive_one),
    };
    return cmocka_run_group_tests(tests, find_builds, NULL);
}
