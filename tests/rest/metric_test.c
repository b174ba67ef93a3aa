/* Prometheus' text format 0.0.4, from its definition; and the histogram behind it. */
#include "base/metric.h"
#include "tests/unit/check.h"

static const char *text_of(rlx_text_t *text)
{
    rlx_text_add(text, "", 1);
    assert_false(text->full);
    return text->data;
}

static void label_values_have_exactly_three_escapes(void **state)
{
    static const rlx_metric_t metric = {"x_total", RLX_METRIC_COUNTER, "a \"quote\", a \\ and\na line"};
    rlx_metric_label_t labels[] = {{"model", "a\"b\\c\nd\te{}=,\xc3\xa4"}, {"version", ""}};
    rlx_text_t text;

    (void)state;
    rlx_text_init(&text, 4096);
    rlx_metric_family(&text, &metric);
    rlx_metric_count(&text, &metric, labels, 2, UINT64_MAX);
    assert_string_equal(text_of(&text), "# HELP x_total a \"quote\", a \\\\ and\\na line\n# TYPE x_total counter\n"
                                        "x_total{model=\"a\\\"b\\\\c\\nd\te{}=,\xc3\xa4\",version=\"\"} 18446744073709551615\n");
    rlx_text_fini(&text);
}

static void numbers_without_labels_stand_alone(void **state)
{
    static const rlx_metric_t metric = {"y", RLX_METRIC_GAUGE, "h"};
    rlx_text_t text;

    (void)state;
    rlx_text_init(&text, 4096);
    rlx_metric_number(&text, &metric, NULL, 0, 0.5);
    assert_string_equal(text_of(&text), "y 0.5\n");
    rlx_text_fini(&text);
}

static void histograms_are_cumulative_and_end_with_inf(void **state)
{
    static const rlx_metric_t metric = {"z_seconds", RLX_METRIC_HISTOGRAM, "h"};
    rlx_metric_label_t label = {"model", "m"};
    rlx_metric_histogram_t histogram = {0};
    rlx_text_t text;
    const char *out;

    (void)state;
    rlx_metric_histogram_add(&histogram, 50000);       /* at a bound: in it */
    rlx_metric_histogram_add(&histogram, 50001);       /* above it */
    rlx_metric_histogram_add(&histogram, 1);
    rlx_metric_histogram_add(&histogram, 10000000000);
    rlx_metric_histogram_add(&histogram, 10000000001);
    rlx_text_init(&text, 65536);
    rlx_metric_histogram(&text, &metric, &label, 1, &histogram);
    out = text_of(&text);
    assert_non_null(strstr(out, "z_seconds_bucket{model=\"m\",le=\"5e-05\"} 2\n"));
    assert_non_null(strstr(out, "z_seconds_bucket{model=\"m\",le=\"0.0001\"} 3\n"));
    assert_non_null(strstr(out, "z_seconds_bucket{model=\"m\",le=\"5\"} 3\n"));
    assert_non_null(strstr(out, "z_seconds_bucket{model=\"m\",le=\"10\"} 4\n"));
    assert_non_null(strstr(out, "z_seconds_bucket{model=\"m\",le=\"+Inf\"} 5\n"));
    assert_non_null(strstr(out, "z_seconds_count{model=\"m\"} 5\n"));
    assert_non_null(strstr(out, "z_seconds_sum{model=\"m\"} 20.000100003\n"));
    rlx_text_fini(&text);
}

static void quantiles_lie_in_the_bucket_of_their_value(void **state)
{
    rlx_metric_histogram_t histogram = {0};

    (void)state;
    assert_int_equal(rlx_metric_histogram_quantile(&histogram, 0.5), 0);
    for (int i = 0; i < 99; i++)
        rlx_metric_histogram_add(&histogram, 1200000);
    rlx_metric_histogram_add(&histogram, 40000000);
    assert_in_range(rlx_metric_histogram_quantile(&histogram, 0.5), 1000000, 1500000);
    assert_in_range(rlx_metric_histogram_quantile(&histogram, 0.995), 30000000, 50000000);
    rlx_metric_histogram_add(&histogram, UINT64_MAX / 2);
    assert_int_equal(rlx_metric_histogram_quantile(&histogram, 0.9999), 10000000000);
}

static void a_full_text_says_so_and_keeps_what_fitted(void **state)
{
    rlx_text_t text;

    (void)state;
    rlx_text_init(&text, 10);
    rlx_text_puts(&text, "12345678");
    rlx_text_puts(&text, "9abc");
    rlx_text_puts(&text, "d");
    assert_true(text.full);
    assert_int_equal(text.bytes, 8);
    rlx_text_clear(&text);
    rlx_text_puts(&text, "0123456789");
    assert_false(text.full);
    assert_int_equal(text.bytes, 10);
    rlx_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(label_values_have_exactly_three_escapes),
        cmocka_unit_test(numbers_without_labels_stand_alone),
        cmocka_unit_test(histograms_are_cumulative_and_end_with_inf),
        cmocka_unit_test(quantiles_lie_in_the_bucket_of_their_value),
        cmocka_unit_test(a_full_text_says_so_and_keeps_what_fitted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
