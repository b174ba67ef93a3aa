/* .npz: what is written is read back, bytes are the same every time, and no damage goes unnoticed. */
#include "base/npz.h"

#include "base/file.h"
#include "tests/unit/check.h"

static float floats[] = {1, 2, 3, 4, 5, 6};
static int64_t integers[] = {-7};

static const rlx_npz_array_t arrays[] = {
    {"image", {.dtype = RLX_F32, .rank = 2, .dims = {2, 3}, .data = floats}},
    {"with/slash", {.dtype = RLX_I64, .rank = 0, .data = integers}},
    {"empty", {.dtype = RLX_U8, .rank = 2, .dims = {0, 5}, .data = NULL}},
};

static char path[256];

static void *archive_make(size_t *out_bytes)
{
    void *data;

    snprintf(path, sizeof path, "%s", scratch_path("npz"));
    assert_int_equal(rlx_npz_write(path, arrays, 3, NULL), RLX_OK);
    assert_int_equal(rlx_file_read(path, 1 << 20, &data, out_bytes, NULL), RLX_OK);
    unlink(path);
    return data;
}

static void test_round_trip(void **state)
{
    size_t bytes;
    void *data = archive_make(&bytes);
    rlx_npz_t npz;

    (void)state;
    assert_ok(rlx_npz_parse(data, bytes, &npz, &diag));
    free(data);
    assert_int_equal(npz.n_arrays, 3);
    assert_int_equal(rlx_npz_find(&npz, "image")->dims[1], 3);
    assert_memory_equal(rlx_npz_find(&npz, "image")->data, floats, sizeof floats);
    assert_int_equal((uintptr_t)rlx_npz_find(&npz, "image")->data % 64, 0);
    assert_int_equal(*(int64_t *)rlx_npz_find(&npz, "with/slash")->data, -7);
    assert_int_equal(rlx_npz_find(&npz, "empty")->dims[0], 0);
    assert_non_null(rlx_npz_find(&npz, "empty")->data);
    assert_null(rlx_npz_find(&npz, "none"));
    rlx_npz_fini(&npz);
}

static void test_same_arrays_same_bytes(void **state)
{
    size_t n1, n2;
    void *first = archive_make(&n1), *second = archive_make(&n2);

    (void)state;
    assert_int_equal(n1, n2);
    assert_memory_equal(first, second, n1);
    free(first);
    free(second);
}

static void test_bare_npy(void **state)
{
    size_t bytes;
    char *data = archive_make(&bytes);
    rlx_npz_t npz;
    size_t at = 30 + strlen("image.npy");

    (void)state;
    assert_ok(rlx_npz_parse(data + at, 128 + sizeof floats, &npz, &diag));
    assert_int_equal(npz.n_arrays, 1);
    assert_string_equal(npz.arrays[0].name, "");
    assert_memory_equal(npz.arrays[0].tensor.data, floats, sizeof floats);
    rlx_npz_fini(&npz);
    free(data);
}

static void test_every_cut_is_refused(void **state)
{
    size_t bytes;
    char *data = archive_make(&bytes);
    rlx_npz_t npz;

    (void)state;
    for (size_t cut = 0; cut < bytes; cut++) {
        char *copy = malloc(cut > 0 ? cut : 1);

        memcpy(copy, data, cut);
        assert_int_not_equal(rlx_npz_parse(copy, cut, &npz, NULL), RLX_OK);
        free(copy);
    }
    free(data);
}

/* Where a flipped bit is not refused, the arrays are still well formed: names and sizes may differ, memory does not break. */
static void test_every_flipped_bit_is_harmless(void **state)
{
    size_t bytes;
    unsigned char *data = archive_make(&bytes);
    rlx_npz_t npz;

    (void)state;
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (rlx_npz_parse(data, bytes, &npz, NULL) == RLX_OK)
            rlx_npz_fini(&npz);
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    free(data);
}

static void test_flipped_data_is_refused(void **state)
{
    size_t bytes;
    unsigned char *data = archive_make(&bytes);
    rlx_npz_t npz;

    (void)state;
    data[30 + strlen("image.npy") + 128 + 3] ^= 1;
    assert_refused(rlx_npz_parse(data, bytes, &npz, &diag), RLX_E_NPZ, "checksum");
    free(data);
}

static void test_names_must_be_unique_and_not_empty(void **state)
{
    rlx_npz_array_t twice[] = {arrays[0], arrays[0]}, empty[] = {{"", arrays[0].tensor}};

    (void)state;
    snprintf(path, sizeof path, "%s", scratch_path("names"));
    assert_refused(rlx_npz_write(path, twice, 2, &diag), RLX_E_NPZ, "image");
    assert_refused(rlx_npz_write(path, empty, 1, &diag), RLX_E_NPZ, "empty");
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_missing_file_is_named(void **state)
{
    rlx_npz_t npz;

    (void)state;
    assert_refused(rlx_npz_read("/nonexistent/in.npz", &npz, &diag), RLX_E_FILE_OPEN, "/nonexistent/in.npz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_same_arrays_same_bytes),
        cmocka_unit_test(test_bare_npy),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_every_flipped_bit_is_harmless),
        cmocka_unit_test(test_flipped_data_is_refused),
        cmocka_unit_test(test_names_must_be_unique_and_not_empty),
        cmocka_unit_test(test_missing_file_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
