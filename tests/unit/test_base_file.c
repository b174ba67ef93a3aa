/* Files: what is written is what is read, replacing is whole or not at all, failures name the path. */
#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "tests/unit/check.h"

static void test_write_then_read_and_map(void **state)
{
    char path[256];
    void *data;
    size_t bytes;
    rlx_bytes_t map;
    rlx_bytes_t parts[] = {{"ab", 2}, {NULL, 0}, {"cde", 3}};

    (void)state;
    snprintf(path, sizeof path, "%s", scratch_path("file"));
    assert_int_equal(rlx_file_write_parts(path, parts, 3, NULL), RLX_OK);
    assert_int_equal(rlx_file_read(path, 100, &data, &bytes, NULL), RLX_OK);
    assert_int_equal(bytes, 5);
    assert_string_equal(data, "abcde");
    free(data);
    assert_int_equal(rlx_file_map(path, &map, NULL), RLX_OK);
    assert_int_equal(map.bytes, 5);
    assert_memory_equal(map.data, "abcde", 5);
    rlx_file_unmap(&map);
    assert_null(map.data);
    unlink(path);
}

static void test_replacing_leaves_the_old_mapping_alone(void **state)
{
    char path[256];
    rlx_bytes_t map;

    (void)state;
    snprintf(path, sizeof path, "%s", scratch_path("replace"));
    assert_int_equal(rlx_file_write(path, "old", 3, NULL), RLX_OK);
    assert_int_equal(rlx_file_map(path, &map, NULL), RLX_OK);
    assert_int_equal(rlx_file_write(path, "newer", 5, NULL), RLX_OK);
    assert_memory_equal(map.data, "old", 3);
    rlx_file_unmap(&map);
    unlink(path);
}

static void test_empty_file_maps(void **state)
{
    char path[256];
    rlx_bytes_t map;

    (void)state;
    snprintf(path, sizeof path, "%s", scratch_path("empty"));
    assert_int_equal(rlx_file_write(path, NULL, 0, NULL), RLX_OK);
    assert_int_equal(rlx_file_map(path, &map, NULL), RLX_OK);
    assert_int_equal(map.bytes, 0);
    assert_non_null(map.data);
    rlx_file_unmap(&map);
    unlink(path);
}

static void test_large_read_grows(void **state)
{
    enum { BYTES = 300000 };
    char *written = malloc(BYTES), path[256];
    void *data;
    size_t bytes;

    (void)state;
    for (int i = 0; i < BYTES; i++)
        written[i] = (char)(i * 7);
    snprintf(path, sizeof path, "%s", scratch_path("large"));
    assert_int_equal(rlx_file_write(path, written, BYTES, NULL), RLX_OK);
    assert_int_equal(rlx_file_read(path, BYTES, &data, &bytes, NULL), RLX_OK);
    assert_int_equal(bytes, BYTES);
    assert_memory_equal(data, written, BYTES);
    free(data);
    free(written);
    unlink(path);
}

/* More parts than one system call takes, of odd sizes, empty ones among them. */
static void test_many_parts_are_written_in_order(void **state)
{
    enum { PARTS = 1500 };
    static rlx_bytes_t parts[PARTS];
    static char text[PARTS * 8];
    size_t total = 0, bytes;
    char path[256];
    void *data;

    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 31 + (i >> 8));
    for (int i = 0; i < PARTS; i++) {
        parts[i] = (rlx_bytes_t){i % 7 == 3 ? NULL : text + total, i % 7 == 3 ? 0 : (size_t)i % 8};
        total += parts[i].bytes;
    }
    snprintf(path, sizeof path, "%s", scratch_path("parts"));
    assert_int_equal(rlx_file_write_parts(path, parts, PARTS, NULL), RLX_OK);
    assert_int_equal(rlx_file_read(path, sizeof text, &data, &bytes, NULL), RLX_OK);
    assert_int_equal(bytes, total);
    assert_memory_equal(data, text, total);
    free(data);
    unlink(path);
}

/* Around the sizes at which a copy goes on with its next piece. */
static void test_a_copy_is_the_whole_file(void **state)
{
    static const size_t sizes[] = {0, 1, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 5 << 20};
    char *written = malloc(5 << 20), path[256];

    (void)state;
    for (int i = 0; i < 5 << 20; i++)
        written[i] = (char)(i * 7 + (i >> 16));
    snprintf(path, sizeof path, "%s", scratch_path("whole"));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char copy[300];
        rlx_bytes_t map;
        int from, to;

        snprintf(copy, sizeof copy, "%s.copy", path);
        assert_int_equal(rlx_file_write(path, written, sizes[i], NULL), RLX_OK);
        from = open(path, O_RDONLY);
        to = open(copy, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_true(rlx_fd_copy(from, to));
        close(from);
        close(to);
        assert_int_equal(rlx_file_map(copy, &map, NULL), RLX_OK);
        assert_int_equal(map.bytes, sizes[i]);
        assert_memory_equal(map.data, written, sizes[i]);
        rlx_file_unmap(&map);
        unlink(copy);
    }
    unlink(path);
    free(written);
}

static void test_refusals_name_the_path(void **state)
{
    void *data;
    size_t bytes;
    rlx_bytes_t map;

    (void)state;
    assert_refused(rlx_file_map("/nonexistent/file", &map, &diag), RLX_E_FILE_OPEN, "/nonexistent/file");
    assert_refused(rlx_file_map("/", &map, &diag), RLX_E_FILE_OPEN, "not a regular file");
    assert_refused(rlx_file_read("/", 10, &data, &bytes, &diag), RLX_E_FILE_OPEN, "folder");
    assert_refused(rlx_file_read("/dev/zero", 100000, &data, &bytes, &diag), RLX_E_NO_MEMORY, "100000");
    assert_refused(rlx_file_write("/nonexistent/file", "x", 1, &diag), RLX_E_FILE_WRITE, "/nonexistent/file");
}

static void test_special_files_are_written_in_place(void **state)
{
    struct stat info;

    (void)state;
    assert_int_equal(rlx_file_write("/dev/null", "x", 1, NULL), RLX_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_then_read_and_map), cmocka_unit_test(test_replacing_leaves_the_old_mapping_alone),
        cmocka_unit_test(test_empty_file_maps),         cmocka_unit_test(test_large_read_grows),
        cmocka_unit_test(test_many_parts_are_written_in_order), cmocka_unit_test(test_a_copy_is_the_whole_file),
        cmocka_unit_test(test_refusals_name_the_path),  cmocka_unit_test(test_special_files_are_written_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
