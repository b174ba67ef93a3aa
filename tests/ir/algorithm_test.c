/* The algorithm of a convolution: decided by the op alone, within the bounds of accuracy, and never by what must not change bits. */
#include "builder.h"

#include <math.h>

#include "ir/pass/bind.h"
#include "ir/pass.h"

static rlx_graph_t *g;

static int setup(void **state)
{
    (void)state;
    g = rlx_graph_create("test");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rlx_graph_destroy(g);
    return 0;
}

typedef struct conv {
    int64_t c, o, size, kernel, stride, dilation, group, batch;
    float scale;   /* of the weights; 0: 1 */
    bool open;     /* height and width are symbols */
} conv_t;

static float *weights(const conv_t *t)
{
    int64_t n = t->o * (t->c / t->group) * t->kernel * t->kernel;
    float *w = rlx_graph_alloc(g, (size_t)n * sizeof *w);
    uint32_t x = 1;

    for (int64_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        w[i] = ((float)(x >> 8) / (1 << 23) - 1) * t->scale;
    }
    return w;
}

static rlx_op_t *conv_make(conv_t t)
{
    int64_t dims[4], pads;
    rlx_value_t *x, *w;
    rlx_op_t *op;

    t.kernel = t.kernel ? t.kernel : 3, t.stride = t.stride ? t.stride : 1, t.dilation = t.dilation ? t.dilation : 1;
    t.group = t.group ? t.group : 1, t.batch = t.batch ? t.batch : 1, t.scale = t.scale != 0 ? t.scale : 1;
    dims[0] = t.o, dims[1] = t.c / t.group, dims[2] = dims[3] = t.kernel;
    pads = t.kernel / 2 * t.dilation;
    x = input(g, "x", RLX_F32, 4, DIMS(t.batch, t.c, t.size, t.size), t.open ? NAMES(NULL, NULL, "h", "w") : NULL);
    w = rlx_graph_const(g, "w", RLX_F32, 4, dims, weights(&t), true);
    op = OP(g, conv, x, w);
    rlx_op_set_ints(g, op, "strides", DIMS(t.stride, t.stride), 2);
    rlx_op_set_ints(g, op, "dilations", DIMS(t.dilation, t.dilation), 2);
    rlx_op_set_int(g, op, "group", t.group);
    op->pads = rlx_graph_alloc(g, 4 * sizeof *op->pads);
    for (int i = 0; i < 4; i++)
        op->pads[i] = rlx_expr_const(g->exprs, pads);
    infer(g, op);
    return op;
}

static const char *chosen(conv_t t)
{
    rlx_op_t *op = conv_make(t);
    rlx_diag_t diag = {0};

    assert_int_equal(rlx_pass_algorithm(g, &diag), RLX_OK);
    return rlx_op_string(op, "algorithm");
}

static void large_maps_take_f43_and_tiny_ones_f23(void **state)
{
    (void)state;
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 56}), "F(4,3)");
    assert_string_equal(chosen((conv_t){.c = 16, .o = 16, .size = 80}), "F(4,3)");
    assert_string_equal(chosen((conv_t){.c = 512, .o = 512, .size = 7}), "F(2,3)");
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 6}), "F(2,3)");
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 1}), "direct");
}

static void stride_2_takes_f23_unless_the_map_is_small(void **state)
{
    (void)state;
    assert_string_equal(chosen((conv_t){.c = 128, .o = 128, .size = 56, .stride = 2}), "F(2,3)");
    assert_string_equal(chosen((conv_t){.c = 256, .o = 256, .size = 28, .stride = 2}), "F(2,3)");
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 14, .stride = 2}), "direct");
    assert_string_equal(chosen((conv_t){.c = 3, .o = 64, .size = 224, .stride = 2}), "direct");
}

static void what_winograd_cannot_compute_or_speed_up_is_direct(void **state)
{
    (void)state;
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 56, .stride = 3}), "direct");
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 56, .dilation = 2}), "direct");
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 56, .group = 2}), "direct");
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 56, .kernel = 5}), "direct");
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 56, .kernel = 1}), "direct");
    assert_string_equal(chosen((conv_t){.c = 3, .o = 64, .size = 224}), "direct");
}

static void the_caller_may_ask_for_accuracy(void **state)
{
    (void)state;
    g->accuracy = RLX_ACCURACY_CAREFUL;
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 56}), "F(2,3)");
    g->accuracy = RLX_ACCURACY_DIRECT;
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 56}), "direct");
}

/* Weights so small that transformed filters are subnormal and lose bits: those of F(4,3), which are smaller, first. */
static void weights_that_lose_accuracy_take_a_better_algorithm(void **state)
{
    (void)state;
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 28, .scale = 1e-37f}), "F(4,3)");
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 28, .scale = 5e-40f}), "F(2,3)");
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 28, .scale = 1e-41f}), "direct");
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 28, .scale = NAN}), "direct");
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 28, .scale = 1e38f}), "direct");
}

static void batch_is_no_matter(void **state)
{
    (void)state;
    assert_string_equal(chosen((conv_t){.c = 64, .o = 64, .size = 6, .batch = 64}), "F(2,3)");
}

/* A map that is open in the model is decided by its channels, also when --shape binds it. */
static void binding_a_shape_keeps_the_choice(void **state)
{
    rlx_op_t *op = conv_make((conv_t){.c = 64, .o = 64, .open = true});
    int64_t values[4] = {0}, extent;
    bool bound[4] = {0};
    rlx_diag_t diag = {0};

    (void)state;
    rlx_conv_mark_open(g);
    assert_int_equal(rlx_graph_bind_shape(g, "x", 4, DIMS(1, 64, 6, 6), values, bound, &diag), RLX_OK);
    assert_int_equal(rlx_graph_bind(g, values, bound, &diag), RLX_OK);
    assert_true(rlx_expr_is_const(g->exprs, op->out[0]->dims[2], &extent) && extent == 6);
    assert_int_equal(rlx_pass_algorithm(g, &diag), RLX_OK);
    assert_string_equal(rlx_op_string(op, "algorithm"), "F(4,3)");
}

static void the_shape_rule_refuses_what_does_not_fit(void **state)
{
    rlx_op_t *op = conv_make((conv_t){.c = 64, .o = 64, .size = 28, .stride = 2});
    rlx_op_t *other = conv_make((conv_t){.c = 64, .o = 64, .size = 28, .stride = 3});

    (void)state;
    rlx_op_set_string(g, op, "algorithm", "F(4,3)");
    assert_int_equal(infer_code(g, op), RLX_E_ARG_VALUE);
    rlx_op_set_string(g, other, "algorithm", "F(2,3)");
    assert_int_equal(infer_code(g, other), RLX_E_ARG_VALUE);
    rlx_op_set_string(g, op, "algorithm", "F(6,3)");
    assert_int_equal(infer_code(g, op), RLX_E_ARG_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(large_maps_take_f43_and_tiny_ones_f23, setup, teardown),
        cmocka_unit_test_setup_teardown(stride_2_takes_f23_unless_the_map_is_small, setup, teardown),
        cmocka_unit_test_setup_teardown(what_winograd_cannot_compute_or_speed_up_is_direct, setup, teardown),
        cmocka_unit_test_setup_teardown(the_caller_may_ask_for_accuracy, setup, teardown),
        cmocka_unit_test_setup_teardown(weights_that_lose_accuracy_take_a_better_algorithm, setup, teardown),
        cmocka_unit_test_setup_teardown(batch_is_no_matter, setup, teardown),
        cmocka_unit_test_setup_teardown(binding_a_shape_keeps_the_choice, setup, teardown),
        cmocka_unit_test_setup_teardown(the_shape_rule_refuses_what_does_not_fit, setup, teardown),
    };

    return cmocka_run_group_tests_name("algorithm", tests, NULL, NULL);
}
