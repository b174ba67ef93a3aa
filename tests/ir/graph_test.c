/* Graph edits, the verifier and the printers. */
#include "builder.h"

static rlx_graph_t *g;

static int setup(void **state)
{
    (void)state;
    g = rlx_graph_create("it's \"small\"");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rlx_graph_destroy(g);
    return 0;
}

static rlx_error_code_t verify_code(void)
{
    rlx_diag_t diag = {0};

    rlx_graph_verify(g, &diag);
    return diag.code;
}

static rlx_value_t *small_graph(void)
{
    static const float weights[4] = {1, 2, 3, 4};
    rlx_value_t *x = input(g, "x", RLX_F32, 2, DIMS(0, 4), NAMES("n", NULL)),
                *w = rlx_graph_const(g, "w", RLX_F32, 1, DIMS(4), weights, false);
    rlx_op_t *leaky = OP(g, leaky_relu, INFER(g, add, x, w));

    rlx_op_set_float(g, leaky, "alpha", 0.25f);
    infer(g, leaky);
    rlx_graph_output(g, leaky->out[0]);
    return leaky->out[0];
}

static void names_are_unique(void **state)
{
    (void)state;
    assert_string_equal(rlx_graph_value(g, "a", RLX_F32)->name, "a");
    assert_string_equal(rlx_graph_value(g, "a", RLX_F32)->name, "a.1");
    assert_string_equal(rlx_graph_value(g, "a.2", RLX_F32)->name, "a.2");
    assert_string_equal(rlx_graph_value(g, "a", RLX_F32)->name, "a.3");
    for (int i = 0; i < 5000; i++)
        rlx_graph_value(g, "many", RLX_F32);
    assert_string_equal(rlx_graph_value(g, "many", RLX_F32)->name, "many.5000");
}

static void uses_follow_edits(void **state)
{
    rlx_value_t *y = small_graph(), *x = g->inputs[0];
    rlx_op_t *add = g->first;

    (void)state;
    assert_int_equal(x->n_uses, 1);
    rlx_value_replace_uses(g, add->out[0], x);
    assert_int_equal(x->n_uses, 2);
    rlx_graph_remove(g, add);
    assert_int_equal(x->n_uses, 1);
    assert_int_equal(g->n_ops, 1);
    rlx_value_replace_uses(g, y, x);
    assert_ptr_equal(g->outputs[0], x);
    assert_int_equal(verify_code(), RLX_E_NONE);
}

static void attributes_have_defaults(void **state)
{
    rlx_value_t *x = input(g, "x", RLX_F32, 1, DIMS(4), NULL);
    rlx_op_t *pad = OP(g, pad, x, I64S(g, 0, 0)), *window = OP(g, window, I64S(g, 4)), *selu = OP(g, selu, x);

    (void)state;
    assert_string_equal(rlx_op_string(pad, "mode"), "constant");
    rlx_op_set_string(g, pad, "mode", "edge");
    assert_string_equal(rlx_op_string(pad, "mode"), "edge");
    assert_int_equal(rlx_op_int(window, "dtype"), RLX_F32);
    assert_int_equal(rlx_op_int(window, "periodic"), 1);
    assert_true(rlx_op_float(selu, "gamma") > 1.05f);
    assert_int_equal(rlx_op_ints_at(OP(g, transpose, x), "perm", 0, -7), -7);
}

static void small_constants_have_elements(void **state)
{
    const uint8_t bits[2] = {0, 7};
    const uint64_t large[1] = {UINT64_MAX};

    (void)state;
    assert_elements(g, rlx_graph_const(g, "b", RLX_BOOL, 1, DIMS(2), bits, false), 2, DIMS(0, 1));
    assert_int_equal(rlx_graph_const(g, "u", RLX_U64, 0, NULL, large, false)->elements[0], RLX_EXPR_NONE);
}

static void checks_are_proven_dropped_or_kept_once(void **state)
{
    rlx_expr_t n = rlx_expr_symbol(g->exprs, rlx_graph_symbol(g, "n", NULL, 0, 0, 0, 100), 0, 100), four = rlx_expr_const(g->exprs, 4);
    rlx_diag_t diag = {0};

    (void)state;
    assert_int_equal(rlx_graph_check(g, rlx_expr_lt(g->exprs, n, rlx_expr_const(g->exprs, 101)), "always", &diag), RLX_OK);
    assert_int_equal(g->n_checks, 0);
    assert_int_equal(rlx_graph_check(g, rlx_expr_lt(g->exprs, n, four), "sometimes", &diag), RLX_OK);
    assert_int_equal(rlx_graph_check(g, rlx_expr_lt(g->exprs, n, four), "sometimes", &diag), RLX_OK);
    assert_int_equal(g->n_checks, 1);
    assert_int_not_equal(rlx_graph_check(g, rlx_expr_const(g->exprs, 0), "never", &diag), RLX_OK);
    assert_int_equal(diag.code, RLX_E_SHAPE_MISMATCH);
}

static void verifier_finds_broken_rules(void **state)
{
    rlx_value_t *y = small_graph(), *sum = g->first->out[0];
    rlx_op_t *add = g->first, *leaky = g->last;
    rlx_expr_t extent = y->dims[1];

    (void)state;
    assert_int_equal(verify_code(), RLX_E_NONE);
    y->n_uses = 7;
    assert_int_equal(verify_code(), RLX_E_IR_INVALID);
    y->n_uses = 1;
    y->dims[1] = rlx_expr_const(g->exprs, 5);
    assert_int_equal(verify_code(), RLX_E_IR_INVALID);
    y->dims[1] = extent;
    y->dtype = RLX_F64;
    assert_int_equal(verify_code(), RLX_E_IR_INVALID);
    y->dtype = RLX_F32;
    sum->producer = leaky;
    assert_int_equal(verify_code(), RLX_E_IR_INVALID);
    sum->producer = add;
    y->name = sum->name;
    assert_int_equal(verify_code(), RLX_E_IR_INVALID);
    y->name = "y";
    leaky->attrs[0].name = "beta";
    assert_int_equal(verify_code(), RLX_E_IR_INVALID);
    leaky->attrs[0].name = "alpha";
    leaky->prev = NULL;
    assert_int_equal(verify_code(), RLX_E_IR_INVALID);
    leaky->prev = add;
    leaky->in[0] = NULL;
    assert_int_equal(verify_code(), RLX_E_IR_INVALID);
    leaky->in[0] = y;
    assert_int_equal(verify_code(), RLX_E_IR_INVALID);
    leaky->in[0] = sum;
    assert_int_equal(verify_code(), RLX_E_NONE);
}

static void verifier_finds_elements_that_contradict_data(void **state)
{
    rlx_value_t *c = I64S(g, 1, 2);

    (void)state;
    assert_int_equal(verify_code(), RLX_E_NONE);
    c->elements[1] = rlx_expr_const(g->exprs, 3);
    assert_int_equal(verify_code(), RLX_E_IR_INVALID);
}

static char *text_of(void (*print)(const rlx_graph_t *, FILE *))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    print(g, out);
    fclose(out);
    return text;
}

static void text_is_canonical(void **state)
{
    char *text;

    (void)state;
    rlx_graph_value(g, "never used", RLX_F32);
    small_graph();
    text = text_of(rlx_graph_dump);
    assert_string_equal(text, "rlx.ir 2;\n"
                              "module \"it's \\\"small\\\"\";\n"
                              "\n"
                              "symbol::range(n, min=0, max=2147483648);\n"
                              "%x = tensor::alloc(shape=[n,4], dtype=f32);\n"
                              "%w = tensor::constant(f32[4]{1, 2, 3, 4});\n"
                              "%add: f32[n,4] = rlxc::add(%x, %w) { node = \"add_0\", source = \"op 0 'add_0'\" };\n"
                              "%leaky_relu: f32[n,4] = rlxc::leaky_relu(%add) { alpha = 0.25, node = \"leaky_relu_1\", source = \"op 1 'leaky_relu_1'\" };\n"
                              "return %leaky_relu;\n");
    free(text);
}

static void dot_names_ops_and_ends(void **state)
{
    char *text;

    (void)state;
    small_graph();
    text = text_of(rlx_graph_dump_dot);
    assert_non_null(strstr(text, "digraph rlx {"));
    assert_non_null(strstr(text, "op0 [shape=box, label=\"add\\nadd_0\\nw f32[4]\"];"));
    assert_non_null(strstr(text, "in0 -> op0 [label=\"f32[n,4]\"];"));
    assert_non_null(strstr(text, "op1 -> out0"));
    free(text);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(names_are_unique), T(uses_follow_edits), T(attributes_have_defaults), T(small_constants_have_elements),
        T(checks_are_proven_dropped_or_kept_once), T(verifier_finds_broken_rules), T(verifier_finds_elements_that_contradict_data),
        T(text_is_canonical), T(dot_names_ops_and_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
