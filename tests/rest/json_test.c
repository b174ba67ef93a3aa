/* Numbers, data arrays, the scan and the writer: from RFC 8259 and the number formats, with the C library as the judge of rounding. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "daemon/json/data.h"
#include "daemon/json/number.h"
#include "daemon/json/scan.h"
#include "daemon/json/write.h"
#include "tests/unit/check.h"

static uint64_t seed = 1;

static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* Reads `text` as one element. */
static const char *read_as(const char *text, rlx_dtype_t dtype, void *to)
{
    char buffer[1200];
    rlx_json_number_t number;
    const char *wrong;
    size_t bytes = strlen(text);

    memcpy(buffer, text, bytes);
    memcpy(buffer + bytes, "]", 2);
    wrong = rlx_json_number_read(buffer, buffer + bytes, &number);
    if (wrong != NULL)
        return wrong;
    if (number.end != buffer + bytes)
        return "text is left";
    return rlx_json_number_store(&number, dtype, to);
}

static void check_rounding(const char *text)
{
    float single, single_wanted = strtof(text, NULL);
    double wide, wide_wanted = strtod(text, NULL);

    if (!isinf(single_wanted)) {
        assert_null(read_as(text, RLX_F32, &single));
        if (memcmp(&single, &single_wanted, sizeof single) != 0)
            fail_msg("%s as FP32 is %a, not %a", text, single, single_wanted);
    }
    if (!isinf(wide_wanted)) {
        assert_null(read_as(text, RLX_F64, &wide));
        if (memcmp(&wide, &wide_wanted, sizeof wide) != 0)
            fail_msg("%s as FP64 is %a, not %a", text, wide, wide_wanted);
    }
}

static void decimal_text_is_rounded_as_strtof_and_strtod_do(void **state)
{
    char text[64];
    static const char *const special[] = {
        "0", "-0", "0.0", "-0.0e5", "1", "-1.5", "0.1", "16777217", "16777216.9999999999", "16777217.0000000000000000001", "9007199254740993",
        "9007199254740992.99999999999999", "1.17549435e-38", "1.401298464324817e-45", "7.006492321624085e-46", "7.0064923216240853e-46",
        "3.4028235e38", "3.4028235677973366e38", "2.2250738585072014e-308", "4.9e-324", "2.4703282292062327e-324", "1.7976931348623157e308",
        "123456789012345678901234567890", "0.000000000000000000000000000000000000012345678901234567890123", "1e-400", "1E+2", "1e-0",
        "8.5899345920000001e9", "0.50000002980232238769531250", "0.50000002980232238769531249", "0.50000002980232238769531251"};

    (void)state;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        check_rounding(special[i]);
    for (int i = 0; i < 300000; i++) {
        uint64_t bits = draw();
        uint32_t narrow = (uint32_t)draw();
        double wide;
        float single;

        memcpy(&wide, &bits, sizeof wide);
        memcpy(&single, &narrow, sizeof single);
        if (isfinite(wide)) {
            snprintf(text, sizeof text, "%.*g", 1 + (int)(draw() % 20), wide);
            check_rounding(text);
        }
        if (isfinite(single)) {
            snprintf(text, sizeof text, "%.*g", 1 + (int)(draw() % 20), single);
            check_rounding(text);
            wide = ((double)single + nextafterf(single, INFINITY)) / 2; /* the middle of two floats, and beside it */
            snprintf(text, sizeof text, "%.*g", 17 + (int)(draw() % 3), wide);
            check_rounding(text);
        }
        snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64, draw() % 1000, draw() % 1000000);
        check_rounding(text);
    }
}

static void halves_and_bfloats_are_rounded_to_nearest_even(void **state)
{
    static const struct {
        const char *text;
        uint16_t half, bfloat;
    } cases[] = {{"1", 0x3c00, 0x3f80},      {"-2", 0xc000, 0xc000},       {"65504", 0x7bff, 0x4780},    {"0.00006103515625", 0x0400, 0x3880},
                 {"5.9604644775390625e-8", 0x0001, 0x3380}, {"2.98023223876953125e-8", 0x0000, 0x3300}, {"2049", 0x6800, 0x4500},
                 {"2051", 0x6802, 0x4500},   {"0.333333333333", 0x3555, 0x3eab}, {"-0.0", 0x8000, 0x8000}};
    uint16_t bits;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(read_as(cases[i].text, RLX_F16, &bits));
        assert_int_equal(bits, cases[i].half);
        assert_null(read_as(cases[i].text, RLX_BF16, &bits));
        assert_int_equal(bits, cases[i].bfloat);
    }
    for (uint32_t i = 0; i < 0x7c00; i++) /* every half reads back */
        assert_int_equal(rlx_json_half_from_double(rlx_json_half_to_float((uint16_t)i)), i);
    assert_non_null(read_as("65520", RLX_F16, &bits));
    assert_null(read_as("65519.99", RLX_F16, &bits));
    assert_non_null(read_as("1e39", RLX_BF16, &bits));
}

static void integers_are_checked_against_their_type(void **state)
{
    static const struct {
        const char *text;
        rlx_dtype_t dtype;
        bool good;
        int64_t value;
    } cases[] = {
        {"127", RLX_I8, true, 127}, {"128", RLX_I8, false, 0}, {"-128", RLX_I8, true, -128}, {"-129", RLX_I8, false, 0},
        {"255", RLX_U8, true, 255}, {"256", RLX_U8, false, 0}, {"-1", RLX_U8, false, 0}, {"-0", RLX_U8, true, 0},
        {"65536", RLX_U16, false, 0}, {"-32768", RLX_I16, true, -32768}, {"2147483648", RLX_I32, false, 0}, {"4294967295", RLX_U32, true, 4294967295},
        {"9223372036854775807", RLX_I64, true, INT64_MAX}, {"9223372036854775808", RLX_I64, false, 0},
        {"-9223372036854775808", RLX_I64, true, INT64_MIN}, {"-9223372036854775809", RLX_I64, false, 0},
        {"18446744073709551615", RLX_U64, true, -1}, {"18446744073709551616", RLX_U64, false, 0}, {"3.0", RLX_I32, true, 3},
        {"3.00", RLX_U8, true, 3}, {"3.5", RLX_I32, false, 0}, {"1e2", RLX_I32, false, 0}, {"2", RLX_BOOL, false, 0}, {"1", RLX_BOOL, true, 1},
        {"99999999999999999999999999", RLX_I64, false, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 0;
        const char *wrong = read_as(cases[i].text, cases[i].dtype, &value);

        if ((wrong == NULL) != cases[i].good)
            fail_msg("%s as %s: %s", cases[i].text, rlx_dtype_name(cases[i].dtype), wrong != NULL ? wrong : "taken");
        if (wrong == NULL && memcmp(&value, &cases[i].value, rlx_dtype_size(cases[i].dtype)) != 0)
            fail_msg("%s is read wrongly", cases[i].text);
    }
}

static void what_is_no_json_number_is_refused(void **state)
{
    static const char *const texts[] = {"", "-", "+1", ".5", "1.", "01", "-01", "1e", "1e+", "0x10", "NaN", "Infinity", "-Infinity", "1_000",
                                        "1..2", "--1", "1e5.5", "true", "\"1\"", "nul"};
    char digits[1100];
    double value;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (read_as(texts[i], RLX_F64, &value) == NULL)
            fail_msg("'%s' is taken as %g", texts[i], value);
    memset(digits, '1', sizeof digits);
    digits[1023] = '\0';
    digits[1] = '.';
    assert_null(read_as(digits, RLX_F64, &value));
    digits[1023] = '1';
    digits[1090] = '\0';
    assert_non_null(read_as(digits, RLX_F64, &value));
    assert_non_null(read_as("1e400", RLX_F64, &value));
    assert_non_null(read_as("3.5e38", RLX_F32, &value));
}

static void written_elements_read_back_as_the_same_bits(void **state)
{
    char text[RLX_JSON_ELEMENT_MAX + 1];

    (void)state;
    for (int i = 0; i < 1000000; i++) {
        uint32_t bits = i < 200000 ? (uint32_t)i * 21475 : (uint32_t)draw();
        float value, again;
        int n;

        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        n = rlx_json_element_write(RLX_F32, &value, 0, text);
        assert_true(n < RLX_JSON_ELEMENT_MAX);
        text[n] = '\0';
        again = strtof(text, NULL);
        if (memcmp(&again, &value, sizeof value) != 0)
            fail_msg("%a is written as %s", value, text);
        if (i % 16 == 0 && read_as(text, RLX_F32, &again) != NULL)
            fail_msg("%s is no JSON", text);
    }
    for (int i = 0; i < 50000; i++) {
        uint64_t bits = draw();
        double value, again;
        int n;

        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        n = rlx_json_element_write(RLX_F64, &value, 0, text);
        text[n] = '\0';
        assert_null(read_as(text, RLX_F64, &again));
        assert_memory_equal(&again, &value, sizeof value);
    }
}

static void elements_are_written_short(void **state)
{
    static const struct {
        float value;
        const char *text;
    } floats[] = {{0, "0.0"}, {-0.0f, "-0.0"}, {1, "1.0"}, {0.1f, "0.1"}, {-255, "-255.0"}, {0.5f, "0.5"}, {1e10f, "1.0e10"}, {1.5e-5f, "1.5e-5"},
                  {123456, "123456.0"}, {3.4028235e38f, "3.4028235e38"}, {1e-45f, "1.0e-45"}, {0.001f, "0.001"}, {16777216, "16777216.0"},
                  {NAN, "\"NaN\""}, {INFINITY, "\"Infinity\""}, {-INFINITY, "\"-Infinity\""}};
    char text[RLX_JSON_ELEMENT_MAX + 1];
    int8_t small = -128;
    uint64_t large = UINT64_MAX;
    int64_t low = INT64_MIN;
    uint8_t truth[2] = {1, 0};

    (void)state;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        text[rlx_json_element_write(RLX_F32, &floats[i].value, 0, text)] = '\0';
        assert_string_equal(text, floats[i].text);
    }
    text[rlx_json_element_write(RLX_I8, &small, 0, text)] = '\0';
    assert_string_equal(text, "-128");
    text[rlx_json_element_write(RLX_U64, &large, 0, text)] = '\0';
    assert_string_equal(text, "18446744073709551615");
    text[rlx_json_element_write(RLX_I64, &low, 0, text)] = '\0';
    assert_string_equal(text, "-9223372036854775808");
    text[rlx_json_element_write(RLX_BOOL, truth, 0, text)] = '\0';
    assert_string_equal(text, "true");
    text[rlx_json_element_write(RLX_BOOL, truth, 1, text)] = '\0';
    assert_string_equal(text, "false");
}

/* Reads `text` as the data of a tensor, `piece` bytes at a time. */
static rlx_status_t data_read(const char *text, rlx_dtype_t dtype, int rank, const int64_t *dims, void *to, size_t piece, rlx_diag_t *diag)
{
    rlx_tensor_t tensor = {.dtype = dtype, .rank = rank, .data = to};
    size_t bytes = strlen(text);
    char *exact = malloc(bytes + 1); /* a sanitizer sees its end; the NUL stands for what follows in a body */
    rlx_json_data_t data;
    rlx_status_t status = RLX_OK;

    memcpy(exact, text, bytes + 1);
    for (int i = 0; i < rank; i++)
        tensor.dims[i] = dims[i];
    rlx_json_data_init(&data, exact, exact + bytes, &tensor);
    while (status == RLX_OK && !rlx_json_data_ended(&data))
        status = rlx_json_data_step(&data, piece, diag);
    free(exact);
    return status;
}

static void data_may_be_flat_or_nested(void **state)
{
    static const int64_t dims[] = {2, 3}, empty[] = {2, 0}, row[] = {1, 4};
    static const char *const texts[] = {"[1,2,3,4,5,6]", "[[1,2,3],[4,5,6]]", " [ [1 ,2,\n3 ],\t[4,5,6] ] ", "[1.0,2e0,3,4,5,6]"};
    float values[6], wanted[] = {1, 2, 3, 4, 5, 6};
    bool truth[4];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t piece = 1; piece < 20; piece += 6) {
            assert_ok(data_read(texts[i] + (texts[i][0] == ' '), RLX_F32, 2, dims, values, piece, &diag));
            assert_memory_equal(values, wanted, sizeof wanted);
        }
    assert_ok(data_read("[[],[]]", RLX_F32, 2, empty, values, 100, &diag));
    assert_ok(data_read("[]", RLX_F32, 2, empty, values, 100, &diag));
    assert_ok(data_read("[7]", RLX_F32, 0, NULL, values, 100, &diag));
    assert_ok(data_read("[[true,false,1,0]]", RLX_BOOL, 2, row, truth, 100, &diag));
    assert_true(truth[0] && !truth[1] && truth[2] && !truth[3]);
}

static void wrong_data_are_refused_with_the_place(void **state)
{
    static const int64_t dims[] = {2, 3};
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"[1,2,3,4,5]", "5 elements"}, {"[1,2,3,4,5,6,7]", "more elements than the 6"}, {"[[1,2,3],[4,5]]", "axis 1"}, {"[[1,2,3]]", "axis 0"},
        {"[[1,2],[3,4],[5,6]]", "axis 1"}, {"[[[1,2,3],[4,5,6]]]", "nested more than 2"}, {"[1,2,3,[4,5,6]]", "array among numbers"},
        {"[[1,2,3],4,5,6]", "stands 1 arrays deep"}, {"[1,,2,3,4,5]", "element 1"}, {"[1,2,3,4,5,6,]", "more elements"}, {"[1 2,3,4,5,6]", "missing before '2'"},
        {"[1,2,3,4,5,NaN]", "element 5 is NaN"}, {"[Infinity]", "no number for it"}, {"[-Infinity]", "no number for it"}, {"[null]", "'null'"},
        {"[\"a\"]", "element 0"}, {"[1,2,3,4,5,1e39]", "above FP32"}, {"[{}]", "element 0"}, {"[[[[[[[[[[1]]]]]]]]]]", "nested more than"}};
    float values[6];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(data_read(cases[i].text, RLX_F32, 2, dims, values, 5, &diag), RLX_E_REQUEST_MALFORMED, cases[i].word);
}

static rlx_json_scan_t scan;

static rlx_status_t scan_all(const char *text, size_t bytes, size_t piece, rlx_diag_t *diag)
{
    rlx_status_t status;

    rlx_json_scan_begin(&scan, text, bytes);
    do
        status = rlx_json_scan_step(&scan, piece, diag);
    while (status == RLX_OK && !rlx_json_scan_ended(&scan));
    return status;
}

static void the_scan_cuts_data_out_and_nothing_else(void **state)
{
    static const char text[] = "{\"id\":\"a\\\"]\",\"data\":[9],\"inputs\":[{\"name\":\"x\",\"data\":[[1,2],[3]]},\n"
                               " {\"data\" : [] , \"parameters\":{\"data\":[5]}}],\"outputs\":[{\"data\":[6]}]} ";
    static const char wanted[] = "{\"id\":\"a\\\"]\",\"data\":[9],\"inputs\":[{\"name\":\"x\",\"data\":0},\n"
                                 " {\"data\" : 1 , \"parameters\":{\"data\":[5]}}],\"outputs\":[{\"data\":[6]}]}";

    (void)state;
    rlx_json_scan_init(&scan);
    for (size_t piece = 1; piece < sizeof text; piece += 3) {
        assert_ok(scan_all(text, sizeof text - 1, piece, &diag));
        assert_int_equal(scan.skeleton.bytes, sizeof wanted - 1);
        assert_memory_equal(scan.skeleton.data, wanted, sizeof wanted - 1);
        assert_int_equal(scan.n_cuts, 2);
        assert_memory_equal(scan.cuts[0].begin, "[[1,2],[3]]", 11);
        assert_int_equal(scan.cuts[0].end - scan.cuts[0].begin, 11);
        assert_int_equal(scan.cuts[1].end - scan.cuts[1].begin, 2);
    }
    rlx_json_scan_fini(&scan);
}

static void the_scan_refuses_what_would_be_costly_or_no_object(void **state)
{
    static char deep[100000];
    static const struct {
        const char *text, *word;
    } cases[] = {{"", "empty"}, {"  ", "empty"}, {"[1]", "no JSON object"}, {"{", "ends too early"}, {"{\"a\":[1}", "closes nothing"},
                 {"{}}", "bytes follow"}, {"{} {}", "bytes follow"}, {"{\"inputs\":[{\"data\":5}]}", "no array"}, {"{\"a", "ends too early"},
                 {"{\"inputs\":[{\"data\":[1,2", "ends too early"}, {"\xff\xfe", "0xff"}};

    (void)state;
    rlx_json_scan_init(&scan);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(scan_all(cases[i].text, strlen(cases[i].text), 4, &diag), RLX_E_REQUEST_MALFORMED, cases[i].word);
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    assert_refused(scan_all(deep, sizeof deep, sizeof deep, &diag), RLX_E_REQUEST_MALFORMED, "nests more than 16");
    assert_true(scan.at - deep < 64); /* at once */
    memcpy(deep, "{\"inputs\":[{\"data\":", 19);
    assert_refused(scan_all(deep, sizeof deep, sizeof deep, &diag), RLX_E_REQUEST_MALFORMED, "nests more than 16");
    rlx_json_scan_fini(&scan);
    rlx_json_scan_init(&scan);
    {
        size_t bytes = RLX_JSON_SKELETON_MAX + 100;
        char *large = malloc(bytes);

        memset(large, 'x', bytes);
        memcpy(large, "{\"a\":\"", 6);
        memcpy(large + bytes - 2, "\"}", 2);
        assert_refused(scan_all(large, bytes, bytes, &diag), RLX_E_REQUEST_MALFORMED, "besides tensor data");
        free(large);
    }
    rlx_json_scan_fini(&scan);
}

static void written_strings_are_json_whatever_their_bytes(void **state)
{
    rlx_text_t text;
    rlx_json_t json = {.text = &text};
    static const char wanted[] = "{\"k\":\"a\\\"b\\\\c\\u000a\\u0001\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\\ufffd\\ufffd\\ufffdz\",\"n\":[1,-2,true]}";

    (void)state;
    rlx_text_init(&text, 1 << 16);
    rlx_json_open(&json, NULL, '{');
    rlx_json_string(&json, "k", "a\"b\\c\n\x01\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xff\xc0\x80z");
    rlx_json_open(&json, "n", '[');
    rlx_json_unsigned(&json, NULL, 1);
    rlx_json_signed(&json, NULL, -2);
    rlx_json_bool(&json, NULL, true);
    rlx_json_close(&json, ']');
    rlx_json_close(&json, '}');
    assert_int_equal(text.bytes, sizeof wanted - 1);
    assert_memory_equal(text.data, wanted, sizeof wanted - 1);
    rlx_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimal_text_is_rounded_as_strtof_and_strtod_do),
        cmocka_unit_test(halves_and_bfloats_are_rounded_to_nearest_even),
        cmocka_unit_test(integers_are_checked_against_their_type),
        cmocka_unit_test(what_is_no_json_number_is_refused),
        cmocka_unit_test(written_elements_read_back_as_the_same_bits),
        cmocka_unit_test(elements_are_written_short),
        cmocka_unit_test(data_may_be_flat_or_nested),
        cmocka_unit_test(wrong_data_are_refused_with_the_place),
        cmocka_unit_test(the_scan_cuts_data_out_and_nothing_else),
        cmocka_unit_test(the_scan_refuses_what_would_be_costly_or_no_object),
        cmocka_unit_test(written_strings_are_json_whatever_their_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
