/* Products: gemm has the bits of matmul_plain, whatever the shape, strides, packing, build or split of tiles; einsum and det likewise. */
#include "tests/kernels/kernel_under_test.h"

static kernel_build_t builds[KERNEL_BUILDS_MAX];
static int n_builds;

static int find_builds(void **state)
{
    (void)state;
    n_builds = kernel_builds(builds);
    return 0;
}

typedef struct product {
    rlx_matmul_shape_t shape;
    bool packed, bias;
    int64_t a, b, c; /* elements of one batch index */
} product_t;

static int64_t pick_extent(void)
{
    int64_t kind = kernel_random(8);

    return kind == 0 ? 1 : kind == 1 ? 180 + kernel_random(60) : kind == 2 ? 1 + kernel_random(6) : 1 + kernel_random(40);
}

static product_t product_of(int64_t k)
{
    int64_t m = pick_extent(), n = 1 + kernel_random(kernel_random(3) ? 90 : 4);
    product_t p = {.packed = kernel_random(2), .bias = kernel_random(2)};
    bool ta = kernel_random(3) == 0, tb = kernel_random(2) && !p.packed, tc = kernel_random(6) == 0;

    p.shape = (rlx_matmul_shape_t){.m = m, .n = n, .k = k, .batch = {1, 1, 1, 1, 1, 1}, .a_row = ta ? 1 : k, .a_col = ta ? m : 1,
        .b_row = tb ? 1 : n, .b_col = tb ? k : 1, .c_row = tc ? 1 : n, .c_col = tc ? m : 1};
    p.a = m * k + 3;
    p.b = n * k + 5;
    p.c = m * n + 7;
    if (!p.packed) {
        p.shape.batch[2] = 1 + kernel_random(2);
        p.shape.batch[5] = 1 + kernel_random(3);
    }
    p.shape.a_batch[5] = p.a;
    p.shape.b_batch[5] = p.b;
    p.shape.c_batch[5] = p.c;
    p.shape.a_batch[2] = p.a * p.shape.batch[5];
    p.shape.c_batch[2] = p.c * p.shape.batch[5]; /* b repeats along batch axis 2 */
    return p;
}

static float *pack(const float *b, int64_t k, int64_t n)
{
    float *to = aligned_alloc(64, (size_t)(((n + 15) / 16 * k + 1) * 64));

    memset(to, 0, (size_t)((n + 15) / 16 * k * 64));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < k; i++)
            to[(j / 16 * k + i) * 16 + j % 16] = b[i * n + j];
    return to;
}

static void gemm_check(
    const kernel_build_t *build, const product_t *p, const rlx_operand_t in[3], const float *expected, int64_t count, const float *b)
{
    int64_t batches = p->shape.batch[2] * p->shape.batch[5], blocks = (p->shape.n + 15) / 16;
    rlx_gemm_params_t params = {.shape = p->shape,
        .packed = p->packed,
        .m_blocks = (p->shape.m + RLX_GEMM_ROWS - 1) / RLX_GEMM_ROWS,
        .n_tile = 1 + kernel_random(4)};
    float *c = kernel_floats(count), *packed = p->packed ? pack(b, p->shape.k, p->shape.n) : NULL;
    rlx_operand_t operands[3] = {in[0], in[1], in[2]}, out = {.base = c};

    if (packed)
        operands[1].base = packed;
    memset(c, 0x55, (size_t)count * 4);
    kernel_run(build, RLX_K_gemm, operands, &out, &params, batches * params.m_blocks * ((blocks + params.n_tile - 1) / params.n_tile),
        RLX_GEMM_SCRATCH);
    assert_memory_equal(c, expected, (size_t)count * 4);
    free(c);
    free(packed);
}

static void gemm_has_the_bits_of_matmul_plain(void **state)
{
    static const int64_t ends[] = {127, 128, 129, 256, 257, 384, 768, 769}; /* of segments and of chunks of k */

    (void)state;
    for (int round = 0; round < 100; round++) {
        bool at_end = round % 5 > 2;
        product_t p = product_of(at_end ? ends[kernel_random(8)] : round % 5 == 2 ? 300 + kernel_random(900) : kernel_random(70));
        int64_t batches = p.shape.batch[2] * p.shape.batch[5], count = p.c * batches;
        float *a = kernel_floats(p.a * batches), *b = kernel_floats(p.b * p.shape.batch[5]), *bias = kernel_floats(p.shape.n),
              *c = kernel_floats(count);
        rlx_matmul_plain_params_t params = {.shape = p.shape, .dtype = 1};
        rlx_operand_t in[3] = {{.base = a}, {.base = b}, {.base = p.bias ? bias : NULL}}, out = {.base = c};
        float *other = kernel_floats(count);

        memset(c, 0x55, (size_t)count * 4);
        kernel_run(&builds[0], RLX_K_matmul_plain, in, &out, &params, batches * p.shape.m, 0);
        for (int i = 0; i < n_builds; i++) {
            gemm_check(&builds[i], &p, in, c, count, b);
            memset(other, 0x55, (size_t)count * 4);
            kernel_run(&builds[i], RLX_K_matmul_plain, in, &(rlx_operand_t){.base = other}, &params, batches * p.shape.m, 0);
            assert_memory_equal(other, c, (size_t)count * 4);
        }
        free(a);
        free(b);
        free(bias);
        free(c);
        free(other);
    }
}

/* Rows of a batch, apart and in any order, each with a guard behind it. `data`: `n` rows of `width` floats, or NULL. */
typedef struct apart {
    float *memory;
    void *rows[64];
    int64_t n, width;
} apart_t;

static apart_t apart_make(int64_t n, int64_t width, const float *data)
{
    apart_t apart = {.memory = kernel_floats(n * (width + 1)), .n = n, .width = width};

    memset(apart.memory, 0x55, (size_t)(n * (width + 1)) * 4);
    for (int64_t i = 0; i < n; i++) {
        apart.rows[i] = apart.memory + (i * 7 + 3) % n * (width + 1);
        if (data)
            memcpy(apart.rows[i], data + i * width, (size_t)width * 4);
    }
    return apart;
}

static rlx_operand_t apart_operand(const apart_t *apart) { return (rlx_operand_t){.rows = apart->rows, .row_bytes = apart->width * 4}; }

static void apart_check(const apart_t *apart, const float *expected)
{
    static const uint32_t guard = 0x55555555;

    for (int64_t i = 0; i < apart->n; i++) {
        assert_memory_equal(apart->rows[i], expected + i * apart->width, (size_t)apart->width * 4);
        assert_memory_equal((float *)apart->rows[i] + apart->width, &guard, 4);
    }
}

/* `batch` rows of `m` x `k` against one `k` x `n`: as one product of batch * m rows, or with the batch as an axis of its own, where the
 * result may be transposed. */
static void gemm_rows_once(void)
{
    static const int64_t batches[] = {2, 3, 5, 11, 16, 33};
    int64_t batch = batches[kernel_random(6)], m = kernel_random(2) ? 1 : 1 + kernel_random(40), n = 1 + kernel_random(80);
    int64_t k = kernel_random(3) ? 1 + kernel_random(60) : 380 + kernel_random(500);
    bool joined = kernel_random(2), turned = !joined && kernel_random(2), rows_in = kernel_random(4), rows_out = kernel_random(4);
    rlx_gemm_params_t p = {.packed = 1, .n_tile = 1 + kernel_random(4),
        .shape = {.m = joined ? batch * m : m, .n = n, .k = k, .batch = {1, 1, 1, 1, 1, joined ? 1 : batch}, .a_row = k, .a_col = 1,
            .b_row = n, .b_col = 1, .c_row = turned ? 1 : n, .c_col = turned ? m : 1, .a_batch[5] = m * k, .c_batch[5] = m * n},
        .epilogue = {.n_steps = 1, .step = {{.kind = RLX_MAP_relu, .operand = -1}}}};
    float *a = kernel_floats(batch * m * k), *b = kernel_floats(k * n), *bias = kernel_floats(n), *packed = pack(b, k, n);
    float *expected = kernel_floats(batch * m * n), *c = kernel_floats(batch * m * n);
    rlx_operand_t in[3] = {{.base = a}, {.base = packed}, {.base = bias}}, out;
    int64_t tiles;

    p.m_blocks = (p.shape.m + RLX_GEMM_ROWS - 1) / RLX_GEMM_ROWS;
    tiles = p.shape.batch[5] * p.m_blocks * (((n + 15) / 16 + p.n_tile - 1) / p.n_tile);
    kernel_run(&builds[0], RLX_K_gemm, in, &(rlx_operand_t){.base = expected}, &p, tiles, RLX_GEMM_SCRATCH);
    for (int i = 0; i < n_builds; i++) {
        apart_t from = apart_make(batch, m * k, a), to = apart_make(batch, m * n, NULL);

        in[0] = rows_in ? apart_operand(&from) : (rlx_operand_t){.base = a};
        out = rows_out ? apart_operand(&to) : (rlx_operand_t){.base = c};
        kernel_run(&builds[i], RLX_K_gemm, in, &out, &p, tiles, RLX_GEMM_SCRATCH);
        if (rows_out)
            apart_check(&to, expected);
        else
            assert_memory_equal(c, expected, (size_t)(batch * m * n) * 4);
        free(from.memory);
        free(to.memory);
    }
    free(a);
    free(b);
    free(bias);
    free(packed);
    free(expected);
    free(c);
}

static void gemm_follows_row_pointers(void **state)
{
    (void)state;
    for (int i = 0; i < 150; i++)
        gemm_rows_once();
}

static void the_epilogue_sees_final_sums(void **state)
{
    enum { M = 20, N = 700, K = 400 };
    float *a = kernel_floats(M * K), *b = kernel_floats(K * N), *bias = kernel_floats(N), *residual = kernel_floats(M * N);
    float *expected = kernel_floats(M * N), *c = kernel_floats(M * N), *packed = pack(b, K, N);
    rlx_matmul_shape_t shape = {
        .m = M, .n = N, .k = K, .batch = {1, 1, 1, 1, 1, 1}, .a_row = K, .a_col = 1, .b_row = N, .b_col = 1, .c_row = N, .c_col = 1};
    rlx_matmul_plain_params_t plain = {.shape = shape, .dtype = 1};
    rlx_gemm_params_t gemm = {.shape = shape, .packed = 1, .m_blocks = 1, .n_tile = 2,
        .epilogue = {.n_steps = 2, .step = {{.kind = RLX_MAP_add, .operand = 3}, {.kind = RLX_MAP_relu, .operand = -1}}}};
    rlx_operand_t in[4] = {{.base = a}, {.base = b}, {.base = bias}, {.base = residual}};

    (void)state;
    kernel_run(&builds[0], RLX_K_matmul_plain, in, &(rlx_operand_t){.base = expected}, &plain, M * 3, 0);
    for (int i = 0; i < M * N; i++)
        expected[i] = expected[i] + residual[i] < 0 ? 0 : expected[i] + residual[i];
    in[1].base = packed;
    for (int i = 0; i < n_builds; i++) {
        kernel_run(&builds[i], RLX_K_gemm, in, &(rlx_operand_t){.base = c}, &gemm, (N / 16 + 2) / 2, RLX_GEMM_SCRATCH);
        assert_memory_equal(c, expected, M * N * sizeof *c);
    }
    free(a);
    free(b);
    free(bias);
    free(residual);
    free(expected);
    free(c);
    free(packed);
}

static void integers_wrap(void **state)
{
    const int8_t a[2] = {100, -3}, b[2] = {2, 5};
    rlx_matmul_plain_params_t p = {.shape = {.m = 1, .n = 1, .k = 2, .batch = {1, 1, 1, 1, 1, 1}, .a_col = 1, .b_row = 1}, .dtype = 5};
    rlx_operand_t in[3] = {{.base = (void *)a}, {.base = (void *)b}, {.base = NULL}};

    (void)state;
    for (int i = 0; i < n_builds; i++) {
        int8_t c = 0;
        kernel_run(&builds[i], RLX_K_matmul_plain, in, &(rlx_operand_t){.base = &c}, &p, 1, 0);
        assert_int_equal(c, (int8_t)185);
    }
}

static void half_rounds_once(void **state)
{
    const uint16_t a[2] = {0x3c01, 0x3c01},
                   b[2] = {0x3c01, 0x1000}; /* (1 + 2^-10)^2 + (1 + 2^-10) * 2^-11: the sum rounds, the terms do not */
    rlx_matmul_plain_params_t p = {.shape = {.m = 1, .n = 1, .k = 2, .batch = {1, 1, 1, 1, 1, 1}, .a_col = 1, .b_row = 1}, .dtype = 3};
    rlx_operand_t in[3] = {{.base = (void *)a}, {.base = (void *)b}, {.base = NULL}};

    (void)state;
    for (int i = 0; i < n_builds; i++) {
        uint16_t c = 0;
        kernel_run(&builds[i], RLX_K_matmul_plain, in, &(rlx_operand_t){.base = &c}, &p, 1, 0);
        assert_int_equal(c, 0x3c03);
    }
}

static void einsum_of_a_product_has_the_bits_of_matmul_plain(void **state)
{
    enum { M = 7, N = 5, K = 279 };
    float *a = kernel_floats(M * K), *b = kernel_floats(K * N), c[M * N], d[M * N];
    rlx_matmul_plain_params_t p = {
        .shape =
            {.m = M, .n = N, .k = K, .batch = {1, 1, 1, 1, 1, 1}, .a_row = K, .a_col = 1, .b_row = N, .b_col = 1, .c_row = N, .c_col = 1},
        .dtype = 1};
    rlx_einsum_params_t e = {.dtype = 1, .operands = 2, .count = M * N, .out = {1, 1, 1, 1, 1, 1, M, N}, .sum = {1, 1, 1, 1, 1, 1, 1, K}};
    rlx_operand_t in[3] = {{.base = a}, {.base = b}, {.base = NULL}};

    (void)state;
    e.strides[0][6] = K;
    e.strides[0][15] = 1;
    e.strides[1][7] = 1;
    e.strides[1][15] = N;
    kernel_run(&builds[0], RLX_K_matmul_plain, in, &(rlx_operand_t){.base = c}, &p, M, 0);
    for (int i = 0; i < n_builds; i++) {
        kernel_run(&builds[i], RLX_K_einsum, in, &(rlx_operand_t){.base = d}, &e, 1, 0);
        assert_memory_equal(c, d, sizeof c);
    }
    free(a);
    free(b);
}

static void determinants(void **state)
{
    const double x[2][9] = {{2, 0, 0, 0, 3, 0, 0, 0, 4}, {0, 1, 0, 1, 0, 0, 0, 0, 5}};
    rlx_det_params_t p = {.dtype = 2, .n = 3};
    rlx_operand_t in = {.base = (void *)x};

    (void)state;
    for (int i = 0; i < n_builds; i++) {
        double det[2];
        kernel_run(&builds[i], RLX_K_det, &in, &(rlx_operand_t){.base = det}, &p, 2, 72);
        assert_true(det[0] == 24 && det[1] == -5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_has_the_bits_of_matmul_plain),
        cmocka_unit_test(gemm_follows_row_pointers),
        cmocka_unit_test(the_epilogue_sees_final_sums),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(half_rounds_once),
        cmocka_unit_test(einsum_of_a_product_has_the_bits_of_matmul_plain),
        cmocka_unit_test(determinants),
    };

    return cmocka_run_group_tests_name("matmul", tests, find_builds, NULL);
}
