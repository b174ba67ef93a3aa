/* Several findings in one run: in order of place, each with its line underlined, none twice, and no more than asked for. */
#include "base/closest.h"
#include "base/diag_list.h"
#include "tests/unit/check.h"

static char *rendered(const rlx_diag_list_t *list, rlx_diag_format_t format)
{
    rlx_text_t text;

    rlx_text_init(&text, 1 << 20);
    rlx_diag_list_render(list, format, &text);
    rlx_text_add(&text, "", 1);
    return text.data;
}

static void list_begin(rlx_diag_list_t *list, const char *text)
{
    rlx_diag_list_init(list, 0);
    assert_int_equal(rlx_diag_list_source(list, "m.rlx", text, strlen(text)), RLX_OK);
}

static void list_is(rlx_diag_list_t *list, const char *wanted)
{
    char *text = rendered(list, RLX_DIAG_TEXT);

    assert_string_equal(text, wanted);
    free(text);
    rlx_diag_list_fini(list);
}

static void test_findings_stand_in_order_of_place(void **state)
{
    rlx_diag_list_t list;

    (void)state;
    list_begin(&list, "a = 1\nb = c + d\n");
    rlx_report(&list, RLX_E_NAME_UNKNOWN, (rlx_span_t){2, 9, 1}, "`%s` is not defined", "d");
    rlx_finding_hint(rlx_report(&list, RLX_E_NAME_UNKNOWN, (rlx_span_t){2, 5, 1}, "`c` is not defined"), "did you mean `a`?");
    rlx_finding_note(rlx_finding_expected(rlx_report_warning(&list, RLX_E_UNUSED, (rlx_span_t){1, 1, 1}, "`a` is not used"), "a use"),
                     (rlx_span_t){1, 5, 1}, "its value");
    rlx_report_note(&list, RLX_E_SCHEMA_VERSION, RLX_SPAN_NONE, "a remark");
    list_is(&list, "m.rlx: note RLX-2020: a remark\n"
                   "m.rlx:1:1: warning RLX-2024: `a` is not used\n"
                   "   1 | a = 1\n"
                   "     | ^\n"
                   "  expected: a use\n"
                   "  fix: Return it, use it, or remove it.\n"
                   "  note: m.rlx:1:5: its value\n"
                   "   1 | a = 1\n"
                   "     |     ^\n"
                   "m.rlx:2:5: error RLX-2006: `c` is not defined\n"
                   "   2 | b = c + d\n"
                   "     |     ^\n"
                   "  fix: did you mean `a`?\n"
                   "m.rlx:2:9: error RLX-2006: `d` is not defined\n"
                   "   2 | b = c + d\n"
                   "     |         ^\n"
                   "  fix: Define it before it is used, or correct the spelling.\n"
                   "2 errors, 1 warning\n");
}

static void test_tabs_and_wide_characters_keep_the_mark_in_place(void **state)
{
    rlx_diag_list_t list;

    (void)state;
    list_begin(&list, "\tn\xc3\xa4me = \"\xe4\xb8\xad\x1b\" + xyz\r\n");
    rlx_finding_hint(rlx_report(&list, RLX_E_NAME_UNKNOWN, (rlx_span_t){1, 19, 3}, "`xyz` is not defined"), "-");
    list_is(&list, "m.rlx:1:16: error RLX-2006: `xyz` is not defined\n"
                   "   1 |     n\xc3\xa4me = \"\xe4\xb8\xad\\x1b\" + xyz\n"
                   "     |                       ^~~\n"
                   "  fix: -\n");
}

static void test_long_lines_are_cut_around_the_mark(void **state)
{
    rlx_diag_list_t list;
    char line[1000], *text, *mark, *row;

    (void)state;
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    line[500] = 'Q';
    list_begin(&list, line);
    rlx_report(&list, RLX_E_SYNTAX, (rlx_span_t){1, 501, 1}, "m");
    text = rendered(&list, RLX_DIAG_TEXT);
    row = strchr(text, '\n') + 1;
    mark = strchr(row, '\n') + 1;
    assert_true(mark - row < 130);
    assert_int_equal(strchr(row, 'Q') - row, strchr(mark, '^') - mark);
    free(text);
    rlx_diag_list_fini(&list);
}

static void test_a_place_has_one_error_and_a_run_has_a_cap(void **state)
{
    rlx_diag_list_t list;
    char *text;

    (void)state;
    rlx_diag_list_init(&list, 2);
    rlx_diag_list_source(&list, "m", "a\nb\nc\nd\n", 8);
    for (uint32_t line = 1; line <= 4; line++) {
        rlx_report(&list, RLX_E_SYNTAX, (rlx_span_t){line, 1, 1}, "first");
        rlx_report(&list, RLX_E_SYNTAX, (rlx_span_t){line, 1, 1}, "again");
    }
    assert_int_equal(list.n_findings, 2);
    text = rendered(&list, RLX_DIAG_TEXT);
    assert_null(strstr(text, "again"));
    assert_non_null(strstr(text, "2 more errors are not shown"));
    free(text);
    rlx_diag_list_fini(&list);
}

static void test_places_outside_the_text_are_harmless(void **state)
{
    rlx_diag_list_t list;
    char *text;

    (void)state;
    list_begin(&list, "ab");
    rlx_report(&list, RLX_E_SYNTAX, (rlx_span_t){9, 9, 9}, "m");
    rlx_report(&list, RLX_E_SYNTAX, (rlx_span_t){1, 2, 4000000000u}, "m");
    rlx_report(&list, RLX_E_SYNTAX, RLX_SPAN_NONE, "m");
    text = rendered(&list, RLX_DIAG_TEXT);
    assert_non_null(strstr(text, "m.rlx:9:1"));
    assert_non_null(strstr(text, "m.rlx: error"));
    free(text);
    free(rendered(&list, RLX_DIAG_JSON));
    rlx_diag_list_fini(&list);
}

static void test_json_is_one_object(void **state)
{
    rlx_diag_list_t list;
    char *text;

    (void)state;
    list_begin(&list, "\xc3\xa4 = b\n");
    rlx_finding_hint(rlx_report(&list, RLX_E_NAME_UNKNOWN, (rlx_span_t){1, 6, 1}, "`b` \"x\""), "h");
    text = rendered(&list, RLX_DIAG_JSON);
    assert_string_equal(text, "{\"diagnostics\":[{\"code\":\"RLX-2006\",\"severity\":\"error\",\"file\":\"m.rlx\",\"line\":1,\"column\":5,\"endColumn\":6,"
                              "\"byteColumn\":6,\"byteLength\":1,\"message\":\"`b` \\\"x\\\"\",\"fix\":\"h\",\"notes\":[]}],\"errors\":1,\"warnings\":0}\n");
    free(text);
    rlx_diag_list_fini(&list);
}

static void test_the_first_error_becomes_the_diagnosis(void **state)
{
    rlx_diag_list_t list;
    rlx_diag_t diag = {0};

    (void)state;
    list_begin(&list, "a\nb\n");
    assert_int_equal(rlx_diag_list_close(&list, &diag), RLX_OK);
    rlx_report(&list, RLX_E_TEXT_LIMIT, (rlx_span_t){2, 1, 1}, "second");
    rlx_report(&list, RLX_E_SYNTAX, (rlx_span_t){1, 1, 1}, "first");
    rlx_report_warning(&list, RLX_E_UNUSED, RLX_SPAN_NONE, "warning");
    assert_int_equal(rlx_diag_list_close(&list, &diag), RLX_INVALID_ARGUMENT);
    assert_string_equal(diag.message, "first");
    assert_string_equal(diag.where, "m.rlx:1:1");
    rlx_diag_list_fini(&list);
}

static void test_errors_of_later_passes_are_placed_by_their_words(void **state)
{
    rlx_diag_list_t list;
    rlx_diag_t diag = {0};

    (void)state;
    list_begin(&list, "a = rlx.relu(b)\n");
    rlx_fail(&diag, RLX_E_NOT_YET, "not yet");
    rlx_diag_at(&diag, "m.rlx:1:5");
    rlx_diag_hint(&diag, "-");
    assert_int_equal(rlx_diag_list_where(&list, "other.rlx:1:5").line, 0);
    assert_int_equal(rlx_diag_list_where(&list, "m.rlx").line, 0);
    assert_int_equal(rlx_diag_list_where(&list, "m.rlx:0:0").line, 0);
    rlx_report_diag(&list, &diag, RLX_SPAN_NONE);
    list_is(&list, "m.rlx:1:5: error RLX-2023: not yet\n"
                   "   1 | a = rlx.relu(b)\n"
                   "     |     ^~~~~~~~\n"
                   "  fix: -\n");
}

static const char *nearest(const char *word)
{
    static const char *const known[] = {"strides", "padding", "weight", "input", "eps"};
    rlx_closest_t closest;

    rlx_closest_init(&closest, word, strlen(word));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        rlx_closest_offer(&closest, known[i]);
    return closest.best;
}

static void test_the_nearest_word_is_found(void **state)
{
    (void)state;
    assert_string_equal(nearest("stride"), "strides");
    assert_string_equal(nearest("wieght"), "weight");
    assert_string_equal(nearest("PADDING"), "padding");
    assert_null(nearest("bandwidth"));
    assert_null(nearest(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_findings_stand_in_order_of_place),
        cmocka_unit_test(test_tabs_and_wide_characters_keep_the_mark_in_place),
        cmocka_unit_test(test_long_lines_are_cut_around_the_mark),
        cmocka_unit_test(test_a_place_has_one_error_and_a_run_has_a_cap),
        cmocka_unit_test(test_places_outside_the_text_are_harmless),
        cmocka_unit_test(test_json_is_one_object),
        cmocka_unit_test(test_the_first_error_becomes_the_diagnosis),
        cmocka_unit_test(test_errors_of_later_passes_are_placed_by_their_words),
        cmocka_unit_test(test_the_nearest_word_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
