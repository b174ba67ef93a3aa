/* Status codes are gRPC's, by number and name. */
#include "tests/unit/check.h"

static void test_numbers_are_those_of_grpc(void **state)
{
    (void)state;
    assert_int_equal(RLX_INVALID_ARGUMENT, 3);
    assert_int_equal(RLX_RESOURCE_EXHAUSTED, 8);
    assert_int_equal(RLX_DATA_LOSS, 15);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(rlx_status_name(RLX_OK), "OK");
    assert_string_equal(rlx_status_name(RLX_FAILED_PRECONDITION), "FAILED_PRECONDITION");
    assert_string_equal(rlx_status_name((rlx_status_t)99), "UNKNOWN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers_are_those_of_grpc), cmocka_unit_test(test_names)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
