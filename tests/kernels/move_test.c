/* Strided copies and reorders against their definition, in every build and for any split of tiles. */
#include "tests/kernels/kernel_under_test.h"

#include "kernels/params_move.h"

static kernel_build_t builds[KERNEL_BUILDS_MAX];
static int n_builds;

static int find_builds(void **state)
{
    (void)state;
    n_builds = kernel_builds(builds);
    return 0;
}

static uint8_t *bytes_make(int64_t n)
{
    uint8_t *data = aligned_alloc(64, (size_t)((n + 127) & ~63ll));

    for (int64_t i = 0; i < n; i++)
        data[i] = (uint8_t)kernel_random(256);
    return data;
}

/* A dense output whose axes are read in a random order, some backwards or repeated. */
static void strided_once(void)
{
    static const int64_t extents[] = {1, 1, 2, 3, 8, 9, 16, 17, 40, 70};
    rlx_strided_copy_params_t p = {.bytes = (int64_t)1 << kernel_random(4), .grain = 1 + kernel_random(40), .chunk = 1 + kernel_random(50)};
    int order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    int64_t count = 1, dense = 1, stride = 1, offset = 0, rows = 1;
    uint8_t *in, *want, *got;
    rlx_operand_t ins[1] = {0}, outs[1] = {0};

    for (int i = 7; i >= 0; i--) {
        p.dims[i] = i < 4 ? 1 : extents[kernel_random(10)];
        p.dims[i] = count * p.dims[i] > 60000 ? 1 : p.dims[i];
        count *= p.dims[i];
        p.out_stride[i] = dense * p.bytes;
        dense *= p.dims[i];
        rows *= i < 7 ? p.dims[i] : 1;
    }
    for (int i = 7; i > 0; i--) {
        int k = (int)kernel_random(i + 1), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (int i = 0; i < 8; i++) {
        int axis = order[i];
        int kind = (int)kernel_random(8);
        p.in_stride[axis] = kind == 0 ? 0 : stride * p.bytes;
        stride *= kind == 0 ? 1 : p.dims[axis];
        if (kind == 1) {
            p.in_stride[axis] = -p.in_stride[axis];
            offset += -p.in_stride[axis] * (p.dims[axis] - 1);
        }
    }
    p.in_offset = offset;
    in = bytes_make(count * p.bytes);
    want = bytes_make(count * p.bytes);
    got = bytes_make(count * p.bytes);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = i, from = p.in_offset;
        for (int d = 7; d >= 0; d--) {
            from += at % p.dims[d] * p.in_stride[d];
            at /= p.dims[d];
        }
        memcpy(want + i * p.bytes, in + from, (size_t)p.bytes);
    }
    ins[0].base = in;
    outs[0].base = got;
    for (int b = 0; b < n_builds; b++) {
        memset(got, 0x5a, (size_t)(count * p.bytes));
        kernel_run(&builds[b], RLX_K_strided_copy, ins, outs, &p, (rows + p.grain - 1) / p.grain * ((p.dims[7] + p.chunk - 1) / p.chunk),
                   0);
        assert_memory_equal(got, want, (size_t)(count * p.bytes));
    }
    free(in);
    free(want);
    free(got);
}

static void a_strided_copy_reads_any_order_of_axes(void **state)
{
    (void)state;
    for (int i = 0; i < 1500; i++)
        strided_once();
}

/* Rows of `bytes` bytes in reverse order, each with a guard behind it; from `data` unless NULL. */
#define GUARD "ZZZZZZZZ"
static uint8_t *rows_make(void **rows, int64_t n, int64_t bytes, const uint8_t *data)
{
    uint8_t *memory = bytes_make(n * (bytes + 8));

    memset(memory, GUARD[0], (size_t)(n * (bytes + 8)));
    for (int64_t i = 0; i < n; i++) {
        rows[i] = memory + (n - 1 - i) * (bytes + 8);
        if (data)
            memcpy(rows[i], data + i * bytes, (size_t)bytes);
    }
    return memory;
}

/* [n][a][b] to or from one of [n][b][a], [a][n][b], [a][b][n]; the rows of the first lie apart, and are axis 0 of the walk. */
static void strided_rows_once(bool rows_out)
{
    int64_t n = 2 + kernel_random(5), a = 1 + kernel_random(20), b = 1 + kernel_random(40), bytes = (int64_t)1 << kernel_random(4);
    int64_t row = a * b * bytes, kind = kernel_random(3);
    const int64_t other[3][3] = {{a * b, 1, a}, {b, n * b, 1}, {1, n * b, n}}; /* strides of n, a, b */
    rlx_strided_copy_params_t p = {
        .dims = {n, 1, 1, 1, 1, 1, a, b}, .bytes = bytes, .grain = 1 + kernel_random(9), .chunk = 1 + kernel_random(50)};
    int64_t tiles = (n * a + p.grain - 1) / p.grain * ((b + p.chunk - 1) / p.chunk);
    int64_t *mine = rows_out ? p.out_stride : p.in_stride, *its = rows_out ? p.in_stride : p.out_stride;
    uint8_t *from = bytes_make(n * row), *want = bytes_make(n * row), *got = bytes_make(n * row);
    void *rows[8];

    mine[0] = row, mine[6] = b * bytes, mine[7] = bytes;
    its[0] = other[kind][0] * bytes, its[6] = other[kind][1] * bytes, its[7] = other[kind][2] * bytes;
    kernel_run(&builds[0], RLX_K_strided_copy, &(rlx_operand_t){.base = from}, &(rlx_operand_t){.base = want}, &p, tiles, 0);
    for (int k = 0; k < n_builds; k++) {
        uint8_t *memory = rows_make(rows, n, row, rows_out ? NULL : from);
        rlx_operand_t apart = {.rows = rows, .row_bytes = row}, in = {.base = from}, out = {.base = got};

        kernel_run(&builds[k], RLX_K_strided_copy, rows_out ? &in : &apart, rows_out ? &apart : &out, &p, tiles, 0);
        for (int64_t i = 0; i < n; i++) {
            assert_memory_equal(rows_out ? rows[i] : got + i * row, want + i * row, (size_t)row);
            assert_memory_equal((uint8_t *)rows[i] + row, GUARD, 8);
        }
        free(memory);
    }
    free(from);
    free(want);
    free(got);
}

static void a_strided_copy_follows_row_pointers(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++)
        strided_rows_once(i % 2);
}

static void reorder_once(void)
{
    rlx_to_c16_params_t p = {.n = 1 + kernel_random(3), .channels = 1 + kernel_random(50), .spatial = kernel_random(70)};
    int64_t blocks = (p.channels + 15) / 16, row = p.channels * p.spatial, blocked_row = blocks * 16 * p.spatial;
    float *x = kernel_floats(p.n * row), *blocked = kernel_floats(p.n * blocked_row), *back = kernel_floats(p.n * row);
    void *rows[3] = {x, x + row, x + 2 * row};
    rlx_operand_t plain = {.base = x, .row_bytes = row * 4}, by_rows = {.rows = rows, .row_bytes = row * 4};
    rlx_operand_t c16 = {.base = blocked, .row_bytes = blocked_row * 4}, result = {.base = back, .row_bytes = row * 4};

    for (int b = 0; b < n_builds; b++) {
        memset(blocked, 0xff, (size_t)(p.n * blocked_row * 4));
        memset(back, 0xff, (size_t)(p.n * row * 4));
        kernel_run(&builds[b], RLX_K_to_c16, kernel_random(2) ? &plain : &by_rows, &c16, &p, p.n * blocks, 0);
        for (int64_t i = 0; i < p.n * blocked_row; i++) {
            int64_t lane = i % 16, s = i / 16 % p.spatial, c = i / 16 / p.spatial % blocks * 16 + lane, n = i / blocked_row;
            assert_true(blocked[i] == (c < p.channels ? x[(n * p.channels + c) * p.spatial + s] : 0));
        }
        kernel_run(&builds[b], RLX_K_from_c16, &c16, &result, &p, p.n * blocks, 0);
        assert_memory_equal(back, x, (size_t)(p.n * row * 4));
    }
    free(x);
    free(blocked);
    free(back);
}

static void blocks_of_channels_go_there_and_back(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++)
        reorder_once();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strided_copy_reads_any_order_of_axes),
        cmocka_unit_test(a_strided_copy_follows_row_pointers),
        cmocka_unit_test(blocks_of_channels_go_there_and_back),
    };

    return cmocka_run_group_tests_name("move", tests, find_builds, NULL);
}
