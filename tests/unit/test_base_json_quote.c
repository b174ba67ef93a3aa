/* Text as JSON strings that may stand inside HTML. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"
#include "base/json_quote.h"

static void expect(const char *text, const char *quoted)
{
    rlx_text_t out;

    rlx_text_init(&out, 4096);
    rlx_json_quote(&out, text);
    assert_false(out.full);
    assert_int_equal(out.bytes, strlen(quoted));
    assert_memory_equal(out.data, quoted, out.bytes);
    rlx_text_fini(&out);
}

static void plain_text_stays(void **state)
{
    (void)state;
    expect("", "\"\"");
    expect("conv2d fire2/squeeze1x1", "\"conv2d fire2/squeeze1x1\"");
}

static void what_json_or_html_would_read_is_escaped(void **state)
{
    (void)state;
    expect("\"\\\n\x01\x7f", "\"\\\"\\\\\\u000a\\u0001\\u007f\"");
    expect("</script>&", "\"\\u003c/script\\u003e\\u0026\"");
}

static void utf8_stays_and_everything_else_is_replaced(void **state)
{
    (void)state;
    expect("\xc3\xa9 \xe6\x96\x87 \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe6\x96\x87 \xf0\x9f\x98\x80\"");
    expect("a\x80z", "\"a\\ufffdz\"");
    expect("\xc0\xaf", "\"\\ufffd\\ufffd\"");           /* overlong */
    expect("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""); /* surrogate */
    expect("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* beyond U+10FFFF */
    expect("\xe6\x96", "\"\\ufffd\\ufffd\"");           /* cut */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_stays),
        cmocka_unit_test(what_json_or_html_would_read_is_escaped),
        cmocka_unit_test(utf8_stays_and_everything_else_is_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
