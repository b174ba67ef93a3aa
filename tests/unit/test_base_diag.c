/* A diagnosis keeps the first error, and prints nothing that could steer a terminal. */
#include "tests/unit/check.h"

static char *printed(const rlx_diag_t *diag)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    rlx_diag_print(diag, out);
    fclose(out);
    return text;
}

static void test_first_error_wins(void **state)
{
    rlx_diag_t diag = {0};

    (void)state;
    assert_int_equal(rlx_fail(&diag, RLX_E_NPZ, "first %d", 1), RLX_INVALID_ARGUMENT);
    assert_int_equal(rlx_fail(&diag, RLX_E_NO_MEMORY, "second"), RLX_INVALID_ARGUMENT);
    assert_string_equal(diag.message, "first 1");
    assert_int_equal(rlx_diag_at(&diag, "here"), RLX_INVALID_ARGUMENT);
    rlx_diag_at(&diag, "there");
    assert_string_equal(diag.where, "here");
}

static void test_null_diag_gives_the_status(void **state)
{
    (void)state;
    assert_int_equal(rlx_fail(NULL, RLX_E_NO_MEMORY, "x"), RLX_RESOURCE_EXHAUSTED);
    assert_int_equal(rlx_diag_at(NULL, "x"), RLX_INTERNAL);
}

static void test_long_text_is_cut_with_dots(void **state)
{
    rlx_diag_t diag = {0};
    char text[2000];

    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    rlx_fail(&diag, RLX_E_NPZ, "%s", text);
    assert_int_equal(strlen(diag.message), sizeof diag.message - 1);
    assert_string_equal(diag.message + sizeof diag.message - 4, "...");
}

static void test_print_has_code_place_and_fix(void **state)
{
    rlx_diag_t diag = {0};
    char *text;

    (void)state;
    rlx_fail(&diag, RLX_E_ONNX_OPERATOR, "no such operator");
    rlx_diag_at(&diag, "node 3");
    text = printed(&diag);
    assert_string_equal(text, "error RLX-1104: no such operator\n  at: node 3\n"
                              "  fix: Replace the operator there, or export the model with another opset.\n");
    free(text);
}

static void test_print_escapes_controls(void **state)
{
    rlx_diag_t diag = {0};
    char *text;

    (void)state;
    rlx_fail(&diag, RLX_E_NPZ, "a\x1b[31m\n\xff\xc2\x85 \xe2\x80\xae gr\xc3\xbc\xc3\x9f");
    text = printed(&diag);
    assert_non_null(strstr(text, "a\\x1b[31m\\x0a\\xff\\xc2\\x85 \\xe2\\x80\\xae gr\xc3\xbc\xc3\x9f\n"));
    free(text);
}

static void test_table_is_ascending_and_complete(void **state)
{
    int count;
    const rlx_error_info_t *table = rlx_error_table(&count);

    (void)state;
    assert_true(count > 20);
    for (int i = 0; i < count; i++) {
        if (i > 0)
            assert_true(table[i].code > table[i - 1].code);
        assert_ptr_equal(rlx_error_find((int)table[i].code), &table[i]);
        assert_int_not_equal(table[i].status, RLX_OK);
        assert_true(strlen(table[i].title) > 0 && strlen(table[i].cause) > 0 && strlen(table[i].fix) > 0);
    }
    assert_null(rlx_error_find(7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_error_wins),       cmocka_unit_test(test_null_diag_gives_the_status),
        cmocka_unit_test(test_long_text_is_cut_with_dots), cmocka_unit_test(test_print_has_code_place_and_fix),
        cmocka_unit_test(test_print_escapes_controls), cmocka_unit_test(test_table_is_ascending_and_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
