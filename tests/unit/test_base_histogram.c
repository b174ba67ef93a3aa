/* Quantiles: within 1/128 of the truth, over nine orders of magnitude (base/histogram.h). */
#include <math.h>

#include "base/histogram.h"
#include "tests/unit/check.h"

static rlx_histogram_t histogram;

static void near(double found, double expected)
{
    assert_true(fabs(found - expected) <= expected / 128 + 1);
}

static void quantiles_of_one_to_a_million(void **state)
{
    (void)state;
    rlx_histogram_clear(&histogram);
    for (uint64_t ns = 1; ns <= 1000000; ns++)
        rlx_histogram_add(&histogram, ns);
    near(rlx_histogram_percentile(&histogram, 50), 500000);
    near(rlx_histogram_percentile(&histogram, 90), 900000);
    near(rlx_histogram_percentile(&histogram, 99.9), 999000);
    near(rlx_histogram_mean(&histogram), 500000.5);
    assert_true(rlx_histogram_percentile(&histogram, 100) == 1000000);
    assert_int_equal(histogram.min_ns, 1);
}

static void every_size_of_value_keeps_its_resolution(void **state)
{
    (void)state;
    for (uint64_t ns = 1; ns < (uint64_t)1 << 39; ns = ns * 5 / 3 + 1) {
        rlx_histogram_clear(&histogram);
        rlx_histogram_add(&histogram, ns);
        rlx_histogram_add(&histogram, (uint64_t)1 << 39);
        near(rlx_histogram_percentile(&histogram, 10), (double)ns);
    }
}

static void beyond_the_range_the_maximum_stays_exact(void **state)
{
    (void)state;
    rlx_histogram_clear(&histogram);
    rlx_histogram_add(&histogram, UINT64_MAX / 2);
    assert_true(rlx_histogram_percentile(&histogram, 100) == (double)(UINT64_MAX / 2));
    assert_int_equal(histogram.max_ns, UINT64_MAX / 2);
}

static void an_empty_one_says_zero(void **state)
{
    (void)state;
    rlx_histogram_clear(&histogram);
    assert_true(rlx_histogram_percentile(&histogram, 50) == 0);
    assert_true(rlx_histogram_mean(&histogram) == 0);
}

static void buckets_begin_at_values_of_few_bits(void **state)
{
    (void)state;
    for (uint64_t octave = 4096; octave < (uint64_t)1 << 32; octave *= 2)
        for (uint64_t bound = octave; bound < 2 * octave; bound += octave / 4) {
            assert_true(rlx_histogram_bucket(bound - 1) < rlx_histogram_bucket(bound));
            assert_int_equal(rlx_histogram_bucket(bound), rlx_histogram_bucket(bound + 1));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_of_one_to_a_million),
        cmocka_unit_test(every_size_of_value_keeps_its_resolution),
        cmocka_unit_test(beyond_the_range_the_maximum_stays_exact),
        cmocka_unit_test(an_empty_one_says_zero),
        cmocka_unit_test(buckets_begin_at_values_of_few_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
