/* Log lines: one line whatever the fields hold, journald's priorities, and a budget for each place. */
#include "base/log.h"

#include "tests/unit/check.h"

static void line_is(const char *expected, rlx_log_format_t format, rlx_log_level_t level, const char *message,
                    const rlx_log_field_t *fields, int n)
{
    char text[256];
    int length = rlx_log_line(text, sizeof text - 1, format, level, message, fields, n);

    text[length] = '\0';
    assert_string_equal(text, expected);
}

static void test_lines_carry_priority_message_and_fields(void **state)
{
    const rlx_log_field_t fields[] = {rlx_log_text("model", "ocr"), rlx_log_int("bytes", -7)};

    (void)state;
    line_is("<6>loaded model=ocr bytes=-7", RLX_LOG_JOURNAL, RLX_LOG_INFO, "loaded", fields, 2);
    line_is("<3>loaded", RLX_LOG_JOURNAL, RLX_LOG_ERROR, "loaded", fields, 0);
    line_is("warning: loaded model=ocr", RLX_LOG_PLAIN, RLX_LOG_WARNING, "loaded", fields, 1);
}

static void test_no_value_ends_the_line_or_looks_like_a_field(void **state)
{
    const rlx_log_field_t fields[] = {rlx_log_text("a", "x\ny=z"), rlx_log_text("b", "say \"hi\" \\"), rlx_log_text("c", ""),
                                      rlx_log_text("d", "\x1b[2J"),
                                      rlx_log_text("e", "\xc3\xa4"), rlx_log_text("f", NULL)};

    (void)state;
    line_is("info: m a=\"x\\x0ay=z\" b=\"say \\\"hi\\\" \\\\\" c=\"\" d=\\x1b[2J e=\xc3\xa4 f=\"\"", RLX_LOG_PLAIN, RLX_LOG_INFO, "m",
            fields, 6);
    line_is("info: a\\x0ab", RLX_LOG_PLAIN, RLX_LOG_INFO, "a\nb", fields, 0);
}

static void test_long_lines_are_cut(void **state)
{
    char text[32];
    const rlx_log_field_t field = rlx_log_text("k", "0123456789012345678901234567890123456789");

    (void)state;
    assert_int_equal(rlx_log_line(text, 20, RLX_LOG_PLAIN, RLX_LOG_INFO, "m", &field, 1), 20);
    assert_memory_equal(text, "info: m k=0123456...", 20);
}

/* Standard error into a file while `write` runs; returns what came, as a string. */
static char *captured(void (*write)(void))
{
    static char text[65536];
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    size_t n;

    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    write();
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static int count(const char *text, const char *word)
{
    int n = 0;

    while ((text = strstr(text, word)) != NULL) {
        text++;
        n++;
    }
    return n;
}

static void write_flood(void)
{
    static rlx_log_site_t site;

    for (int i = 0; i < 1000; i++)
        rlx_log_write(&site, RLX_LOG_INFO, "flood", NULL, 0);
    RLX_LOG(RLX_LOG_INFO, "another place");
    site.since_ns = 1; /* ten seconds later */
    rlx_log_write(&site, RLX_LOG_INFO, "flood", NULL, 0);
}

static void test_a_place_may_write_20_lines_and_tells_what_was_dropped(void **state)
{
    const char *text;

    (void)state;
    rlx_log_configure(RLX_LOG_INFO, RLX_LOG_PLAIN);
    text = captured(write_flood);
    assert_int_equal(count(text, "flood"), 21);
    assert_int_equal(count(text, "another place"), 1);
    assert_non_null(strstr(text, "info: flood dropped=980\n"));
}

static void write_levels(void)
{
    rlx_diag_t diag = {0};

    RLX_LOG(RLX_LOG_DEBUG, "unseen");
    RLX_LOG(RLX_LOG_ERROR, "seen", rlx_log_int("n", 1));
    rlx_fail(&diag, RLX_E_CONFIG_KEY, "no such key");
    rlx_diag_at(&diag, "f:1:2");
    RLX_LOG_DIAG(RLX_LOG_ERROR, "refused", &diag);
}

static void test_levels_and_diagnoses(void **state)
{
    (void)state;
    rlx_log_configure(RLX_LOG_WARNING, RLX_LOG_JOURNAL);
    assert_string_equal(captured(write_levels), "<3>seen n=1\n<3>refused code=RLX-1502 reason=\"no such key\" at=f:1:2 "
                                                "fix=\"Correct its spelling or indentation; `rlxd --help-config` lists all keys.\"\n");
    assert_false(rlx_log_enabled(RLX_LOG_INFO));
    assert_true(rlx_log_enabled(RLX_LOG_WARNING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_carry_priority_message_and_fields),
        cmocka_unit_test(test_no_value_ends_the_line_or_looks_like_a_field),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_a_place_may_write_20_lines_and_tells_what_was_dropped),
        cmocka_unit_test(test_levels_and_diagnoses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
