/* Digests against published values. */
#include "base/digest.h"

#include "tests/unit/check.h"

static void test_blake2b_256_of_abc(void **state)
{
    uint8_t digest[RLX_BLAKE2B_BYTES];
    char text[2 * RLX_BLAKE2B_BYTES + 1];

    (void)state;
    rlx_digest_blake2b("abc", 3, digest);
    rlx_digest_hex(digest, sizeof digest, text);
    assert_string_equal(text, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

static void test_xxh3_128_of_nothing(void **state)
{
    uint64_t digest[2];

    (void)state;
    rlx_digest_xxh3("", 0, digest);
    assert_true(digest[0] == 0x6001c324468d497fu);
    assert_true(digest[1] == 0x99aa06d3014798d8u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blake2b_256_of_abc), cmocka_unit_test(test_xxh3_128_of_nothing)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
