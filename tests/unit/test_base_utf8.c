/* Characters by the Unicode standard's table of well-formed sequences (base/utf8.h). */
#include <string.h>

#include "base/utf8.h"
#include "tests/unit/check.h"

static size_t of(const char *text) { return rlx_utf8_bytes(text, strlen(text)); }

static void first_and_last_of_every_length(void **state)
{
    (void)state;
    assert_int_equal(rlx_utf8_bytes("", 1), 1);
    assert_int_equal(of("\x7f"), 1);
    assert_int_equal(of("\xc2\x80"), 2);
    assert_int_equal(of("\xdf\xbf"), 2);
    assert_int_equal(of("\xe0\xa0\x80"), 3);
    assert_int_equal(of("\xef\xbf\xbf"), 3);
    assert_int_equal(of("\xf0\x90\x80\x80"), 4);
    assert_int_equal(of("\xf4\x8f\xbf\xbf"), 4);
}

static void what_is_none(void **state)
{
    static const char *const none[] = {"\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                                       "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe6\x96", "\xf0\x9f\x98", "\xc3z"};

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(of(none[i]), 0);
    assert_int_equal(rlx_utf8_bytes("a", 0), 0);
}

static void a_text_has_no_nul_and_nothing_else(void **state)
{
    (void)state;
    assert_true(rlx_utf8_is_text("", 0));
    assert_true(rlx_utf8_is_text("gr\xc3\xb6\xc3\x9f" "e", 7));
    assert_false(rlx_utf8_is_text("a\0b", 3));
    assert_false(rlx_utf8_is_text("gr\xc3", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_and_last_of_every_length),
        cmocka_unit_test(what_is_none),
        cmocka_unit_test(a_text_has_no_nul_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
