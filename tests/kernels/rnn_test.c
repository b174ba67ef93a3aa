/* Recurrent cells: rnn_fast has the bits of rnn_plain in every build, for all attributes, ragged batches and both layouts. */
#include "tests/kernels/kernel_under_test.h"

static kernel_build_t builds[KERNEL_BUILDS_MAX];
static int n_builds;

static int find_builds(void **state)
{
    (void)state;
    n_builds = kernel_builds(builds);
    return 0;
}

static int64_t float_bits(float value)
{
    union { float f; uint32_t u; } v = {.f = value};

    return (int64_t)v.u;
}

static int64_t gates_of(const rlx_rnn_cell_t *c) { return c->kind == RLX_RNN_LSTM ? 4 : c->kind == RLX_RNN_GRU ? 3 : 1; }

static rlx_rnn_cell_t random_cell(int64_t kind, int64_t input, int64_t hidden)
{
    bool batch_first = kernel_random(2);
    rlx_rnn_cell_t c = {.kind = kind,
        .dtype = 1,
        .steps = 1 + kernel_random(6),
        .batch = 1 + kernel_random(9),
        .input = input,
        .hidden = hidden,
        .directions = 1 + kernel_random(2),
        .reverse = kernel_random(2),
        .clip = kernel_random(3) ? 0 : float_bits(0.75f),
        .input_forget = kernel_random(3) == 0,
        .linear_before_reset = kernel_random(2)};

    for (int i = 0; i < 6; i++) {
        c.activation[i / 3][i % 3] = kernel_random(2) ? (i % 3 ? RLX_RNN_TANH : RLX_RNN_SIGMOID) : kernel_random(11);
        c.alpha[i / 3][i % 3] = float_bits(0.3f);
        c.beta[i / 3][i % 3] = float_bits(0.6f);
    }
    c.reverse = c.directions == 2 ? 0 : c.reverse;
    c.x_step = batch_first ? c.input : c.batch * c.input;
    c.x_batch = batch_first ? c.steps * c.input : c.input;
    c.y_step = c.directions * c.hidden * (batch_first ? 1 : c.batch);
    c.y_batch = batch_first ? c.steps * c.y_step : c.hidden;
    c.y_direction = batch_first ? c.hidden : c.batch * c.hidden;
    c.h_batch = batch_first ? c.directions * c.hidden : c.hidden;
    c.h_direction = batch_first ? c.hidden : c.batch * c.hidden;
    return c;
}

typedef struct operands {
    float *x, *w, *r, *b, *h, *c, *p;
    int32_t lengths[16];
    rlx_operand_t in[8];
} operands_t;

static void operands_make(const rlx_rnn_cell_t *c, operands_t *o)
{
    int64_t rows = c->directions * gates_of(c) * c->hidden, state = c->directions * c->batch * c->hidden;

    o->x = kernel_floats(c->steps * c->batch * c->input);
    o->w = kernel_floats(rows * c->input);
    o->r = kernel_floats(rows * c->hidden);
    o->b = kernel_floats(2 * rows);
    o->h = kernel_floats(state);
    o->c = kernel_floats(state);
    o->p = kernel_floats(3 * c->directions * c->hidden);
    for (int i = 0; i < c->batch; i++)
        o->lengths[i] = (int32_t)kernel_random(c->steps + 1);
    o->in[0].base = o->x;
    o->in[1].base = o->w;
    o->in[2].base = o->r;
    o->in[3].base = kernel_random(4) ? o->b : NULL;
    o->in[4].base = kernel_random(2) ? o->lengths : NULL;
    o->in[5].base = kernel_random(2) ? o->h : NULL;
    o->in[6].base = c->kind == RLX_RNN_LSTM && kernel_random(2) ? o->c : NULL;
    o->in[7].base = c->kind == RLX_RNN_LSTM && kernel_random(2) ? o->p : NULL;
}

static void operands_free(operands_t *o)
{
    float *all[] = {o->x, o->w, o->r, o->b, o->h, o->c, o->p};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

/* The x chains of direction `d`, rows in the order of X. */
static float *project(const rlx_rnn_cell_t *c, const operands_t *o, int64_t d)
{
    int64_t n = gates_of(c) * c->hidden, rows = c->steps * c->batch;
    float *xw = kernel_floats(rows * n), *bias = kernel_floats(n);
    const float *b = o->in[3].base;
    rlx_matmul_plain_params_t p = {.shape = {.m = rows, .n = n, .k = c->input, .batch = {1, 1, 1, 1, 1, 1}, .a_row = c->input, .a_col = 1,
        .b_row = 1, .b_col = c->input, .c_row = n, .c_col = 1}, .dtype = 1};
    rlx_operand_t in[3] = {{.base = o->x}, {.base = o->w + d * n * c->input}, {.base = b ? bias : NULL}};

    for (int64_t i = 0; i < n && b; i++) {
        bool apart = c->kind == RLX_RNN_GRU && c->linear_before_reset && i >= 2 * c->hidden;
        bias[i] = apart ? b[d * 2 * n + i] : b[d * 2 * n + i] + b[d * 2 * n + n + i];
    }
    kernel_run(&builds[0], RLX_K_matmul_plain, in, &(rlx_operand_t){.base = xw}, &p,
        rows * ((n + RLX_MATMUL_COLUMNS - 1) / RLX_MATMUL_COLUMNS), 0);
    free(bias);
    return xw;
}

static float *pack(const rlx_rnn_cell_t *c, const float *r)
{
    int64_t padded = (c->hidden + 15) & ~15ll, matrices = c->directions * gates_of(c);
    float *packed = kernel_floats(matrices * padded * c->hidden), *to = packed;

    memset(packed, 0, (size_t)(matrices * padded * c->hidden) * 4);
    for (int64_t i = 0; i < matrices; i++)
        for (int64_t block = 0; block < padded; block += 16)
            for (int64_t k = 0; k < c->hidden; k++, to += 16)
                for (int64_t j = 0; j < 16 && block + j < c->hidden; j++)
                    to[j] = r[(i * c->hidden + block + j) * c->hidden + k];
    return packed;
}

typedef struct result {
    float *y, *h, *c;
    int64_t y_count, state_count;
} result_t;

static result_t result_make(const rlx_rnn_cell_t *c)
{
    result_t r = {.y_count = c->steps * c->batch * c->directions * c->hidden, .state_count = c->batch * c->directions * c->hidden};

    r.y = kernel_floats(r.y_count);
    r.h = kernel_floats(r.state_count);
    r.c = kernel_floats(r.state_count);
    return r;
}

static void result_free(result_t *r)
{
    free(r->y);
    free(r->h);
    free(r->c);
}

static void result_same(const result_t *a, const result_t *b)
{
    assert_memory_equal(a->y, b->y, (size_t)a->y_count * 4);
    assert_memory_equal(a->h, b->h, (size_t)a->state_count * 4);
    assert_memory_equal(a->c, b->c, (size_t)a->state_count * 4);
}

static result_t run_plain(const kernel_build_t *build, const rlx_rnn_cell_t *c, const operands_t *o)
{
    rlx_rnn_plain_params_t p = {.cell = *c};
    result_t r = result_make(c);

    assert_int_equal(kernel_run(build, RLX_K_rnn_plain, o->in, (rlx_operand_t[]){{.base = r.y}, {.base = r.h}, {.base = r.c}}, &p,
                                c->directions * c->batch, c->hidden * 8 * RLX_RNN_PLAIN_SCRATCH), 0);
    return r;
}

static result_t run_fast(const kernel_build_t *build, const rlx_rnn_cell_t *c, const operands_t *o)
{
    int64_t n = gates_of(c) * c->hidden, padded = (c->hidden + 15) & ~15ll;
    bool batch_first = c->x_step == c->input && c->x_batch == c->steps * c->input && c->y_step == c->directions * c->hidden;
    rlx_rnn_fast_params_t p = {.cell = *c,
        .rows = 1 + kernel_random(RLX_RNN_FAST_ROWS),
        .xw_step = batch_first ? n : c->batch * n,
        .xw_batch = batch_first ? c->steps * n : n};
    float *xw[2] = {project(c, o, 0), c->directions == 2 ? project(c, o, 1) : NULL}, *packed = pack(c, o->r);
    rlx_operand_t in[8] = {{.base = xw[0]}, {.base = xw[1]}, {.base = packed}, o->in[3], o->in[4], o->in[5], o->in[6], o->in[7]};
    result_t r = result_make(c);

    assert_int_equal(kernel_run(build, RLX_K_rnn_fast, in, (rlx_operand_t[]){{.base = r.y}, {.base = r.h}, {.base = r.c}}, &p,
                                c->directions * ((c->batch + p.rows - 1) / p.rows), p.rows * RLX_RNN_FAST_SCRATCH * padded * 4 + 256), 0);
    free(xw[0]);
    free(xw[1]);
    free(packed);
    return r;
}

static void fast_has_the_bits_of_plain(void **state)
{
    (void)state;
    for (int round = 0; round < 90; round++) {
        static const int64_t hidden[] = {127, 130, 300}; /* several segments */
        bool large = round % 10 == 9;
        rlx_rnn_cell_t c =
            random_cell(round % 3, 1 + kernel_random(large ? 200 : 12), large ? hidden[round / 10 % 3] : 1 + kernel_random(40));
        operands_t o;
        result_t expected;

        operands_make(&c, &o);
        expected = run_plain(&builds[0], &c, &o);
        for (int i = 0; i < n_builds; i++) {
            result_t plain = run_plain(&builds[i], &c, &o), fast = run_fast(&builds[i], &c, &o);
            result_same(&plain, &expected);
            result_same(&fast, &expected);
            result_free(&plain);
            result_free(&fast);
        }
        result_free(&expected);
        operands_free(&o);
    }
}

static void a_length_out_of_range_is_an_error(void **state)
{
    rlx_rnn_cell_t c = random_cell(RLX_RNN_GRU, 7, 11);
    rlx_rnn_plain_params_t p = {.cell = c};
    result_t r = result_make(&c);
    operands_t o;

    (void)state;
    operands_make(&c, &o);
    for (int i = 0; i < c.batch; i++)
        o.lengths[i] = -5;
    o.in[4].base = o.lengths;
    assert_int_equal(kernel_run(&builds[0], RLX_K_rnn_plain, o.in, (rlx_operand_t[]){{.base = r.y}, {.base = r.h}, {.base = NULL}}, &p,
                                c.directions * c.batch, c.hidden * 8 * RLX_RNN_PLAIN_SCRATCH), RLX_KERR_VALUE);
    result_free(&r);
    operands_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_has_the_bits_of_plain),
        cmocka_unit_test(a_length_out_of_range_is_an_error),
    };

    return cmocka_run_group_tests_name("rnn", tests, find_builds, NULL);
}
