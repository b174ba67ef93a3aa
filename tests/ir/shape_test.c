/* Shape rules: extents and elements of shape arithmetic, on symbols. */
#include "builder.h"

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

/* torch.flatten(x, 1) as exporters write it. */
static void flatten_by_shape_arithmetic_is_proven(void **state)
{
    rlx_value_t *x = input(g, "x", RLX_F32, 4, DIMS(0, 512, 0, 0), NAMES("n", NULL, "h", "w"));
    rlx_value_t *batch = INFER(g, slice, INFER(g, shape, x), I64S(g, 0), I64S(g, 1), I64S(g, 0));
    rlx_op_t *concat = OP(g, concat, batch, I64S(g, -1));
    rlx_value_t *flat;

    (void)state;
    rlx_op_set_int(g, concat, "axis", 0);
    flat = INFER(g, reshape, x, infer(g, concat));
    assert_shape(g, flat, "n, h*w*512");
    assert_int_equal(g->n_checks, 0);
}

static void window_partition_keeps_counts(void **state)
{
    rlx_value_t *x = input(g, "x", RLX_F32, 3, DIMS(0, 0, 8), NAMES("n", "h", NULL));
    rlx_value_t *shape = INFER(g, shape, x), *h = INFER(g, gather, shape, I64S(g, 1)), *rows = INFER(g, div, h, I64S(g, 7));
    rlx_op_t *concat = OP(g, concat, INFER(g, gather, shape, I64S(g, 0)), rows, I64S(g, 7, -1));
    rlx_value_t *y;

    (void)state;
    rlx_op_set_int(g, concat, "axis", 0);
    y = INFER(g, reshape, x, infer(g, concat));
    assert_int_equal(y->rank, 4);
    assert_expr_text(g, y->dims[1], "h/7");
    assert_int_equal(g->n_checks, 1); /* h is a multiple of 7 */
}

static void reshape_copies_infers_and_refuses(void **state)
{
    rlx_value_t *x = input(g, "x", RLX_F32, 3, DIMS(2, 0, 12), NAMES(NULL, "n", NULL));
    rlx_op_t *keep_zero;

    (void)state;
    assert_shape(g, INFER(g, reshape, x, I64S(g, 0, 0, 3, -1)), "2, n, 3, 4");
    assert_shape(g, INFER(g, reshape, x, I64S(g, -1, 6)), "n*4, 6");
    assert_int_equal(infer_code(g, OP(g, reshape, x, I64S(g, -1, -1))), RLX_E_CONST_VALUE);
    assert_int_equal(infer_code(g, OP(g, reshape, x, I64S(g, -2, 4))), RLX_E_CONST_VALUE);
    assert_int_equal(infer_code(g, OP(g, reshape, x, I64S(g, 1, 1, 1, 0))), RLX_E_CONST_VALUE);
    x = input(g, "empty", RLX_F32, 2, DIMS(0, 5), NULL);
    assert_shape(g, INFER(g, reshape, x, I64S(g, 0, -1)), "0, 5");
    keep_zero = OP(g, reshape, x, I64S(g, 3, 0));
    rlx_op_set_int(g, keep_zero, "allowzero", 1);
    assert_shape(g, infer(g, keep_zero), "3, 0");
    assert_int_equal(infer_code(g, OP(g, reshape, x, I64S(g, 7))), RLX_E_SHAPE_MISMATCH);
}

/* The shape operand is an input: its elements become symbols when reshape asks, through the cast in between. */
static void reshape_by_input_data(void **state)
{
    rlx_value_t *x = input(g, "x", RLX_F32, 2, DIMS(4, 6), NULL), *s = input(g, "s", RLX_I32, 1, DIMS(3), NULL);
    rlx_op_t *cast = OP(g, cast, s);
    int64_t symbols[3] = {0, -1, 2}, value;
    rlx_value_t *y;

    (void)state;
    rlx_op_set_int(g, cast, "to", RLX_I64);
    infer(g, cast);
    assert_int_equal(g->n_symbols, 0);
    y = INFER(g, reshape, x, cast->out[0]);
    assert_int_equal(g->n_symbols, 3);
    for (int i = 0; i < 3; i++) {
        assert_true(rlx_expr_eval(g->exprs, y->dims[i], symbols, &value));
        assert_int_equal(value, ((int64_t[]){4, 3, 2})[i]);
    }
    assert_true(rlx_expr_eval(g->exprs, g->checks[0].condition, symbols, &value));
    assert_int_equal(value, 1);
}

/* Python's slice of a sequence of length d: first index and count. */
static void python_slice(int64_t d, int64_t start, int64_t end, int64_t step, int64_t *out_count)
{
    int64_t lo = step > 0 ? 0 : -1, hi = step > 0 ? d : d - 1, count = 0;

    start = start < 0 ? start + d : start;
    end = end < 0 ? end + d : end;
    start = start < (step > 0 ? 0 : 0) ? 0 : start > hi ? hi : start;
    end = end < lo ? lo : end > hi ? hi : end;
    for (int64_t i = start; step > 0 ? i < end : i > end; i += step)
        count++;
    *out_count = count;
}

static void runtime_slices_follow_python(void **state)
{
    rlx_value_t *x = input(g, "x", RLX_F32, 2, DIMS(0, 3), NAMES("d", NULL));
    rlx_value_t *starts = input(g, "starts", RLX_I64, 1, DIMS(1), NULL), *ends = input(g, "ends", RLX_I64, 1, DIMS(1), NULL);
    rlx_value_t *axes = input(g, "axes", RLX_I64, 1, DIMS(1), NULL), *steps = input(g, "steps", RLX_I64, 1, DIMS(1), NULL);
    rlx_value_t *y = INFER(g, slice, x, starts, ends, axes, steps);
    int64_t value, expected;

    (void)state;
    assert_int_equal(g->n_symbols, 5);
    for (int64_t d = 1; d < 6; d++) {
        for (int64_t start = -7; start < 8; start++) {
            for (int64_t end = -8; end < 9; end++) {
                for (int64_t step = -3; step < 4; step += step == -1 ? 2 : 1) {
                    int64_t symbols[5] = {d, start, end == 8 ? INT64_MAX : end == -8 ? INT64_MIN + 8 : end, step > 0 ? 0 : -2, step};
                    int order[5];
                    int64_t placed[5];
                    for (int i = 0; i < 5; i++) {
                        const char *name = g->symbols[i].name;
                        order[i] = name[0] == 'd' ? 0 : strncmp(name, "starts", 6) == 0 ? 1 : name[0] == 'e' ? 2 : name[0] == 'a' ? 3 : 4;
                        placed[i] = symbols[order[i]];
                    }
                    python_slice(d, start, end == 8 ? 1000 : end == -8 ? -1000 : end, step, &expected);
                    assert_true(rlx_expr_eval(g->exprs, y->dims[0], placed, &value));
                    assert_int_equal(value, expected);
                    assert_true(rlx_expr_eval(g->exprs, y->dims[1], placed, &value));
                    assert_int_equal(value, 3);
                }
            }
        }
    }
}

static void constant_slices_clamp(void **state)
{
    rlx_value_t *x = input(g, "x", RLX_F32, 2, DIMS(0, 10), NAMES("n", NULL));

    (void)state;
    assert_shape(g, INFER(g, slice, x, I64S(g, 2), I64S(g, INT64_MAX), I64S(g, 1)), "n, 8");
    assert_shape(g, INFER(g, slice, x, I64S(g, -1), I64S(g, INT64_MIN), I64S(g, -1), I64S(g, -1)), "n, 10");
    assert_shape(g, INFER(g, slice, x, I64S(g, 0), I64S(g, INT64_MAX), I64S(g, 0)), "n, 10");
    assert_shape(g, INFER(g, slice, x, I64S(g, 0), I64S(g, -1), I64S(g, 0)), "max(n-1, 0), 10");
    assert_int_equal(infer_code(g, OP(g, slice, x, I64S(g, 0), I64S(g, 1), I64S(g, 0), I64S(g, 0))), RLX_E_CONST_VALUE);
    assert_int_equal(infer_code(g, OP(g, slice, x, I64S(g, 0), I64S(g, 1), I64S(g, 2))), RLX_E_CONST_VALUE);
    assert_int_equal(infer_code(g, OP(g, slice, x, I64S(g, 0, 0), I64S(g, 1, 1), I64S(g, 0, -2))), RLX_E_CONST_VALUE);
}

static void broadcasting_of_open_extents(void **state)
{
    rlx_value_t *a = input(g, "a", RLX_F32, 2, DIMS(0, 8), NAMES("n", NULL)), *b = input(g, "b", RLX_F32, 2, DIMS(0, 0), NAMES("m", "k"));
    rlx_value_t *c = input(g, "c", RLX_F32, 1, DIMS(1), NULL);

    (void)state;
    assert_shape(g, INFER(g, add, a, a), "n, 8");
    assert_shape(g, INFER(g, add, a, c), "n, 8");
    assert_int_equal(g->n_checks, 0);
    assert_shape(g, INFER(g, add, a, b), "select(n==1, m, n), 8");
    assert_int_equal(g->n_checks, 2);
    assert_int_equal(infer_code(g, OP(g, add, a, input(g, "d", RLX_F32, 1, DIMS(3), NULL))), RLX_E_SHAPE_MISMATCH);
}

/* x.expand(-1, h) as exporters write it: where(equal(shape, -1), 1, shape). */
static void expand_by_where_of_equal(void **state)
{
    rlx_value_t *x = input(g, "x", RLX_F32, 2, DIMS(0, 1), NAMES("n", NULL));
    rlx_value_t *shape = I64S(g, -1, 7), *ones = I64S(g, 1, 1), *same = INFER(g, equal, shape, I64S(g, -1));

    (void)state;
    assert_shape(g, INFER(g, expand, x, INFER(g, where, same, ones, shape)), "n, 7");
}

static void integer_arithmetic_folds(void **state)
{
    rlx_value_t *a = I64S(g, 7, -7, 6, 0), *b = I64S(g, 2, 2, -4, 5);
    rlx_op_t *c_mod = OP(g, mod, a, b);

    (void)state;
    ASSERT_ELEMENTS(g, INFER(g, add, a, b), 9, -5, 2, 5);
    ASSERT_ELEMENTS(g, INFER(g, div, a, b), 3, -3, -1, 0);
    ASSERT_ELEMENTS(g, INFER(g, mod, a, b), 1, 1, -2, 0);
    rlx_op_set_int(g, c_mod, "fmod", 1);
    ASSERT_ELEMENTS(g, infer(g, c_mod), 1, -1, 2, 0);
    ASSERT_ELEMENTS(g, INFER(g, less_equal, a, b), 0, 1, 0, 1);
    ASSERT_ELEMENTS(g, INFER(g, not, INFER(g, greater, a, b)), 0, 1, 0, 1);
    ASSERT_ELEMENTS(g, INFER(g, abs, INFER(g, neg, a)), 7, 7, 6, 0);
    ASSERT_ELEMENTS(g, INFER(g, clip, a, I64S(g, -1), I64S(g, 6)), 6, -1, 6, 0);
    assert_int_equal(infer_code(g, OP(g, div, a, I64S(g, 1, 0, 1, 1))), RLX_E_CONST_VALUE);
}

static void movement_carries_elements(void **state)
{
    rlx_value_t *a = INFER(g, reshape, I64S(g, 1, 2, 3, 4, 5, 6), I64S(g, 2, 3));
    rlx_value_t *pieces[2] = {rlx_graph_value(g, "p", RLX_I64), rlx_graph_value(g, "q", RLX_I64)};
    rlx_op_t *split = rlx_graph_op(g, NULL, RLX_OP_split, NULL, 1, &a, 2, pieces);

    (void)state;
    ASSERT_ELEMENTS(g, INFER(g, transpose, a), 1, 4, 2, 5, 3, 6);
    ASSERT_ELEMENTS(g, INFER(g, tile, a, I64S(g, 1, 2)), 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6);
    ASSERT_ELEMENTS(g, INFER(g, slice, a, I64S(g, 2), I64S(g, -4), I64S(g, 1), I64S(g, -2)), 3, 1, 6, 4);
    ASSERT_ELEMENTS(g, INFER(g, gather, a, I64S(g, -1)), 4, 5, 6);
    ASSERT_ELEMENTS(g, INFER(g, expand, I64S(g, 9), I64S(g, 2, 2)), 9, 9, 9, 9);
    rlx_op_set_int(g, split, "axis", 1);
    infer(g, split);
    ASSERT_ELEMENTS(g, pieces[0], 1, 2, 4, 5);
    ASSERT_ELEMENTS(g, pieces[1], 3, 6);
    ASSERT_ELEMENTS(g, INFER(g, range, I64S(g, 5), I64S(g, 0), I64S(g, -2)), 5, 3, 1);
    ASSERT_ELEMENTS(g, INFER(g, size, a), 6);
    ASSERT_ELEMENTS(g, INFER(g, non_zero, I64S(g, 0, 3, 0, 4)), 1, 3);
    assert_int_equal(infer_code(g, OP(g, gather, a, I64S(g, 2))), RLX_E_CONST_VALUE);
}

static void narrow_results_that_wrap_are_dropped(void **state)
{
    const int8_t bytes[1] = {100};
    const int64_t dims[1] = {1};
    rlx_value_t *a = rlx_graph_const(g, "a", RLX_I8, 1, dims, bytes, false), *sum = INFER(g, add, a, a);

    (void)state;
    assert_int_equal(sum->elements[0], RLX_EXPR_NONE);
}

static void an_extent_that_depends_on_data_is_a_symbol_of_what_computes_it(void **state)
{
    rlx_value_t *mask = input(g, "mask", RLX_BOOL, 1, DIMS(4), NULL), *count = INFER(g, count_non_zero, mask);
    rlx_value_t *found = INFER(g, non_zero, mask, count);
    const rlx_expr_node_t *extent = rlx_expr_node(g->exprs, found->dims[1]);

    (void)state;
    assert_int_equal(extent->op, RLX_EXPR_SYMBOL);
    assert_int_equal(g->n_symbols, 1); /* the mask itself stays data */
    assert_ptr_equal(g->symbols[extent->value].value, count);
    assert_int_equal(g->symbols[extent->value].min, 0);
    assert_true(count->observed);
    assert_int_equal(count->n_uses, 2); /* the op's and the symbol's */
}

static void data_that_cannot_be_followed_decides_no_shape(void **state)
{
    rlx_value_t *x = input(g, "x", RLX_F32, 1, DIMS(4), NULL), *mask = input(g, "mask", RLX_BOOL, 1, DIMS(4), NULL);

    (void)state;
    assert_int_equal(infer_code(g, OP(g, non_zero, x)), RLX_E_SHAPE_UNKNOWN);
    assert_int_equal(
        infer_code(g, OP(g, reshape, x, INFER(g, where, mask, I64S(g, 1, 1, 1, 1), input(g, "y", RLX_I64, 2, DIMS(400, 4), NULL)))),
        RLX_E_SHAPE_UNKNOWN);
}

static void types_are_checked(void **state)
{
    rlx_value_t *f = input(g, "f", RLX_F32, 1, DIMS(4), NULL), *i = input(g, "i", RLX_I64, 1, DIMS(4), NULL);
    rlx_value_t *out = rlx_graph_value(g, "missing", RLX_F32);

    (void)state;
    assert_int_equal(infer_code(g, OP(g, add, f, i)), RLX_E_ONNX_NODE);
    assert_int_equal(infer_code(g, OP(g, exp, i)), RLX_E_ONNX_NODE);
    assert_int_equal(infer_code(g, OP(g, not, f)), RLX_E_ONNX_NODE);
    assert_int_equal(infer_code(g, rlx_graph_op(g, NULL, RLX_OP_add, NULL, 1, &f, 1, &out)), RLX_E_ONNX_NODE);
}

static void large_and_deep_shapes_are_limits(void **state)
{
    rlx_value_t *x = input(g, "x", RLX_F32, 1, DIMS(1), NULL);

    (void)state;
    assert_int_equal(infer_code(g, OP(g, expand, x, I64S(g, 1 << 21, 1 << 21))), RLX_E_IR_LIMIT);
    assert_int_equal(infer_code(g, OP(g, expand, x, I64S(g, 1, 1, 1, 1, 1, 1, 1, 1, 1))), RLX_E_SHAPE_UNKNOWN);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(flatten_by_shape_arithmetic_is_proven), T(window_partition_keeps_counts), T(reshape_copies_infers_and_refuses),
        T(reshape_by_input_data), T(runtime_slices_follow_python), T(constant_slices_clamp), T(broadcasting_of_open_extents),
        T(expand_by_where_of_equal), T(integer_arithmetic_folds), T(movement_carries_elements), T(narrow_results_that_wrap_are_dropped),
        T(an_extent_that_depends_on_data_is_a_symbol_of_what_computes_it),
        T(data_that_cannot_be_followed_decides_no_shape), T(types_are_checked), T(large_and_deep_shapes_are_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
