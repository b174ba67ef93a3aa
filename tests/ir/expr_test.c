/* Expressions: what is proven equal has one index, and simplifying never changes a value. */
#include "ir/expr/expr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[] = {"n", "h", "w", "c"};

static rlx_exprs_t *e;
static rlx_expr_t n, h, w, c;

static int setup(void **state)
{
    (void)state;
    e = rlx_exprs_create();
    n = rlx_expr_symbol(e, 0, 0, 1 << 20);
    h = rlx_expr_symbol(e, 1, 1, 1 << 20);
    w = rlx_expr_symbol(e, 2, 1, 1 << 20);
    c = rlx_expr_symbol(e, 3, 0, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rlx_exprs_destroy(e);
    return 0;
}

static rlx_expr_t k(int64_t value) { return rlx_expr_const(e, value); }

static void assert_text(rlx_expr_t expr, const char *expected)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    rlx_expr_print(e, expr, names, out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

/* (h-1)/2+1: the extent after a 3x3 convolution of stride 2 and padding 1. */
static rlx_expr_t halved(rlx_expr_t x) { return rlx_expr_add(e, rlx_expr_floordiv(e, rlx_expr_sub(e, x, k(1)), k(2)), k(1)); }

static void sums_are_canonical(void **state)
{
    (void)state;
    assert_int_equal(rlx_expr_sub(e, rlx_expr_add(e, n, h), n), h);
    assert_int_equal(rlx_expr_add(e, h, n), rlx_expr_add(e, n, h));
    assert_int_equal(rlx_expr_sub(e, h, h), k(0));
    assert_text(rlx_expr_sub(e, rlx_expr_add(e, rlx_expr_mul(e, h, k(2)), k(3)), w), "h*2-w+3");
    assert_text(rlx_expr_sub(e, k(3), h), "3-h");
    assert_text(rlx_expr_sub(e, k(0), h), "h*-1");
}

static void products_are_canonical(void **state)
{
    (void)state;
    assert_int_equal(rlx_expr_mul(e, h, w), rlx_expr_mul(e, w, h));
    assert_int_equal(rlx_expr_mul(e, rlx_expr_mul(e, h, k(2)), k(3)), rlx_expr_mul(e, k(6), h));
    assert_text(rlx_expr_mul(e, n, rlx_expr_add(e, h, k(1))), "n*(h+1)");
    assert_int_equal(rlx_expr_mul(e, k(0), h), k(0));
    assert_int_equal(rlx_expr_mul(e, rlx_expr_add(e, h, k(1)), k(2)), rlx_expr_add(e, rlx_expr_mul(e, h, k(2)), k(2)));
}

static void division_takes_out_multiples(void **state)
{
    (void)state;
    assert_int_equal(rlx_expr_floordiv(e, rlx_expr_mul(e, h, k(2)), k(2)), h);
    assert_int_equal(rlx_expr_floordiv(e, rlx_expr_add(e, rlx_expr_mul(e, h, k(4)), k(3)), k(4)), h);
    assert_int_equal(rlx_expr_ceildiv(e, rlx_expr_add(e, rlx_expr_mul(e, h, k(4)), k(1)), k(4)), rlx_expr_add(e, h, k(1)));
    assert_int_equal(rlx_expr_floordiv(e, rlx_expr_mul(e, rlx_expr_mul(e, n, h), w), rlx_expr_mul(e, n, w)), h);
    assert_int_equal(rlx_expr_binary(e, RLX_EXPR_MOD, h, k(1)), k(0));
    assert_int_equal(rlx_expr_binary(e, RLX_EXPR_MOD, rlx_expr_mul(e, h, w), w), k(0));
    assert_int_equal(rlx_expr_floordiv(e, h, k(0)), RLX_EXPR_ERROR);
}

static void strided_layers_join(void **state)
{
    (void)state;
    assert_text(halved(h), "(h+1)/2");
    assert_text(halved(halved(h)), "(h+3)/4");
    assert_int_equal(halved(halved(halved(h))), rlx_expr_ceildiv(e, h, k(8)));
}

static void bounds_decide(void **state)
{
    (void)state;
    assert_int_equal(rlx_expr_min(e, h, rlx_expr_add(e, h, n)), h);
    assert_int_equal(rlx_expr_max(e, h, k(1)), h);
    assert_int_equal(rlx_expr_lt(e, h, k(1)), k(0));
    assert_int_equal(rlx_expr_eq(e, rlx_expr_add(e, h, k(1)), h), k(0));
    assert_int_equal(rlx_expr_eq(e, rlx_expr_mul(e, h, k(2)), k(3)), k(0));
    assert_int_equal(rlx_expr_min(e, rlx_expr_min(e, n, k(7)), k(5)), rlx_expr_min(e, n, k(5)));
    assert_int_equal(rlx_expr_min(e, rlx_expr_max(e, rlx_expr_sub(e, n, k(1)), k(0)), n), rlx_expr_max(e, rlx_expr_sub(e, n, k(1)), k(0)));
}

static void comparisons_lose_their_division(void **state)
{
    (void)state;
    assert_int_equal(rlx_expr_lt(e, k(0), halved(halved(n))), rlx_expr_lt(e, k(0), n));
    assert_text(rlx_expr_lt(e, rlx_expr_floordiv(e, n, k(4)), k(3)), "n<12");
}

static void equality_multiplies_out(void **state)
{
    rlx_expr_t left = rlx_expr_mul(e, rlx_expr_add(e, h, k(1)), rlx_expr_add(e, w, k(2)));
    rlx_expr_t right = rlx_expr_add(e, rlx_expr_add(e, rlx_expr_mul(e, h, w), rlx_expr_mul(e, h, k(2))), rlx_expr_add(e, w, k(2)));

    (void)state;
    assert_int_equal(rlx_expr_eq(e, left, right), k(1));
}

static void selects_fold(void **state)
{
    (void)state;
    assert_int_equal(rlx_expr_select(e, rlx_expr_eq(e, n, k(1)), k(1), n), n);
    assert_int_equal(rlx_expr_select(e, rlx_expr_eq(e, n, c), n, n), n);
    assert_int_equal(rlx_expr_select(e, k(1), n, h), n);
    assert_int_equal(rlx_expr_select(e, rlx_expr_lt(e, n, h), k(1), k(0)), rlx_expr_lt(e, n, h));
    assert_int_equal(rlx_expr_select(e, RLX_EXPR_NONE, n, h), RLX_EXPR_NONE);
}

static void overflow_is_an_error(void **state)
{
    int64_t value, symbols[4] = {1 << 20, 1 << 20, 1 << 20, 1 << 20};
    rlx_expr_t big = rlx_expr_mul(e, rlx_expr_mul(e, n, h), rlx_expr_mul(e, w, c));

    (void)state;
    assert_int_equal(rlx_expr_add(e, k(INT64_MAX), k(1)), RLX_EXPR_ERROR);
    assert_int_equal(rlx_expr_binary(e, RLX_EXPR_TRUNCDIV, k(INT64_MIN), k(-1)), RLX_EXPR_ERROR);
    assert_int_equal(rlx_expr_node(e, big)->max, INT64_MAX);
    assert_false(rlx_expr_eval(e, big, symbols, &value));
}

static void deep_nesting_is_refused_not_fatal(void **state)
{
    rlx_expr_t x = n;

    (void)state;
    for (int i = 0; i < 100000 && x >= 0; i++)
        x = rlx_expr_max(e, rlx_expr_binary(e, RLX_EXPR_MOD, rlx_expr_add(e, x, h), k(1000003 + i)), rlx_expr_sub(e, w, x));
    assert_int_equal(x, RLX_EXPR_ERROR);
}

/* Random expressions next to their values under fixed assignments, computed without simplification. */
#define ASSIGNMENTS 12
#define POOL 64

typedef struct shadow {
    rlx_expr_t expr;
    int64_t value[ASSIGNMENTS];
    bool valid[ASSIGNMENTS];
} shadow_t;

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
    int64_t q = a / b;

    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static bool plain(rlx_expr_op_t op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case RLX_EXPR_ADD: *out = a + b; break;
    case RLX_EXPR_SUB: *out = a - b; break;
    case RLX_EXPR_MUL: *out = a * b; break;
    case RLX_EXPR_MIN: *out = a < b ? a : b; break;
    case RLX_EXPR_MAX: *out = a > b ? a : b; break;
    case RLX_EXPR_LT: *out = a < b; break;
    case RLX_EXPR_EQ: *out = a == b; break;
    default:
        if (b == 0)
            return false;
        *out = op == RLX_EXPR_FLOORDIV ? floor_quotient(a, b) : op == RLX_EXPR_CEILDIV ? -floor_quotient(-a, b)
             : op == RLX_EXPR_TRUNCDIV ? a / b : a - floor_quotient(a, b) * b;
    }
    return *out > -100000000 && *out < 100000000;
}

static void floats_by_their_bits_keep_honest_bounds(void **state)
{
    rlx_expr_t bits = rlx_expr_symbol(e, 90, 0, UINT32_MAX), one = k(0x3f800000), count;

    (void)state;
    assert_int_equal(rlx_expr_binary(e, RLX_EXPR_FSCALE, k(10), k(0x3f333333)), k(7));
    assert_int_equal(rlx_expr_binary(e, RLX_EXPR_FSCALE, k(10), k(0x7f800000)), RLX_EXPR_ERROR);
    assert_int_equal(rlx_expr_binary(e, RLX_EXPR_FCEILDIV, one, k(0)), RLX_EXPR_ERROR);
    count = rlx_expr_binary(e, RLX_EXPR_FCEILDIV, rlx_expr_binary(e, RLX_EXPR_FSUB, bits, one), one);
    assert_true(rlx_expr_node(e, count)->min < 0); /* bits - 1 may be negative */
    assert_true(rlx_expr_node(e, rlx_expr_binary(e, RLX_EXPR_FSCALE, k(4), bits))->min < 0);
}

static shadow_t shadow_leaf(int64_t (*assignment)[4])
{
    shadow_t s = {0};
    int symbol = (int)(random_next() % 5);
    int64_t constant = (int64_t)(random_next() % 13) - 4;

    s.expr = symbol == 4 ? k(constant) : (rlx_expr_t[]){n, h, w, c}[symbol];
    for (int i = 0; i < ASSIGNMENTS; i++) {
        s.value[i] = symbol == 4 ? constant : assignment[i][symbol];
        s.valid[i] = true;
    }
    return s;
}

static shadow_t shadow_combine(const shadow_t *a, const shadow_t *b, const shadow_t *third)
{
    static const rlx_expr_op_t ops[] = {RLX_EXPR_ADD,      RLX_EXPR_SUB,     RLX_EXPR_MUL,      RLX_EXPR_ADD, RLX_EXPR_SUB,
                                        RLX_EXPR_FLOORDIV, RLX_EXPR_CEILDIV, RLX_EXPR_TRUNCDIV, RLX_EXPR_MOD, RLX_EXPR_MIN,
                                        RLX_EXPR_MAX,      RLX_EXPR_LT,      RLX_EXPR_EQ};
    shadow_t s = {0};
    size_t pick = random_next() % (sizeof(ops) / sizeof(ops[0]) + 1);
    bool select = pick == sizeof(ops) / sizeof(ops[0]);

    s.expr = select ? rlx_expr_select(e, third->expr, a->expr, b->expr) : rlx_expr_binary(e, ops[pick], a->expr, b->expr);
    for (int i = 0; i < ASSIGNMENTS; i++) {
        s.valid[i] = a->valid[i] && b->valid[i] && (!select || third->valid[i]);
        if (s.valid[i] && select)
            s.value[i] = third->value[i] != 0 ? a->value[i] : b->value[i];
        else if (s.valid[i])
            s.valid[i] = plain(ops[pick], a->value[i], b->value[i], &s.value[i]);
    }
    return s;
}

static void shadow_check(const shadow_t *s, int64_t (*assignment)[4])
{
    for (int i = 0; i < ASSIGNMENTS; i++) {
        int64_t value = 0;
        if (!s->valid[i])
            continue;
        assert_true(s->expr >= 0);
        assert_true(rlx_expr_node(e, s->expr)->min <= s->value[i]);
        assert_true(rlx_expr_node(e, s->expr)->max >= s->value[i]);
        assert_true(rlx_expr_eval(e, s->expr, assignment[i], &value));
        if (value != s->value[i]) {
            rlx_expr_print(e, s->expr, names, stderr);
            fprintf(stderr, " is %lld, expected %lld\n", (long long)value, (long long)s->value[i]);
        }
        assert_int_equal(value, s->value[i]);
    }
}

static void simplifying_keeps_values(void **state)
{
    int64_t assignment[ASSIGNMENTS][4];
    shadow_t pool[POOL];

    for (int round = 0; round < 400; round++) {
        teardown(state);
        setup(state);
        for (int i = 0; i < ASSIGNMENTS; i++) {
            for (int s = 0; s < 4; s++)
                assignment[i][s] = (int64_t)(random_next() % (i < 4 ? 4 : 60)) + (s == 1 || s == 2);
        }
        for (int i = 0; i < POOL; i++) {
            pool[i] = i < 10 ? shadow_leaf(assignment)
                             : shadow_combine(&pool[random_next() % (uint64_t)i], &pool[random_next() % (uint64_t)i],
                                              &pool[random_next() % (uint64_t)i]);
            shadow_check(&pool[i], assignment);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(floats_by_their_bits_keep_honest_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(sums_are_canonical, setup, teardown),
        cmocka_unit_test_setup_teardown(products_are_canonical, setup, teardown),
        cmocka_unit_test_setup_teardown(division_takes_out_multiples, setup, teardown),
        cmocka_unit_test_setup_teardown(strided_layers_join, setup, teardown),
        cmocka_unit_test_setup_teardown(bounds_decide, setup, teardown),
        cmocka_unit_test_setup_teardown(comparisons_lose_their_division, setup, teardown),
        cmocka_unit_test_setup_teardown(equality_multiplies_out, setup, teardown),
        cmocka_unit_test_setup_teardown(selects_fold, setup, teardown),
        cmocka_unit_test_setup_teardown(overflow_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(deep_nesting_is_refused_not_fatal, setup, teardown),
        cmocka_unit_test_setup_teardown(simplifying_keeps_values, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
