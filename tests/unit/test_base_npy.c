/* .npy headers: every form that NumPy writes is read, every other is refused with a reason. */
#include "base/npy.h"

#include "tests/unit/check.h"

static unsigned char file_bytes[4096];

/* A .npy of `version` with this header text, followed by `data_bytes` zeros. */
static size_t file_make(int version, const char *header, size_t data_bytes)
{
    size_t length = strlen(header), start = version == 1 ? 10 : 12;

    memset(file_bytes, 0, sizeof file_bytes);
    memcpy(file_bytes, "\x93NUMPY", 6);
    file_bytes[6] = (unsigned char)version;
    file_bytes[8] = (unsigned char)(length & 255);
    file_bytes[9] = (unsigned char)(length >> 8);
    memcpy(file_bytes + start, header, length);
    return start + length + data_bytes;
}

static rlx_status_t parse(size_t bytes, rlx_tensor_t *tensor, rlx_diag_t *diag)
{
    size_t data_bytes;

    return rlx_npy_parse(file_bytes, bytes, tensor, &data_bytes, diag);
}

static void test_versions_1_2_3(void **state)
{
    rlx_tensor_t tensor;

    (void)state;
    for (int version = 1; version <= 3; version++) {
        size_t n = file_make(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", 24);

        assert_ok(parse(n, &tensor, &diag));
        assert_int_equal(tensor.dtype, RLX_F32);
        assert_int_equal(tensor.rank, 2);
        assert_int_equal(tensor.dims[1], 3);
        assert_ptr_equal(tensor.data, file_bytes + n - 24);
    }
}

static void test_scalars_empty_and_odd_spellings(void **state)
{
    rlx_tensor_t tensor;

    (void)state;
    assert_ok(parse(file_make(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (), }", 8), &tensor, &diag));
    assert_int_equal(tensor.rank, 0);
    assert_ok(parse(file_make(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (0,)}", 0), &tensor, &diag));
    assert_int_equal(tensor.dims[0], 0);
    assert_ok(parse(file_make(1, "{\"shape\":(3L,),\"fortran_order\":True,\"descr\":\"<u2\"}", 6), &tensor, &diag));
    assert_int_equal(tensor.dtype, RLX_U16);
    assert_ok(parse(file_make(1, "{'descr': '|V2', 'fortran_order': False, 'shape': (1,)}", 2), &tensor, &diag));
    assert_int_equal(tensor.dtype, RLX_BF16);
}

/* A version 1 file with this header. */
#define FILE_OF(descr, order, shape, data_bytes) \
    file_make(1, "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape "}", data_bytes)

static void test_refusals_say_why(void **state)
{
    rlx_tensor_t tensor;

    (void)state;
    assert_refused(parse(FILE_OF("'>f4'", "False", "(2,)", 8), &tensor, &diag), RLX_E_NPZ, ">f4");
    assert_refused(parse(FILE_OF("'|O'", "False", "(2,)", 8), &tensor, &diag), RLX_E_NPZ, "|O");
    assert_refused(parse(FILE_OF("'<f4'", "True", "(2, 2)", 16), &tensor, &diag), RLX_E_NPZ, "Fortran");
    assert_refused(parse(FILE_OF("[('a', '<f4')]", "False", "(2,)", 8), &tensor, &diag), RLX_E_NPZ, "plain");
    assert_refused(parse(file_make(4, "{}", 0), &tensor, &diag), RLX_E_NPZ, "version 4");
    assert_refused(parse(FILE_OF("'<f4'", "False", "(2,)", 7), &tensor, &diag), RLX_E_NPZ, "needs 8 bytes");
    assert_refused(parse(FILE_OF("'<f4'", "False", "(1,1,1,1,1,1,1,1,1)", 4), &tensor, &diag), RLX_E_NPZ, "9 dimensions");
}

static void test_hostile_extents(void **state)
{
    rlx_tensor_t tensor;

    (void)state;
    assert_refused(parse(FILE_OF("'<f4'", "False", "(4611686018427387904, 4)", 0), &tensor, &diag), RLX_E_NPZ, "multiply");
    assert_refused(parse(FILE_OF("'<f4'", "False", "(99999999999999999999,)", 0), &tensor, &diag), RLX_E_NPZ, "plain");
    assert_refused(parse(FILE_OF("'<f4'", "False", "(-1,)", 0), &tensor, &diag), RLX_E_NPZ, "plain");
}

static void test_every_cut_is_refused(void **state)
{
    size_t n = file_make(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 8);
    rlx_tensor_t tensor;

    (void)state;
    for (size_t cut = 0; cut < n; cut++) {
        unsigned char *copy = malloc(cut + 1); /* of the exact size, so that a sanitizer sees an overrun */
        size_t data_bytes;

        memcpy(copy, file_bytes, cut);
        copy = realloc(copy, cut > 0 ? cut : 1);
        assert_int_not_equal(rlx_npy_parse(copy, cut, &tensor, &data_bytes, NULL), RLX_OK);
        free(copy);
    }
}

static void test_header_written_is_header_read(void **state)
{
    rlx_tensor_t tensor = {.dtype = RLX_F16, .rank = 8, .dims = {1, 2, 3, 1, 1, 1, 1, 2}}, read;
    size_t n = rlx_npy_header(&tensor, (char *)file_bytes);

    (void)state;
    assert_int_equal(n % 64, 0);
    assert_ok(parse(n + 24, &read, &diag));
    assert_int_equal(read.dtype, RLX_F16);
    assert_int_equal(read.rank, 8);
    assert_memory_equal(read.dims, tensor.dims, sizeof tensor.dims);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions_1_2_3),   cmocka_unit_test(test_scalars_empty_and_odd_spellings),
        cmocka_unit_test(test_refusals_say_why), cmocka_unit_test(test_hostile_extents),
        cmocka_unit_test(test_every_cut_is_refused), cmocka_unit_test(test_header_written_is_header_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
