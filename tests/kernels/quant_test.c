/* The quant family against definitions written here with 64-bit integers and rintf: convolutions and products of bytes in every build and form,
 * lowered and packed by the compiler, with bytes that would saturate 16-bit sums; packing keeps what the kernels rely on. */
#include <math.h>

#include "ir/builder.h"
#include "ir/lower/dispatch.h"
#include "ir/pass/layout_support.h"
#include "ir/lower/pack_quant.h"
#include "ir/operator/quant.h"
#include "tests/kernels/kernel_under_test.h"

#define GUARD 64

static kernel_build_t builds[KERNEL_BUILDS_MAX];
static int n_builds;

static int find_builds(void **state)
{
    (void)state;
    n_builds = kernel_builds(builds);
    return 0;
}

typedef struct quant_case {
    bool matmul, runtime_point, factor, bias;
    int64_t n, c, o, group, in[2], kernel[2], stride[2], dilation[2], pad[4];
    int64_t result, x_point, lo, hi, point, x_max;
    uint8_t *x;
    int16_t *w;
    int32_t *start;
    float *scale, *added;
    int8_t point_operand;
    float factor_operand;
} quant_case_t;

static int64_t out_extent(const quant_case_t *t, int i)
{
    return (t->in[i] + t->pad[i] + t->pad[i + 2] - t->dilation[i] * (t->kernel[i] - 1) - 1) / t->stride[i] + 1;
}

static int64_t cells_of(const quant_case_t *t) { return t->kernel[0] * t->kernel[1]; }

/* The sum that output (n, o, h, v) has, from the definition. */
static int32_t sum_expect(const quant_case_t *t, int64_t n, int64_t o, int64_t h, int64_t v)
{
    int64_t channels = t->c / t->group, first = o / (t->o / t->group) * channels, sum = t->start[o];

    for (int64_t c = 0; c < channels; c++)
        for (int64_t kh = 0; kh < t->kernel[0]; kh++)
            for (int64_t kw = 0; kw < t->kernel[1]; kw++) {
                int64_t ih = h * t->stride[0] + kh * t->dilation[0] - t->pad[0], iw = v * t->stride[1] + kw * t->dilation[1] - t->pad[1];

                if (ih >= 0 && ih < t->in[0] && iw >= 0 && iw < t->in[1])
                    sum += (t->x[((n * t->c + first + c) * t->in[0] + ih) * t->in[1] + iw] - t->x_point) *
                           (int64_t)t->w[(o * channels + c) * cells_of(t) + kh * t->kernel[1] + kw];
            }
    return (int32_t)(uint32_t)(uint64_t)sum;
}

/* Compares one result at element `at` of y with the definition. */
static void result_check(const quant_case_t *t, const char *build, const void *y, int64_t at, int32_t sum, int64_t o)
{
    float v = (float)sum * (t->factor ? t->scale[o] * t->factor_operand : t->scale[o]);

    if (t->result == 2) {
        if (((const int32_t *)y)[at] != sum)
            fail_msg("%s: sum %d, expected %d (output %lld)", build, ((const int32_t *)y)[at], sum, (long long)o);
    } else if (t->result == 1) {
        float expected = t->bias ? v + t->added[o] : v;

        if (memcmp((const float *)y + at, &expected, 4) != 0)
            fail_msg("%s: %g, expected %g (output %lld)", build, (double)((const float *)y)[at], (double)expected, (long long)o);
    } else {
        float rounded = rintf(v) + (float)t->point;
        int expected = rounded <= (float)t->lo ? (int)t->lo : rounded >= (float)t->hi ? (int)t->hi : (int)rounded;

        if (((const uint8_t *)y)[at] != expected)
            fail_msg("%s: byte %d, expected %d (output %lld)", build, ((const uint8_t *)y)[at], expected, (long long)o);
    }
}

static rlx_value_t *constant(rlx_graph_t *graph, rlx_dtype_t dtype, int64_t count, const void *data)
{
    return rlx_graph_const(graph, "c", dtype, 1, &count, data, false);
}

static rlx_op_t *case_op(rlx_graph_t *graph, const quant_case_t *t)
{
    static const char *const numbers[] = {"result", "x_point", "lo", "hi", "point", "x_max"};
    const int64_t values[] = {t->result, t->x_point, t->lo, t->hi, t->point, t->x_max};
    int64_t w_dims[4] = {t->o, t->c / t->group, t->kernel[0], t->kernel[1]};
    rlx_exprs_t *e = graph->exprs;
    rlx_expr_t dims[4] = {rlx_expr_const(e, t->n), rlx_expr_const(e, t->c), rlx_expr_const(e, t->in[0]), rlx_expr_const(e, t->in[1])};
    rlx_value_t *in[7] = {rlx_graph_input(graph, "x", RLX_U8, t->matmul ? 2 : 4, dims), NULL}, *out = rlx_graph_value(graph, "y", RLX_U8);
    rlx_op_t *op;
    rlx_diag_t diag = {0};

    in[1] = rlx_graph_const(graph, "w", RLX_I16, t->matmul ? 2 : 4, w_dims, t->w, false);
    in[2] = constant(graph, RLX_I32, t->o, t->start);
    in[3] = t->result != 2 ? constant(graph, RLX_F32, t->o, t->scale) : NULL;
    in[4] = t->runtime_point ? rlx_graph_input(graph, "point", RLX_I8, 0, dims) : NULL;
    in[5] = t->factor ? rlx_graph_input(graph, "factor", RLX_F32, 0, dims) : NULL;
    in[6] = t->bias ? constant(graph, RLX_F32, t->o, t->added) : NULL;
    op = rlx_graph_op(graph, NULL, t->matmul ? RLX_OP_qmatmul : RLX_OP_qconv, "op", 7, in, 1, &out);
    for (int i = 0; i < 6; i++)
        rlx_op_set_int(graph, op, numbers[i], values[i]);
    if (!t->matmul) {
        rlx_op_set_ints(graph, op, "strides", t->stride, 2);
        rlx_op_set_ints(graph, op, "dilations", t->dilation, 2);
        rlx_op_set_int(graph, op, "group", t->group);
        op->pads = rlx_graph_alloc(graph, 4 * sizeof *op->pads);
        for (int i = 0; i < 4; i++)
            op->pads[i] = rlx_expr_const(e, t->pad[i]);
    }
    if (rlx_op_infer(graph, op, &diag) != RLX_OK)
        fail_msg("%s", diag.message);
    return op;
}

/* Memory of a step's operand: data of constants, the case's inputs, what earlier steps made. */
static void *operand_of(const quant_case_t *t, rlx_graph_t *graph, const rlx_op_t *op, const rlx_value_t *value, void *x, void *y, void **made)
{
    int64_t bytes;

    if (value == NULL)
        return NULL;
    if (value->data != NULL)
        return (void *)(uintptr_t)value->data;
    if (value == op->in[0])
        return x;
    if (value == op->in[4])
        return (void *)(uintptr_t)&t->point_operand;
    if (value == op->in[5])
        return (void *)(uintptr_t)&t->factor_operand;
    if (value == op->out[0])
        return y;
    assert_true(rlx_expr_is_const(graph->exprs, rlx_value_bytes(graph, value), &bytes));
    if (*made == NULL) {
        *made = aligned_alloc(64, (size_t)((bytes + 127) & ~63ll));
        memset(*made, 0xee, (size_t)((bytes + 127) & ~63ll));
    }
    return *made;
}

static void case_run(const quant_case_t *t, const kernel_build_t *build, bool vnni, rlx_graph_t *graph, rlx_op_t *op, int level, void *x, void *y)
{
    rlx_builder_t builder;
    rlx_diag_t diag = {0};
    void *made = NULL;

    rlx_builder_init(&builder, graph, level);
    if (rlx_lower_quant(&builder, op, &diag) != RLX_OK)
        fail_msg("%s", diag.message);
    for (int at = 0; at < builder.n_steps; at++) {
        const rlx_step_t *step = builder.steps[at];
        rlx_operand_t in[16] = {{0}}, out[1] = {{0}};
        int64_t params[RLX_PARAM_MAX], tiles, scratch;

        for (int i = 0; i < step->n_in; i++)
            in[i].base = operand_of(t, graph, op, step->in[i], x, y, &made);
        out[0].base = operand_of(t, graph, op, step->out[0], x, y, &made);
        for (int i = 0; i < step->n_params; i++)
            assert_true(rlx_expr_is_const(graph->exprs, step->params[i], &params[i]));
        assert_true(rlx_expr_is_const(graph->exprs, step->tiles, &tiles));
        assert_true(rlx_expr_is_const(graph->exprs, step->scratch, &scratch));
        kernel_run(build, vnni && step->kernel == RLX_K_qconv ? RLX_K_qconv_vnni : step->kernel, in, out, params, tiles, scratch);
    }
    free(made);
    rlx_builder_fini(&builder);
}

/* x in blocks of 16 channels; lanes past the last hold anything. */
static uint8_t *block(const quant_case_t *t)
{
    int64_t blocks = (t->c + 15) / 16, cells = t->in[0] * t->in[1];
    uint8_t *to = aligned_alloc(64, (size_t)((t->n * blocks * cells * 16 + 127) & ~63ll));

    for (int64_t i = 0; i < t->n * blocks * cells * 16; i++) {
        int64_t cell = i / 16 % cells, plane = i / 16 / cells, channel = plane % blocks * 16 + i % 16;

        to[i] = channel < t->c ? t->x[(plane / blocks * t->c + channel) * cells + cell] : 0xdb;
    }
    return to;
}

/* Every result, and the guard bytes behind the last. */
static void results_check(const quant_case_t *t, const char *build, const void *y, bool blocked, int64_t bytes)
{
    int64_t h_out = t->matmul ? 1 : out_extent(t, 0), w_out = t->matmul ? 1 : out_extent(t, 1), blocks = (t->o + 15) / 16;

    for (int64_t n = 0; n < t->n; n++)
        for (int64_t o = 0; o < t->o; o++)
            for (int64_t p = 0; p < h_out * w_out; p++)
                result_check(t, build, y, blocked ? ((n * blocks + o / 16) * h_out * w_out + p) * 16 + o % 16 : (n * t->o + o) * h_out * w_out + p,
                             sum_expect(t, n, o, p / w_out, p % w_out), o);
    for (int i = 0; i < GUARD; i++)
        assert_int_equal(((const uint8_t *)y)[bytes + i], 0x77);
}

static bool has_vnni(const kernel_build_t *build)
{
    return build->image == NULL || strcmp(build->name, "x86-64-v4") != 0 || __builtin_cpu_supports("avx512vnni");
}

static void case_check(const quant_case_t *t)
{
    rlx_graph_t *graph = rlx_graph_create("case");
    rlx_op_t *op = case_op(graph, t);
    rlx_quant_form_t form = t->matmul ? RLX_QUANT_BLOCKED : rlx_quant_form(graph, op);
    uint8_t *x = !t->matmul && (form == RLX_QUANT_BLOCKED || form == RLX_QUANT_DEPTHWISE) ? block(t) : t->x;

    for (int b = 0; b < n_builds; b++)
        for (int way = 0; way < 3; way++) { /* plain, fast, fast with VNNI's form */
            bool blocked = way > 0 && !t->matmul && form != RLX_QUANT_PLAIN;
            int64_t bytes;
            uint8_t *y;

            if (way == 2 && !has_vnni(&builds[b]))
                continue;
            op->out[0]->layout = blocked ? RLX_LAYOUT_C16 : RLX_LAYOUT_ROW_MAJOR;
            assert_true(rlx_expr_is_const(graph->exprs, rlx_value_bytes(graph, op->out[0]), &bytes));
            y = aligned_alloc(64, (size_t)((bytes + GUARD + 127) & ~63ll));
            memset(y, 0x77, (size_t)(bytes + GUARD));
            case_run(t, &builds[b], way == 2, graph, op, way > 0 ? 3 : 1, blocked ? x : t->x, y);
            results_check(t, builds[b].name, y, blocked, bytes);
            free(y);
        }
    if (x != t->x)
        free(x);
    rlx_graph_destroy(graph);
}

/* Random numbers of the wanted kind: 0 uniform, 1 small as trained weights are, 2 the extremes only. */
static void case_fill(quant_case_t *t, int kind)
{
    int64_t n_x = t->n * t->c * t->in[0] * t->in[1], n_w = t->o * (t->c / t->group) * cells_of(t);

    t->x = aligned_alloc(64, (size_t)((n_x + 127) & ~63ll));
    t->w = malloc((size_t)n_w * sizeof *t->w + 2);
    t->start = malloc((size_t)t->o * sizeof *t->start);
    t->scale = malloc((size_t)t->o * sizeof *t->scale);
    t->added = malloc((size_t)t->o * sizeof *t->added);
    for (int64_t i = 0; i < n_x; i++)
        t->x[i] = kind == 2 ? (uint8_t)t->x_max : (uint8_t)kernel_random(t->x_max + 1);
    for (int64_t i = 0; i < n_w; i++)
        t->w[i] = (int16_t)(kind == 2 ? (kernel_random(4) ? -128 : 127) : kind == 1 ? kernel_random(9) - 4 : kernel_random(256) - 128);
    for (int64_t o = 0; o < t->o; o++) {
        t->start[o] = (int32_t)(kernel_random(20001) - 10000);
        t->scale[o] = 0.002f + (float)kernel_random(1000) * 1e-5f;
        t->added[o] = (float)kernel_random(100) - 50;
    }
    t->factor_operand = 0.37f;
    t->point_operand = (int8_t)(t->x_point - 128);
}

static void case_end(quant_case_t *t)
{
    case_check(t);
    free(t->x);
    free(t->w);
    free(t->start);
    free(t->scale);
    free(t->added);
}

static quant_case_t case_pick(void)
{
    quant_case_t t = {.n = 1 + kernel_random(2), .c = 1 + kernel_random(70), .o = 1 + kernel_random(70), .group = 1, .result = kernel_random(3),
                      .x_point = kernel_random(256), .point = kernel_random(256), .hi = 255, .x_max = 255};

    for (int i = 0; i < 2; i++) {
        t.kernel[i] = 1 + 2 * kernel_random(2);
        t.stride[i] = 1 + kernel_random(2);
        t.dilation[i] = 1 + (kernel_random(4) == 0);
        t.in[i] = 5 + kernel_random(30);
        t.pad[i] = kernel_random(t.kernel[i]);
        t.pad[i + 2] = kernel_random(t.kernel[i]);
    }
    if (kernel_random(2)) {
        t.lo = t.point;
        t.hi = t.point + kernel_random(256 - t.point);
    }
    t.runtime_point = kernel_random(4) == 0;
    t.factor = t.result != 2 && kernel_random(4) == 0;
    t.bias = t.result == 1 && kernel_random(2);
    return t;
}

static void convolutions_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        quant_case_t t = case_pick();

        if (i % 4 == 1) { /* 1x1, in place */
            t.kernel[0] = t.kernel[1] = t.stride[0] = t.stride[1] = 1;
            memset(t.pad, 0, sizeof t.pad);
        }
        if (i % 4 == 2)
            t.group = 2, t.c = 32 * (1 + kernel_random(2)), t.o = 32 * (1 + kernel_random(2));
        if (i % 4 == 3)
            t.c = 1 + kernel_random(4);
        case_fill(&t, i % 3);
        case_end(&t);
    }
}

static void depthwise_convolutions_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        quant_case_t t = case_pick();

        t.group = t.o = t.c = 2 + kernel_random(50);
        case_fill(&t, i % 3);
        case_end(&t);
    }
}

static void products_of_matrices_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        quant_case_t t = case_pick();

        t.matmul = true;
        t.n = 1 + kernel_random(40);
        t.c = 1 + kernel_random(200);
        memset(t.pad, 0, sizeof t.pad);
        for (int k = 0; k < 2; k++)
            t.in[k] = t.kernel[k] = t.stride[k] = t.dilation[k] = 1;
        case_fill(&t, i % 3);
        case_end(&t);
    }
}

/* All activations 255 and all weights -128: any sum of two products in 16 bits would saturate. */
static void the_worst_sums_do_not_saturate(void **state)
{
    static const int16_t worst[] = {-128, 127, -255, 255};

    (void)state;
    for (int i = 0; i < 4; i++) {
        quant_case_t t = case_pick();

        t.c = 48;
        t.o = 33;
        case_fill(&t, 2);
        for (int64_t k = 0; k < t.o * t.c * cells_of(&t); k++)
            t.w[k] = worst[i];
        case_end(&t);
    }
}

/* Unpacks what ir/lower/pack_quant.h packed: each weight is the sum of its parts, and no sum of products leaves 16 bits. */
static void packing_keeps_weights_and_limits(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        rlx_pack_quant_limit_t limit = (rlx_pack_quant_limit_t)kernel_random(3);
        rlx_pack_quant_t p = {.group = 1, .channels = 1 + kernel_random(40), .outputs = 1 + kernel_random(40), .cells = 1 + kernel_random(4),
                              .pixel = 16, .x_max = kernel_random(2) ? 255 : 127, .pairs = limit == RLX_PACK_QUANT_PAIRS};
        int64_t count = p.outputs * p.channels * p.cells, blocks = (p.outputs + 15) / 16, chunks = rlx_pack_quant_chunks(&p);
        int16_t *w = malloc((size_t)count * sizeof *w);
        int32_t *left = malloc((size_t)count * sizeof *left);
        rlx_packed_quant_t packed;

        for (int64_t i = 0; i < count; i++)
            left[i] = w[i] = (int16_t)(round % 2 ? kernel_random(511) - 255 : kernel_random(256) - 128);
        rlx_pack_quant(&p, limit, w, &packed);
        for (int64_t b = 0; b < blocks; b++) {
            int64_t at = b * chunks * 64, step = limit == RLX_PACK_QUANT_PAIRS ? 2 : 1;

            for (int64_t block = 0; block * 16 < p.channels; block++) {
                int64_t quads = ((p.channels - block * 16 < 16 ? p.channels - block * 16 : 16) + 3) / 4;

                quads = p.pairs ? (quads + 1) / 2 * 2 : quads;
                for (int64_t cell = 0; cell < p.cells; cell++)
                    for (int64_t quad = 0; quad < quads; quad += step, at += step * 64)
                        for (int64_t o = 0; o < 16; o++)
                            for (int half = 0; half < 4; half += 2) {
                                int64_t above = 0, below = 0;

                                for (int64_t i = 0; i < 2 * step; i++) {
                                    int64_t lane = half + i % 2, c = block * 16 + (quad + i / 2) * 4 + lane;
                                    int8_t v = packed.w[at + i / 2 * 64 + o * 4 + lane];

                                    if (c < p.channels && b * 16 + o < p.outputs)
                                        left[((b * 16 + o) * p.channels + c) * p.cells + cell] -= v;
                                    else
                                        assert_int_equal(v, 0);
                                    above += v > 0 ? v : 0;
                                    below += v < 0 ? v : 0;
                                }
                                if (limit != RLX_PACK_QUANT_EXACT) {
                                    assert_true(above * p.x_max <= 32767);
                                    assert_true(below * p.x_max >= -32768);
                                }
                            }
            }
        }
        for (int64_t h = 0; packed.n_more > 0 && h < 2 * blocks; h++)
            for (int64_t i = packed.more[h]; i < packed.more[h + 1]; i++)
                for (int64_t o = 0; o < 8; o++)
                    for (int64_t lane = 0; lane < 4; lane++) {
                        const int32_t *entry = packed.more + 2 * blocks + 1 + 3 * i;
                        int64_t c = entry[0] * 16 + entry[2] * 4 + lane, output = h / 2 * 16 + h % 2 * 8 + o;
                        int8_t v = packed.w[blocks * chunks * 64 + i * 32 + o * 4 + lane];

                        if (c < p.channels && output < p.outputs)
                            left[(output * p.channels + c) * p.cells + entry[1]] -= v;
                    }
        for (int64_t i = 0; i < count; i++)
            assert_int_equal(left[i], 0);
        free(w);
        free(left);
        free(packed.w);
        free(packed.more);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_are_exact),
        cmocka_unit_test(depthwise_convolutions_are_exact),
        cmocka_unit_test(products_of_matrices_are_exact),
        cmocka_unit_test(the_worst_sums_do_not_saturate),
        cmocka_unit_test(packing_keeps_weights_and_limits),
    };

    return cmocka_run_group_tests(tests, find_builds, NULL);
}
