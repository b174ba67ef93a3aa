/* The LSTM on bytes: the plain kernel against the definition of ir/op_list.h, written here; the packed kernel, in every build and form, against
 * the plain one, for all attributes, ragged batches, both layouts and weights whose sums would saturate 16 bits. */
#include <math.h>

#include "ir/builder.h"
#include "ir/lower/dispatch.h"
#include "kernels/math.h"
#include "tests/kernels/kernel_under_test.h"

#define GUARD 64
#define VALUES 64

static kernel_build_t builds[KERNEL_BUILDS_MAX];
static int n_builds;

static int find_builds(void **state)
{
    (void)state;
    n_builds = kernel_builds(builds);
    return 0;
}

typedef struct qlstm_case {
    int64_t steps, batch, input, hidden, directions, layout;
    const char *direction, *activations;
    float clip;
    bool input_forget;
    float *x, *b, *h, *c, *p, *w_scale, *r_scale; /* b, h, c, p: NULL when absent */
    int16_t *w, *r;
    int32_t *lengths;
} qlstm_case_t;

typedef struct result {
    float *out[3];
    int64_t count[3];
} result_t;

static result_t result_make(const qlstm_case_t *t)
{
    int64_t state = t->directions * t->batch * t->hidden;
    result_t r = {.count = {t->steps * state, state, state}};

    for (int i = 0; i < 3; i++) {
        r.out[i] = aligned_alloc(64, (size_t)((r.count[i] * 4 + GUARD + 63) & ~63ll));
        memset(r.out[i], 0x77, (size_t)(r.count[i] * 4 + GUARD));
    }
    return r;
}

static void result_free(result_t *r)
{
    for (int i = 0; i < 3; i++)
        free(r->out[i]);
}

static void result_same(const result_t *got, const result_t *expected, const char *build)
{
    for (int i = 0; i < 3; i++)
        if (memcmp(got->out[i], expected->out[i], (size_t)(got->count[i] * 4 + GUARD)) != 0)
            fail_msg("%s: output %d differs", build, i);
}

static rlx_value_t *operand(rlx_graph_t *graph, const char *name, rlx_dtype_t dtype, int rank, const int64_t *dims, const void *data)
{
    rlx_expr_t exprs[4];

    if (data == NULL)
        return NULL;
    for (int i = 0; i < rank; i++)
        exprs[i] = rlx_expr_const(graph->exprs, dims[i]);
    return rlx_graph_input(graph, name, dtype, rank, exprs);
}

static rlx_op_t *case_op(rlx_graph_t *graph, const qlstm_case_t *t)
{
    int64_t d = t->directions, gates = 4 * t->hidden, first = t->layout ? t->batch : t->steps, second = t->layout ? t->steps : t->batch;
    int64_t state[3] = {t->layout ? t->batch : d, t->layout ? d : t->batch, t->hidden};
    rlx_value_t *in[10] = {NULL}, *out[3];
    rlx_diag_t diag = {0};
    rlx_op_t *op;

    in[0] = operand(graph, "x", RLX_F32, 3, (int64_t[]){first, second, t->input}, t->x);
    in[1] = rlx_graph_const(graph, "w", RLX_I16, 3, (int64_t[]){d, gates, t->input}, t->w, false);
    in[2] = rlx_graph_const(graph, "r", RLX_I16, 3, (int64_t[]){d, gates, t->hidden}, t->r, false);
    if (t->b != NULL)
        in[3] = rlx_graph_const(graph, "b", RLX_F32, 2, (int64_t[]){d, 2 * gates}, t->b, false);
    in[4] = operand(graph, "lengths", RLX_I32, 1, &t->batch, t->lengths);
    in[5] = operand(graph, "h", RLX_F32, 3, state, t->h);
    in[6] = operand(graph, "c", RLX_F32, 3, state, t->c);
    in[7] = operand(graph, "p", RLX_F32, 2, (int64_t[]){d, 3 * t->hidden}, t->p);
    in[8] = rlx_graph_const(graph, "ws", RLX_F32, 2, (int64_t[]){d, gates}, t->w_scale, false);
    in[9] = rlx_graph_const(graph, "rs", RLX_F32, 2, (int64_t[]){d, gates}, t->r_scale, false);
    for (int i = 0; i < 3; i++)
        out[i] = rlx_graph_value(graph, "y", RLX_F32);
    op = rlx_graph_op(graph, NULL, RLX_OP_qlstm, "op", 10, in, 3, out);
    rlx_op_set_string(graph, op, "direction", t->direction);
    rlx_op_set_int(graph, op, "hidden_size", t->hidden);
    rlx_op_set_int(graph, op, "layout", t->layout);
    rlx_op_set_int(graph, op, "input_forget", t->input_forget);
    rlx_op_set_float(graph, op, "clip", t->clip);
    if (t->activations != NULL)
        rlx_op_set_string(graph, op, "activations", t->activations);
    if (rlx_op_infer(graph, op, &diag) != RLX_OK)
        fail_msg("%s", diag.message);
    return op;
}

/* Memory of temporaries, by value id. */
typedef struct memory {
    uint32_t id[VALUES];
    void *data[VALUES];
    int n;
} memory_t;

static void *operand_of(const qlstm_case_t *t, rlx_graph_t *graph, const rlx_op_t *op, const rlx_value_t *value, const result_t *y, memory_t *m)
{
    const void *given[] = {t->x, NULL, NULL, NULL, t->lengths, t->h, t->c, t->p};
    int64_t bytes;

    if (value == NULL)
        return NULL;
    if (value->data != NULL)
        return (void *)(uintptr_t)value->data;
    for (int i = 0; i < 8; i++)
        if (value == op->in[i])
            return (void *)(uintptr_t)given[i];
    for (int i = 0; i < 3; i++)
        if (value == op->out[i])
            return y->out[i];
    for (int i = 0; i < m->n; i++)
        if (m->id[i] == value->id)
            return m->data[i];
    assert_true(m->n < VALUES);
    assert_true(rlx_expr_is_const(graph->exprs, rlx_value_bytes(graph, value), &bytes));
    m->id[m->n] = value->id;
    m->data[m->n] = aligned_alloc(64, (size_t)((bytes + 127) & ~63ll));
    memset(m->data[m->n], 0xee, (size_t)((bytes + 127) & ~63ll));
    return m->data[m->n++];
}

static result_t case_run(const qlstm_case_t *t, const kernel_build_t *build, bool vnni, int level)
{
    rlx_graph_t *graph = rlx_graph_create("case");
    rlx_op_t *op = case_op(graph, t);
    result_t y = result_make(t);
    memory_t memory = {.n = 0};
    rlx_builder_t builder;
    rlx_diag_t diag = {0};

    rlx_builder_init(&builder, graph, level);
    if (rlx_lower_rnn(&builder, op, &diag) != RLX_OK)
        fail_msg("%s", diag.message);
    assert_int_equal(builder.n_steps, level == 1 ? 1 : 4);
    for (int at = 0; at < builder.n_steps; at++) {
        const rlx_step_t *step = builder.steps[at];
        rlx_kernel_id_t kernel = step->kernel;
        rlx_operand_t in[24] = {{0}}, out[3] = {{0}};
        int64_t params[RLX_PARAM_MAX], tiles, scratch = 0;

        for (int i = 0; i < step->n_in; i++)
            in[i].base = operand_of(t, graph, op, step->in[i], &y, &memory);
        for (int i = 0; i < step->n_out; i++)
            out[i].base = operand_of(t, graph, op, step->out[i], &y, &memory);
        for (int i = 0; i < step->n_params; i++)
            assert_true(rlx_expr_is_const(graph->exprs, step->params[i], &params[i]));
        assert_true(rlx_expr_is_const(graph->exprs, step->tiles, &tiles));
        if (step->scratch != RLX_EXPR_NONE)
            assert_true(rlx_expr_is_const(graph->exprs, step->scratch, &scratch));
        if (vnni)
            kernel = kernel == RLX_K_qconv ? RLX_K_qconv_vnni : kernel == RLX_K_qlstm ? RLX_K_qlstm_vnni : kernel;
        assert_int_equal(kernel_run(build, kernel, in, out, params, tiles, scratch), 0);
    }
    for (int i = 0; i < memory.n; i++)
        free(memory.data[i]);
    rlx_builder_fini(&builder);
    rlx_graph_destroy(graph);
    return y;
}

static int16_t *integers(int64_t n, int kind)
{
    int16_t *w = malloc((size_t)n * sizeof *w + 2);

    for (int64_t i = 0; i < n; i++)
        w[i] = (int16_t)(kind == 0 ? kernel_random(255) - 127 : kind == 1 ? kernel_random(21) - 10 : kernel_random(2) ? 255 : -255);
    return w;
}

static float *scales(int64_t n)
{
    float *s = kernel_floats(n);

    for (int64_t i = 0; i < n; i++)
        s[i] = 0.001f + 0.01f * fabsf(s[i]);
    return s;
}

static float *maybe(int64_t n) { return kernel_random(2) ? kernel_floats(n) : NULL; }

static qlstm_case_t case_make(int64_t input, int64_t hidden, int kind)
{
    static const char *const gates[] = {NULL, "relu,softsign,tanh", "hardsigmoid,tanh,elu"};
    static const char *const directions[] = {"forward", "reverse", "bidirectional"};
    int which = (int)kernel_random(3);
    qlstm_case_t t = {.steps = 1 + kernel_random(6), .batch = 1 + kernel_random(9), .input = input, .hidden = hidden,
                      .directions = which == 2 ? 2 : 1, .direction = directions[which], .layout = kernel_random(2),
                      .clip = kernel_random(4) ? 0 : 0.75f, .input_forget = kernel_random(5) == 0};
    int64_t rows = t.directions * 4 * hidden, state = t.directions * t.batch * hidden;

    t.activations = which == 2 ? NULL : gates[kernel_random(3)];
    t.x = kernel_floats(t.steps * t.batch * input);
    t.w = integers(rows * input, kind);
    t.r = integers(rows * hidden, kind);
    t.w_scale = scales(rows);
    t.r_scale = scales(rows);
    t.b = maybe(2 * rows);
    t.h = maybe(state);
    t.c = maybe(state);
    t.p = kernel_random(4) ? NULL : kernel_floats(3 * t.directions * hidden);
    if (kernel_random(2)) {
        t.lengths = malloc((size_t)t.batch * sizeof *t.lengths);
        for (int64_t i = 0; i < t.batch; i++)
            t.lengths[i] = (int32_t)kernel_random(t.steps + 1);
    }
    return t;
}

static void case_free(qlstm_case_t *t)
{
    void *all[] = {t->x, t->w, t->r, t->b, t->h, t->c, t->p, t->w_scale, t->r_scale, t->lengths};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static bool has_vnni(const kernel_build_t *build)
{
    return build->image == NULL || strcmp(build->name, "x86-64-v4") != 0 || __builtin_cpu_supports("avx512vnni");
}

static void packed_has_the_bits_of_plain(void **state)
{
    static const int64_t large[] = {64, 100, 256};

    (void)state;
    for (int round = 0; round < 60; round++) {
        int64_t hidden = round % 10 == 9 ? large[round / 10 % 3] : 1 + kernel_random(40);
        qlstm_case_t t = case_make(1 + kernel_random(round % 10 == 9 ? 300 : 40), hidden, round % 3);
        result_t expected = case_run(&t, &builds[0], false, 1);

        for (int b = 0; b < n_builds; b++)
            for (int way = 0; way < 3; way++) { /* plain, packed, packed with VNNI's form */
                result_t got;

                if (way == 2 && !has_vnni(&builds[b]))
                    continue;
                got = case_run(&t, &builds[b], way == 2, way > 0 ? 3 : 1);
                result_same(&got, &expected, builds[b].name);
                result_free(&got);
            }
        result_free(&expected);
        case_free(&t);
    }
}

typedef struct range {
    float scale;
    int point;
} range_t;

/* Dynamic quantisation as ir/op_list.h has it, of what `x(i)` gives. */
static range_t range_of(const float *x, int64_t n, int64_t stride, int64_t rows)
{
    float least = 0, greatest = 0;
    range_t r;

    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < n; i++) {
            least = fminf(least, x[row * stride + i]);
            greatest = fmaxf(greatest, x[row * stride + i]);
        }
    r.scale = (greatest == least ? 1 : greatest - least) / 255;
    r.point = (int)fminf(fmaxf(rintf(-least / r.scale), 0), 255);
    return r;
}

static int byte_of(range_t r, float v)
{
    float q = rintf(v / r.scale) + (float)r.point;

    return q < 0 ? 0 : q > 255 ? 255 : (int)q;
}

static float sum_of(range_t r, const float *x, int64_t n, const int16_t *w)
{
    int64_t sum = 0;

    for (int64_t k = 0; k < n; k++)
        sum += (int64_t)(byte_of(r, x[k]) - r.point) * w[k];
    return (float)sum;
}

/* One direction, one item, the usual gates: i o f c. */
static void definition_step(const qlstm_case_t *t, range_t x_range, const float *x, float *h, float *c)
{
    int64_t n = t->hidden;
    range_t h_range = range_of(h, n, n, 1);
    float *pre = malloc((size_t)(4 * n) * sizeof *pre);

    for (int64_t o = 0; o < 4 * n; o++) {
        float start = t->b != NULL ? t->b[o] + t->b[4 * n + o] : 0;

        start = fmaf(sum_of(x_range, x, t->input, t->w + o * t->input), x_range.scale * t->w_scale[o], start);
        pre[o] = fmaf(sum_of(h_range, h, n, t->r + o * n), h_range.scale * t->r_scale[o], start);
    }
    for (int64_t i = 0; i < n; i++) {
        float in = rlx_math_sigmoidf(pre[i]), out = rlx_math_sigmoidf(pre[n + i]), forget = rlx_math_sigmoidf(pre[2 * n + i]);

        c[i] = fmaf(forget, c[i], in * rlx_math_tanhf(pre[3 * n + i]));
        h[i] = rlx_math_tanhf(c[i]) * out;
    }
    free(pre);
}

static void plain_is_the_definition(void **state)
{
    (void)state;
    for (int round = 0; round < 12; round++) {
        qlstm_case_t t = case_make(1 + kernel_random(50), 1 + kernel_random(50), 0);
        result_t got;

        t.directions = t.batch = 1;
        t.direction = round % 2 ? "reverse" : "forward";
        t.activations = NULL;
        t.clip = 0;
        t.input_forget = false;
        t.layout = 0;
        free(t.lengths);
        free(t.p);
        free(t.h);
        free(t.c);
        t.lengths = NULL;
        t.p = t.h = t.c = NULL;
        got = case_run(&t, &builds[0], false, 1);
        {
            float *h = calloc((size_t)t.hidden, sizeof *h), *c = calloc((size_t)t.hidden, sizeof *c);
            range_t x_range = range_of(t.x, t.input, t.input, t.steps);

            for (int64_t step = 0; step < t.steps; step++) {
                int64_t at = round % 2 ? t.steps - 1 - step : step;

                definition_step(&t, x_range, t.x + at * t.input, h, c);
                assert_memory_equal(got.out[0] + at * t.hidden, h, (size_t)t.hidden * 4);
            }
            assert_memory_equal(got.out[1], h, (size_t)t.hidden * 4);
            assert_memory_equal(got.out[2], c, (size_t)t.hidden * 4);
            free(h);
            free(c);
        }
        result_free(&got);
        case_free(&t);
    }
}

/* An item's answer does not depend on the items beside it. */
static void an_item_alone_has_the_bits_of_a_batch(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        qlstm_case_t t = case_make(1 + kernel_random(30), 1 + kernel_random(40), 1), one;
        int64_t row, width;
        result_t all, alone;

        free(t.h);
        free(t.c);
        free(t.lengths);
        t.h = t.c = NULL;
        t.lengths = NULL;
        t.layout = 1;
        all = case_run(&t, &builds[n_builds - 1], false, 3);
        row = kernel_random(t.batch);
        width = t.steps * t.input;
        one = t;
        one.batch = 1;
        one.x = t.x + row * width;
        alone = case_run(&one, &builds[n_builds - 1], false, 3);
        assert_memory_equal(alone.out[0], all.out[0] + row * alone.count[0], (size_t)alone.count[0] * 4);
        assert_memory_equal(alone.out[1], all.out[1] + row * alone.count[1], (size_t)alone.count[1] * 4);
        result_free(&all);
        result_free(&alone);
        case_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_is_the_definition),
        cmocka_unit_test(packed_has_the_bits_of_plain),
        cmocka_unit_test(an_item_alone_has_the_bits_of_a_batch),
    };

    return cmocka_run_group_tests_name("qlstm", tests, find_builds, NULL);
}
