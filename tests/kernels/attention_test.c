/* attention has the bits of what it stands for: matmul_plain, the steps one by one, softmax, matmul_plain; whatever the extents, strides,
 * build or split of tiles. */
#include "tests/kernels/kernel_under_test.h"

#include <math.h>

#include "kernels/map_op.h"
#include "kernels/math.h"
#include "kernels/params_reduce.h"

static kernel_build_t builds[KERNEL_BUILDS_MAX];
static int n_builds;

static int find_builds(void **state)
{
    (void)state;
    n_builds = kernel_builds(builds);
    return 0;
}

enum { HEADS = 3 };

typedef struct problem {
    rlx_attention_params_t p;
    float *q, *k, *v, *mask, *cap;
    int64_t count; /* of outputs */
} problem_t;

/* Heads side by side in a row of Q, K, V and of the output, as exporters have them; K transposed or not. */
static problem_t problem_make(int64_t m, int64_t n, int64_t depth, int64_t width, int steps)
{
    bool transposed = kernel_random(2), columns_apart = kernel_random(4) == 0;
    problem_t x = {.count = HEADS * m * width};
    rlx_attention_params_t *p = &x.p;

    *p = (rlx_attention_params_t){.m = m, .n = n, .depth = depth, .width = width, .batch = {1, 1, 1, HEADS}, .rows = 1 + kernel_random(140)};
    p->q_batch[3] = depth;
    p->q_row = HEADS * depth;
    p->q_col = 1;
    p->k_batch[3] = transposed ? n * depth : depth;
    p->k_row = transposed ? n : 1;
    p->k_col = transposed ? 1 : HEADS * depth;
    p->v_batch[3] = width;
    p->v_row = HEADS * width;
    p->v_col = 1;
    p->c_batch[3] = columns_apart ? m * width : width;
    p->c_row = columns_apart ? 1 : HEADS * width;
    p->c_col = columns_apart ? m : 1;
    p->n_steps = steps;
    p->step[0] = (rlx_attention_step_params_t){.kind = RLX_MAP_div_imm, .operand = -1, .a = 0x4019999a /* 2.4 */};
    p->step[1] = (rlx_attention_step_params_t){.kind = RLX_MAP_add, .operand = 3, .batch = {0, 0, 0, n}, .col = 1};
    p->step[2] = (rlx_attention_step_params_t){.kind = RLX_MAP_mul, .operand = 4, .reversed = 1, .row = 1};
    p->step[3] = (rlx_attention_step_params_t){.kind = RLX_MAP_tanh, .operand = -1};
    x.q = kernel_floats(HEADS * m * depth);
    x.k = kernel_floats(HEADS * n * depth);
    x.v = kernel_floats(HEADS * n * width);
    x.mask = kernel_floats(HEADS * n);
    x.cap = kernel_floats(m);
    if (n > 1)
        x.mask[kernel_random(n)] = -INFINITY;
    return x;
}

static void problem_free(problem_t *x)
{
    free(x->q);
    free(x->k);
    free(x->v);
    free(x->mask);
    free(x->cap);
}

static float step_of(const problem_t *x, int s, float v, int64_t head, int64_t row, int64_t key)
{
    if (s == 0)
        return v / 2.4f;
    if (s == 1)
        return v + x->mask[head * x->p.n + key];
    return s == 2 ? x->cap[row] * v : rlx_math_tanhf(v);
}

/* The definition, with the reference kernels: [head][m][width]. */
static float *expected_make(const problem_t *x)
{
    const rlx_attention_params_t *p = &x->p;
    float *scores = kernel_floats(HEADS * p->m * p->n), *weights = kernel_floats(HEADS * p->m * p->n), *c = kernel_floats(x->count);
    rlx_matmul_plain_params_t first = {.dtype = 1, .shape = {.m = p->m, .n = p->n, .k = p->depth, .batch = {1, 1, 1, 1, 1, HEADS},
        .a_batch = {0, 0, 0, 0, 0, p->q_batch[3]}, .b_batch = {0, 0, 0, 0, 0, p->k_batch[3]}, .c_batch = {0, 0, 0, 0, 0, p->m * p->n},
        .a_row = p->q_row, .a_col = p->q_col, .b_row = p->k_row, .b_col = p->k_col, .c_row = p->n, .c_col = 1}};
    rlx_softmax_params_t soft = {.dtype = 1, .kind = RLX_SOFTMAX, .count = p->n, .inner = 1};
    rlx_matmul_plain_params_t last = {.dtype = 1, .shape = {.m = p->m, .n = p->width, .k = p->n, .batch = {1, 1, 1, 1, 1, HEADS},
        .a_batch = {0, 0, 0, 0, 0, p->m * p->n}, .b_batch = {0, 0, 0, 0, 0, p->v_batch[3]}, .c_batch = {0, 0, 0, 0, 0, p->c_batch[3]},
        .a_row = p->n, .a_col = 1, .b_row = p->v_row, .b_col = p->v_col, .c_row = p->c_row, .c_col = p->c_col}};
    int64_t rows = HEADS * p->m;

    kernel_run(&builds[0], RLX_K_matmul_plain, (rlx_operand_t[]){{.base = x->q}, {.base = x->k}, {.base = NULL}},
        &(rlx_operand_t){.base = scores}, &first, rows * ((p->n + 255) / 256), 0);
    for (int64_t i = 0; i < rows * p->n; i++)
        for (int s = 0; s < p->n_steps; s++)
            scores[i] = step_of(x, s, scores[i], i / p->n / p->m, i / p->n % p->m, i % p->n);
    kernel_run(&builds[0], RLX_K_softmax, &(rlx_operand_t){.base = scores}, &(rlx_operand_t){.base = weights}, &soft, rows, 0);
    memset(c, 0x55, (size_t)x->count * 4);
    kernel_run(&builds[0], RLX_K_matmul_plain, (rlx_operand_t[]){{.base = weights}, {.base = x->v}, {.base = NULL}},
        &(rlx_operand_t){.base = c}, &last, rows * ((p->width + 255) / 256), 0);
    free(scores);
    free(weights);
    return c;
}

static void check(problem_t *x)
{
    const rlx_attention_params_t *p = &x->p;
    float *expected = expected_make(x), *c = kernel_floats(x->count);
    rlx_operand_t in[5] = {{.base = x->q}, {.base = x->k}, {.base = x->v}, {.base = x->mask}, {.base = x->cap}};

    for (int i = 0; i < n_builds; i++) {
        memset(c, 0x55, (size_t)x->count * 4);
        kernel_run(&builds[i], RLX_K_attention, in, &(rlx_operand_t){.base = c}, p, HEADS * ((p->m + p->rows - 1) / p->rows),
            4 * RLX_ATTENTION_SCRATCH(p->n, p->depth, p->width));
        assert_memory_equal(c, expected, (size_t)x->count * 4);
    }
    free(expected);
    free(c);
    problem_free(x);
}

static void it_has_the_bits_of_its_parts(void **state)
{
    (void)state;
    for (int round = 0; round < 120; round++) {
        problem_t x = problem_make(1 + kernel_random(round % 4 ? 40 : 200), 1 + kernel_random(round % 3 ? 60 : 300),
            1 + kernel_random(round % 5 ? 40 : 150), 1 + kernel_random(40), (int)kernel_random(5));

        check(&x);
    }
}

static void heads_of_common_sizes(void **state)
{
    static const int64_t sizes[][3] = {{128, 128, 64}, {128, 128, 32}, {197, 197, 64}, {1, 77, 64}, {64, 16, 16}};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        problem_t x = problem_make(sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][2], 2);

        check(&x);
    }
}

static void nan_spreads_over_its_row_alone(void **state)
{
    problem_t x = problem_make(9, 21, 8, 8, 0);
    float *c = kernel_floats(x.count);
    rlx_operand_t in[3] = {{.base = x.q}, {.base = x.k}, {.base = x.v}};

    (void)state;
    x.p.c_batch[3] = x.p.m * 8, x.p.c_row = 8, x.p.c_col = 1;
    x.q[4 * x.p.q_row] = NAN; /* head 0, query 4 */
    for (int i = 0; i < n_builds; i++) {
        kernel_run(&builds[i], RLX_K_attention, in, &(rlx_operand_t){.base = c}, &x.p, HEADS * ((9 + x.p.rows - 1) / x.p.rows),
            4 * RLX_ATTENTION_SCRATCH(21, 8, 8));
        for (int64_t at = 0; at < x.count; at++)
            assert_int_equal(isnan(c[at]) != 0, at / 8 == 4);
    }
    free(c);
    problem_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_the_bits_of_its_parts),
        cmocka_unit_test(heads_of_common_sizes),
        cmocka_unit_test(nan_spreads_over_its_row_alone),
    };

    return cmocka_run_group_tests_name("attention", tests, find_builds, NULL);
}
