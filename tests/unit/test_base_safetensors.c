/* Files of tensors: what is written reads back to the same bytes in any order, and what breaks a rule of the format is refused. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/safetensors.h"
#include "tests/unit/check.h"

#define PATH "test_base_safetensors.tmp"

/* A file of a header and data bytes of zero. The tensors of the last one point into it. */
static rlx_status_t parse(const char *header, size_t data_bytes, rlx_safetensors_t *out, rlx_diag_t *diag)
{
    static unsigned char file[4096];
    size_t n = strlen(header);

    assert_true(8 + n + data_bytes <= sizeof file);
    memset(file, 0, sizeof file);
    for (int i = 0; i < 8; i++)
        file[i] = (unsigned char)((uint64_t)n >> 8 * i);
    memcpy(file + 8, header, n);
    *diag = (rlx_diag_t){0};
    return rlx_safetensors_parse(file, 8 + n + data_bytes, out, diag);
}

static void refused(const char *header, size_t data_bytes, const char *why)
{
    rlx_safetensors_t tensors = {0};
    rlx_diag_t diag;

    assert_int_equal(parse(header, data_bytes, &tensors, &diag), RLX_INVALID_ARGUMENT);
    if (strstr(diag.message, why) == NULL)
        fail_msg("'%s' is not in '%s'", why, diag.message);
}

static void test_what_is_written_reads_back(void **state)
{
    float f[6] = {1, 2, 3, 4, 5, 6};
    double d[1] = {0.1};
    uint8_t u[3] = {7, 8, 9};
    rlx_safetensors_item_t items[] = {{"b \"q\" \xc3\xa4", {RLX_U8, 1, {3}, u}}, {"a", {RLX_F32, 2, {2, 3}, f}}, {"scalar", {RLX_F64, 0, {0}, d}},
                                      {"empty", {RLX_I32, 1, {0}, f}}};
    void *first, *second;
    size_t first_bytes, second_bytes;
    rlx_safetensors_t tensors;
    rlx_safetensors_item_t swap;

    (void)state;
    assert_int_equal(rlx_safetensors_write(PATH, items, 4, NULL), RLX_OK);
    assert_int_equal(rlx_file_read(PATH, 1 << 20, &first, &first_bytes, NULL), RLX_OK);
    swap = items[0];
    items[0] = items[3];
    items[3] = swap;
    assert_int_equal(rlx_safetensors_write(PATH, items, 4, NULL), RLX_OK);
    assert_int_equal(rlx_file_read(PATH, 1 << 20, &second, &second_bytes, NULL), RLX_OK);
    assert_int_equal(first_bytes, second_bytes);
    assert_memory_equal(first, second, first_bytes);
    assert_int_equal(rlx_safetensors_parse(first, first_bytes, &tensors, NULL), RLX_OK);
    assert_int_equal(tensors.n_tensors, 4);
    assert_memory_equal(rlx_safetensors_find(&tensors, "a")->tensor.data, f, sizeof f);
    assert_memory_equal(rlx_safetensors_find(&tensors, "b \"q\" \xc3\xa4")->tensor.data, u, sizeof u);
    assert_memory_equal(rlx_safetensors_find(&tensors, "scalar")->tensor.data, d, sizeof d);
    assert_int_equal(rlx_safetensors_find(&tensors, "scalar")->tensor.rank, 0);
    assert_int_equal(rlx_safetensors_find(&tensors, "a")->tensor.dims[1], 3);
    assert_int_equal(rlx_safetensors_find(&tensors, "scalar")->offset % 64, 0);
    assert_null(rlx_safetensors_find(&tensors, "c"));
    rlx_safetensors_fini(&tensors);
    free(first);
    free(second);
    unlink(PATH);
}

static void test_headers_that_the_python_library_writes_are_read(void **state)
{
    rlx_safetensors_t tensors;
    rlx_diag_t diag;

    (void)state;
    assert_int_equal(parse("{\"__metadata__\":{\"format\":\"pt\"},\"\\u00e4\\ud83d\\ude00\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}   ", 8,
                           &tensors, &diag), RLX_OK);
    assert_string_equal(tensors.tensors[0].name, "\xc3\xa4\xf0\x9f\x98\x80");
    rlx_safetensors_fini(&tensors);
    assert_int_equal(parse("{\"x\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, &tensors, &diag), RLX_OK);
    assert_int_equal(tensors.tensors[0].tensor.dtype, RLX_DTYPE_NONE);
    rlx_safetensors_fini(&tensors);
    assert_int_equal(parse("{}", 0, &tensors, &diag), RLX_OK);
    rlx_safetensors_fini(&tensors);
}

static void test_broken_rules_are_refused(void **state)
{
    (void)state;
    refused("", 0, "begins with {");
    refused("[]", 0, "begins with {");
    refused(" {}", 0, "begins with {");
    refused("{", 0, "expected a string");
    refused("{}x", 0, "behind the header's end");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "disagree");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4, "past the end");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 9, "belong to no tensor");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "does not follow");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "overlaps");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", 2, "two tensors");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]}}", 1, "digits, no sign");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]}}", 1, "expected , or ]");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}", 0, "disagree");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[99999999999999999999],\"data_offsets\":[0,0]}}", 0, "too large");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1, "too many numbers");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "lacks");
    refused("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "each once");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}", 1, "each once");
    refused("{\"a\\u0000\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "no text has");
    refused("{\"\\ud800\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "surrogate");
    refused("{\"\xff\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "no string may hold");
    refused("{\"__metadata__\":{\"a\":1}}", 0, "expected a string");
}

static void test_lengths_are_checked_before_anything_is_read(void **state)
{
    unsigned char huge[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, file[16] = {200};
    rlx_safetensors_t tensors;

    (void)state;
    assert_int_equal(rlx_safetensors_parse(huge, sizeof huge, &tensors, NULL), RLX_INVALID_ARGUMENT);
    assert_int_equal(rlx_safetensors_parse(file, sizeof file, &tensors, NULL), RLX_INVALID_ARGUMENT);
    assert_int_equal(rlx_safetensors_parse(file, 3, &tensors, NULL), RLX_INVALID_ARGUMENT);
}

static void test_bools_are_zero_or_one(void **state)
{
    unsigned char file[] = "\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}} \x01\x02";
    rlx_safetensors_t tensors;
    rlx_diag_t diag = {0};

    (void)state;
    assert_int_equal(rlx_safetensors_parse(file, sizeof file - 1, &tensors, &diag), RLX_INVALID_ARGUMENT);
    assert_non_null(strstr(diag.message, "neither 0 nor 1"));
    file[sizeof file - 2] = 0;
    assert_int_equal(rlx_safetensors_parse(file, sizeof file - 1, &tensors, NULL), RLX_OK);
    rlx_safetensors_fini(&tensors);
}

static void test_names_are_unique_when_written(void **state)
{
    uint8_t u[4] = {0};
    rlx_safetensors_item_t items[] = {{"a", {RLX_U8, 1, {1}, u}}, {"a", {RLX_F32, 1, {1}, u}}};

    (void)state;
    assert_int_equal(rlx_safetensors_write(PATH, items, 2, NULL), RLX_INVALID_ARGUMENT);
    items[0].name = "__metadata__";
    assert_int_equal(rlx_safetensors_write(PATH, items, 2, NULL), RLX_INVALID_ARGUMENT);
}

static void test_files_are_opened_below_the_folder_only(void **state)
{
    static const char *const bad[] = {"", "/etc/hostname", "../x", "a/../../x", "a\\b", "none", "link"};
    int dir = open(".", O_RDONLY | O_DIRECTORY), fd;
    uint64_t bytes;

    (void)state;
    unlink("link");
    assert_int_equal(symlink("/etc/hostname", "link"), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rlx_diag_t diag = {0};

        assert_int_not_equal(rlx_beneath_open(dir, bad[i], RLX_E_CONST_FILE, "a constant's file", &fd, &bytes, &diag), RLX_OK);
        assert_int_equal(diag.code, RLX_E_CONST_FILE);
    }
    unlink("link");
    close(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_reads_back),
        cmocka_unit_test(test_headers_that_the_python_library_writes_are_read),
        cmocka_unit_test(test_broken_rules_are_refused),
        cmocka_unit_test(test_lengths_are_checked_before_anything_is_read),
        cmocka_unit_test(test_bools_are_zero_or_one),
        cmocka_unit_test(test_names_are_unique_when_written),
        cmocka_unit_test(test_files_are_opened_below_the_folder_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
