/* gRPC's notations, expectations from the protocol's description (PROTOCOL-HTTP2.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/server/grpc_text.h"

static uint64_t parsed(const char *text)
{
    uint64_t ns = 12345;

    assert_true(rlx_grpc_timeout_parse(text, strlen(text), &ns));
    return ns;
}

static void timeouts_have_one_to_eight_digits_and_a_unit(void **state)
{
    (void)state;
    assert_int_equal(parsed("1H"), 3600000000000);
    assert_int_equal(parsed("2M"), 120000000000);
    assert_int_equal(parsed("3S"), 3000000000);
    assert_int_equal(parsed("250m"), 250000000);
    assert_int_equal(parsed("99999999u"), 99999999000);
    assert_int_equal(parsed("0n"), 0);
    assert_true(parsed("99999999H") == UINT64_MAX); /* 11,415 years: saturated, not wrapped */
}

static void malformed_timeouts_are_refused_and_write_nothing(void **state)
{
    static const char *const wrong[] = {"", "S", "5", "-1S", "1s", "1 S", "+1S", "1.5S", "123456789S", "1SS", "0x1S"};
    uint64_t ns = 77;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(rlx_grpc_timeout_parse(wrong[i], strlen(wrong[i]), &ns));
    assert_int_equal(ns, 77);
}

static void messages_keep_printable_ascii_and_escape_the_rest(void **state)
{
    char out[64];

    (void)state;
    assert_int_equal(rlx_grpc_message_encode("input \"x\": 3 > 2", out, sizeof out), 16);
    assert_string_equal(out, "input \"x\": 3 > 2");
    rlx_grpc_message_encode("100 %\r\n\x7f\xc3\xbc", out, sizeof out);
    assert_string_equal(out, "100 %25%0D%0A%7F%C3%BC");
}

static void a_message_is_cut_before_an_escape_or_a_character_that_does_not_fit(void **state)
{
    char out[8];

    (void)state;
    assert_int_equal(rlx_grpc_message_encode("abcdefghij", out, sizeof out), 7);
    assert_string_equal(out, "abcdefg");
    rlx_grpc_message_encode("abcde%", out, sizeof out);
    assert_string_equal(out, "abcde");
    rlx_grpc_message_encode("abc\xc3\xbc", out, sizeof out); /* half of u-umlaut would fit */
    assert_string_equal(out, "abc");
}

static void the_prefix_is_a_zero_and_the_length_big_endian(void **state)
{
    uint8_t prefix[5];

    (void)state;
    rlx_grpc_prefix_encode(prefix, 0x01020304);
    assert_memory_equal(prefix, "\x00\x01\x02\x03\x04", 5);
    assert_int_equal(rlx_grpc_prefix_bytes(prefix), 0x01020304);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeouts_have_one_to_eight_digits_and_a_unit),
        cmocka_unit_test(malformed_timeouts_are_refused_and_write_nothing),
        cmocka_unit_test(messages_keep_printable_ascii_and_escape_the_rest),
        cmocka_unit_test(a_message_is_cut_before_an_escape_or_a_character_that_does_not_fit),
        cmocka_unit_test(the_prefix_is_a_zero_and_the_length_big_endian),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
