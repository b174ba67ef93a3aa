/* Types and extents: names round-trip, counts never overflow silently. */
#include "base/tensor.h"
#include "tests/unit/check.h"

static void test_dtype_names_round_trip(void **state)
{
    (void)state;
    for (int i = 1; i < RLX_DTYPE_COUNT; i++) {
        assert_int_equal(rlx_dtype_parse(rlx_dtype_name((rlx_dtype_t)i)), i);
        assert_true(rlx_dtype_size((rlx_dtype_t)i) > 0);
    }
    assert_int_equal(rlx_dtype_parse("f128"), RLX_DTYPE_NONE);
    assert_int_equal(rlx_dtype_size((rlx_dtype_t)200), 0);
    assert_string_equal(rlx_dtype_name((rlx_dtype_t)-1), "none");
    assert_string_equal(rlx_layout_name((rlx_layout_t)77), "unknown");
}

static void test_count(void **state)
{
    int64_t count = -1;

    (void)state;
    assert_true(rlx_dims_count(NULL, 0, &count));
    assert_int_equal(count, 1);
    assert_true(rlx_dims_count((int64_t[]){2, 3, 4}, 3, &count));
    assert_int_equal(count, 24);
}

static void test_count_of_an_empty_tensor_is_zero_even_with_huge_extents(void **state)
{
    int64_t count = -1;

    (void)state;
    assert_true(rlx_dims_count((int64_t[]){INT64_MAX, INT64_MAX, 0}, 3, &count));
    assert_int_equal(count, 0);
}

static void test_count_refuses_overflow_and_negative(void **state)
{
    int64_t count;

    (void)state;
    assert_false(rlx_dims_count((int64_t[]){INT64_MAX, 2}, 2, &count));
    assert_false(rlx_dims_count((int64_t[]){-1, 0}, 2, &count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype_names_round_trip),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_count_of_an_empty_tensor_is_zero_even_with_huge_extents),
        cmocka_unit_test(test_count_refuses_overflow_and_negative),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
